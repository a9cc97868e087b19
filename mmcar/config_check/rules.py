"""Rules about whole configs: what parts of them say about each other.

A rule yields a path and a text for all that it finds; its docstring is what
the page of rules says about it. `check_config` asks all that need no build.
"""

import ast
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmcv.transforms import Normalize, Pad
from mmengine.config import Config
from mmengine.dataset import BaseDataset, InfiniteSampler
from mmengine.optim import CosineAnnealingParamScheduler, PolyParamScheduler
from mmengine.registry import MODELS as ROOT
from mmengine.registry import DefaultScope
from mmengine.runner import IterBasedTrainLoop, TestLoop, ValLoop
from mmseg.datasets.transforms import RandomCrop
from mmseg.models import SegDataPreProcessor
from mmseg.models.decode_heads.decode_head import BaseDecodeHead

from ..datasets.transforms import (
    CenterCropAll,
    LoadBlackBoxProbs,
    LoadMultiAnnotations,
    NormalizePercentiles,
    RandomClassFlips,
    WindowIntensity,
)
from ..models import StochasticDataPreProcessor, StochasticSegmentor
from ..models.black_boxes import FrozenBlackBox
from ..models.decode_heads import CARHead
from ..utils.errors import words_of
from ..utils.type_check import nearest
from . import signature
from .findings import RULES, Finding, Found, error, warning
from .signature import (
    CLOSE,
    EVALUATORS,
    HOME,
    HOOKS,
    KEYS,
    LOADERS,
    Part,
    arguments_of,
    setting,
    walk,
)

#: Keys of MMSeg 0.x that nobody reads any more, and what took their place.
OLD_KEYS = {
    'data': 'train_dataloader',
    'dist_params': 'env_cfg.dist_cfg',
    'lr_config': 'param_scheduler',
    'optimizer_config': 'optim_wrapper',
    'runner': 'train_cfg',
    'evaluation': 'val_evaluator',
    'checkpoint_config': 'default_hooks.checkpoint',
    'log_config': 'default_hooks.logger',
    'seed': 'randomness.seed',
    'cudnn_benchmark': 'env_cfg.cudnn_benchmark',
    'resume_from': 'load_from',
}
OLD_DATA = {'samples_per_gpu', 'workers_per_gpu', 'train', 'val', 'test'}
SPANNING = (CosineAnnealingParamScheduler, PolyParamScheduler)
UNITS = (Normalize, NormalizePercentiles, WindowIntensity)
SCORED = ('val_dataloader', 'test_dataloader')
VAST = 1000.0  # times a default


