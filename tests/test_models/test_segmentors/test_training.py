"""Steps of training: who changes, by which gradients, in which memory."""

import copy
import math
import os
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from mmengine.logging import MessageHub
from mmengine.optim import OptimWrapper
from torch import nn

from mmcar.engine import r1_penalty
from mmcar.models.segmentors.training import (
    MAX_SKIPPED,
    NonFiniteLossError,
    TrainBatch,
    check_finite,
    look_at,
)
from mmcar.utils.errors import UserError
from tests.test_models.test_segmentors.test_car_segmentor import with_black_box
from tests.test_tools.project import ROOT
from tests.toys import toy_batch, toy_config, toy_model, toy_optims


def ragged_batch():
    """A 16x16 image with three annotators, a 12x10 one with two."""
    large = toy_batch((16, 16), 1, annotators=3)
    small = toy_batch((12, 10), 1, annotators=2, seed=1)
    small['data_samples'][0].set_metainfo(dict(img_path='toy/small.png'))
    small['data_samples'][0].gt_sem_segs.data[1, 5, 5] = 255
    return {key: large[key] + small[key] for key in large}


def stacked(model, data):
    data = model.data_preprocessor(copy.deepcopy(data), True)
    return TrainBatch(data['inputs'], data['data_samples'], 2)


def test_padding_is_ignored_everywhere():
    batch = stacked(toy_model(), ragged_batch())
    outside = torch.ones(16, 16, dtype=torch.bool)
    outside[:12, :10] = False
    assert (batch.label[1][outside] == 255).all()
    assert torch.equal(batch.mask[:, 0], (batch.label != 255).float())
    assert torch.equal(batch.real.sum(1, keepdim=True), batch.mask)
    assert (batch.labels()[1][:, outside] == 255).all()
    probs, valid = batch.label_distribution()
    assert not valid[1][outside].any()
    assert (probs[1][:, outside] == 0.5).all()


def test_annotators_stay_with_their_image():
    data = ragged_batch()
    maps = [s.gt_sem_segs.data.long() for s in data['data_samples']]
    labels = stacked(toy_model(), data).labels()
    assert labels.shape == (2, 3, 16, 16)
    assert torch.equal(labels[0], maps[0])
    assert torch.equal(labels[1, :2, :12, :10], maps[1])
    assert (labels[1, 2] == 255).all()


def test_where_classes_flip_the_drawn_label_is_the_only_one():
    data = ragged_batch()
    data['data_samples'][0].set_metainfo(dict(class_flips=((0, 1, 0.5),)))
    batch = stacked(toy_model(), data)
    assert torch.equal(batch.labels(), batch.label[:, None])


def test_losses_of_a_padded_batch_by_hand():
    """Every pixel the drawn label knows counts once, and no other."""
    model = toy_model().eval()
    data = model.data_preprocessor(ragged_batch(), True)
    found = model.loss(data['inputs'], data['data_samples'])
    batch = TrainBatch(data['inputs'], data['data_samples'], 2)
    noise = model.draw_noise(batch.image, batch.data_samples, 3, (0,))
    state = model.encode(batch.image)
    log_probs, samples = state.log_probs, model.sample(state, noise)
    mean = samples.mean(0)
    cross_entropy, divergence = [], []
    sizes = (16, 16), (12, 10)
    places = [(b, y, x) for b in (0, 1) for y, x in np.ndindex(sizes[b])]
    for b, y, x in places:
        label = data['data_samples'][b].gt_sem_seg.data[0, y, x]
        if label == 255:
            continue
        cross_entropy.append(-log_probs[b, label, y, x])
        p = mean[b, :, y, x] * (1 - 2e-3) + 1e-3
        q = log_probs[b, :, y, x].exp() * (1 - 2e-3) + 1e-3
        divergence.append((p * (p / q).log()).sum())
    assert len(divergence) == 16 * 16 + 12 * 10 - 2 * 4
    expected = torch.stack(cross_entropy).mean()
    torch.testing.assert_close(found['loss_ce'], expected)
    expected = 5 * torch.stack(divergence).mean()
    torch.testing.assert_close(found['loss_cal'], expected)


