"""What a look at data and weights tells, before the first step."""

import functools
import os.path as osp
from collections.abc import Mapping, Set
from typing import Any

from mmengine.logging import MMLogger
from mmengine.runner import BaseLoop, Runner
from torch import nn

from ..utils.errors import UserError

PACKED = "dict(type='PackStochasticInputs')"
LABELS = ('gt_sem_seg', 'gt_sem_segs')


def check_packed(split: str, packed: Any) -> None:
    """Refuse what a pipeline made, if it is not for the model.

    Args:
        split: ``train``, ``val`` or ``test``.
        packed: An item of its data set, of which no batch could be made, or
            a batch.
    """
    found = packed if isinstance(packed, Mapping) else {}
    if found.get('inputs') is None or found.get('data_samples') is None:
        raise UserError(
            f'{split}_dataloader.dataset.pipeline packs no images for the '
            f'model: let it end with {PACKED}.'
        )


def check_label_sizes(batch: Mapping) -> None:
    """Refuse label maps of another size than the image they belong to.

    A mix of several images may change the first label map only.

    Args:
        batch: Of training, with labels.
    """
    images = zip(batch['inputs'], batch['data_samples'], strict=True)
    for image, sample in images:
        for key in LABELS:
            labels = sample.get(key)
            if labels is None or labels.shape[-2:] == image.shape[-2:]:
                continue
            raise UserError(
                f'train_dataloader.dataset.pipeline: {sample.img_path} has '
                f'{_size(image.shape)} pixels, but {key} '
                f'{_size(labels.shape)}: a step changes one without the '
                'other. Use PadAll in place of Pad, CenterCropAll for crops.'
            )


def _size(shape: Any) -> str:
    return 'x'.join(map(str, shape[-2:]))


def warn_of_shared_images(loops: Mapping[str, BaseLoop | None]) -> None:
    """Say which images are both learnt from and scored.

    Somebody may want that, to see whether a model can learn at all.

    Args:
        loops: By split: ``train``, ``val``, ``test``.
    """
    files = {
        split: _files(loop.dataloader.dataset)
        for split, loop in loops.items()
        if loop is not None
    }
    for split in {'val', 'test'} & files.keys():
        shared = files.get('train', set()) & files[split]
        if shared:
            _warn(
                f'{split}_dataloader: {len(shared)} of {len(files[split])} '
                f'images are those of train_dataloader, as {min(shared)}; '
                'scores will look better than they are. Check data_prefix.'
            )


def _files(dataset: Any) -> Set[str]:
    """The files of the images of a data set that can name them."""
    if not hasattr(dataset, 'get_data_info'):
        return set()
    records = (dataset.get_data_info(i) for i in range(len(dataset)))
    paths = (record.get('img_path') for record in records)
    folder_of = functools.cache(osp.realpath)  # there may be a million files
    return {
        osp.realpath(path)
        if osp.islink(path)
        else osp.join(folder_of(osp.dirname(path)), osp.basename(path))
        for path in paths
        if path is not None
    }


def number_of_validations(runner: Runner) -> int:
    """How often a training validates."""
    loop = runner.train_loop
    end = getattr(loop, '_max_epochs', None)
    end = loop.max_iters if hasattr(loop, 'schedule') or end is None else end
    begin, interval = loop.val_begin, loop.val_interval
    if end < begin:
        return 0
    due = {*range(interval, end + 1, interval), end}
    return sum(iteration >= begin for iteration in due)


def check_scored(runner: Runner, name: Any) -> None:
    """Refuse to look for the best of scores that are never taken.

    Args:
        runner: Of a training.
        name: Of the score that the checkpoint hook follows, if any.
    """
    if name and not number_of_validations(runner):
        raise UserError(
            f'default_hooks.checkpoint.save_best={name!r}, but '
            f'train_cfg.val_begin={runner.train_loop.val_begin} is after the '
            'end of the training: nothing is ever scored. Lower val_begin.'
        )


def check_start(path: str, checkpoint: Mapping, model: nn.Module) -> None:
    """Refuse a checkpoint to start from of which no weight fits.

    MMEngine says so in the log, and trains from random weights.

    Args:
        path: Its file or URL.
        checkpoint: What it holds.
        model: The model.
    """
    weights = checkpoint.get('state_dict', checkpoint)
    found = {key.removeprefix('module.'): w for key, w in weights.items()}
    own = {
        key: weight
        for key, weight in model.state_dict().items()
        if not key.endswith('num_batches_tracked')
    }
    fits = [k for k, w in own.items() if _shape(found.get(k)) == w.shape]
    if not fits:
        raise UserError(
            f'load_from={path!r}: none of its {len(found)} weights fits the '
            f'{len(own)} of the model, which would start at random. Give a '
            'checkpoint of this model, or use load_from=None; for one '
            'network, set its init_cfg.'
        )
    if len(fits) < len(own):
        _warn(
            f'load_from={path!r} has {len(fits)} of the {len(own)} weights '
            'of the model; the others start at random.'
        )


def _shape(weight: Any) -> Any:
    return getattr(weight, 'shape', None)


def _warn(text: str) -> None:
    MMLogger.get_current_instance().warning(text)
