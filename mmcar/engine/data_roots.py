"""Where the data of a config lie, so that noise does not depend on it."""

from mmengine.config import Config
from mmseg.registry import DATASETS
from torch import nn

from ..datasets import Cityscapes24Dataset, MultiAnnotatorDataset
from ..models.segmentors import StochasticSegmentor
from .black_box_cache import find_datasets

NAMING_DATASETS = (MultiAnnotatorDataset, Cityscapes24Dataset)
PREDICTED = ('val_dataloader', 'test_dataloader')


def names_images(dataset: dict) -> bool:
    """Whether a data set gives its images a `sample_key`."""
    kind = DATASETS.get(dataset['type']) if 'type' in dataset else None
    return issubclass(kind or object, NAMING_DATASETS)


def data_roots(cfg: Config) -> tuple[str, ...]:
    """Folders of the predicted data sets that do not name their images."""
    roots = {
        str(dataset['data_root'])
        for loader in PREDICTED
        for dataset in find_datasets(cfg.get(loader))
        if dataset.get('data_root') and not names_images(dataset)
    }
    return tuple(sorted(roots))


def tell_roots(model: nn.Module, cfg: Config) -> None:
    """Let all models that sample know them."""
    roots = data_roots(cfg)
    for module in model.modules():
        if isinstance(module, StochasticSegmentor):
            module.data_roots = roots
