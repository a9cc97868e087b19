"""Steps of training: who changes, by which gradients, in which memory."""

import copy
import math
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from mmengine.optim import OptimWrapper
from torch import nn

from mmcar.engine import r1_penalty
from mmcar.models.segmentors.finite import NonFiniteLossError
from mmcar.utils.errors import UserError
from tests.test_models.test_segmentors.test_car_segmentor import with_black_box
from tests.toys import toy_batch, toy_config, toy_model, toy_optims

ROOT = Path(__file__).parents[3]
PHASES = [
    ('calibration',),
    ('generator',),
    ('discriminator',),
    ('generator', 'discriminator'),
    ('calibration', 'generator', 'discriminator'),
]


@pytest.mark.parametrize('phase', PHASES)
def test_only_the_networks_with_an_optimiser_change(phase):
    model = toy_model(decode_head=with_black_box())
    optims = toy_optims(model)
    before = copy.deepcopy(model.state_dict())
    model.train()
    for _ in range(2):
        log = model.train_step(
            toy_batch(), {name: optims[name] for name in phase}
        )
    assert all(torch.isfinite(torch.as_tensor(v)) for v in log.values())
    owners = {
        'calibration': 'decode_head.calibration.',
        'generator': 'decode_head.generator.',
        'discriminator': 'discriminator.',
    }
    trained = tuple(owners[name] for name in phase)
    for key, value in model.state_dict().items():
        if not key.startswith(trained):
            assert torch.equal(value, before[key]), f'{key} moved'
    for name in phase:
        moved = [
            not torch.equal(value, before[key])
            for key, value in model.state_dict().items()
            if key.startswith(owners[name])
        ]
        assert any(moved), f'{name} did not train'


def test_a_network_without_a_loss_is_refused():
    model = toy_model(loss_samples=[], loss_adv=None, discriminator=None)
    optims = dict(generator=toy_optims(model)['generator'])
    with pytest.raises(UserError, match='generator is trained, but no loss'):
        model.train_step(toy_batch(), optims)


@pytest.mark.parametrize(
    ('losses', 'runs', 'chunk_size'),
    [(['EnergyLoss', 'MatchingLoss'], 0, 2), (['CalibrationLoss'], 1, None)],
)
def test_calibration_net_runs_only_if_needed(losses, runs, chunk_size):
    calibration = toy_config()['decode_head']['calibration']
    head = dict(
        toy_config()['decode_head'],
        generator=dict(type='TunedSampler', net=calibration),
    )
    model = toy_model(
        decode_head=head,
        discriminator=None,
        loss_samples=[dict(type=name) for name in losses],
        train_cfg=dict(num_samples=3, samples_per_chunk=chunk_size),
    )
    calls = []
    model.decode_head.calibration.register_forward_hook(
        lambda *_: calls.append(1)
    )
    before = copy.deepcopy(model.decode_head.generator.state_dict())
    optims = toy_optims(model)
    log = model.train_step(toy_batch(), {'generator': optims['generator']})
    assert len(calls) == runs
    assert all(torch.isfinite(torch.as_tensor(v)) for v in log.values())
    after = model.decode_head.generator.state_dict()
    weight = 'net.layers.0.0.conv.weight'
    assert not torch.equal(before[weight], after[weight])


def test_training_all_three_trains_the_calibration_net_as_alone():
    weights = []
    for names in (PHASES[0], PHASES[-1]):
        model = toy_model()
        optims = toy_optims(model)
        model.train()
        torch.manual_seed(1)  # of dropout
        model.train_step(toy_batch(), {name: optims[name] for name in names})
        weights.append(model.decode_head.calibration.state_dict())
        gradients = [
            p.grad for p in model.decode_head.calibration.parameters()
        ]
        assert all(g is None or not g.any() for g in gradients)
    alone, together = weights
    for key in alone:
        assert torch.equal(alone[key], together[key]), key


@pytest.mark.parametrize('phase', PHASES[1:4])
def test_networks_that_do_not_train_run_without_dropout(phase):
    model = toy_model()
    optims = toy_optims(model)
    ran = {}
    for name, network in model.networks().items():
        for module in network.modules():
            module.register_forward_hook(
                lambda m, i, o, name=name: ran.setdefault(name, set()).add(
                    m.training
                )
            )
    model.train()
    model.train_step(toy_batch(), {name: optims[name] for name in phase})
    for name, modes in ran.items():
        assert modes == {name in phase}, name
    assert set(phase) <= ran.keys()


def test_chunked_training_has_the_same_gradients():
    head = toy_config()['decode_head']
    head['generator'].update(norm_cfg=None, dropout=0.0)
    grads = []
    for chunk in (None, 2):
        model = toy_model(
            decode_head=head,
            train_cfg=dict(num_samples=5, samples_per_chunk=chunk),
            loss_samples=[
                dict(type='CalibrationLoss'),
                dict(type='EnergyLoss'),
            ],
        )
        losses = model.loss(
            *model.data_preprocessor(toy_batch(), True).values()
        )
        sum(losses.values()).backward()
        grads.append(
            [p.grad.clone() for p in model.decode_head.generator.parameters()]
        )
    for whole, chunked in zip(*grads, strict=True):
        torch.testing.assert_close(whole, chunked, rtol=1e-4, atol=1e-6)


