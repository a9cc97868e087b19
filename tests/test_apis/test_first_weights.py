import contextlib

import pytest
import torch
from torch import nn

from mmcar.apis.first_weights import FirstWeights
from mmcar.utils.errors import UserError
from tests.test_models.test_methods.models import MMSEG
from tests.toys import toy_config, toy_model


def used_by(weights, model, *names):
    """Call networks as a step of the generator's phase might."""

    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    with weights.watching('train_cfg.phases[1]', ['generator']):
        for name in names:
            network = model.networks()[name]
            handle = network.register_forward_pre_hook(stop)
            with contextlib.suppress(Stop):
                network(torch.zeros(1))
            handle.remove()


def test_a_network_that_nothing_trains_is_no_teacher():
    model = toy_model()
    weights = FirstWeights(model)
    used_by(weights, model, 'generator')
    with pytest.raises(UserError, match=r'phases\[1\].*from calibration'):
        used_by(weights, model, 'generator', 'calibration')
    with weights.watching('train_cfg.phases[0]', ['calibration']):
        pass
    used_by(weights, model, 'calibration')
    with pytest.raises(UserError, match='from discriminator'):
        used_by(weights, model, 'calibration', 'discriminator')


def test_a_checkpoint_or_a_start_of_its_own_is_enough():
    model = toy_model()
    loaded = [k for k in model.state_dict() if 'calibration' in k]
    used_by(FirstWeights(model, loaded), model, 'calibration')
    model.decode_head.init_cfg = dict(type='Pretrained', checkpoint='x.pth')
    used_by(FirstWeights(model), model, 'calibration')


def test_a_copy_of_what_nobody_has_trained():
    model = toy_model()
    phase = 'train_cfg.phases[0]', ['generator'], ['calibration.net']
    with (
        pytest.raises(UserError, match='from calibration'),
        FirstWeights(model).watching(*phase),
    ):
        pass


def test_other_models_have_no_networks():
    assert not FirstWeights(nn.Linear(2, 2)).networks


def test_black_boxes_without_a_checkpoint(tmp_path):
    head = toy_config()['decode_head']
    box = dict(
        type='BlackBox',
        segmentor=dict(
            type='EncoderDecoder',
            backbone=MMSEG['backbone'],
            decode_head=dict(MMSEG['decode_head'], num_classes=2),
        ),
    )
    model = toy_model(decode_head=dict(head, black_box=box))
    assert FirstWeights(model).random_boxes() == ['decode_head.black_box']
    state = model.decode_head.black_box.segmentor.state_dict()
    torch.save(dict(state_dict=state), tmp_path / 'box.pth')
    box['checkpoint'] = str(tmp_path / 'box.pth')
    model = toy_model(decode_head=dict(head, black_box=box))
    assert not FirstWeights(model).random_boxes()
