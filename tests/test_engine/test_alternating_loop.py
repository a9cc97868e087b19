import pytest
import torch
from mmengine.hooks import Hook
from torch import nn

from mmcar.engine import Schedule
from mmcar.engine.alternating_loop import ACCURACY
from mmcar.models.segmentors.training import NonFiniteLossError
from mmcar.utils.errors import UserError
from tests.test_engine.runs import (
    ADAM,
    PHASES,
    build_runner,
    norm_free,
    only,
    phased,
    recorded,
    run_config,
    train,
    weights,
)
from tests.toys import toy_config

RECORD = [dict(type='RecordHook')]

SHORT = phased(
    dict(iters=2, train=['calibration']),
    dict(iters=2, train=['generator', 'discriminator']),
)


def calibration_run(work_dir, iters, batch_size=2, hooks=(), **optim):
    loader = run_config(work_dir)['train_dataloader']
    return train(
        work_dir,
        model=toy_config(**norm_free()),
        train_dataloader=loader | dict(batch_size=batch_size),
        train_cfg=phased(dict(iters=iters, train=['calibration'])),
        optim_wrapper=only('calibration', **optim),
        param_scheduler=None,
        custom_hooks=list(hooks),
    )


def test_exactly_the_scheduled_networks_change(tmp_path):
    runner = train(tmp_path, custom_hooks=RECORD)
    schedule = Schedule(PHASES)
    record = recorded(runner)
    assert [tuple(sorted(c)) for c in record.changed] == [
        tuple(sorted(schedule.active(i))) for i in range(40)
    ]
    # milestones 5 and 10, counted from the phase's start at 16
    rates = [lrs['generator'] for lrs in record.lrs]
    expected = [1e-2] * 21 + [5e-3] * 5 + [2.5e-3] * 14
    assert rates == pytest.approx(expected)
    assert {lrs['calibration'] for lrs in record.lrs} == {1e-2}


def growing(work_dir, iters, scheduler, **changes):
    """Rates of F while it trains; G has its turn after it, or none at all."""
    phases = [
        dict(iters=iters[0], train=['calibration']),
        dict(iters=iters[1], train=['generator']),
    ]
    runner = train(
        work_dir,
        model=toy_config(**norm_free()),
        train_cfg=phased(*phases),
        optim_wrapper=only('calibration', 'generator'),
        param_scheduler=scheduler,
        custom_hooks=RECORD,
        **changes,
    )
    return recorded(runner).lrs


@pytest.mark.parametrize(
    'scheduler',
    [
        dict(type='CosineAnnealingLR', begin='phase', end='phase'),
        dict(type='PolyLR', by_epoch=False),
    ],
)
@pytest.mark.parametrize('longer', [(6, 0), (4, 2)])
def test_rates_follow_a_phase_that_grew(tmp_path, scheduler, longer):
    """A training that is extended, where rates had come down to nothing."""
    growing(tmp_path, (4, 0), [scheduler])
    more = growing(tmp_path, longer, [scheduler], resume=True)
    whole = growing(tmp_path / 'whole', longer, [scheduler])
    assert len(more) == 2
    for found, expected in zip(more, whole[4:], strict=True):
        assert found == pytest.approx(expected)


def test_what_cannot_follow_a_phase_is_refused(tmp_path):
    span = dict(begin='phase', end='phase')
    scheduler = dict(type='CosineAnnealingMomentum', **span)
    growing(tmp_path, (4, 0), [scheduler])
    with pytest.raises(UserError, match='calibration: CosineAnnealingMom'):
        growing(tmp_path, (6, 0), [scheduler], resume=True)


def test_accumulation_equals_a_larger_batch(tmp_path):
    calibration_run(tmp_path / 'small', 8, 2, accumulative_counts=2)
    calibration_run(tmp_path / 'large', 4, 4)
    small, large = weights(tmp_path / 'small'), weights(tmp_path / 'large')
    for key in large:
        torch.testing.assert_close(small[key], large[key], rtol=0, atol=1e-5)


def test_discriminator_rests_while_it_is_too_good(tmp_path):
    phase = dict(iters=12, train=['discriminator'])
    runner = train(
        tmp_path,
        train_cfg=phased(phase, max_discriminator_accuracy=0.6),
        optim_wrapper=only('discriminator'),
        param_scheduler=None,
        custom_hooks=[*RECORD, dict(type='R1Hook')],
    )
    record = recorded(runner)
    accuracies = [log['d_acc'] for log in record.logs]
    changed = [bool(c) for c in record.changed]
    assert changed == [True] + [a <= 0.6 for a in accuracies[:-1]]
    assert set(changed) == {True, False}
    assert runner.message_hub.get_info(ACCURACY) == accuracies[-1]


