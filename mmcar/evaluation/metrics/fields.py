"""The fields of one predicted image, in the dict that metrics are handed."""

from torch import Tensor

from ...utils.errors import NonFiniteError, UserError
from ...utils.ids import has_id

PREDICTED = ('seg_logits', 'sample_probs')


def image_name(data_sample: dict) -> str:
    """A name for messages and tables."""
    name = data_sample.get('sample_key') or data_sample.get('img_path')
    return str(name or 'image')


def labels_of(data_sample: dict) -> Tensor:
    """All labels (A, H, W) of an image; one if it has one annotator."""
    for key in ('gt_sem_segs', 'gt_sem_seg'):
        if key in data_sample:
            return data_sample[key]['data']
    raise UserError(
        f"{image_name(data_sample)}: no 'gt_sem_segs' or 'gt_sem_seg'; the "
        'test pipeline has to load annotations'
    )


def base_label_of(data_sample: dict) -> Tensor:
    """The one label (H, W) of an image, before any class flips."""
    labels = labels_of(data_sample)
    if len(labels) != 1:
        raise UserError(
            f'{image_name(data_sample)}: class flips need one base label, got '
            f'labels {tuple(labels.shape)}'
        )
    return labels[0]


def samples_of(data_sample: dict, number: int | None = None) -> Tensor:
    """The sampled label maps (S, H, W) of an image.

    Args:
        data_sample: The image.
        number: How many of them, the first; None is all.
    """
    if 'pred_samples' not in data_sample:
        raise UserError(
            f"{image_name(data_sample)}: no 'pred_samples'; this metric needs "
            'a model that samples, such as CARSegmentor'
        )
    samples = data_sample['pred_samples']['data']
    if number is not None and number > len(samples):
        raise UserError(
            f'num_samples={number} but the model drew {len(samples)} per '
            'image; raise num_samples in the test_cfg of the model'
        )
    return samples[:number]


def weights_of(data_sample: dict, number: int) -> Tensor | None:
    """What each of the first samples counts (number,); None is alike.

    Support points stand for different shares of all draws.
    """
    weights = data_sample.get('sample_weights')
    return None if weights is None else weights[:number]


def count_unlabelled(data_sample: dict, ignore_index: int) -> int:
    """How many labels of an image have no labelled pixel."""
    ignored = has_id(labels_of(data_sample), ignore_index)
    return int(ignored.flatten(1).all(1).sum())


def refuse_nonfinite(data_sample: dict) -> None:
    """Refuse a prediction that is NaN or infinite.

    Its label maps look like any other: ``argmax`` takes the first NaN.
    """
    for key in PREDICTED:
        values = data_sample[key]['data'] if key in data_sample else None
        # A finite sum, the cheapest look at all values, has finite terms.
        if values is None or values.sum().isfinite():
            continue
        # The logarithm of 0 is -inf; a pixel may have it for some classes.
        if not values.amax(0).isfinite().all():
            raise NonFiniteError(
                f"{image_name(data_sample)}: '{key}' holds NaN or infinite "
                'values, which have no class to score. Look at the image for '
                'such values, and at the training log for losses that are '
                'not finite.'
            )
