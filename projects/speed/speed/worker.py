"""One checkout of the code, asked for work by ``run.py baseline``.

Uses nothing but what every checkout has: model configs, the registry,
``test_step`` and ``train_step``, and how the tools free memory. Reads one job
per line, answers with JSON.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper, OptimWrapperDict
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample
from torch.nn.modules.batchnorm import _BatchNorm

import mmcar
from mmcar.cli import keep_freed_memory

ROOT = Path(__file__).resolve().parents[3]
CLASSES_24 = {
    'decode_head.num_classes': 24,
    'decode_head.generator.noise_size': 32,
    'decode_head.calibration': dict(_delete_=True, type='ConvCalibration'),
}
FREE = {
    'decode_head.num_classes': 24,
    'decode_head.calibration': dict(_delete_=True, type='ConvCalibration'),
    'decode_head.generator': dict(_delete_=True, type='GumbelSampler'),
    'discriminator': None,
}
MODELS_OF = {
    'lidc': ('car', {}, (128, 128)),
    'cityscapes24': ('car', CLASSES_24, (256, 512)),
    'free': ('car', FREE, (256, 512)),
    'recipe': ('car_recipe_small', {}, (64, 64)),
}
"""Base config, what differs, size of the image; by name."""


def build(
    root: Path, name: str, options: dict | None = None
) -> torch.nn.Module:
    """A model of the checkout in ``root``, with random weights."""
    base, changes, _ = MODELS_OF[name]
    config = Config.fromfile(root / f'configs/_base_/models/{base}.py')
    changes = {**changes, **(options or {})}
    config.merge_from_dict({f'model.{k}': v for k, v in changes.items()})
    torch.manual_seed(0)
    return MODELS.build(config.model)


def batch(size: tuple[int, int], number: int) -> dict:
    """Smooth images with four annotators each, as a loader hands them out."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[: size[0], : size[1]] / min(size)
    inputs, samples = [], []
    for index in range(number):
        radii = 0.2 + 0.02 * rng.standard_normal(4)
        distance = np.hypot(y - 0.5, x - 0.5)
        labels = (distance < radii[:, None, None]).astype(np.int64)
        waves = np.sin(9 * x + index) + np.cos(7 * y) - 3 * distance
        noise = 9 * rng.standard_normal((3, *size))
        image = np.clip(128 + 30 * waves + noise, 0, 255).astype(np.uint8)
        sample = SegDataSample(
            metainfo=dict(
                img_path=f'p/{index}.png',
                sample_key=f'p/{index}',
                ori_shape=size,
                img_shape=size,
            )
        )
        maps = torch.from_numpy(labels)
        sample.gt_sem_seg = PixelData(data=maps[:1])
        sample.set_field(PixelData(data=maps), 'gt_sem_segs', PixelData)
        inputs.append(torch.from_numpy(image))
        samples.append(sample)
    return dict(inputs=inputs, data_samples=samples)


def trainer(
    model: torch.nn.Module, size: tuple[int, int], images: int, samples: int
) -> Callable[[], object]:
    """A call that makes a step of G alone."""
    network = model.networks()['generator']
    # Weights stay close to where they are: every turn does the same work.
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-6)
    optims = OptimWrapperDict(generator=OptimWrapper(optimizer))
    model.train_cfg['num_samples'] = samples
    model.train()
    return lambda: model.train_step(batch(size, images), optims)


class Worker:
    """Builds models by name and does jobs with them.

    Args:
        root: The checkout.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.models: dict[str, torch.nn.Module] = {}
        self.steps: dict[str, Callable[[], object]] = {}

    def model(self, name: str) -> torch.nn.Module:
        """The model of that name, built once."""
        if name not in self.models:
            self.models[name] = build(self.root, name)
        return self.models[name]

    def save(self, name: str, file: str) -> None:
        """Write the weights, with statistics of an image in batch norm."""
        model, size = self.model(name).train(), MODELS_OF[name][2]
        norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
        for norm in norms:
            norm.momentum = 1.0
        inputs = model.data_preprocessor(batch(size, 1), True)['inputs']
        number = model.test_cfg['num_samples']
        model.test_cfg['num_samples'] = 1
        with torch.no_grad():
            model(inputs, mode='tensor')
        model.test_cfg['num_samples'] = number
        torch.save(model.state_dict(), file)

    def load(self, name: str, file: str, prefix: str = '') -> None:
        """Load weights, all of them, or those with a prefix."""
        state = torch.load(file, weights_only=False)
        state = state.get('state_dict', state)
        own = self.model(name).state_dict()
        chosen = {k: v for k, v in state.items() if k.startswith(prefix)}
        wanted = {k for k in own if k.startswith(prefix)}
        if not chosen or chosen.keys() != wanted:
            raise RuntimeError(
                f'{file}: weights {sorted(wanted ^ chosen.keys())[:5]} are '
                f'in one of the two only'
            )
        self.model(name).load_state_dict({**own, **chosen})

    def draw(self, name: str, file: str, given: bool = False) -> float:
        """Predict an image; write its 16 samples, return the seconds.

        Args:
            name: Name of the model.
            file: Where the samples go.
            given: Whether F has been computed before.
        """
        model = self.model(name).eval()
        data = batch(MODELS_OF[name][2], 1)
        calibration = model.decode_head.calibration
        if given:
            (result,) = model.test_step(batch(MODELS_OF[name][2], 1))
            known = result.seg_logits.data[None]
            calibration.forward = lambda *args, **kwargs: known
        start = time.process_time()
        (result,) = model.test_step(data)
        seconds = time.process_time() - start
        if given:
            del calibration.forward
        np.save(file, result.pred_samples.data.numpy().astype(np.uint8))
        return seconds

    def step(self, name: str, images: int, samples: int) -> float:
        """Processor seconds of a step of G."""
        key = f'{name} {images} {samples}'
        if key not in self.steps:
            size = MODELS_OF[name][2]
            model = self.model(name)
            self.steps[key] = trainer(model, size, images, samples)
        start = time.process_time()
        self.steps[key]()
        return time.process_time() - start


def main() -> None:
    """Do one job per line of the standard input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('root', type=Path, help='the checkout')
    args = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()  # as the tools of both checkouts do
    init_default_scope('mmseg')
    assert Path(mmcar.__file__).is_relative_to(args.root.resolve())
    worker, answers = Worker(args.root), sys.stdout
    sys.stdout = sys.stderr  # what others print is no answer
    for line in sys.stdin:
        job, *arguments = json.loads(line)
        print(json.dumps(getattr(worker, job)(*arguments)), file=answers)
        answers.flush()


if __name__ == '__main__':
    main()
