"""The test images of a config, predicted and scored for a report."""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from mmseg.structures import SegDataSample
from torch.utils.data import DataLoader, Dataset

from ..datasets.image_files import input_image
from ..evaluation.dataset_scores import DatasetScores
from ..evaluation.metrics.base import labels_of
from ..inference.image_inputs import LoadedImage
from ..inference.inferencer import Unreadable
from ..inference.results import InferenceResult
from ..report import SampleRow
from ..report.figures import spread
from ..report.hooks import prediction_row
from ..report.page import Page, pack_image
from ..structures import sample_key
from ..utils.errors import UserError

NOT_READ = (UserError, OSError, ValueError)
"""What loaders raise for a file that is no image or label."""
GRID_ROWS = 6


class Selection:
    """Some images of many: half with the worst GED, half spread evenly.

    Keeps a bounded number while images go by one after the other.

    Args:
        total: Number of images.
        limit: How many to choose.
    """

    def __init__(self, total: int, limit: int) -> None:
        self.total, self.limit = total, min(limit, total)
        number = total if self.limit == total else (self.limit + 1) // 2
        self.spread = spread(total, number)
        self.kept: dict[int, Any] = {}
        self._worst: list[tuple[float, int, Any]] = []

    def offer(self, index: int, ged: float, make: Callable[[], Any]) -> None:
        """Keep an image if it may be chosen.

        Args:
            index: Its position.
            ged: Its score; NaN counts as the best.
            make: Makes what is kept.
        """
        if index in self.spread:
            self.kept[index] = make()
            return
        entry = (-math.inf if math.isnan(ged) else ged, -index)
        if len(self._worst) < self.limit - len(self.spread):
            heapq.heappush(self._worst, (*entry, make()))
        elif self._worst and entry > self._worst[0][:2]:
            heapq.heapreplace(self._worst, (*entry, make()))

    def chosen(self) -> dict[int, Any]:
        """What was kept, by position."""
        worst = {-index: kept for _, index, kept in self._worst}
        return dict(sorted((self.kept | worst).items()))


class Readable(Dataset):
    """A data set in which an image that cannot be read says so.

    Args:
        dataset: The data set.
    """

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        try:
            return self.dataset[index]
        except NOT_READ as error:
            name = sample_key(self.dataset.get_data_info(index))
            return Unreadable(name, f'{error}')


def build_loader(cfg: Config) -> tuple[DataLoader, dict[str, Any]]:
    """The test images of a config one by one, and the data set's metainfo."""
    settings = cfg.get('test_dataloader')
    if not settings:
        raise UserError(
            f'{cfg.filename} has no test_dataloader: a report needs a data '
            'set; tools/infer.py draws for images without labels.'
        )
    init_default_scope(cfg.get('default_scope', 'mmseg'))
    dataset = DATASETS.build(settings.dataset)
    loader = DataLoader(
        Readable(dataset),
        batch_size=1,
        num_workers=settings.get('num_workers', 0),
        collate_fn=itemgetter(0),
    )
    return loader, dict(dataset.metainfo)


@torch.no_grad()
def collect(
    page: Page,
    model: Any,
    items: Iterable,
    metainfo: Mapping[str, Any],
    scores: DatasetScores,
    selection: Selection,
    max_side: int,
) -> list[SampleRow]:
    """Predict and score every image, and keep some to be opened.

    Args:
        page: Gets the figures and the images.
        model: A `StochasticSegmentor` in eval mode.
        items: What `build_loader` gives of every image.
        metainfo: Of the data set.
        scores: Scores the images.
        selection: Chooses those to keep.
        max_side: See `pack_image`.

    Returns:
        A few images for a figure of samples.
    """
    pack = partial(
        pack_image,
        ignore_index=scores.ged.ignore_index,
        num_bins=scores.calibration.num_bins,
        max_side=max_side,
    )
    grid, positions = [], {}
    in_grid = spread(selection.total, GRID_ROWS)
    for index, item in enumerate(items):
        if isinstance(item, Unreadable):
            page.unreadable[item.name] = item.reason
            continue
        (sample,) = model.test_step(pseudo_collate([item]))
        data = sample.to_dict()
        result = result_of(item, sample, metainfo)
        row = scores.add(data) | dict(
            image=result.name,
            entropy=float(result.entropy.mean()),
            hypotheses=len(result.hypotheses),
        )
        positions[index] = len(page.rows)
        page.rows.append(row)
        if index in in_grid:
            grid.append(prediction_row(item['inputs'], sample))
        labels = labels_of(data).cpu().numpy()
        selection.offer(index, row['GED'], partial(pack, result, labels))
    if not page.rows:
        raise UserError(
            'None of the images could be read: '
            + next(iter(page.unreadable.values()), 'the data set is empty')
        )
    for index, packed in selection.chosen().items():
        page.explored[positions[index]] = packed
    page.summary = scores.summary()
    return grid


def result_of(
    item: Mapping, sample: SegDataSample, metainfo: Mapping[str, Any]
) -> InferenceResult:
    """What the inferencer would say of an image of the data set."""
    height, width = sample.pred_sem_seg.data.shape[-2:]
    picture = input_image(item['inputs'], (height, width))
    path = sample.get('img_path')
    loaded = LoadedImage(sample_key(sample), path, picture, {})
    return InferenceResult.of(loaded, sample, dict(metainfo))
