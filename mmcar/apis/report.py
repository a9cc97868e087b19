"""A report on a tested model: figures, and a page to explore images."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import torch
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmengine.device import get_device
from mmengine.registry import init_default_scope
from mmseg.registry import DATASETS
from torch.utils.data import DataLoader, Dataset

from ..compat.configs import read_config
from ..engine.black_box_cache import prepare_caches
from ..evaluation.dataset_scores import DatasetScores
from ..evaluation.metrics.base import labels_of, write_csv
from ..inference.image_list import LoadedImage
from ..inference.inferencer import Unreadable
from ..inference.model_loading import load_model
from ..inference.promises import Promises, Trial
from ..inference.results import InferenceResult, claim_out_dir
from ..report import SampleRow, draw_sample_grid, find_logs, read_curves
from ..report.figures import spread
from ..report.hooks import prediction_row
from ..report.page import Page, draw_paper_figures, pack_image, render_page
from ..report.page.page import file_size, plain
from ..report.pictures import write_figure
from ..structures import sample_key
from ..structures.colours import overlay_palette
from ..utils.checks import at_least
from ..utils.errors import UserError
from ..utils.files import write_file, write_json
from ..utils.progress import track

FIGURE_DPI = 200
DEPENDENT = (
    'not independent (Sobol noise or support points): scores do not compare '
    'with those of independent samples'
)
#: What loaders raise for a file that is no image or label.
NOT_READ = (UserError, OSError, ValueError)
GRID_ROWS = 6


class ReportFiles(NamedTuple):
    """What a report has written, and what it could not read.

    Attributes:
        html: The page.
        csv: Figures of each image.
        json: All figures.
        figures: Figures for papers, if they were asked for.
        scores: Scores of all images together.
        unreadable: Images that could not be read, name -> reason.
    """

    html: Path
    csv: Path
    json: Path
    figures: list[Path]
    scores: dict[str, float]
    unreadable: dict[str, str]

    def lines(self) -> Iterator[str]:
        """Say what was written, and how large the page is."""
        yield f'{self.html}: {file_size(self.html.stat().st_size)}'
        yield f'{self.csv}, {self.json}'
        if self.figures:
            number = len(self.figures)
            yield f'{self.figures[0].parent}: {number} figures'


def build_report(
    config: str | Path | Config,
    checkpoint: str | Path | None = None,
    out: str | Path = 'report.html',
    *,
    num_samples: int | None = None,
    seed: int | None = None,
    max_images: int = 40,
    max_side: int = 512,
    bounds: bool = True,
    figures: bool = False,
    work_dir: str | Path | None = None,
    device: str | None = None,
    cfg_options: Mapping | None = None,
    promises: str | Path | None = None,
    progress: bool = False,
) -> ReportFiles:
    """Test a model and write a page to look at what it draws.

    Beside ``report.html`` stand ``report.csv`` with the figures of each
    image, ``report.json`` with all figures, and on request a folder
    ``report_figures``. The scores are those of ``tools/test.py``.

    Args:
        config: Config with a ``test_dataloader``; of a model of ours or of
            MMSeg's, which is sampled from without training.
        checkpoint: Its weights; None for a model that has none of its own.
        out: The page to write.
        num_samples: Samples per image; the config's by default.
        seed: Of the samples; the config's by default.
        max_images: Images that can be opened: half of them spread evenly
            over the set, half with the worst GED. Figures are of all.
        max_side: Longest side of pictures in the page; larger ones are
            shown smaller, and scored at their own size.
        bounds: Also score samplers that know the labels.
        figures: Also write figures for papers, as PNG and PDF.
        work_dir: Folder with the training log; the checkpoint's by default.
        device: Where the model runs; the best there is by default.
        cfg_options: Keys of the config to override.
        promises: File that ``tools/calibrate.py --promise`` has written;
            None takes the one beside the checkpoint, if there is one.
        progress: Show a bar.

    Returns:
        What was written.
    """
    out = Path(out)
    if out.suffix not in ('.html', '.htm'):
        raise UserError(f'{out}: expected the name of a page, as report.html.')
    at_least(0, max_images=max_images)
    at_least(16, max_side=max_side)
    claim_out_dir(out.parent)
    cfg = read_config(config, cfg_options)
    cfg.train_dataloader = cfg.val_dataloader = None  # not to be cached
    prepare_caches(cfg)
    loader, metainfo = build_loader(cfg)
    readable: Any = loader.dataset
    model = load_model(cfg, checkpoint, device or get_device())
    kept = Promises.find(promises, checkpoint, model, cfg.model)
    trial = None if kept is None else Trial(kept, readable.dataset)
    if num_samples is not None:
        at_least(1, num_samples=num_samples)
        model.test_cfg['num_samples'] = num_samples
    if seed is not None:
        model.test_cfg['seed'] = seed
    classes = metainfo['classes']
    if model.num_classes != len(classes):
        raise UserError(
            f'The model predicts {model.num_classes} classes, but the data '
            f'set has {len(classes)}: {", ".join(classes)}.'
        )
    dataset, draws = cfg.test_dataloader.dataset, model.test_cfg
    metrics = cfg.get('test_evaluator') or []
    metrics = [metrics] if isinstance(metrics, Mapping) else metrics
    scores = DatasetScores(
        metainfo, draws['num_samples'], metrics, bounds, draws['seed']
    )
    # A page may be sent to others: its folder's name says enough.
    folder = Path(dataset.get('data_root') or dataset.type).resolve()
    facts = {
        'data set': folder.name,
        'checkpoint': Path(checkpoint).name if checkpoint else 'none needed',
        'samples per image': str(draws['num_samples']),
        'draws': 'independent' if model.draws_independently else DEPENDENT,
        'seed': str(draws['seed']),
    }
    logs = work_dir or (checkpoint and Path(str(checkpoint)).parent)
    images = track(loader, 'images') if progress else loader
    page = Page(
        title=Path(cfg.filename or cfg.model.type).stem,
        facts=facts,
        num_samples=scores.num_samples,
        classes=classes,
        palette=overlay_palette(len(classes), metainfo.get('palette')),
        curves=read_curves(*find_logs(logs)) if logs else {},
    )
    selection = Selection(len(loader), max_images)
    grid = collect(page, model, images, scores, selection, max_side, trial)
    return write_report(page, out, grid if figures else None)


def write_report(
    page: Page, out: Path, grid: Sequence[SampleRow] | None = None
) -> ReportFiles:
    """Write all files of a report, each whole or not at all.

    Args:
        page: What it says.
        out: The page; the other files stand beside it.
        grid: Images for a figure of samples; None draws no figures.
    """
    rows = [{k: v for k, v in row.items() if k != 'bins'} for row in page.rows]
    written = []
    if grid is not None:
        folder = out.with_name(f'{out.stem}_figures')
        figures = draw_paper_figures(page)
        figures['samples'] = draw_sample_grid(grid, page.palette)
        for name, suffix in product(figures, ('.png', '.pdf')):
            written.append(folder / f'{name}{suffix}')
            write_figure(written[-1], figures[name], FIGURE_DPI)
    files = ReportFiles(
        html=out,
        csv=out.with_suffix('.csv'),
        json=out.with_suffix('.json'),
        figures=written,
        scores=page.summary['scores'],
        unreadable=dict(page.unreadable),
    )
    write_csv(str(files.csv), rows)
    content = dict(
        title=page.title,
        facts=page.facts,
        num_images=len(rows),
        opened=[rows[i]['image'] for i in page.explored],
        unreadable=page.unreadable,
        **page.summary,
        promises=page.promises,
        images=page.rows,
    )
    write_json(files.json, plain(content))
    write_file(out, render_page(page).encode())
    return files


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
        self._worst: dict[tuple[float, int], Any] = {}

    def offer(self, index: int, ged: float, make: Callable[[], Any]) -> None:
        """Keep an image if it may be chosen.

        Args:
            index: Its position.
            ged: Its score; NaN counts as the best.
            make: Makes what is kept.
        """
        rank = (-math.inf if math.isnan(ged) else ged, -index)
        if index in self.spread:
            self.kept[index] = make()
        elif len(self._worst) < self.limit - len(self.spread):
            self._worst[rank] = make()
        elif self._worst and rank > min(self._worst):
            del self._worst[min(self._worst)]
            self._worst[rank] = make()

    def chosen(self) -> dict[int, Any]:
        """What was kept, by position."""
        worst = {-index: kept for (_, index), kept in self._worst.items()}
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
            'set; tools/infer.py takes images without labels.'
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
    scores: DatasetScores,
    selection: Selection,
    max_side: int,
    trial: Trial | None = None,
) -> list[SampleRow]:
    """Predict and score every image, and keep some to be opened.

    Args:
        page: Gets the figures and the images.
        model: A `StochasticSegmentor` in eval mode.
        items: What `build_loader` gives of every image.
        scores: Scores the images.
        selection: Chooses those to keep.
        max_side: See `pack_image`.
        trial: Tries what is promised on the images.

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
        drawn = prediction_row(item['inputs'], sample)
        key, path = sample_key(sample), sample.get('img_path')
        loaded = LoadedImage(key, path, drawn.image, {})
        result = InferenceResult.of(loaded, sample, scores.metainfo)
        row = scores.add(data) | dict(
            image=result.name,
            entropy=float(result.entropy.mean()),
            hypotheses=len(result.hypotheses),
        )
        if trial is not None:
            trial.add(index, sample, scores.ged.ignore_index)
            result.promises = trial.promises.of(result)
        positions[index] = len(page.rows)
        page.rows.append(row)
        if index in in_grid:
            grid.append(drawn)
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
    page.promises = None if trial is None else trial.summary()
    return grid
