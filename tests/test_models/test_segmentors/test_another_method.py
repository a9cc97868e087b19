"""A method that is not CAR trains, resumes, validates and is scored."""

import torch

from tests.test_engine.runs import ADAM, build_runner, weights
from tests.test_engine.runs import train as train_toy
from tests.test_engine.test_distributed import finish, on_two_ranks
from tests.test_models.test_segmentors import low_rank_gaussian
from tests.toys import toy_config

TEST = dict(
    batch_size=3,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(type='RandomMaps'),
)
CONFIG = dict(
    custom_imports=dict(imports=[low_rank_gaussian.__name__]),
    model=dict(
        type='LowRankGaussian',
        num_classes=2,
        data_preprocessor=toy_config()['data_preprocessor'],
        test_cfg=dict(num_samples=4, samples_per_chunk=3),
    ),
    train_cfg=dict(
        type='AlternatingTrainLoop',
        phases=[dict(iters=20, train=['net'])],
        val_interval=10,
    ),
    optim_wrapper=dict(
        constructor='NetworkOptimWrapperConstructor',
        net=dict(optimizer=ADAM),
    ),
    param_scheduler=None,
    custom_hooks=[dict(type='NetworkEMAHook', network='net', momentum=0.1)],
    val_dataloader=TEST,
    val_cfg=dict(type='ValLoop'),
    val_evaluator=[
        dict(type='GEDMetric', num_samples=(4,)),
        dict(type='CalibrationMetric'),
    ],
    test_dataloader=TEST,
    test_cfg=dict(type='TestLoop'),
    test_evaluator=[dict(type='GEDMetric', num_samples=(2, 4))],
)


def test_it_trains_is_validated_resumed_exactly_and_scored(tmp_path):
    train_toy(tmp_path / 'whole', **CONFIG)
    (tmp_path / 'again').mkdir()
    checkpoint = (tmp_path / 'whole' / 'iter_10.pth').read_bytes()
    (tmp_path / 'again' / 'iter_10.pth').write_bytes(checkpoint)
    runner = train_toy(tmp_path / 'again', **CONFIG, resume=True)
    one, other = (weights(tmp_path / name) for name in ('whole', 'again'))
    assert all(torch.equal(one[key], other[key]) for key in one)
    history = runner.message_hub.log_scalars['train/loss_likelihood'].data[0]
    assert history[-1] < 0.9 * history[0]
    scores = build_runner(tmp_path / 'again', **CONFIG).test()
    assert 0 <= scores['GED_4'] < 2
    assert scores['diversity_2'] >= 0


def test_two_ranks_stay_together(tmp_path):
    for process in on_two_ranks(dict(work_dir=str(tmp_path), **CONFIG)):
        finish(process)
    left, right = weights(tmp_path, 0), weights(tmp_path, 1)
    assert all(torch.equal(left[key], right[key]) for key in left)