def _value(cfg: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for key in path.split('.'):
        cfg = cfg.get(key) if isinstance(cfg, (Config, Mapping)) else None
    return cfg


def _in(parts: list[Part], *sections: str) -> list[Part]:
    return [part for part in parts if part.section in sections]


@error
def misspelt_section(cfg: Config, parts: list[Part]) -> Found:
    """A dict whose name is nearly that of a section, and with its keys."""
    for name, value in cfg.items():
        near = nearest(name, KEYS, CLOSE) if name not in KEYS else None
        dicts = isinstance(value, dict) and isinstance(cfg.get(near), dict)
        if dicts and value != cfg[near] and value.keys() & cfg[near].keys():
            yield name, f'nobody reads it; did you mean {near!r}?'


@error
def old_key(cfg: Config, parts: list[Part]) -> Found:
    """A setting of MMSeg 0.x that nobody reads any more.

    A dict is an error; another value may be a variable for something else.
    """
    for key, place in OLD_KEYS.items():
        old = cfg.get(key)
        is_dict = isinstance(old, dict)
        read = [_value(cfg, place), *(part.cfg for part in parts if is_dict)]
        mine = key == 'data' and not (is_dict and OLD_DATA & old.keys())
        if old not in (None, *read) and not mine:
            text = f'is of MMSeg 0.x, nobody reads it: set {place}.'
            yield key, text, is_dict


@error
def incomplete_loop(cfg: Config, parts: list[Part]) -> Found:
    """A loop of which a part is missing; MMEngine needs all, or none."""
    for split in ('train', 'val', 'test'):
        last = 'optim_wrapper' if split == 'train' else f'{split}_evaluator'
        keys = (f'{split}_dataloader', f'{split}_cfg', last)
        missing = [key for key in keys if cfg.get(key) in (None, [], ())]
        for key in missing if len(missing) < len(keys) else ():
            yield key, f'is missing: set all of {", ".join(keys)}, or none.'


@error
def class_number(cfg: Config, parts: list[Part]) -> Found:
    """Data of more or fewer classes than the head has.

    One class may be left out by ``reduce_zero_label``, twins of classes that
    flip are seen by models that learn from flipped labels only, and a head
    with ``out_channels`` of its own may join classes.
    """
    heads = [p for p in parts if p.path.startswith('model.decode_head')]
    heads = [head for head in heads if head.is_a(BaseDecodeHead, CARHead)]
    for head in heads:
        number, joins = head.cfg.get('num_classes'), 'out_channels' in head.cfg
        for place, classes, unseen in _classes(parts):
            known = (None, len(classes), len(classes) - unseen)
            if number not in known and not joins:
                text = f'{number}, but {place} has {len(classes)} classes'
                yield head.child('num_classes'), f'{text}: {classes}.'
                return


def _classes(parts: list[Part]) -> Iterator[tuple[str, Any, int]]:
    """Every data set with its class names, and how many are never seen."""
    for part in _in(parts, *LOADERS):
        own = getattr(part.kind, 'METAINFO', {})
        info = {**own, **(part.cfg.get('metainfo') or {})}
        steps = [step for step in parts if step.parent is part]
        drawn = any(step.is_a(RandomClassFlips) for step in steps)
        unseen = 0 if drawn else len(info.get('class_flips') or ())
        if any(p.cfg.get('reduce_zero_label') for p in (part, *steps)):
            unseen = 1
        if isinstance(info.get('classes'), (list, tuple)):
            yield part.path, info['classes'], unseen


@error
def idle_variable(cfg: Config, parts: list[Part]) -> Found:
    """A variable that changes nothing, as the base has used its own before.

    The classic: a config sets ``crop_size`` or ``norm_cfg``, but its base has
    put its own value into the pipelines and the model already.
    """
    path = Path(str(getattr(cfg, 'filename', '') or ''))
    for name in _unread(path):
        holders = [part for part in parts[1:] if name in part.cfg]
        used = any(part.cfg[name] == cfg.get(name) for part in holders)
        if holders and not used and name not in KEYS:
            old = _inherited(path, name)
            same = [p for p in holders if old in (None, p.cfg[name])]
            places = ', '.join(part.child(name) for part in same[:3])
            if same:
                yield name, f'no line of the config reads it: set {places}.'


def _unread(path: Path) -> list[str]:
    """Names that a file assigns on top of a base, and does not read."""
    text = path.read_text('utf-8') if path.suffix == '.py' else ''
    tree = ast.parse(text)
    read, written = _names(tree, ast.Load), _names(tree, ast.Store)
    has_base = '_base_' in written or 'read_base' in read
    return [name for name in written if name not in read and has_base]


def _names(tree: ast.AST, context: type) -> list[str]:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, context)]


def _inherited(path: Path, name: str) -> Any:
    """What the bases of a file have under a name; None if that is unknown."""
    for base in Config._get_base_files(str(path)):
        file = base if '::' in base else path.parent / base
        cfg = Config.fromfile(file, import_custom_modules=False)
        if name in cfg:
            return cfg[name]
    return None


@error
def idle_parameter_setting(cfg: Config, parts: list[Part]) -> Found:
    """A setting of ``custom_keys`` that no optimiser reads."""
    by_path = {part.path: part for part in parts}
    for part in parts:
        wrapper, _, rest = part.path.partition('.paramwise_cfg.custom_keys.')
        optimizer = by_path.get(f'{wrapper}.optimizer')
        own = wrapper in by_path and by_path[wrapper].cfg.get('constructor')
        if rest and optimizer and optimizer.kind and not own:
            hints = arguments_of(optimizer.kind).hints
            for key in part.cfg.keys() - {'lr_mult', 'decay_mult', *hints}:
                yield part.child(key), 'nobody reads it.'


