"""The figures of the paper, and which of our configs belongs to each.

Mean and standard deviation of three runs as (mean, deviation); a deviation of
None where the paper gives none.
"""

from dataclasses import dataclass

Score = tuple[float, float | None]


@dataclass(frozen=True)
class Row:
    """A row of a table of the paper.

    Attributes:
        label: What the paper calls it.
        config: Our config in configs/car, without suffix.
        paper: The paper's scores by name.
        cpu: Row of projects/cpu_experiments that runs the same method on
            other, smaller data; None if there is none.
    """

    label: str
    config: str
    paper: dict[str, Score]
    cpu: str | None = None


def lidc(
    ged_16: Score, ged_50: Score, ged_100: Score, hm_iou: Score
) -> dict[str, Score]:
    """The scores of a row with all of LIDC's columns."""
    values = (ged_16, ged_50, ged_100, hm_iou)
    return dict(zip(LIDC_SCORES, values, strict=True))


LIDC_SCORES = ('GED_16', 'GED_50', 'GED_100', 'HM-IoU_16')
CITYSCAPES_SCORES = ('GED_16', 'ECE', 'offset/mean')

SAMPLES = (
    Row(
        'CAR, M = 20',
        'car_lidc',
        lidc((0.264, 0.002), (0.248, 0.004), (0.243, 0.004), (0.592, 0.005)),
        'lidc-shapes/long/normal',
    ),
    Row(
        'CAR, M = 15',
        'car_lidc_m15',
        lidc((0.271, 0.002), (0.250, 0.001), (0.245, 0.003), (0.593, 0.002)),
    ),
    Row(
        'CAR, M = 10',
        'car_lidc_m10',
        lidc((0.277, 0.003), (0.257, 0.003), (0.250, 0.003), (0.589, 0.007)),
    ),
    Row(
        'CAR, M = 5',
        'car_lidc_m5',
        lidc((0.278, 0.000), (0.257, 0.002), (0.252, 0.001), (0.585, 0.003)),
        'lidc-shapes/control_m5/normal',
    ),
    Row(
        'CAR, M = 1',
        'car_lidc_m1',
        lidc((0.644, 0.033), (0.643, None), (0.643, None), (0.494, 0.013)),
        'lidc-shapes/control_m1/normal',
    ),
)
BASELINES = (
    Row(
        'cGAN + L_ce',
        'cgan-ce_lidc',
        {'GED_16': (0.639, 0.002), 'HM-IoU_16': (0.477, 0.004)},
        'lidc-shapes/control_cgan-ce/normal',
    ),
    Row(
        'cVAE-GAN, beta 0.1',
        'cvae-gan_beta0.1_lidc',
        {'GED_16': (0.577, None), 'HM-IoU_16': (0.484, None)},
    ),
    Row(
        'cVAE-GAN, beta 1',
        'cvae-gan_beta1_lidc',
        {'GED_16': (0.596, None), 'HM-IoU_16': (0.474, None)},
        'lidc-shapes/ct_cvae-gan/normal',
    ),
    Row(
        'cVAE-GAN, beta 10',
        'cvae-gan_beta10_lidc',
        {'GED_16': (0.609, None), 'HM-IoU_16': (0.482, None)},
    ),
    Row(
        'cVAE-GAN + L_cal',
        'cvae-gan-cal_lidc',
        lidc((0.272, 0.006), (0.252, None), (0.246, None), (0.593, 0.003)),
        'lidc-shapes/ct_cvae-gan-cal_no-gradient/normal',
    ),
    Row(
        'CAR, M = 20, split 60:20:20',
        'car_lidc_60-20-20',
        {'GED_100': (0.228, None)},
    ),
)
CITYSCAPES = (
    Row(
        'CAR on a black box with mIoU 0.79',
        'car_deeplabv3_cityscapes24',
        {
            'GED_16': (0.164, 0.01),
            'ECE': (0.0215, None),
            'offset/mean': (0.016, None),
        },
        'camvid/faithful/normal',
    ),
    Row(
        'cGAN + L_ce',
        'cgan-ce_deeplabv3_cityscapes24',
        {'GED_16': (0.632, 0.07)},
        'camvid/cgan-ce/normal',
    ),
    Row(
        'G on the true probabilities',
        'car_groundtruth_cityscapes24',
        {'GED_16': (0.038, 0.00)},
        'camvid/long/normal',
    ),
)
TABLES = {
    'LIDC, number of samples': (LIDC_SCORES, SAMPLES),
    'LIDC, other methods': (LIDC_SCORES, BASELINES),
    'Cityscapes with 24 classes': (CITYSCAPES_SCORES, CITYSCAPES),
}
