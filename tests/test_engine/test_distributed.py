import socket

import pytest
import torch

from tests.test_engine.runs import (
    finish,
    norm_free,
    run_config,
    start,
    train,
    weights,
)
from tests.toys import toy_config

HOOKS = [
    dict(type='R1Hook', weight=1.0, interval=2),
    dict(type='NetworkEMAHook', momentum=0.1),
]
MODEL = toy_config(
    nonfinite='skip',
    train_cfg=dict(num_samples=3, samples_per_chunk=2),
    **norm_free(),
)


def on_two_ranks(*arguments, **env):
    """Start trainings on two processes, joined by gloo if not told."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    joined = dict(
        launcher='pytorch',
        model_wrapper_cfg=dict(type='NetworkwiseDistributedDataParallel'),
    )
    processes = [
        start(
            *(joined | given for given in arguments),
            RANK=str(rank),
            LOCAL_RANK=str(rank),
            WORLD_SIZE='2',
            MASTER_ADDR='127.0.0.1',
            MASTER_PORT=str(port),
            **env,
        )
        for rank in range(2)
    ]
    return processes


@pytest.fixture(scope='module')
def folders(tmp_path_factory):
    """The same training on two ranks and, with a joint batch, on one.

    Once a loss is not finite on one of the ranks: both must skip the update.
    """
    root = tmp_path_factory.mktemp('distributed')
    poison = dict(type='PoisonHook', at=5)
    processes = on_two_ranks(
        dict(
            work_dir=str(root / 'two'),
            model=MODEL,
            custom_hooks=[*HOOKS, poison | dict(rank=1)],
        )
    )
    for process in processes:
        finish(process)
    loader = run_config(root)['train_dataloader'] | dict(batch_size=4)
    train(
        root / 'one',
        train_dataloader=loader,
        model=MODEL,
        custom_hooks=[*HOOKS, poison],
    )
    return root / 'one', root / 'two'


def test_ranks_stay_bit_identical(folders):
    _, two = folders
    left, right = weights(two, rank=0), weights(two, rank=1)
    assert all(torch.equal(left[key], right[key]) for key in left)


def test_two_ranks_equal_one_process_on_the_joint_batch(folders):
    one, two = (weights(folder) for folder in folders)
    assert one.keys() == two.keys()
    for key in one:  # 40 steps of Adam on sums in another order; see below
        torch.testing.assert_close(one[key], two[key], rtol=0, atol=1e-4)


def test_in_float64_no_rounding_hides_a_difference(tmp_path):
    poison = dict(type='PoisonHook', at=5)
    two = dict(
        work_dir=str(tmp_path / 'two'),
        model=MODEL,
        custom_hooks=[*HOOKS, poison | dict(rank=1)],
    )
    loader = run_config(tmp_path)['train_dataloader'] | dict(batch_size=4)
    one = dict(
        work_dir=str(tmp_path / 'one'),
        model=MODEL,
        custom_hooks=[*HOOKS, poison],
        train_dataloader=loader,
    )
    for process in (*on_two_ranks(two, FLOAT64='1'), start(one, FLOAT64='1')):
        finish(process)
    one, two = weights(tmp_path / 'one'), weights(tmp_path / 'two')
    assert one.keys() == two.keys()
    for key in one:
        assert one[key].dtype in (torch.float64, torch.int64), key
        torch.testing.assert_close(one[key], two[key], rtol=0, atol=1e-10)


def test_checkpoints_do_not_depend_on_the_number_of_processes(folders):
    one, two = (torch.load(f / 'iter_40.pth') for f in folders)
    assert list(one['state_dict']) == list(two['state_dict'])
    assert not any('module' in key for key in two['state_dict'])
    for key, average in one['state_dict'].items():
        torch.testing.assert_close(
            average, two['state_dict'][key], rtol=0, atol=1e-5
        )


def test_resumes_on_two_ranks(tmp_path, folders):
    _, two = folders
    (tmp_path / 'again').mkdir()
    (tmp_path / 'again' / 'iter_30.pth').write_bytes(
        (two / 'iter_30.pth').read_bytes()
    )
    again = on_two_ranks(
        dict(
            work_dir=str(tmp_path / 'again'),
            model=MODEL,
            custom_hooks=HOOKS,
            resume=True,
        )
    )
    for process in again:
        finish(process)
    for rank in range(2):
        left, right = weights(two, rank), weights(tmp_path / 'again', rank)
        assert all(torch.equal(left[key], right[key]) for key in left)


def test_gradients_that_all_ranks_accumulated_survive(tmp_path):
    """A checkpoint in the middle of three batches, half of them rank 1's."""
    whole, again = tmp_path / 'whole', tmp_path / 'again'
    adam = run_config(whole)['optim_wrapper']['calibration']
    settings = dict(
        model=MODEL,
        train_cfg=dict(
            type='AlternatingTrainLoop',
            phases=[dict(iters=30, train=['calibration'])],
        ),
        optim_wrapper=dict(
            constructor='NetworkOptimWrapperConstructor',
            calibration=adam | dict(accumulative_counts=3),
        ),
        param_scheduler=None,
        custom_hooks=[],
    )
    for process in on_two_ranks(settings | dict(work_dir=str(whole))):
        finish(process)
    again.mkdir()
    kept = (whole / 'iter_20.pth').read_bytes()
    (again / 'iter_20.pth').write_bytes(kept)
    resumed = settings | dict(work_dir=str(again), resume=True)
    for process in on_two_ranks(resumed):
        finish(process)
    for rank in range(2):
        left, right = weights(whole, rank), weights(again, rank)
        for key in left:  # the same sum in another order
            torch.testing.assert_close(
                left[key], right[key], rtol=0, atol=1e-5
            )


