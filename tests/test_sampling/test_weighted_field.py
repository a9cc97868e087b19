"""Fields as sums of numbers: special cases and exact marginals."""

import torch

from mmcar.sampling import SharedGumbel, WeightedField, unit_norm

SIZE = (5, 7)


def test_one_weight_is_one_number_per_class():
    gumbel = SharedGumbel(3)
    z = torch.randn(4, 2, 3)
    field = WeightedField(torch.ones(2, 1, *SIZE))
    expected = gumbel.perturb(torch.zeros(3, *SIZE), z)
    torch.testing.assert_close(
        field.perturb(torch.zeros(3, *SIZE), z), expected
    )


def test_a_weight_per_pixel_makes_pixels_independent():
    pixels = torch.eye(35).view(1, 35, *SIZE)
    z = torch.randn(3, 1, 2 * 35)
    field = WeightedField(pixels)
    whole = slice(0, SIZE[0]), slice(0, SIZE[1])
    expected = z.view(3, 1, 2, *SIZE)
    torch.testing.assert_close(field.normal(z, whole), expected)


def test_pixels_without_weights_have_noise_all_the_same():
    weights = torch.randn(1, 4, *SIZE)
    weights[..., 2, :] = 0
    weights[..., 3, :] *= 1e-9
    weights.requires_grad_()
    field = WeightedField(unit_norm(weights))
    whole = slice(0, SIZE[0]), slice(0, SIZE[1])
    values = field.normal(torch.randn(4000, 1, 4), whole)
    torch.testing.assert_close(
        values.std(0), torch.ones(1, 1, *SIZE), atol=0.06, rtol=0
    )
    values.sum().backward()
    assert weights.grad.isfinite().all()


def test_values_are_sums_and_tiles_agree_with_the_whole():
    weights = unit_norm(torch.randn(2, 4, *SIZE))
    torch.testing.assert_close(
        weights.square().sum(1), torch.ones(2, *SIZE), atol=1e-5, rtol=0
    )
    z = torch.randn(3, 2, 2 * 4)
    whole = slice(0, SIZE[0]), slice(0, SIZE[1])
    values = WeightedField(weights).normal(z, whole)
    for k in range(2):
        for y, x in ((0, 0), (4, 6), (2, 3)):
            expected = sum(
                weights[1, r, y, x] * z[2, 1, 4 * k + r] for r in range(4)
            )
            torch.testing.assert_close(values[2, 1, k, y, x], expected)
    tile = slice(1, 4), slice(2, 7)
    torch.testing.assert_close(
        WeightedField(weights).normal(z, tile), values[..., 1:4, 2:7]
    )
