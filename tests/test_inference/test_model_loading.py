import pytest
import torch
from mmengine.config import Config
from mmseg.registry import MODELS

from mmcar.compat.configs import read_config
from mmcar.inference.model_loading import load_model
from mmcar.models import BaseBlackBox, CARSegmentor
from tests.test_inference.models import (
    CLASSES,
    config_of,
    own_config,
    pipeline,
    save_weights,
    stock_config,
)
from tests.test_models.test_methods.models import METHODS
from tests.toys import toy_config


def test_keys_of_a_config_are_overridden(tmp_path):
    given, keys = stock_config(), {'model.decode_head.num_classes': 7}
    given.dump(tmp_path / 'x.py')
    for config in (given, tmp_path / 'x.py'):
        assert read_config(config, keys).model.decode_head.num_classes == 7
    assert given.model.decode_head.num_classes == 4
    (tmp_path / 'broken.py').write_text('model = dict(')
    with pytest.raises(ValueError, match=r'broken\.py cannot be read'):
        read_config(tmp_path / 'broken.py')
    with pytest.raises(ValueError, match='no key `model`'):
        read_config(Config(dict(a=1)), key='member')


def test_weights_must_fit(tmp_path):
    cfg = stock_config()
    weights = save_weights(cfg, tmp_path / 'w.pth')
    other = read_config(cfg, {'model.decode_head.num_classes': 5})
    for wrong in (other, own_config()):
        with pytest.raises(ValueError, match='does not fit'):
            load_model(wrong, weights)
    with pytest.raises(FileNotFoundError, match=r'none\.pth'):
        load_model(cfg, tmp_path / 'none.pth')
    for untrained in (cfg, own_config()):
        with pytest.raises(ValueError, match='name a checkpoint'):
            load_model(untrained)


@MODELS.register_module()
class SomebodysBlackBox(BaseBlackBox):
    """Loads its own weights, and leaves them as PyTorch made them."""

    def __init__(self, num_classes):
        super().__init__(num_classes)
        self.net = torch.nn.Conv2d(3, num_classes, 1)

    def predict(self, image, data_samples):
        return self.net(image).softmax(1)


def test_a_model_without_weights_needs_no_checkpoint(tmp_path):
    inner = stock_config()
    weights = save_weights(inner, tmp_path / 'w.pth')
    path = tmp_path / 'stock.py'
    inner.dump(path)
    for black_box in (
        dict(type='BlackBox', config=str(path), checkpoint=weights),
        dict(type='SomebodysBlackBox', num_classes=4),
    ):
        head = dict(
            type='CARHead',
            num_classes=4,
            black_box=black_box,
            generator=dict(type='GumbelSampler'),
        )
        model = toy_config(decode_head=head, discriminator=None)
        loaded = load_model(config_of(model, pipeline()))
        assert isinstance(loaded, CARSegmentor)
    assert not loaded.training
    assert loaded.dataset_meta['classes'][3] == 'class 3'


@pytest.mark.parametrize('name', METHODS)
def test_methods_without_a_head_of_ours_load(name, tmp_path):
    cfg = config_of(METHODS[name], pipeline())
    weights = save_weights(cfg, tmp_path / 'w.pth')
    assert load_model(cfg, weights).num_classes == 2


def test_names_of_classes(tmp_path):
    cfg = own_config()
    weights = save_weights(cfg, tmp_path / 'w.pth')
    assert load_model(cfg, weights).dataset_meta == dict(classes=CLASSES)
    saved = torch.load(weights)
    named = dict(classes=('a', 'b'), palette=[[0] * 3, [9] * 3])
    saved['meta'] = dict(dataset_meta=named)
    torch.save(saved, weights)
    assert load_model(cfg, weights).dataset_meta == named
    saved['meta'] = dict(CLASSES=('one', 'two', 'three'))  # of another set
    torch.save(saved, weights)
    meta = load_model(cfg, weights).dataset_meta
    assert meta['classes'] == ('class 0', 'class 1')


def test_a_sampler_of_ones_own(tmp_path):
    cfg = stock_config()
    weights = save_weights(cfg, tmp_path / 'w.pth')
    sampler = dict(type='GumbelSampler', correlation_length=8.0)
    model = load_model(cfg, weights, sampler=sampler)
    plain = load_model(cfg, weights)
    sizes = [m.decode_head.generator.noise_size for m in (plain, model)]
    assert sizes[0] == 4 < sizes[1]
    with pytest.raises(ValueError, match='sampler of its own'):
        load_model(own_config(), sampler=sampler)


def test_a_binary_model_with_one_output(tmp_path):
    """MMSeg's way: one channel, foreground against background."""
    cfg = stock_config()
    binary = dict(num_classes=2, out_channels=1, threshold=0.3)
    cfg.model.decode_head = cfg.model.decode_head | binary
    cfg.test_dataloader.dataset.metainfo = dict(classes=CLASSES)
    weights = save_weights(cfg, tmp_path / 'w.pth')
    model = load_model(cfg, weights)
    assert model.num_classes == 2
    probs = model.encode(torch.zeros(1, 3, 16, 16)).log_probs.exp()
    assert probs.shape == (1, 2, 16, 16)
