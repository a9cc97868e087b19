"""What the figures show of an image: F, samples, and what labels say."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from mmengine.runner import Runner
from torch import Tensor, nn

from mmcar.datasets.image_files import input_image
from mmcar.engine import unwrap_model
from mmcar.structures import label_distribution
from mmcar.utils.errors import UserError


@dataclass
class View:
    """One image, and what is predicted and known of it.

    Attributes:
        image: RGB (H, W, 3) uint8.
        calibrated: F's probabilities (K, H, W).
        samples: Probabilities of samples (S, K, H, W).
        truth: Mean of the annotators, class flips included, (K, H, W); None
            where the data have no labels.
        known: Pixels (H, W) that somebody labelled.
    """

    image: np.ndarray
    calibrated: np.ndarray
    samples: np.ndarray
    truth: np.ndarray | None
    known: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean of the samples' probabilities (K, H, W)."""
        return self.samples.mean(0)

    @property
    def label_maps(self) -> np.ndarray:
        """The samples as label maps (S, H, W)."""
        return self.samples.argmax(1)

    def independent(self, number: int, seed: int = 0) -> np.ndarray:
        """Label maps (S, H, W) whose pixels are drawn from F one by one."""
        rng = np.random.default_rng(seed)
        steps = self.calibrated.cumsum(0)
        steps = steps / steps[-1:]
        draws = rng.random((number, 1, *steps.shape[1:]))
        return (draws >= steps[None, :-1]).sum(1)


@torch.no_grad()
def look_at(model: nn.Module, batch: dict, number: int) -> list[View]:
    """Predict a batch of a test loader, samples as probabilities."""
    inputs = list(batch['inputs'])
    data = model.data_preprocessor(batch, False)
    images, data_samples = data['inputs'], data['data_samples']
    state = model.encode(images, data_samples)
    z = model.draw_noise(
        images, data_samples, number, (model.test_cfg['seed'],)
    )
    drawn = torch.cat([model.sample(state, one) for one in z.split(1)])
    calibrated = model.log_probs(state).exp()
    return [
        _view(inputs[i], calibrated[i], drawn[:, i], sample)
        for i, sample in enumerate(data_samples)
    ]


def _view(
    inputs: Tensor, calibrated: Tensor, samples: Tensor, sample: object
) -> View:
    height, width = inputs.shape[-2:]  # the batch may be padded
    window = (..., slice(height), slice(width))
    shape = (height, width)
    truth, known = None, np.ones(shape, bool)
    if 'gt_sem_segs' in sample:
        probs, valid = label_distribution(sample, len(calibrated))
        truth, known = probs[window].cpu().numpy(), valid[window].cpu().numpy()
    return View(
        image=input_image(inputs, shape),
        calibrated=calibrated[window].float().cpu().numpy(),
        samples=samples[window].float().cpu().numpy(),
        truth=truth,
        known=known,
    )


def views_of(
    runner: Runner, chosen: list[int] | int, number: int
) -> Iterator[View]:
    """Predict some images of the test set, one by one.

    Args:
        runner: With the model's weights loaded.
        chosen: Indices of images, or how many, evenly spread.
        number: Samples per image.
    """
    dataset = runner.test_dataloader.dataset
    if isinstance(chosen, int):
        last = len(dataset) - 1
        chosen = np.linspace(0, last, chosen).round().astype(int).tolist()
    wrong = [i for i in chosen if not 0 <= i < len(dataset)]
    if wrong:
        raise UserError(
            f'--images {wrong}: the test set has {len(dataset)} images, '
            'counted from 0.'
        )
    model = unwrap_model(runner.model).eval()
    for i in chosen:
        packed = dataset[i]
        batch = {key: [value] for key, value in packed.items()}
        yield from look_at(model, batch, number)
