"""Configs and weights of MMSeg's models."""

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mmengine.config import ConfigDict
from mmengine.hub import get_config
from typing_extensions import TypedDict

from ...compat.configs import read_config
from ...utils.errors import MissingFileError, UserError

# Keys of a black box of which exactly one says what it is.
FORMS = ('segmentor', 'config', 'backbone')


class ModelSettings(TypedDict, total=False):
    """What says which model of MMSeg a black box is."""

    segmentor: dict | None
    backbone: dict | None
    decode_head: dict | None
    neck: dict | None
    config: str | None
    checkpoint: str | None
    data_preprocessor: dict | None
    test_pipeline: Sequence[dict] | None


class MMSegModel(NamedTuple):
    """What a model of MMSeg is.

    Attributes:
        model: Config of the segmentor, with its data preprocessor (which
            some configs keep beside the model).
        pipeline: Its test pipeline, if it has one.
        weights: Path or URL of its weights, if any.
    """

    model: ConfigDict
    pipeline: list[dict] | None = None
    weights: str | None = None


def find_model(black_box: Mapping) -> MMSegModel:
    """Find out which model is meant.

    Args:
        black_box: Arguments of :class:`BlackBox`.
    """
    get = black_box.get
    given = [key for key in FORMS if get(key) is not None]
    if len(given) != 1 or bool(get('backbone')) != bool(get('decode_head')):
        raise UserError(
            'black_box takes one of segmentor, config, and backbone with '
            f'decode_head; got {[k for k in black_box if get(k)]}'
        )
    segmentor, weights = get('segmentor'), get('checkpoint')
    pipeline = get('test_pipeline')
    if get('config') is not None:
        own = read_segmentor_config(get('config'), weights == 'pretrained')
        segmentor = own.model
        pipeline = pipeline or own.pipeline
        weights = own.weights or weights
    elif get('backbone') is not None:
        parts = {k: get(k) for k in ('backbone', 'neck', 'decode_head')}
        segmentor = dict(type='EncoderDecoder', **parts)
    model = ConfigDict(copy.deepcopy(segmentor))
    if get('data_preprocessor') is not None:
        model.data_preprocessor = get('data_preprocessor')
    if model.get('auxiliary_head') is not None:
        model.auxiliary_head = None  # only of use in training
    if model.get('test_cfg') is None:
        model.test_cfg = ConfigDict(mode='whole')
    return MMSegModel(model, list(pipeline) if pipeline else None, weights)


def read_segmentor_config(path: str, zoo_weights: bool = False) -> MMSegModel:
    """Read the model of an MMSeg config.

    Args:
        path: Config file, or MMSeg's own as ``'mmseg::deeplabv3/...py'``.
        zoo_weights: Also look up the address of its weights.
    """
    cfg = read_config(path, key='black_box.config')
    weights = None
    if zoo_weights:
        listed = get_config(path, pretrained=True) if '::' in path else cfg
        weights = listed.get('model_path')
        if weights is None:
            raise UserError(
                "black_box.checkpoint='pretrained': MMSeg has no weights "
                f'for black_box.config={path!r}; name a file or URL'
            )
    model = cfg.model
    if model.get('data_preprocessor') is None:
        model.data_preprocessor = cfg.get('data_preprocessor')
    loader = cfg.get('test_dataloader') or {}
    pipeline = loader.get('dataset', {}).get('pipeline')
    return MMSegModel(model, pipeline or cfg.get('test_pipeline'), weights)


def identify(black_box: Mapping) -> dict[str, str]:
    """What B is, so that two are the same if and only if this agrees.

    Args:
        black_box: Config of a :class:`BlackBox`.

    Returns:
        For readers, ``config`` and ``checkpoint``; to compare, the hashes
        ``model`` (architecture, preprocessing, test settings) and
        ``weights`` (content of a file; the address of a download, which
        contains a hash).
    """
    found = find_model(black_box)
    if found.weights is None:
        raise UserError(
            'black_box.checkpoint=None: its predictions cannot be cached '
            'before its weights are known; name a checkpoint.'
        )
    name = black_box.get('config') or found.model.type
    own = [found.model.to_dict(), found.pipeline]
    weights = hash_file(found.weights)
    return identity(str(name), found.weights, own, weights)


def identity(
    config: str, checkpoint: str, settings: Any, weights: str
) -> dict[str, str]:
    """What a black box is, its settings as a hash."""
    text = json.dumps(settings, sort_keys=True, default=str)
    model = hashlib.sha256(text.encode()).hexdigest()
    return dict(
        config=config, checkpoint=checkpoint, model=model, weights=weights
    )


def hash_file(address: str) -> str:
    """A hash of a file's content; an address of the web as it is."""
    if '://' in address:
        return address
    try:
        with open(address, 'rb') as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise MissingFileError(
            f'black_box.checkpoint={address!r} cannot be read ({error}).'
        ) from error
