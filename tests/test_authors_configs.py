"""Switches of projects/paper/authors_code.md are where that page says."""

import pytest
from mmengine.config import Config

from mmcar.engine import Schedule
from tests.test_tools.project import ROOT

CAR = ROOT / 'configs' / 'car'


def load(name: str) -> Config:
    return Config.fromfile(CAR / f'{name}.py')


LIDC, CITYSCAPES = 'car_lidc', 'car_deeplabv3_cityscapes24'
BOTH = pytest.mark.parametrize('name', [LIDC, CITYSCAPES])


@BOTH
def test_what_the_paper_says_is_the_default(name):
    cfg = load(name)
    head = cfg.model.decode_head
    assert head.generator.type == 'RefinementUNet'
    assert cfg.model.discriminator.type == 'DCGANDiscriminator'
    (loss,) = cfg.model.loss_samples
    assert loss == dict(type='CalibrationLoss', loss_weight=5.0)
    assert cfg.custom_hooks == [dict(type='R1Hook', weight=10.0)]
    assert 'max_discriminator_accuracy' not in cfg.train_cfg
    assert cfg.model.train_cfg.num_samples == (20 if name == LIDC else 7)
    assert 'calibration_in_train_mode' not in cfg.model.train_cfg
    (step,) = cfg.param_scheduler
    images, batch = (8882, 32) if name == LIDC else (2975, 16)
    assert step.milestones == [pytest.approx(30 * images / batch, abs=5)]
    pipeline = [t.type for t in cfg.train_dataloader.dataset.pipeline]
    assert 'RandomFlip' in pipeline


@BOTH
def test_what_the_authors_code_has_instead(name):
    cfg = load(f'{name}_authors')
    head = cfg.model.decode_head
    assert head.generator.type == 'AuthorsUNet'
    assert head.generator.noise_size == (8 if name == LIDC else 32)
    calibration = {LIDC: 'VGG', CITYSCAPES: 'AuthorsConv'}[name]
    assert head.calibration.type == f'{calibration}Calibration'
    assert cfg.model.discriminator.type == 'AuthorsDiscriminator'
    (loss,) = cfg.model.loss_samples
    assert loss.floor == 'clamp' and loss.count_ignored
    assert loss.loss_weight == 5 and cfg.model.loss_adv.loss_weight == 10
    (r1,) = cfg.custom_hooks
    assert r1 == dict(type='R1Hook', weight=10.0, output='probability')
    assert cfg.train_cfg.max_discriminator_accuracy == 0.85
    assert cfg.model.train_cfg.num_samples == 5
    assert cfg.model.train_cfg.calibration_in_train_mode
    pipeline = [t.type for t in cfg.train_dataloader.dataset.pipeline]
    assert 'RandomFlip' not in pipeline


@pytest.mark.parametrize(('name', 'epoch'), [(LIDC, 277), (CITYSCAPES, 168)])
def test_learning_rates_of_the_authors_code(name, epoch):
    """Iterations per epoch: images // batch, cities held out left out."""
    steps = load(f'{name}_authors').param_scheduler
    epochs = {
        network: [m / epoch for m in step.milestones]
        for network, step in steps.items()
    }
    assert epochs == dict(
        calibration=[250, 500],
        generator=[100, 300, 500],
        discriminator=[30, 300, 500],
    )


def datasets_of(cfg: Config) -> list:
    splits = ('train', 'val', 'test')
    return [cfg[f'{split}_dataloader'].dataset for split in splits]


@pytest.mark.parametrize('authors', ['', '_authors'])
def test_what_f_is_told_by_the_black_box(authors):
    """Probabilities in the paper; decisions in the authors' code."""
    cfg = load(CITYSCAPES + authors)
    for dataset in datasets_of(cfg):
        (form,) = (step.form for step in dataset.pipeline if 'form' in step)
        assert form == ('labels' if authors else 'probs')
    box = cfg.model.decode_head.black_box
    assert box.get('one_hot', False) == bool(authors)


@pytest.mark.parametrize(
    'name',
    [LIDC, f'{LIDC}_60-20-20', f'{LIDC}_authors', 'cvae-gan_beta1_lidc'],
)
def test_lidc_is_cropped_and_scored_as_in_the_paper(name):
    """At the centre, in every split; labels decide nothing."""
    cfg = load(name)
    other = name.endswith('60-20-20')
    for dataset in datasets_of(cfg):
        crops = [t for t in dataset.pipeline if 'Crop' in t.type]
        folder = 'lidc_pickle_60-20-20' if other else 'lidc_crops'
        assert dataset.data_root == f'data/{folder}'
        centre = dict(type='CenterCropAll', crop_size=128)
        assert crops == ([] if other else [centre])  # those are of that size
    assert not other or cfg.model == load(LIDC).model
    ged, hm_iou = cfg.test_evaluator[:2]
    assert ged.num_samples == (16, 50, 100)
    assert hm_iou.num_samples == cfg.val_evaluator[0].num_samples == (16,)
    assert cfg.model.test_cfg.num_samples == 100


def test_cityscapes_of_the_authors_code():
    cfg = load(f'{CITYSCAPES}_authors')
    train, val, test = datasets_of(cfg)
    held_out = ['darmstadt', 'monchengladbach', 'ulm']
    assert train.filter_cfg.without_cities == held_out
    assert val.filter_cfg.cities == held_out
    assert val.data_prefix == train.data_prefix
    assert 'filter_cfg' not in test  # the paper's validation set
    (resize,) = (t for t in train.pipeline if t.type == 'RandomChoiceResize')
    (crop, _) = (t for t in train.pipeline if t.type == 'RandomCrop')
    side = int(0.85 * 256)
    assert crop.crop_size == (side, side)
    shares = [scale[0] / side for scale in resize.scales]
    expected = [0.6, 0.6 + 0.4 / 3, 0.6 + 0.8 / 3, 1]
    assert shares == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize('beta', [0.1, 1, 10])
def test_elbo_baselines_have_no_f(beta):
    cfg = load(f'cvae-gan_beta{beta}_lidc')
    assert cfg.model.decode_head.calibration.type == 'UniformCalibration'
    assert cfg.model.decode_head.generator.reparameterize
    (loss,) = cfg.model.loss_samples
    assert loss.type == 'ELBOLoss' and loss.beta == beta
    assert loss.per_pixel is False
    networks = Schedule(cfg.train_cfg.phases).networks
    assert networks == ('generator', 'discriminator')
    names = {metric.type for metric in cfg.val_evaluator}
    assert names == {'GEDMetric', 'HMIoUMetric'}  # nothing scores F
    assert {metric.type for metric in cfg.test_evaluator} == names


def test_both_cvae_gans_with_l_cal():
    experiments = ROOT / 'projects/cpu_experiments/configs/lidc-shapes'
    lidc, ct = CAR / 'cvae-gan-cal_lidc', experiments / 'ct_cvae-gan-cal'
    for pair in (f'{lidc}_reparameterized', lidc), (ct, f'{ct}_no-gradient'):
        with_, without = (Config.fromfile(f'{p}.py').model for p in pair)
        assert without.decode_head.generator.pop('reparameterize') is False
        assert with_.decode_head.generator.pop('reparameterize', True) is True
        assert with_ == without  # that is all
        assert with_.decode_head.generator.type == 'LatentUNet'