POISON = dict(type='PoisonHook', at=12)


def test_stops_at_a_loss_that_is_not_finite_or_skips_it(tmp_path):
    whole = tmp_path / 'raise/iter_10.pth'
    with pytest.raises(NonFiniteLossError, match=f'loss_ce .* 13.*{whole}'):
        train(whole.parent, custom_hooks=[POISON])
    runner = train(
        tmp_path,
        model=toy_config(nonfinite='skip'),
        custom_hooks=[POISON, *RECORD],
    )
    record = recorded(runner)
    assert [not c for c in record.changed] == [i == 12 for i in range(40)]
    assert [log['skipped'] for log in record.logs] == [
        float(i == 12) for i in range(40)
    ]
    assert runner.message_hub.get_info('skipped_updates') == 1


def test_refuses_before_any_data_is_read(tmp_path):
    loader = run_config(tmp_path)['train_dataloader']
    loader['dataset'].update(visits=str(tmp_path / 'visits'))
    for changes, message in (
        (dict(train_cfg=phased(dict(iters=1, train=['teacher']))), 'teacher'),
        (dict(optim_wrapper=only('calibration')), "optim_wrapper.*'generator"),
        (dict(optim_wrapper=dict(optimizer=ADAM)), 'NetworkOptimWrapperC'),
    ):
        with pytest.raises(UserError, match=message):
            train(
                tmp_path,
                train_dataloader=loader,
                **dict(param_scheduler=None) | changes,
            )
    assert not (tmp_path / 'visits').exists()


def test_a_hook_that_leaves_eval_mode_does_not_change_training(tmp_path):
    class Evaluates(Hook):
        def after_train_iter(self, runner, *args, **kwargs):
            runner.model.eval()

    finals = []
    for name, hooks in (('plain', ()), ('evaluated', (Evaluates(),))):
        runner = build_runner(tmp_path / name, train_cfg=SHORT)
        for hook in hooks:
            runner.register_hook(hook)
        model = runner.train()
        assert model.training == (not hooks)
        finals.append(model.state_dict())
    for key, value in finals[0].items():
        assert torch.equal(value, finals[1][key]), key


def test_refuses_bad_statistics_of_a_network_that_rests(tmp_path):
    runner = build_runner(
        tmp_path,
        train_cfg=phased(dict(iters=2, train=['generator', 'discriminator'])),
        optim_wrapper=only('generator', 'discriminator'),
        param_scheduler=None,
    )
    for module in runner.model.decode_head.calibration.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_var[0] = float('nan')
    with pytest.raises(UserError, match='calibration has running statistics'):
        runner.train()


def copying_run(work_dir, **copy):
    """F for three iterations, then a copy of it that stands still."""
    model = toy_config(**norm_free())
    head = model['decode_head']
    net = dict(head['calibration'])
    head['generator'] = dict(type='TunedSampler', net=net)
    model |= dict(discriminator=None, loss_samples=dict(type='EnergyLoss'))
    return dict(
        work_dir=work_dir,
        model=model,
        train_cfg=phased(
            dict(iters=3, train=['calibration']),
            dict(iters=2, train=['generator'], copy=copy),
        ),
        optim_wrapper=only('calibration')
        | dict(generator=dict(optimizer=dict(type='SGD', lr=0.0))),
        param_scheduler=None,
        custom_hooks=[],
    )


def test_a_phase_begins_with_the_weights_of_another_part(tmp_path):
    run = copying_run(tmp_path, **{'generator.net': 'calibration'})
    head = train(**run).model.decode_head
    source, copied = head.calibration, head.generator.net
    assert source is not copied
    for name, value in source.state_dict().items():
        assert torch.equal(copied.state_dict()[name], value), name


def test_copies_that_cannot_be_are_refused_at_once(tmp_path):
    for copy, message in (
        ({'generator.nett': 'calibration'}, "'generator.nett'"),
        ({'generator.net': 'critic'}, "'critic'"),
        ({'generator': 'calibration'}, 'do not fit generator'),
    ):
        with pytest.raises(UserError, match=message):
            train(**copying_run(tmp_path, **copy))