GOOD = dict(loss_a=torch.tensor(1.0), loss_b=torch.tensor(2.0))


def check(losses, *options):
    return check_finite(look_at(losses, {})[0], *options)


@pytest.fixture
def hub():
    hub = MessageHub.get_instance('test_guards')
    hub.runtime_info.clear()
    hub.update_info('iter', 41)
    return hub


@pytest.mark.parametrize('value', [float('nan'), float('inf'), -float('inf')])
def test_raise_names_loss_iteration_and_checkpoint(hub, value):
    hub.update_info('last_ckpt', 'runs/iter_40.pth')
    bad = GOOD | dict(loss_c=torch.tensor(value))
    with pytest.raises(NonFiniteLossError, match=r'^loss_c.*42.*iter_40\.pth'):
        check(bad)


def test_many_in_a_row_stop_though_another_network_learns(hub):
    bad = dict(loss=torch.tensor(float('nan')))
    for _ in range(MAX_SKIPPED - 1):
        assert check(GOOD, 'skip', 'calibration')
        assert not check(bad, 'skip', 'generator')
    assert hub.get_info('skipped_updates') == MAX_SKIPPED - 1
    with pytest.raises(NonFiniteLossError, match=f'{MAX_SKIPPED}th'):
        check(bad, 'skip', 'generator')
    for losses in (GOOD, bad, GOOD):  # a good one begins a new row
        assert check(losses, 'skip', 'generator') == (losses is GOOD)


PHASES = [
    *(('calibration',), ('generator',), ('discriminator',)),
    ('generator', 'discriminator'),
    ('calibration', 'generator', 'discriminator'),
]


def some(optims, phase):
    return {name: optims[name] for name in phase}


@pytest.mark.parametrize('phase', PHASES)
def test_only_the_networks_with_an_optimiser_change(phase):
    model = toy_model(decode_head=with_black_box())
    optims = toy_optims(model)
    before = copy.deepcopy(model.state_dict())
    model.train()
    for _ in range(2):
        log = model.train_step(toy_batch(), some(optims, phase))
    assert all(map(math.isfinite, log.values()))
    moved = {
        key.removeprefix('decode_head.').partition('.')[0]
        for key, value in model.state_dict().items()
        if not torch.equal(value, before[key])
    }
    assert moved == set(phase)


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
    head = toy_config()['decode_head']
    head['generator'] = dict(type='TunedSampler', net=head['calibration'])
    model = toy_model(
        decode_head=head,
        discriminator=None,
        loss_samples=[dict(type=name) for name in losses],
        train_cfg=dict(num_samples=3, samples_per_chunk=chunk_size),
    )
    calls = []
    calibration = model.decode_head.calibration
    calibration.register_forward_hook(lambda *_: calls.append(1))
    before = copy.deepcopy(model.decode_head.generator.state_dict())
    optims = toy_optims(model)
    log = model.train_step(toy_batch(), some(optims, ['generator']))
    assert len(calls) == runs
    assert all(map(math.isfinite, log.values()))
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
        model.train_step(toy_batch(), some(optims, names))
        weights.append(model.decode_head.calibration.state_dict())
        for p in model.decode_head.calibration.parameters():
            assert p.grad is None or not p.grad.any()
    alone, together = weights
    assert all(torch.equal(alone[key], together[key]) for key in alone)


@pytest.mark.parametrize('phase', PHASES[1:4])
def test_networks_that_do_not_train_run_without_dropout(phase):
    model = toy_model()
    optims = toy_optims(model)
    ran = defaultdict(set)
    for name, network in model.networks().items():
        for module in network.modules():
            module.register_forward_hook(
                lambda m, i, o, name=name: ran[name].add(m.training)
            )
    model.train()
    model.train_step(toy_batch(), some(optims, phase))
    for name, modes in ran.items():
        assert modes == {name in phase}, name
    assert set(phase) <= ran.keys()