@error
def wrong_scoring(cfg: Config, parts: list[Part]) -> Found:
    """A validation by a loop for tests, the other way round, or endless."""
    loops = {'val_cfg': TestLoop, 'test_cfg': ValLoop}
    for part in _in(parts, *SCORED, *loops):
        if part.is_a(loops.get(part.section, InfiniteSampler)):
            yield part.child('type'), 'does not score every image once.'


@warning
def no_sampler(cfg: Config, parts: list[Part]) -> Found:
    """A loader without sampler, or a switch that a sampler leaves idle."""
    for part in parts:
        sampled = part.cfg.get('sampler') or part.cfg.get('batch_sampler')
        if part.path in LOADERS and bool(sampled) is ('shuffle' in part.cfg):
            yield part.child('sampler'), 'one decides: sampler or shuffle.'


@warning
def unknown_scope(cfg: Config, parts: list[Part]) -> Found:
    """A default scope that no package has: MMEngine goes on without it."""
    scope = cfg.get('default_scope') or ROOT.scope
    if scope not in (ROOT.scope, *ROOT.children):
        yield 'default_scope', f'{scope!r} is none of {[*ROOT.children]}.'


@warning
def scored_in_part(cfg: Config, parts: list[Part]) -> Found:
    """Images, or annotators, that a validation or test leaves out."""
    for part in _in(parts, *SCORED):
        if part.path in SCORED and part.cfg.get('drop_last'):
            yield part.child('drop_last'), 'the last images are not scored.'
        if part.is_a(LoadMultiAnnotations) and setting(part, 'draw'):
            yield part.child('draw'), 'one annotator is drawn: set draw=False.'


@warning
def unlabelled_id(cfg: Config, parts: list[Part]) -> Found:
    """Parts that take other pixels for unlabelled than the model does."""
    heads = [part for part in parts if part.path == 'model.decode_head']
    expected = setting(heads[0], 'ignore_index') if heads else None
    for part in _in(parts, *LOADERS, *EVALUATORS, 'model'):
        pads = part.key == 'data_preprocessor'
        # A crop asks for it only where it looks at the share of a class.
        free = part.section == 'model' or setting(part, 'cat_max_ratio') == 1
        key = 'seg_pad_val' if pads else 'ignore_index'
        found = setting(part, key) if pads or not free else expected
        if expected is not None and found not in (None, expected):
            yield part.child(key), f'{found}, but {expected} in the model.'


@warning
def strange_padding(cfg: Config, parts: list[Part]) -> Found:
    """Padding in testing by a value that crops of the training never show.

    Networks draw a false strip of classes along such a border.
    """
    steps = [part for part in parts if part.section == 'train_dataloader']
    crops = any(step.is_a(RandomCrop) for step in steps)
    pads = [setting(s, 'padding_mode') for s in steps if s.is_a(Pad)]
    if not crops or 'constant' in pads:
        return
    for part in parts:
        ours = part.is_a(StochasticDataPreProcessor, SegDataPreProcessor)
        if ours and part.parent and part.parent.is_a(StochasticSegmentor):
            value, test = part.cfg.get('pad_val'), part.cfg.get('test_cfg')
            if value is not None and test:
                text = f'{value}: leave it out, then images repeat their edge.'
                yield part.child('pad_val'), text


@warning
def cropped_black_box(cfg: Config, parts: list[Part]) -> Found:
    """A black box that sees crops in training and whole images else.

    Its predictions near the borders of crops are not those that F meets in
    testing.
    """
    steps = [part for part in parts if part.section == 'train_dataloader']
    crops = [step for step in steps if step.is_a(RandomCrop, CenterCropAll)]
    if crops and not any(step.is_a(LoadBlackBoxProbs) for step in steps):
        size = setting(crops[0], 'crop_size')
        text = f'sees crops of {size} in training, else whole images: put '
        for part in parts:
            if part.is_a(FrozenBlackBox):
                yield part.path, f'{text}LoadBlackBoxProbs before the crop.'


