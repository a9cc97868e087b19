import pytest
import torch

from mmcar.models import GumbelSampler
from mmcar.models.generators import RefinementUNet

PROBS = torch.tensor([0.015, 0.185, 0.8])
FLOOR = 0.02


def frequencies(generator, draws=4000):
    """How often each class is drawn where F is known, at two pixels."""
    torch.manual_seed(0)
    log_probs = PROBS.log().view(1, 3, 1, 1).repeat(1, 1, 16, 16)
    z = torch.randn(draws, 1, generator.noise_size)
    state = generator.encode(torch.zeros(1, 3, 16, 16), log_probs)
    with torch.no_grad():
        labels = torch.cat(
            [generator.sample_labels(state, part) for part in z.split(200)]
        )
    return torch.stack(
        [
            (labels[:, 0, r, c] == k).float().mean()
            for r, c in ((0, 0), (9, 4))
            for k in range(3)
        ]
    ).view(2, 3)


@pytest.mark.parametrize(
    'generator',
    [
        GumbelSampler(3, correlation_length=4.0, floor=FLOOR),
        RefinementUNet(
            3, base_channels=2, depth=1, gumbel={'floor': FLOOR}
        ).eval(),
    ],
    ids=['field', 'network'],
)
def test_what_is_below_the_floor_never_happens(generator):
    found = frequencies(generator)
    assert (found[:, 0] == 0).all()
    assert (found - PROBS).abs().max() < FLOOR + 0.03
