"""Which key of a config an error comes from, and whose mistake it is."""

import inspect
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from mmengine.config import Config
from mmengine.evaluator import Evaluator
from mmengine.runner import Runner

from ..utils.errors import UserError
from .config_parts import LOADERS, Part, parts_of
from .error_sentences import USER_ERRORS, own_words, system_sentence

# What a runner was about when it failed, by the name of its method.
STAGES = {
    'build_train_loop': 'train_dataloader and train_cfg',
    'build_val_loop': 'val_dataloader and val_evaluator',
    'build_test_loop': 'test_dataloader and test_evaluator',
    'build_optim_wrapper': 'optim_wrapper',
    'build_param_scheduler': 'param_scheduler',
    '_check_scheduler_cfg': 'param_scheduler',
    'build_evaluator': 'val_evaluator or test_evaluator',
    'build_log_processor': 'log_processor',
    'build_logger': 'log_level',
    'build_visualizer': 'visualizer',
    'build_model': 'model',
    'wrap_model': 'model_wrapper_cfg',
    'register_default_hooks': 'default_hooks',
    'register_custom_hooks': 'custom_hooks',
    'set_randomness': 'randomness',
    'setup_env': 'env_cfg',
    'scale_lr': 'auto_scale_lr',
    'load_or_resume': 'load_from or resume',
    '_init_model_weights': 'init_cfg of the model',
}
RUNNER = (Runner.__module__, Evaluator.__module__)
PACKAGE = __name__.split('.')[0]
EVALUATORS = ('val_evaluator', 'test_evaluator')
LIBRARIES = ('torch', 'mmcv', 'mmengine', 'mmseg')
LONG_SETTING = 120  # characters
LOADER_OF = {
    'build_train_loop': 'train_dataloader',
    'build_val_loop': 'val_dataloader',
    'build_test_loop': 'test_dataloader',
}


class ConfigError(UserError):
    """A mistake in a config, by a message that names the key."""


@contextmanager
def naming_keys(cfg: Config, section: str | None = None) -> Iterator[None]:
    """Name the key of the config that an error in here comes from.

    A mistake of the config becomes a `ConfigError`. All else may be a bug and
    passes as it is, with a note that names the key beneath its traceback.

    Args:
        cfg: The config.
        section: Key of the config that is at work, to choose between parts
            of the same class.
    """
    try:
        yield
    except Exception as error:
        named = isinstance(error, ConfigError)
        if named or system_sentence(error) is not None:
            raise
        frames = list(_frames(_inner(error)))
        part = _find(frames, list(parts_of(cfg)), section)
        path = _stage(frames) or section
        if part is not None:
            kind = _name(part.kind or part.cfg.get('type'))
            path = f'{part.path} ({kind})' if kind else part.path
        mistake = is_mistake(error, frames) or _names_setting(error, part)
        if not mistake and not _is_foreign(part):
            _note(error, f'It happened at {path or "the config"}.')
            raise
        text = _describe(error)
        if path is not None and not re.search(
            rf'{re.escape(path)}(?!\w)', text
        ):
            settings = part.cfg if part is not None else cfg.get(path)
            if not isinstance(error, USER_ERRORS):
                # Which of them it is the message says, or nobody.
                path += _list_settings(settings)
            text = f'{path}: {text}'
        raise ConfigError(text) from error


def is_mistake(error: Exception, frames: Sequence[FrameType]) -> bool:
    """Whether an error is about the values of a config.

    It is if it says so. It also is if a class of another package refused what
    it was built with: its arguments come straight from the config, or, where
    one of our parts is being built, through it. What our own code runs into
    else is a bug, even if torch raises it.

    Args:
        error: What was raised.
        frames: The frames that it passed, the innermost first.
    """
    if isinstance(error, USER_ERRORS):
        return True
    built = any(frame.f_code.co_name == 'build_from_cfg' for frame in frames)
    if built and _package(frames[0]) in LIBRARIES:
        return True
    for frame in frames:
        module = frame.f_globals.get('__name__', '')
        if frame.f_code.co_name == 'build_from_cfg' or module in RUNNER:
            return True
        if _package(frame) == PACKAGE:
            return False
    return False


def _package(frame: FrameType) -> str:
    return frame.f_globals.get('__name__', '').split('.')[0]


def _list_settings(settings: Any) -> str:
    """The settings of a part that are not parts themselves."""
    plain = settings if isinstance(settings, Mapping) else {}
    texts = [
        f'{key}={value!r}'
        for key, value in plain.items()
        if key != 'type'
        and not (isinstance(value, Mapping) and 'type' in value)
    ]
    listed = ', '.join(text for text in texts if len(text) < LONG_SETTING)
    return f' with {listed}' if listed else ''