@warning
def different_meaning(cfg: Config, parts: list[Part]) -> Found:
    """Splits in which an id or a pixel value means something else."""
    first: dict[Any, tuple[Part, Any]] = {}
    for part in _in(parts, *LOADERS):
        info = part.cfg.get('metainfo') or {}
        steps = [step for step in parts if step.parent is part]
        names = info.get('classes') or ()
        said = {
            'label_map': part.cfg.get('label_map'),
            'metainfo.classes': names if isinstance(names, dict) else [*names],
            'pipeline': [step.cfg for step in steps if step.is_a(*UNITS)],
        }
        for key, value in said.items() if part.is_a(BaseDataset) else ():
            same = first.setdefault((part.kind, key), (part, value))
            if value != same[1] and part.section != same[0].section:
                yield part.child(key), f'not as in {same[0].child(key)}.'


@warning
def no_epochs(cfg: Config, parts: list[Part]) -> Found:
    """What waits for epochs in a training that counts steps."""
    loops = [part for part in parts if part.path == 'train_cfg']
    by_iter = bool(loops) and loops[0].is_a(IterBasedTrainLoop)
    for part in _in(parts, *HOOKS, 'param_scheduler', 'log_processor'):
        placed = part.cfg.get('begin') == 'phase'
        placed |= bool(part.cfg.get('convert_to_iter_based'))
        if by_iter and setting(part, 'by_epoch') is True and not placed:
            yield part.child('by_epoch'), 'is True, here or by default.'


@error
def idle_schedule(cfg: Config, parts: list[Part]) -> Found:
    """A scheduler that counts from a phase in a training without phases.

    A warning if it has no end, or goes on long after the training.
    """
    phases = _value(cfg, 'train_cfg.phases') or ()
    total = sum(phase.get('iters', 0) for phase in phases)
    total = total or _value(cfg, 'train_cfg.max_iters') or math.inf
    for part in _in(parts, 'param_scheduler'):
        times = {key: part.cfg.get(key) for key in ('begin', 'end')}
        if 'phase' in times.values() and not phases:
            yield part.path, 'train_cfg has no phases to count from.'
        if part.is_a(*SPANNING) and not {'end', 'T_max'} & part.cfg.keys():
            yield part.child('end'), 'is missing: nothing changes.', False
        times['milestones'] = (part.cfg.get('milestones') or [0])[0]
        for key, value in times.items():
            most = total * (1 + (key == 'end'))
            if isinstance(value, int) and value >= most:
                yield part.child(key), f'the training ends at {total}.', False


@warning
def odd_number(cfg: Config, parts: list[Part]) -> Found:
    """A number that is not finite, or is far from a default.

    Far is a negative one where the default of MMSegmentation, MMEngine or
    torch is positive, and one a thousand times as large.
    """
    for part in parts:
        home = part.package in HOME and part.kind is not None
        known = arguments_of(part.kind).defaults if home else {}
        for key, value in part.cfg.items():
            values = value if isinstance(value, (list, tuple)) else [value]
            numbers = [v for v in values if type(v) in (int, float)]
            if not all(map(math.isfinite, numbers)) and key != 'norm_type':
                yield part.child(key), f'{value!r} is not finite.'
            usual = known.get(key)
            off = value == -1 and type(value) is int  # how many switch off
            most = VAST * usual if type(usual) is float and not off else 0
            if most > 0 and not all(0 <= n <= most for n in numbers):
                yield part.child(key), f'{value!r}; the default is {usual}.'


def check_config(cfg: Config) -> list[Finding]:
    """All that is wrong with a config, or looks so; nothing is built.

    Args:
        cfg: The config.

    Returns:
        Errors first.
    """
    found = []
    scope = str(cfg.get('default_scope') or 'mmseg')
    with DefaultScope.overwrite_default_scope(scope):
        parts = list(walk(cfg))
        for rule in RULES:
            try:
                if rule.check.__module__ == signature.__name__:
                    found += [f for part in parts for f in rule(part)]
                elif rule.check.__module__ == __name__:
                    found += rule(cfg, parts)
            except (AttributeError, LookupError, TypeError) as error:
                text = f'{rule.name} cannot read it: {words_of(error)}'
                found.append(Finding('config', text, 'build', False))
    return sorted(found, key=lambda finding: not finding.sure)
