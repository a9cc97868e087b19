"""The network: published weights fit it, and its sizes are the paper's."""

import pytest
import torch

from ..espnet.models import camvid, cityscapes
from ..plain import load_network


@pytest.mark.parametrize(
    ('factory', 'classes'), [(camvid, 11), (cityscapes, 19)]
)
def test_size(factory, classes):
    net = factory().eval()
    with torch.no_grad():
        assert net(torch.rand(1, 3, 32, 40)).shape == (1, classes, 32, 40)
    found = sum(weight.numel() for weight in net.parameters())
    assert found == pytest.approx(0.36e6, rel=0.02)  # as the paper says


def test_void_is_the_class_that_is_left_out():
    net = camvid().eval()
    images = torch.rand(1, 3, 16, 16)
    with torch.no_grad():
        every = super(type(net), net).forward(images)
        assert torch.equal(net(images), every[:, :11])


def test_published_weights_know_a_road(real_data):
    path = real_data / 'espnet/espnet_p_2_q_8_camvid.pth'
    if not path.is_file():
        pytest.skip(f'no {path}')
    state = load_network(path).state_dict()
    assert all(weight.isfinite().all() for weight in state.values())