def with_batch_norm():
    """Batch norm in F and G; no dropout, whose masks differ by rank."""
    head = toy_config()['decode_head']
    for part in ('calibration', 'generator'):
        head[part].update(norm_cfg=dict(type='BN'), dropout=0.0)
    return toy_config(decode_head=head)


def test_statistics_of_an_f_in_train_mode_agree(tmp_path):
    model = with_batch_norm()
    model['train_cfg'] = dict(num_samples=2, calibration_in_train_mode=True)
    for process in on_two_ranks(dict(work_dir=str(tmp_path), model=model)):
        finish(process)
    left, right = weights(tmp_path, rank=0), weights(tmp_path, rank=1)
    assert any('calibration' in key and 'running' in key for key in left)
    assert all(torch.equal(left[key], right[key]) for key in left)


@pytest.fixture(scope='module', params=[None, 'torch'], ids=['BN', 'SyncBN'])
def norm_folders(request, tmp_path_factory):
    """Batch norm on two ranks, and what the config says of it."""
    root = tmp_path_factory.mktemp('batch_norm')
    changes = dict(model=with_batch_norm(), sync_bn=request.param)
    two = dict(work_dir=str(root / 'two'), custom_hooks=HOOKS, **changes)
    for process in on_two_ranks(two):
        finish(process)
    (root / 'again').mkdir()
    checkpoint = (root / 'two' / 'iter_30.pth').read_bytes()
    (root / 'again' / 'iter_30.pth').write_bytes(checkpoint)
    again = two | dict(work_dir=str(root / 'again'), resume=True)
    for process in on_two_ranks(again):
        finish(process)
    return root, request.param


def test_statistics_of_norms_are_the_same_on_all_ranks(norm_folders):
    root, _ = norm_folders
    left, right = weights(root / 'two', 0), weights(root / 'two', 1)
    statistics = [key for key in left if 'running' in key]
    assert len(statistics) >= 12
    for key in left:
        assert torch.equal(left[key], right[key]), key


def test_a_resumed_run_with_batch_norm_is_the_same(norm_folders):
    root, _ = norm_folders
    left, right = weights(root / 'two'), weights(root / 'again')
    for key in left:
        assert torch.equal(left[key], right[key]), key


def test_sync_bn_sees_the_joint_batch(norm_folders, tmp_path):
    root, sync_bn = norm_folders
    loader = run_config(tmp_path)['train_dataloader'] | dict(batch_size=4)
    train(
        tmp_path,
        train_dataloader=loader,
        model=with_batch_norm(),
        custom_hooks=HOOKS,
    )
    one, two = weights(tmp_path), weights(root / 'two')
    assert one.keys() == two.keys()
    far = max((one[key] - two[key]).abs().max() for key in one)
    if sync_bn:
        assert far < 5e-3  # sums in another order, 40 steps of Adam
    else:
        assert far > 2e-2
