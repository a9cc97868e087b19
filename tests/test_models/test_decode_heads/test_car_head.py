"""Black box, calibration net and generator as one sampler."""

import math

import pytest
import torch
from mmengine.structures import PixelData
from mmseg.registry import MODELS

from tests.test_models.test_black_boxes.test_live import NORM, encoder_decoder
from tests.toys import toy_batch, toy_config, toy_model, toy_optims

OUTER_NORM = dict(
    toy_config()['data_preprocessor'],
    mean=[10.0, 20.0, 30.0],
    std=[40.0, 50.0, 60.0],
    bgr_to_rgb=True,
)
CACHED = dict(type='CachedBlackBox', num_classes=3)
OTHER = dict(type='GumbelSampler', num_classes=4)
FORMS = ('segmentor', 'cached', 'none')
PHASES = (
    ('generator', 'discriminator'),
    ('calibration', 'generator', 'discriminator'),
)


@pytest.fixture
def black_box(tmp_path):
    """A trained model of three classes: its weights, its own norm."""
    torch.manual_seed(0)
    model = MODELS.build(encoder_decoder(test_cfg=dict(mode='whole'))).eval()
    torch.save(model.state_dict(), tmp_path / 'b.pth')
    return model


def predict(black_box, image):
    """What B makes of raw images (B, 3, H, W) in BGR."""
    mean, std = (torch.tensor(NORM[k]).view(3, 1, 1) for k in ('mean', 'std'))
    with torch.no_grad():
        logits = black_box.encode_decode(
            (image.flip(1) - mean) / std, [dict(img_shape=image.shape[2:])]
        )
    return logits.softmax(1)


def config_of(form, folder):
    inside = encoder_decoder(data_preprocessor=NORM)
    live = dict(type='BlackBox', segmentor=inside)
    return dict(
        segmentor=live | dict(checkpoint=str(folder / 'b.pth')),
        cached=CACHED,
        none=None,
    )[form]


def batch_for(form, black_box):
    """A batch, with B's predictions if they come from the disk."""
    batch = toy_batch()
    truth = predict(black_box, torch.stack(batch['inputs']).float())
    if form == 'cached':
        for sample, probs in zip(batch['data_samples'], truth, strict=True):
            sample.black_box_probs = PixelData(data=probs)
    return batch, truth


@pytest.mark.parametrize('form', FORMS)
def test_every_form_of_black_box_trains_and_samples(form, black_box, tmp_path):
    head = toy_config()['decode_head']
    head['black_box'] = config_of(form, tmp_path)
    model = toy_model(decode_head=head, data_preprocessor=OUTER_NORM)
    optims = toy_optims(model)
    for phase in PHASES:
        model.train()
        batch, truth = batch_for(form, black_box)
        log = model.train_step(batch, {name: optims[name] for name in phase})
        assert all(map(math.isfinite, log.values()))
    batch, truth = batch_for(form, black_box)
    found = model.eval().test_step(batch)
    for sample, probs in zip(found, truth, strict=True):
        assert sample.pred_samples.data.shape == (5, 16, 16)
        assert ('black_box_probs' in sample) == (form != 'none')
        if form != 'none':  # unchanged, and normalised as B was trained
            assert sample.black_box_probs.data.allclose(probs, atol=1e-4)


@pytest.mark.parametrize('form', ['segmentor', 'cached'])
def test_training_free_sampling_of_any_model(form, black_box, tmp_path):
    """Without F, D and training, samples are draws from B itself."""
    draws = 2000
    sampler = dict(type='GumbelSampler')
    head = dict(type='CARHead', num_classes=3, generator=sampler)
    model = toy_model(
        decode_head=dict(head, black_box=config_of(form, tmp_path)),
        data_preprocessor=OUTER_NORM,
        discriminator=None,
        train_cfg=None,
        test_cfg=dict(num_samples=draws, samples_per_chunk=500),
    ).eval()
    assert model.networks() == {}
    batch, truth = batch_for(form, black_box)
    for sample, probs in zip(model.test_step(batch), truth, strict=True):
        assert sample.seg_logits.data.exp().allclose(probs, atol=1e-4)
        error = (probs * (1 - probs) / draws).sqrt()
        off = (sample.sample_probs.data - probs).abs()
        assert (off <= 4 * error + 1e-4).all()


def test_without_calibration_net_the_others_train(black_box, tmp_path):
    head = toy_config()['decode_head']
    black_box = config_of('segmentor', tmp_path)
    head.update(num_classes=3, black_box=black_box, calibration=None)
    model = toy_model(decode_head=head)
    assert set(model.networks()) == {'generator', 'discriminator'}
    log = model.train_step(toy_batch(), toy_optims(model))
    assert {'loss_cal', 'loss_adv', 'loss_disc'} <= log.keys()


class TestTemperature:
    @staticmethod
    def log_probs(**head):
        head = toy_config()['decode_head'] | head
        head = toy_model(decode_head=head).decode_head.eval()
        torch.manual_seed(0)
        image = torch.randn(2, 3, 16, 16)
        return head.calibrate(image), head.calibration(image, None, None)

    @pytest.mark.parametrize('temperature', [2.5, (0.5, 3.0)])
    def test_divides_each_class(self, temperature):
        found, logits = self.log_probs(temperature=temperature)
        first, second = torch.tensor(temperature).expand(2)
        by_hand = logits[:, 0] / first, logits[:, 1] / second
        expected = torch.stack(by_hand, 1).log_softmax(1)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    'change, message',
    [
        (dict(num_classes=1), 'decode_head.num_classes=1'),
        (dict(generator=OTHER), 'generator.num_classes=4'),
        (dict(calibration=None, black_box=CACHED), 'black box.*=3'),
    ],
)
def test_bad_configs_are_refused(change, message):
    head = toy_config()['decode_head'] | change
    with pytest.raises(ValueError, match=message):
        toy_model(decode_head=head)


@pytest.fixture
def f_weights(tmp_path):
    """F of a toy model on disk, as what a part of another may start from."""
    path = tmp_path / 'f.pth'
    torch.save(dict(state_dict=toy_model().state_dict()), path)
    prefix = 'decode_head.calibration.'
    return dict(type='Pretrained', checkpoint=str(path), prefix=prefix)


def test_takes_over_weights_of_another_model(f_weights):
    head = toy_config()['decode_head']
    calibration = dict(head['calibration'], init_cfg=f_weights)
    head['generator'] = dict(type='TunedSampler', net=calibration)
    model = toy_model(decode_head=head)
    weights = torch.load(f_weights['checkpoint'])['state_dict']
    for key, value in model.decode_head.generator.net.state_dict().items():
        assert torch.equal(value, weights[f_weights['prefix'] + key]), key


def test_refuses_weights_of_another_network(f_weights):
    head = toy_config()['decode_head']
    head['calibration'].update(channels=6, init_cfg=f_weights)
    with pytest.raises(ValueError, match=r'head\.calibration.*f\.pth.*prefix'):
        toy_model(decode_head=head)