def _note(error: Exception, text: str) -> None:
    """Add a line to the traceback, once; Python 3.10 cannot."""
    if hasattr(error, 'add_note') and not hasattr(error, '__notes__'):
        error.add_note(text)


def _describe(error: Exception) -> str:
    """The sentence of a user error; others with their type and a hint."""
    if isinstance(error, USER_ERRORS):
        return own_words(error)
    inner = _inner(error)
    words = str(inner)
    if isinstance(inner, AssertionError) and not words:
        words = _asserted(inner)
    text = f'{type(error).__name__}: {words}'.strip().rstrip('.')
    return f'{text}. (--debug shows where.)'


def _asserted(error: AssertionError) -> str:
    """What somebody took for granted without a word, by the source."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    frame = next(_frames(error))
    words = re.fullmatch(r'assert (\w+) in (\w+)', last.line or '')
    if words is None or not {words[1], words[2]} <= frame.f_locals.keys():
        return f'{last.line} does not hold'
    value, choices = (frame.f_locals[words[n]] for n in (1, 2))
    return f'{words[1]}={value!r}, expected one of {choices}'


def _inner(error: Exception) -> BaseException:
    """What went wrong in a hook, around which MMEngine puts its own error."""
    inner = error.__context__
    if isinstance(inner, TypeError) and str(error).startswith(f'{inner} in <'):
        return inner
    return error


def _frames(error: BaseException) -> Iterator[FrameType]:
    """The frames that an error passed, the innermost first."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    return reversed(frames)


def _is_foreign(part: Part | None) -> bool:
    """Whether a part is a transform or metric of another package.

    What it cannot do with the user's images and labels is no bug of ours. Nor
    is a net of MMSeg's parts that do not fit each other.
    """
    if part is None or part.kind is None:
        return False
    package = part.kind.__module__.split('.')[0]
    if part.section == 'model':
        return package in LIBRARIES
    return package != PACKAGE and part.section in (*LOADERS, *EVALUATORS)


def _names_setting(error: Exception, part: Part | None) -> bool:
    """Whether a dict of settings has one that its receiver does not know."""
    found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if part is None or found is None or not isinstance(error, TypeError):
        return False
    return any(
        isinstance(value, Mapping) and found[1] in value
        for value in part.cfg.values()
    )


def _find(
    frames: Sequence[FrameType], parts: Sequence[Part], section: str | None
) -> Part | None:
    """The innermost part of the config whose code or building failed."""
    for index, frame in enumerate(frames):
        if frame.f_code.co_name == 'build_dataloader':
            return None
        if (built := _built_in(frame)) is not None:
            found = _made_into(parts, built)
        else:
            kind = type(frame.f_locals.get('self'))
            found = [
                p
                for p in parts
                if inspect.isclass(p.kind) and issubclass(kind, p.kind)
            ]
            found = _being_built(found, frames[index:])
        if found:
            return min(found, key=lambda p: p.section != section)
    return None


def _built_in(frame: FrameType) -> Mapping | None:
    """The config that a frame of a registry builds from, if it is one."""
    cfg = frame.f_locals.get('cfg')
    is_registry = frame.f_code.co_name == 'build_from_cfg'
    return cfg if is_registry and isinstance(cfg, Mapping) else None


def _being_built(parts: list[Part], frames: Sequence[FrameType]) -> list[Part]:
    """Of several parts of a class, those that frames further out build."""
    for frame in frames if len(parts) > 1 else ():
        if (built := _built_in(frame)) is not None:
            return _made_into(parts, built) or parts
    return parts


def _made_into(parts: Sequence[Part], built: Mapping) -> list[Part]:
    """Parts that may be what is built; first what says most of it."""
    found = [part for part in parts if _same(part.cfg, built)]
    return sorted(found, key=lambda part: -len(part.cfg))


def _name(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, '__name__', '')


def _same(own: Mapping, built: Mapping) -> bool:
    """Whether a dict was built from one of the config.

    What is built may have got more keys on its way, and numbers for words.
    """
    if not own or own.get('type') != built.get('type'):
        return False
    return all(
        k in built and (v == 'phase' or _equal(built[k], v))
        for k, v in own.items()
    )


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except (ValueError, RuntimeError):  # arrays
        return False


def _stage(frames: Sequence[FrameType]) -> str | None:
    """The section of the config that the runner was working on."""
    names = [frame.f_code.co_name for frame in frames]
    if 'build_dataloader' in names:
        for name, loader in LOADER_OF.items():
            if name in names:
                return loader
    return next((STAGES[name] for name in names if name in STAGES), None)
