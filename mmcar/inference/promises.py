"""Promises of a model about new images, fitted, kept and given.

What is promised, and when it holds, is in docs/do/promises.md.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from mmengine.dataset import BaseDataset, pseudo_collate
from mmseg.structures import SegDataSample
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

from ..evaluation.functional import hypotheses, promises
from ..evaluation.functional.promises import Steps
from ..evaluation.metrics.base import drawn_labels_of
from ..report.image_figures import NOTE
from ..report.page.page import plain
from ..utils.errors import UserError
from ..utils.files import read_json, write_json
from ..utils.ids import has_id
from ..utils.progress import track
from .calibration import halves_of, units_of

#: What can be asked for, and the levels that it needs.
KINDS = {
    'region': ('region', 'inner_region'),
    'samples': ('samples', 'best_iou'),
    'area': ('area',),
}
# Of a model's config: where weights lie and how it was trained, not what it
# predicts. The number of samples is looked at by itself.
NO_SETTINGS = (
    *('checkpoint', 'config', 'init_cfg', 'pretrained', 'train_cfg'),
    *('num_samples', 'seed'),
)

#: Class name -> promise -> its losses on an image.
ClassSteps = dict[str, dict[str, Steps]]


class ImagePromise(NamedTuple):
    """What is promised of a class in an image; None: nothing.

    Attributes:
        class_id: The class.
        name: Its name.
        alpha: Each promise holds with probability 1 - alpha, those of
            regions on average.
        region: All but a share alpha of what an annotator marks (H, W) bool.
        inner_region: All but a share alpha of it is marked by an annotator
            (H, W) bool.
        num_hypotheses: So many of the most probable ones contain an
            annotator's map.
        iou: With at least this IoU; 0 promises nothing.
        area: Interval in pixels of what an annotator marks.
        left_out: Why something is missing that is promised of others.
    """

    class_id: int
    name: str
    alpha: float
    region: np.ndarray | None = None
    inner_region: np.ndarray | None = None
    num_hypotheses: int | None = None
    iou: float | None = None
    area: tuple[float, float] | None = None
    left_out: str | None = None

    def summary(self) -> dict[str, Any]:
        """In numbers, for a JSON file: regions by their areas."""
        content = self._asdict()
        for key in ('region', 'inner_region'):
            if (region := content.pop(key)) is not None:
                content[f'{key}_area'] = int(region.sum())
        return content

    def lines(self) -> list[str]:
        """In words."""
        sure, said = f'{1 - self.alpha:.0%}', []
        if self.region is not None and self.inner_region is not None:
            outer, inner = self.region.sum(), self.inner_region.sum()
            said += [
                f'outer region: {outer} pixels with {sure} of a mark',
                f'inner region: {inner} pixels, {sure} of them marked',
            ]
        if self.num_hypotheses is not None:
            said.append(
                f'{self.num_hypotheses} hypotheses contain a mark at IoU '
                f'{self.iou:.2f} in {sure}'
            )
        if self.area is not None:
            low, high = self.area
            said.append(f'area: {low:.0f} to {high:.0f} pixels in {sure}')
        return said + ([self.left_out] if self.left_out else [])


@dataclass
class Promises:
    """Promises of a model, as they are kept beside its weights.

    Attributes:
        weights: Hash of the weights that they belong to.
        settings: Hash of the model's config.
        alpha: Error level.
        iou: IoU from which a hypothesis is an annotator's map.
        num_samples: Samples of an image that they were fitted with.
        unit: 'patient' or 'image': what the images are divided by.
        classes: Class name -> ``id``, ``levels`` by promise, and ``held``,
            what held on units that were not fitted on.
        fitted_on: Hashes of the units that they were fitted on.
        note: What they are not for.
    """

    weights: str
    settings: str
    alpha: float
    iou: float
    num_samples: int
    unit: str
    classes: dict[str, dict[str, Any]]
    fitted_on: list[str]
    note: str = NOTE

    @classmethod
    def find(
        cls,
        path: str | Path | None,
        checkpoint: str | Path | None,
        model: nn.Module,
        settings: Any,
    ) -> 'Promises | None':
        """Read the promises of a model; refuse those of another.

        Args:
            path: The file; None: beside the checkpoint, if it is there.
            checkpoint: That of the model, if it has one.
            model: The model, with its weights.
            settings: Its config.
        """
        if path is None and checkpoint is not None:
            beside = file_beside(checkpoint)
            path = beside if beside.is_file() else None
        if path is None:
            return None
        try:
            found = cls(**read_json(path))
        except (TypeError, FileNotFoundError) as error:
            raise UserError(
                f'{path}: no promises ({error}); expected a file that '
                'tools/calibrate.py --promise has written'
            ) from error
        for name, own in (
            ('weights', weights_hash(model)),
            ('settings', settings_hash(settings)),
        ):
            if getattr(found, name) != own:
                raise UserError(
                    f'{path}: these promises belong to a model with other '
                    f'{name}; fit them again (tools/calibrate.py --promise) '
                    'or move the file away'
                )
        return found

    def save(self, path: str | Path) -> None:
        """Write them as JSON that people can read."""
        write_json(path, plain(asdict(self)))

    def of(self, result: Any, by_rule: bool = True) -> list[ImagePromise]:
        """What they say of an image, class by class.

        Args:
            result: `InferenceResult` of the image.
            by_rule: Whether no threshold was given for its hypotheses.
        """
        samples = torch.from_numpy(result.samples)
        number = len(result.hypotheses)
        given = []
        for name, entry in self.classes.items():
            levels, k = entry['levels'], entry['id']
            found: dict[str, Any] = {}
            if 'region' in levels:
                probs = torch.from_numpy(result.class_probs[k])
                outer = promises.promised_region(probs, levels['region'])
                level = levels['inner_region']
                inner = promises.promised_inner_region(probs, level)
                found |= dict(region=outer.numpy(), inner_region=inner.numpy())
            usable = by_rule and len(samples) == self.num_samples
            if not usable and levels.keys() - set(KINDS['region']):
                levels = {}
                found['left_out'] = (
                    f'hypotheses and areas are promised of {self.num_samples} '
                    'samples and without a threshold'
                )
            if 'samples' in levels:
                found['num_hypotheses'] = min(int(levels['samples']), number)
                found['iou'] = self.iou
            elif 'best_iou' in levels:
                found['num_hypotheses'] = number
                found['iou'] = 1 - levels['best_iou']
            if 'area' in levels:
                ends = promises.area_interval(samples, self.alpha, k)
                low, high = promises.promised_area(*ends, levels['area'])
                # No mark is larger than the image.
                whole = float(samples[0].numel())
                found['area'] = min(low, whole), min(high, whole)
            given.append(ImagePromise(k, name, self.alpha, **found))
        return given


def file_beside(checkpoint: str | Path) -> Path:
    """Where the promises of a checkpoint are looked for."""
    return Path(f'{str(checkpoint).removesuffix(".pth")}.promises.json')


def weights_hash(model: nn.Module) -> str:
    """Hash of all weights of a model by their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        data = tensor.detach().cpu().contiguous().flatten()
        digest.update(name.encode() + data.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def settings_hash(settings: Any) -> str:
    """Hash of what a model's config says about its predictions."""

    def kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                key: kept(item)
                for key, item in value.items()
                if key not in NO_SETTINGS
            }
        many = isinstance(value, list | tuple)
        return [*map(kept, value)] if many else value

    text = json.dumps(kept(settings), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def hashed(unit: str) -> str:
    """A unit without its name, which may be a patient's."""
    return hashlib.sha256(unit.encode()).hexdigest()[:16]


def steps_of(
    sample: SegDataSample,
    class_ids: Mapping[str, int],
    alpha: float,
    iou: float,
    ignore_index: int = 255,
) -> ClassSteps:
    """Losses of a predicted image with labels, by class and promise.

    Args:
        sample: Predicted by a `StochasticSegmentor`.
        class_ids: Name -> id.
        alpha: See `promises.promise_steps`.
        iou: Likewise.
        ignore_index: Likewise.

    Returns:
        Empty if nobody labelled a pixel.
    """
    labels = drawn_labels_of(sample.to_dict(), 'a promise').cpu()
    probs = sample.seg_logits.data.float().cpu().exp()
    samples = sample.pred_samples.data.cpu()
    groups = hypotheses(
        samples,
        sample.pred_sem_seg.data[0].cpu().to(samples.dtype),
        num_classes=len(probs),
        sample_weights=sample.get('sample_weights'),
    )
    image, how = (probs, samples, groups, labels), (alpha, iou)
    found = {
        name: promises.promise_steps(*image, k, *how, ignore_index)
        for name, k in class_ids.items()
    }
    return {name: steps for name, steps in found.items() if steps}


@torch.no_grad()
def predict_steps(
    model: Any,
    images: Dataset,
    class_ids: Mapping[str, int],
    alpha: float,
    iou: float,
    num_workers: int = 0,
    batch_size: int = 1,
) -> Iterator[tuple[ClassSteps, SegDataSample]]:
    """`steps_of` of image after image, and its prediction.

    Args:
        model: A `StochasticSegmentor` in eval mode.
        images: Images with labels.
        class_ids: Name -> id.
        alpha: See `promises.promise_steps`.
        iou: Likewise.
        num_workers: Processes that load images.
        batch_size: Images at once; several must be of one size.
    """
    loader = DataLoader(
        images, batch_size, num_workers=num_workers, collate_fn=pseudo_collate
    )
    for batch in track(loader, 'predict'):
        for sample in model.test_step(batch):
            ignored = model.ignore_index
            yield steps_of(sample, class_ids, alpha, iou, ignored), sample


def fit_promises(
    model: Any,
    settings: Any,
    dataset: BaseDataset,
    kinds: Sequence[str],
    class_ids: Mapping[str, int],
    alpha: float = 0.1,
    iou: float = 0.5,
    num_workers: int = 0,
) -> Promises:
    """Fit promises on half of the images, see what holds on the other half.

    Args:
        model: A `StochasticSegmentor` in eval mode.
        settings: Its config.
        dataset: Images with labels.
        kinds: Of `KINDS`.
        class_ids: Classes to promise something about, name -> id.
        alpha: Error level.
        iou: IoU from which a hypothesis is an annotator's map.
        num_workers: Processes that load images.
    """
    unit, units = units_of(dataset)
    fit, report = halves_of(dataset)
    owners = [units[i] for i in fit.indices]
    if len(set(owners)) < promises.images_needed(alpha):
        raise UserError(
            f'{len(set(owners))} {unit}s in the half to fit on: promises with '
            f'alpha={alpha} need at least {promises.images_needed(alpha)}; '
            'take more images, or a larger alpha'
        )
    wanted = {promise for kind in kinds for promise in KINDS[kind]}
    how = (class_ids, alpha, iou, num_workers)

    def predicted(half: Subset) -> list[tuple]:
        steps = [found for found, _ in predict_steps(model, half, *how)]
        return [*zip(steps, [units[i] for i in half.indices], strict=True)]

    fitted, reported = predicted(fit), predicted(report)
    classes = {}
    for name, class_id in class_ids.items():
        steps, owners = zip(*of_class(name, fitted), strict=True)
        levels = promises.fit_levels(steps, alpha, owners)
        levels = {k: levels[k] for k in levels if k in wanted}
        others = zip(*of_class(name, reported), strict=True)
        held = held_of(levels, *others)
        classes[name] = dict(id=class_id, levels=levels, held=held)
    return Promises(
        weights_hash(model),
        settings_hash(settings),
        alpha,
        iou,
        model.test_cfg['num_samples'],
        unit,
        classes,
        sorted({hashed(units[i]) for i in fit.indices}),
    )


def of_class(name: str, images: Sequence[tuple]) -> list[tuple]:
    """The images with a labelled pixel, and their losses of a class.

    Args:
        name: Of the class.
        images: `ClassSteps`, and what else is known, of each.
    """
    found = [(steps[name], *rest) for steps, *rest in images if name in steps]
    if not found:
        raise UserError(
            f'{name}: none of {len(images)} images has a labelled pixel'
        )
    return found


def held_of(
    levels: Mapping[str, float],
    steps: Sequence[Mapping[str, Steps]],
    units: Sequence[str],
) -> dict[str, dict[str, Any]]:
    """What held on images that levels were not fitted on.

    Args:
        levels: By promise.
        steps: Of the images.
        units: Of the images.

    Returns:
        For each promise the share that ``held``, its ``standard_error`` and
        the number of ``units``; the outer region's also for the annotators
        who marked something, ``region_if_marked``: who marked nothing misses
        nothing.
    """
    held, tried = {}, dict(levels)
    if 'region' in levels:
        tried['region_if_marked'] = levels['region']
    for name, level in tried.items():
        some = [
            (one[name], unit)
            for one, unit in zip(steps, units, strict=True)
            if name != 'region_if_marked' or len(one[name].levels)
        ]
        if some:
            chosen, owners = zip(*some, strict=True)
            found = promises.what_held(chosen, level, owners)._asdict()
            held[name] = dict(held=1 - found.pop('loss'), **found)
    return held


class Trial:
    """Tries promises on images that they were not fitted on.

    Args:
        promises: The promises.
        dataset: The images, with labels. Patients that the promises were
            fitted on are refused.
    """

    def __init__(self, promises: Promises, dataset: BaseDataset) -> None:
        self.promises = promises
        self.units = units_of(dataset)[1]
        known = {*map(hashed, self.units)} & {*promises.fitted_on}
        if known:
            raise UserError(
                f'{len(known)} {promises.unit}s of these images are among '
                'those that the promises were fitted on: what holds there '
                'says nothing. Divide the data by patient, or move the file '
                'of promises away'
            )
        self.ids = {
            name: entry['id'] for name, entry in promises.classes.items()
        }
        self.images: list[tuple[ClassSteps, str, dict[str, float]]] = []
        self.num_samples = 0

    def add(self, index: int, sample: SegDataSample, ignored: int) -> None:
        """Try them on an image.

        Args:
            index: Its place in the data set.
            sample: Its prediction, with labels.
            ignored: Id of unlabelled pixels.
        """
        kept = self.promises
        steps = steps_of(sample, self.ids, kept.alpha, kept.iou, ignored)
        self.num_samples = len(sample.pred_samples.data)
        labels = drawn_labels_of(sample.to_dict(), 'a promise')
        areas = {
            name: float(has_id(labels, k).sum() / len(labels))
            for name, k in self.ids.items()
        }
        self.images.append((steps, self.units[index], areas))

    def summary(self) -> dict[str, Any]:
        """What held: of all images together, and by the size of marks."""
        classes, kept = {}, self.promises
        for name, entry in kept.classes.items():
            usable = self.num_samples == kept.num_samples
            levels = {
                promise: level
                for promise, level in entry['levels'].items()
                if usable or promise in KINDS['region']
            }
            images = [
                (steps, unit, areas[name])
                for steps, unit, areas in of_class(name, self.images)
            ]
            images.sort(key=itemgetter(2))
            classes[name] = {}
            for title, group in by_size(images).items():
                steps, units, _ = zip(*group, strict=True)
                held = held_of(levels, steps, units)
                classes[name][title] = dict(images=len(group), held=held)
        return dict(
            alpha=kept.alpha, iou=kept.iou, note=kept.note, classes=classes
        )


def by_size(images: Sequence[tuple]) -> dict[str, list[tuple]]:
    """Images in groups: all, those without a mark, and thirds of the others.

    Args:
        images: By their last entry, the area of their marks, ascending.
    """
    empty = sum(not area for *_, area in images)
    third = max(1, -(-(len(images) - empty) // 3))
    starts = [0, *range(empty, len(images), third)]
    groups = {'all images': [*images]}
    for start, end in pairwise([*starts, len(images)]):
        if part := images[start:end]:
            title = f'mark of {part[0][-1]:.0f} to {part[-1][-1]:.0f}'
            groups[title] = [*groups.get(title, []), *part]
    return groups