def test_soft_labels_train_on_the_mean_of_the_annotators():
    model = toy_model(train_cfg=dict(soft_labels=True, num_samples=1))
    data = model.data_preprocessor(toy_batch(), True)
    batch = model.train_batch(*data.values(), seed=(0,))
    probs, valid = batch.label_distribution()
    found = model.eval().losses('calibration', batch)['loss_ce']
    expected = -(probs * batch.log_probs).sum(1)[valid].mean()
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ('phase', 'train_mode'),
    [(PHASES[0], False), (PHASES[3], True), (PHASES[4], False)],
)
def test_nonfinite_loss_skips_the_step_when_asked(phase, train_mode):
    """All state stays, also that of an F in train mode under G's feet."""
    model = toy_model(
        nonfinite='skip',
        train_cfg=dict(num_samples=3, calibration_in_train_mode=train_mode),
    )
    optims = toy_optims(model)
    model.train()
    before = copy.deepcopy(model.state_dict())
    batch = toy_batch()
    batch['inputs'] = [i.float().fill_(float('nan')) for i in batch['inputs']]
    log = model.train_step(batch, {name: optims[name] for name in phase})
    assert log['skipped'] == len(phase)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name


@pytest.mark.parametrize('phase', [['calibration'], ['generator']])
def test_a_huge_pixel_does_not_make_statistics_infinite(phase):
    """The loss stays finite: batch norm scales the pixel down."""
    model = toy_model(nonfinite='skip')
    optims = toy_optims(model)
    model.train()
    before = copy.deepcopy(model.state_dict())
    batch = toy_batch()
    batch['inputs'] = [image.float() for image in batch['inputs']]
    batch['inputs'][0][0, 3, 3] = 1e30
    active = {name: optims[name] for name in phase}
    log = model.train_step(batch, active)
    assert all(math.isfinite(v) for k, v in log.items() if 'loss' in k)
    assert log['skipped'] == 1
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name
    model.nonfinite = 'raise'
    with pytest.raises(NonFiniteLossError, match='running statistics not'):
        model.train_step(batch, active)


class AutocastOptim(OptimWrapper):
    """What mixed precision does on a GPU, for the CPU."""

    @contextmanager
    def optim_context(self, model):
        with super().optim_context(model), torch.autocast('cpu'):
            yield


@pytest.mark.parametrize(
    'generator',
    [
        dict(
            type='RefinementUNet',
            norm_cfg=None,
            gumbel=dict(correlation_length=4.0),
            temperature=0.1,
        ),
        dict(type='LatentUNet', norm_cfg=None),
    ],
    ids=['gumbel', 'latent'],
)
def test_networks_run_in_mixed_and_losses_in_full_precision(generator):
    head = toy_config()['decode_head']
    head['generator'] = generator | dict(base_channels=4, depth=2)
    losses = ['CalibrationLoss', 'EnergyLoss', 'SampleCrossEntropy']
    if generator['type'] == 'LatentUNet':
        losses.append('ELBOLoss')
    model = toy_model(
        decode_head=head,
        loss_samples=[dict(type=loss) for loss in losses],
        train_cfg=dict(num_samples=4, samples_per_chunk=2),
    )
    model.discriminator_regularizers.append(
        lambda judge, *inputs: dict(loss_r1=r1_penalty(judge, *inputs))
    )
    seen = {name: set() for name in model.networks()}
    for name, network in model.networks().items():
        convs = [m for m in network.modules() if isinstance(m, nn.Conv2d)]
        convs[0].register_forward_hook(
            lambda m, i, o, name=name: seen[name].add(o.dtype)
        )
    optims = {
        name: AutocastOptim(torch.optim.Adam(network.parameters(), lr=1e-3))
        for name, network in model.networks().items()
    }
    model.train()
    logged, compute = {}, model.losses

    def watched(name, batch):
        values = compute(name, batch)
        logged.update(values)
        return values

    model.losses = watched
    # Plain kernels: oneDNN's for bfloat16 are not for every processor.
    with torch.backends.mkldnn.flags(enabled=False):
        log = model.train_step(toy_batch(), optims)
    half = torch.bfloat16
    assert seen['calibration'] == seen['generator'] == {half}
    assert seen['discriminator'] == {half, torch.float32}  # full for R1
    assert logged.keys() == log.keys()
    assert len(log) == len(losses) + 5
    for name, value in logged.items():
        assert value.dtype == torch.float32 and value.isfinite(), name


MEMORY = """
from pathlib import Path

import torch
from mmengine.registry import init_default_scope

import mmcar
from tests.toys import toy_batch, toy_config, toy_model, toy_optims

torch.set_num_threads(1)
init_default_scope('mmseg')
head = toy_config()['decode_head']
head['num_classes'] = 12
head['generator'].update(base_channels=8, norm_cfg=None)
model = toy_model(decode_head=head)
optims = toy_optims(model)
optims = {name: optims[name] for name in ('generator', 'discriminator')}


def peak_after_step(size, samples, chunk):
    model.train_cfg.update(num_samples=samples, samples_per_chunk=chunk)
    model.train_step(toy_batch((size, size), num_classes=12), optims)
    # Not ru_maxrss, which starts at the size of the process that began this.
    status = Path('/proc/self/status').read_text()
    return status.split('VmHWM:')[1].split()[0]


# The first step loads libraries and allocates the optimisers' state. Peaks
# never fall, so the steps go from the smallest to the largest.
steps = (32, 4, 2), (96, 4, None), (96, 20, 4), (96, 20, None)
print(*(peak_after_step(*step) for step in steps))
"""


@pytest.mark.skipif(
    sys.platform != 'linux', reason='reads the peak memory as Linux counts it'
)
def test_memory_of_a_step_does_not_grow_with_samples():
    # Give freed tensors back at once: fragments are not what is measured.
    env = {**os.environ, 'MALLOC_MMAP_THRESHOLD_': '65536'}
    out = subprocess.run(
        [sys.executable, '-c', MEMORY],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=env,
        check=True,
        text=True,
    ).stdout
    start, *peaks = map(int, out.split()[-4:])
    few, chunked, whole = (peak - start for peak in peaks)
    assert chunked <= 1.5 * few
    assert whole > 3 * few  # the measure sees what it should
