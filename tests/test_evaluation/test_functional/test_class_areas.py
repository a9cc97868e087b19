import pytest
import torch

from mmcar.evaluation import class_area_sums


def brute_force(probs, labels, weights, ignore_index):
    expected = [0.0] * len(probs)
    labelled = [0.0] * len(probs)
    for a, label in enumerate(labels):
        for i in range(label.shape[0]):
            for j in range(label.shape[1]):
                if label[i, j] == ignore_index:
                    continue
                weight = float(weights[a, i, j])
                labelled[int(label[i, j])] += weight
                for k in range(len(probs)):
                    expected[k] += weight * float(probs[k, i, j])
    return torch.tensor([expected, labelled], dtype=torch.float64)


@pytest.mark.parametrize('ignore_index', [255, 7])
@pytest.mark.parametrize('weighted', [False, True])
def test_sums_are_those_of_a_loop(ignore_index, weighted):
    g = torch.Generator().manual_seed(3)
    probs = torch.randn(3, 4, 6, generator=g).softmax(0)
    labels = torch.randint(3, (2, 4, 6), generator=g)
    labels[0, :2] = ignore_index
    weights = torch.rand(2, 4, 6, generator=g).double()
    found = class_area_sums(
        probs,
        labels,
        weights=weights if weighted else None,
        ignore_index=ignore_index,
    )
    ones = torch.ones_like(weights)
    expected = brute_force(
        probs, labels, weights if weighted else ones, ignore_index
    )
    torch.testing.assert_close(found, expected)


def test_a_single_map_of_labels():
    probs = torch.tensor([0.25, 0.75]).view(2, 1, 1).expand(2, 2, 2)
    found = class_area_sums(probs, torch.tensor([[0, 1], [255, 1]]))
    assert found.tolist() == [[0.75, 2.25], [1, 2]]