@pytest.mark.parametrize(
    ('generator', 'loss'),
    [
        (dict(gumbel=dict(correlation_length=4.0)), 'CalibrationLoss'),
        (dict(type='LatentUNet'), 'ELBOLoss'),
    ],
)
def test_chunked_training_has_the_same_gradients(generator, loss):
    head = toy_config()['decode_head']
    head['generator'].update(norm_cfg=None, dropout=0.0, **generator)
    grads = []
    for chunk in (None, 2):
        model = toy_model(
            decode_head=head,
            train_cfg=dict(num_samples=5, samples_per_chunk=chunk),
            loss_samples=[dict(type=loss), dict(type='EnergyLoss')],
        )
        data = model.data_preprocessor(toy_batch(), True)
        sum(model.loss(*data.values()).values()).backward()
        weights = model.decode_head.generator.parameters()
        grads.append([p.grad.clone() for p in weights])
    for whole, chunked in zip(*grads, strict=True):
        scale = whole.abs().max().item()
        torch.testing.assert_close(
            whole, chunked, rtol=1e-4, atol=1e-5 * max(scale, 0.1)
        )


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
    log = model.train_step(batch, some(optims, phase))
    assert log['skipped'] == len(phase)
    assert not changed(model, before)


def changed(model, before):
    """Names of all state that is not as it was."""
    now = model.state_dict().items()
    return [
        name for name, value in now if not torch.equal(value, before[name])
    ]


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
    active = some(optims, phase)
    log = model.train_step(batch, active)
    assert all(math.isfinite(v) for k, v in log.items() if 'loss' in k)
    assert log['skipped'] == 1
    assert not changed(model, before)
    model.nonfinite = 'raise'
    with pytest.raises(NonFiniteLossError, match='running statistics not'):
        model.train_step(batch, active)


MEMORY = """
from pathlib import Path
import torch
from mmengine.registry import init_default_scope
import mmcar
from tests.toys import toy_batch, toy_config, toy_model, toy_optims

torch.set_num_threads(1)
init_default_scope('mmseg')
head = toy_config()['decode_head'] | dict(num_classes=12)
head['generator'].update(base_channels=8, norm_cfg=None)
model = toy_model(decode_head=head)
optims = toy_optims(model)
optims = {key: optims[key] for key in ('generator', 'discriminator')}
# Peaks never fall: from the smallest step, which loads libraries, upwards.
for size, number, chunk in (32, 4, 2), (96, 4, 4), (96, 20, 4), (96, 20, 20):
    model.train_cfg.update(num_samples=number, samples_per_chunk=chunk)
    model.train_step(toy_batch((size, size), num_classes=12), optims)
    # Not ru_maxrss, which starts at the size of the process that began this.
    status = Path('/proc/self/status').read_text()
    print(status.split('VmHWM:')[1].split()[0])
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='reads /proc')
def test_memory_of_a_step_does_not_grow_with_samples():
    # Give freed tensors back at once: fragments are not what is measured.
    env = {**os.environ, 'MALLOC_MMAP_THRESHOLD_': '65536'}
    command = [sys.executable, '-c', MEMORY]
    out = subprocess.check_output(command, cwd=ROOT, env=env, text=True)
    start, *peaks = map(int, out.split()[-4:])
    few, chunked, whole = (peak - start for peak in peaks)
    assert chunked <= 1.5 * few
    assert whole > 3 * few  # the measure sees what it should


class AutocastOptim(OptimWrapper):
    """What mixed precision does on a GPU, for the CPU."""

    @contextmanager
    def optim_context(self, model):
        with super().optim_context(model), torch.autocast('cpu'):
            yield


def test_networks_run_in_mixed_and_losses_in_full_precision():
    head = toy_config()['decode_head']
    fields = dict(gumbel=dict(correlation_length=4.0), temperature=0.1)
    head['generator'].update(type='LatentUNet', norm_cfg=None, **fields)
    losses = 'CalibrationLoss', 'EnergyLoss', 'SampleCrossEntropy', 'ELBOLoss'
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
