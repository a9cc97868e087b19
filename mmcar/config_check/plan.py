"""What a run would do, told to people."""

import sys
from typing import Any

import torch
from mmengine.hooks import CheckpointHook
from mmengine.runner import Runner

from ..engine import unwrap_model
from ..utils.progress import duration
from .findings import Finding


class Plan:
    """Sizes, parameters, memory and times of a run."""

    def __init__(self) -> None:
        self.data: list[str] = []
        self.phases: list[str] = []
        self.scores: list[str] = []
        self.warnings: list[Finding] = []
        self.seconds = 0.0
        # Of an iteration by phase, of an image by loop.
        self.each: dict[str, float] = {}

    def add_batch(self, split: str, images: int, batch: Any) -> None:
        """Tell the sizes of images and labels."""
        inputs, labels = batch['inputs'], []
        for sample in batch['data_samples']:
            # All annotators' labels where they are kept, else the drawn one.
            field = sample.get('gt_sem_segs', sample.get('gt_sem_seg'))
            labels += [] if field is None else [field.data]
        self.data.append(
            f'  {split:<6} {images} images, {len(inputs)} in a batch: inputs '
            f'{_shapes(inputs)}, labels {_shapes(labels)}'
        )

    def add_phase(self, key: str, iters: int, names: str, each: float) -> None:
        """Tell what a phase trains, and for how long."""
        self.seconds += each * iters
        self.each[key] = each
        times = f'{each:.3g} s each, {duration(each * iters)}'
        self.phases.append(f'  {key:<20} {iters:>8} steps of {names}: {times}')

    def add_scores(
        self, name: str, when: str, each: float, images: int, scores: list[str]
    ) -> None:
        """Tell what a validation or test scores, and for how long."""
        self.each[name] = each
        shown = [score for score in scores if not score.endswith('_left_out')]
        times = f'{each:.3g} s per image, {duration(each * images)} each'
        self.scores.append(f'{name:<12} {when}, {times}: {", ".join(shown)}')

    def text(self, runner: Runner, work_dir: str) -> str:
        """The whole plan."""
        model = unwrap_model(runner.model)
        classes = getattr(model, 'num_classes', None)
        number = f', {classes} classes' if classes else ''
        lines = [*map(str, self.warnings)]
        lines.append(f'Model        {type(model).__name__}{number}')
        networks = {**getattr(model, 'networks', dict)(), 'all': model}
        for name, network in networks.items():
            size = sum(weight.numel() for weight in network.parameters())
            lines.append(f'  {name:<16} {size:>12,} parameters')
        lines += ['Data', *self.data]
        lines += ['Phases', *self.phases] if self.phases else []
        lines += [*self.scores, f'Memory       {_memory()}']
        if self.phases:
            lines.append(f'Checkpoints  {_checkpoints(runner)}, in {work_dir}')
            lines.append(f'Total        about {duration(self.seconds)}')
        return '\n'.join(lines)


def _shapes(tensors: Any) -> str:
    """The shapes there are, e.g. 3x64x64."""
    shapes = {'x'.join(map(str, tensor.shape)) for tensor in tensors}
    return ' and '.join(sorted(shapes)[:3]) or 'none'


def _checkpoints(runner: Runner) -> str:
    for hook in runner.hooks:
        if isinstance(hook, CheckpointHook):
            unit = 'epochs' if hook.by_epoch else 'steps'
            number, best = hook.max_keep_ckpts, hook.save_best
            kept = f'the last {number} kept' if number > 0 else 'all kept'
            best = f', and the best {best}' if best else ''
            return f'every {hook.interval} {unit}, {kept}{best}'
    return 'none'


def _memory() -> str:
    """The most that this process has used."""
    if torch.cuda.is_available():
        used = torch.cuda.max_memory_allocated() / 2**30
        return f'{used:.2f} GB of the GPU at most'
    if sys.platform == 'win32':
        return 'unknown on this system'
    import resource  # not on Windows

    unit = 2**30 if sys.platform == 'darwin' else 2**20
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return f'{used:.2f} GB at most'
