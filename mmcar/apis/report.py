"""A report on a tested model: figures, and a page to explore images."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmengine.config import Config
from mmengine.device import get_device

from ..compat.configs import read_config
from ..engine.black_box_cache import prepare_caches
from ..evaluation.dataset_scores import DatasetScores
from ..evaluation.metrics.base import write_csv
from ..inference.model_loading import load_model
from ..inference.results import claim_out_dir
from ..report import (
    SampleRow,
    draw_sample_grid,
    find_logs,
    read_curves,
)
from ..report.page import Page, draw_paper_figures, render_page
from ..report.page.page import file_size, plain
from ..report.pictures import write_figure
from ..structures.colours import overlay_palette
from ..utils.checks import at_least
from ..utils.errors import UserError
from ..utils.files import write_file, write_json
from ..utils.progress import track
from .report_images import Selection, build_loader, collect

FIGURE_DPI = 200
DEPENDENT = (
    'not independent (Sobol noise or support points): scores do not compare '
    'with those of independent samples'
)


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
    title: str | None = None,
    work_dir: str | Path | None = None,
    device: str | None = None,
    cfg_options: Mapping | None = None,
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
        title: Heading of the page; the config's name by default.
        work_dir: Folder with the training log; the checkpoint's by default.
        device: Where the model runs; the best there is by default.
        cfg_options: Keys of the config to override.
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
    model = load_model(cfg, checkpoint, device or get_device())
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
    metrics = cfg.get('test_evaluator') or []
    scores = DatasetScores(
        metainfo,
        model.test_cfg['num_samples'],
        [metrics] if isinstance(metrics, Mapping) else metrics,
        bounds,
        model.test_cfg['seed'],
    )
    folder = work_dir or (checkpoint and Path(str(checkpoint)).parent)
    images = track(loader, 'images') if progress else loader
    selection = Selection(len(loader), max_images)
    page = Page(
        title=title or Path(cfg.filename or cfg.model.type).stem,
        facts=_facts(cfg, checkpoint, model),
        num_samples=scores.num_samples,
        classes=classes,
        palette=overlay_palette(len(classes), metainfo.get('palette')),
        curves=read_curves(*find_logs(folder)) if folder else {},
    )
    grid = collect(page, model, images, metainfo, scores, selection, max_side)
    return write_report(page, out, grid if figures else None)


def _facts(
    cfg: Config, checkpoint: str | Path | None, model: Any
) -> dict[str, str]:
    """What was tested, in short."""
    dataset = cfg.test_dataloader.dataset
    # A page may be sent to others: its folder's name says enough.
    folder = Path(dataset.get('data_root') or dataset.type).resolve()
    return {
        'data set': folder.name,
        'checkpoint': Path(checkpoint).name if checkpoint else 'none needed',
        'samples per image': str(model.test_cfg['num_samples']),
        'draws': 'independent' if model.draws_independently else DEPENDENT,
        'seed': str(model.test_cfg['seed']),
    }


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
    files = ReportFiles(
        html=out,
        csv=out.with_suffix('.csv'),
        json=out.with_suffix('.json'),
        figures=[] if grid is None else _write_figures(page, out, grid),
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
        images=page.rows,
    )
    write_json(files.json, plain(content))
    write_file(out, render_page(page).encode())
    return files


def _write_figures(
    page: Page, out: Path, grid: Sequence[SampleRow]
) -> list[Path]:
    drawn = draw_paper_figures(page)
    drawn['samples'] = draw_sample_grid(grid, palette=page.palette)
    folder = out.with_name(f'{out.stem}_figures')
    paths = []
    for name, figure in drawn.items():
        for suffix in ('.png', '.pdf'):
            paths.append(folder / f'{name}{suffix}')
            write_figure(paths[-1], figure, FIGURE_DPI)
    return paths
