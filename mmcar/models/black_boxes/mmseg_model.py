"""Configs and weights of MMSeg's models."""

import copy
import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from mmengine.config import ConfigDict
from mmengine.hub import get_config

from ...compat.configs import read_config
from ...utils.errors import MissingFileError, UserError

# Keys of a black box of which exactly one says what it is.
FORMS = ('segmentor', 'config', 'backbone')


class StockModel(NamedTuple):
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


def find_model(black_box: Mapping) -> StockModel:
    """Find out which model is meant.

    Args:
        black_box: Arguments of :class:`BlackBox`.
    """
    get = black_box.get
    given = [key for key in FORMS if get(key) is not None]
    if len(given) != 1 or bool(get('backbone')) != bool(get('decode_head')):
        raise UserError(
            'A black box is one of `segmentor`, `config`, or `backbone` '
            f'with `decode_head`; got {given or "none of them"}'
            f'{" and decode_head" if get("decode_head") else ""}.'
        )
    segmentor, weights = get('segmentor'), get('checkpoint')
    pipeline = get('test_pipeline')
    if get('config') is not None:
        stock = read_segmentor_config(get('config'), weights == 'pretrained')
        segmentor = stock.model
        pipeline = pipeline or stock.pipeline
        weights = stock.weights or weights
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
    return StockModel(model, list(pipeline) if pipeline else None, weights)


def read_segmentor_config(path: str, zoo_weights: bool = False) -> StockModel:
    """Read the model of an MMSeg config.

    Args:
        path: Config file, or a stock one as ``'mmseg::deeplabv3/...py'``.
        zoo_weights: Also look up the address of its stock weights.
    """
    cfg = read_config(path, key='black_box.config')
    weights = None
    if zoo_weights:
        stock = get_config(path, pretrained=True) if '::' in path else cfg
        weights = stock.get('model_path')
        if weights is None:
            raise UserError(
                "black_box.checkpoint='pretrained' needs a stock config "
                "('mmseg::...') that MMSeg has weights for, but "
                f'black_box.config={path!r}.'
            )
    model = cfg.model
    if model.get('data_preprocessor') is None:
        model.data_preprocessor = cfg.get('data_preprocessor')
    loader = cfg.get('test_dataloader') or {}
    pipeline = loader.get('dataset', {}).get('pipeline')
    return StockModel(model, pipeline or cfg.get('test_pipeline'), weights)


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
    text = json.dumps(
        [found.model.to_dict(), found.pipeline], sort_keys=True, default=str
    )
    name = black_box.get('config') or found.model.type
    return dict(
        config=str(name),
        checkpoint=found.weights,
        model=hashlib.sha256(text.encode()).hexdigest(),
        weights=hash_file(found.weights),
    )


def hash_file(address: str) -> str:
    """A hash of a file's content; an address of the web as it is."""
    if '://' in address:
        return address
    try:
        with open(address, 'rb') as file:
            return hashlib.file_digest(file, 'sha256').hexdigest()
    except OSError as error:
        raise MissingFileError(
            f'black_box.checkpoint={address!r} cannot be read ({error}).'
        ) from error
