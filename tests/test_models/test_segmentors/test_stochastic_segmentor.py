"""What every model that samples has from its base class."""

import pytest
import torch

from mmcar.utils.errors import UserError
from tests.toys import toy_batch, toy_model


class TestNoise:
    image = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))

    def draw(self, samples, seed=(0,), image=None):
        image = self.image if image is None else image
        return toy_model().draw_noise(image, samples, 3, seed)

    def test_depends_on_the_name_not_on_the_place(self):
        samples = toy_batch()['data_samples']
        noise = self.draw(samples)
        assert torch.equal(noise, self.draw(samples[::-1]).flip(1))
        assert not torch.equal(noise, self.draw(samples, (1,)))
        samples[0].set_metainfo(dict(img_path='elsewhere/toy/0.png'))
        assert not torch.equal(noise[:, 0], self.draw(samples)[:, 0])
        assert torch.equal(noise[:, 1], self.draw(samples)[:, 1])
        samples[0].set_metainfo(dict(sample_key='another'))
        assert not torch.equal(noise[:, 0], self.draw(samples)[:, 0])

    def test_two_images_do_not_share_it(self):
        model, samples = toy_model(), toy_batch()['data_samples']
        for sample in samples:
            sample.set_metainfo(dict(sample_key='val/0.png'))
        with pytest.raises(UserError, match=r'toy/0.* and toy/1.*key_prefix'):
            model.draw_noise(self.image, samples, 3, (0,))
        model.draw_noise(self.image[:1], samples[:1], 3, (0,))
        with pytest.raises(UserError, match=r'toy/0.* and toy/1'):
            model.draw_noise(self.image[:1], samples[1:], 3, (0,))

    def test_images_without_a_name_do_not_share_it(self):
        nameless = toy_batch()['data_samples']
        for sample in nameless:
            sample.set_metainfo(dict(img_path=None))
        for samples in (None, nameless):
            noise = self.draw(samples)
            assert not torch.equal(noise[:, 0], noise[:, 1])
            turned = self.draw(samples, image=self.image.flip(0))
            assert torch.equal(noise, turned.flip(1)), 'not by content'
