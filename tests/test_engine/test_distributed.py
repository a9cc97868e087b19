import socket

import pytest
import torch

from tests.test_engine.runs import (
    finish,
    keep_checkpoint,
    norm_free,
    only,
    phased,
    run_config,
    start,
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
    return [
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


@pytest.fixture(scope='module')
def folders(tmp_path_factory):
    """The same training on two ranks and, with a joint batch, on one.

    In 64 bits, so that no rounding hides a difference. Once a loss is not
    finite on one of the ranks: both must skip the update.
    """
    root = tmp_path_factory.mktemp('distributed')
    poison = dict(type='PoisonHook', at=5)
    two = dict(
        work_dir=str(root / 'two'),
        model=MODEL,
        custom_hooks=[*HOOKS, poison | dict(rank=1)],
    )
    loader = run_config(root)['train_dataloader'] | dict(batch_size=4)
    one = two | dict(
        work_dir=str(root / 'one'),
        custom_hooks=[*HOOKS, poison],
        train_dataloader=loader,
    )
    for process in (*on_two_ranks(two, FLOAT64='1'), start(one, FLOAT64='1')):
        finish(process)
    return root / 'one', root / 'two'


def resume_at(number, source, target, **settings):
    """Go on from a checkpoint of another folder, on two ranks."""
    keep_checkpoint(source, number, target)
    float64 = settings.pop('float64', {})
    resumed = dict(work_dir=str(target), resume=True, **settings)
    for process in on_two_ranks(resumed, **float64):
        finish(process)


def assert_same(one, other, atol=0):
    assert one.keys() == other.keys()
    for key in one:
        torch.testing.assert_close(one[key], other[key], rtol=0, atol=atol)


def test_ranks_stay_bit_identical(folders):
    _, two = folders
    assert_same(weights(two, rank=0), weights(two, rank=1))


def test_two_ranks_equal_one_process_on_the_joint_batch(folders):
    one, two = (weights(folder) for folder in folders)
    assert {w.dtype for w in one.values()} <= {torch.float64, torch.int64}
    assert_same(one, two, atol=1e-10)
    one, two = (torch.load(f / 'iter_40.pth')['state_dict'] for f in folders)
    assert list(one) == list(two)
    assert_same(one, two, atol=1e-10)


def test_resumes_on_two_ranks(tmp_path, folders):
    again = tmp_path / 'again'
    settings = dict(model=MODEL, custom_hooks=HOOKS)
    resume_at(30, folders[1], again, float64=dict(FLOAT64='1'), **settings)
    for rank in range(2):
        assert_same(weights(folders[1], rank), weights(again, rank))


def test_gradients_that_all_ranks_accumulated_survive(tmp_path):
    """A checkpoint in the middle of three batches, half of them rank 1's."""
    whole, again = tmp_path / 'whole', tmp_path / 'again'
    settings = dict(
        model=MODEL,
        train_cfg=phased(dict(iters=12, train=['calibration'])),
        optim_wrapper=only('calibration', accumulative_counts=3),
        param_scheduler=None,
        custom_hooks=[],
    )
    for process in on_two_ranks(settings | dict(work_dir=str(whole))):
        finish(process)
    resume_at(10, whole, again, **settings)
    for rank in range(2):  # the same sum in another order
        assert_same(weights(whole, rank), weights(again, rank), atol=1e-5)


def test_batch_norm_counts_its_part_and_its_statistics_agree(tmp_path):
    """In F and G, F's while G learns too; a resumed run is the same.

    No dropout, whose masks differ by rank. SyncBN, which needs GPUs, becomes
    batch norm.
    """
    head = toy_config()['decode_head']
    for part, norm in (('calibration', 'SyncBN'), ('generator', 'BN')):
        head[part].update(norm_cfg=dict(type=norm), dropout=0.0)
    train_cfg = dict(num_samples=2, calibration_in_train_mode=True)
    model = toy_config(decode_head=head, train_cfg=train_cfg)
    settings = dict(model=model, custom_hooks=HOOKS)
    two = tmp_path / 'two'
    for process in on_two_ranks(settings | dict(work_dir=str(two))):
        finish(process)
    left = weights(two, rank=0)
    assert sum('running' in key for key in left) >= 12
    assert_same(left, weights(two, rank=1))
    resume_at(30, two, tmp_path / 'again', **settings)
    assert_same(left, weights(tmp_path / 'again'))
