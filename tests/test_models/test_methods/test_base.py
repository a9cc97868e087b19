"""What holds for every method: training, resuming, ranks, noise, windows."""

import copy

import pytest
import torch
from mmseg.registry import MODELS

from mmcar.models import GumbelSampler
from tests.test_engine.runs import ADAM, keep_checkpoint, scored, weights
from tests.test_engine.runs import train as train_toy
from tests.test_engine.test_distributed import finish, on_two_ranks
from tests.toys import toy_batch

from .models import METHODS, NETWORKS

NAMES = list(METHODS)
#: The others train by the code of one of these.
LEARNERS = ['ssn', 'prob_unet', 'deep_ensemble', 'flow_ssn', 'ranked_car']


def run_config(name):
    """A short training: of several networks one after the other."""
    networks = NETWORKS[name]
    iters = 20 // len(networks)
    return dict(
        model=METHODS[name],
        train_cfg=dict(
            type='AlternatingTrainLoop',
            phases=[dict(iters=iters, train=[n]) for n in networks],
            val_interval=20,
        ),
        optim_wrapper=dict(
            constructor='NetworkOptimWrapperConstructor',
            **{n: dict(optimizer=ADAM) for n in networks},
        ),
        param_scheduler=None,
        custom_hooks=[],
        **scored(dict(type='GEDMetric', num_samples=(2, 4)), 'val', 'test'),
    )


def build(name, **changes):
    torch.manual_seed(0)
    model = MODELS.build(copy.deepcopy(METHODS[name]) | changes)
    model.init_weights()
    if name == 'prob_unet' or name.startswith('flow'):
        # Untrained, its code, or its start, hardly matters.
        net = model.net['head'] if name == 'prob_unet' else model.net
        for weight in net.parameters():
            torch.nn.init.normal_(weight)
    return model.eval()


@pytest.mark.parametrize('name', NAMES)
def test_it_learns_is_scored_and_resumed_exactly(name, tmp_path):
    cfg = run_config(name)
    # Runs of one name and second would share MMEngine's message hub.
    whole, again = tmp_path / name, tmp_path / f'{name}_again'
    first = train_toy(whole, **cfg)
    keep_checkpoint(whole, 10, again)
    runner = train_toy(again, **cfg, resume=True)
    one, other = weights(whole), weights(again)
    assert all(torch.equal(one[key], other[key]) for key in one)
    logged = first.message_hub.log_scalars
    loss = next(k for k in logged if k.startswith('train/loss_'))
    history = logged[loss].data[0]
    assert history[-1] < history[0]
    assert 0 <= runner.test()['GED_4'] < 2


@pytest.fixture(scope='module')
def ranks(tmp_path_factory):
    """Trainings of all methods on the same two processes."""
    root = tmp_path_factory.mktemp('ranks')
    runs = [dict(run_config(n), work_dir=str(root / n)) for n in LEARNERS]
    for process in on_two_ranks(*runs):
        finish(process)
    return root


@pytest.mark.parametrize('name', LEARNERS)
def test_two_ranks_stay_together(name, ranks):
    """They see different images: only joint gradients keep them equal."""
    left, right = weights(ranks / name, 0), weights(ranks / name, 1)
    start = build(name).state_dict()
    assert start.keys() == left.keys()
    assert all(torch.equal(left[key], right[key]) for key in left)
    assert any((left[key] != start[key]).any() for key in left)


@pytest.mark.parametrize('name', NAMES)
def test_samples_follow_name_and_seed_only(name):
    model = build(name)
    batch, turned = toy_batch(), toy_batch()
    turned = {key: value[::-1] for key, value in turned.items()}
    model.test_cfg.update(num_samples=8)
    first = [s.pred_samples.data for s in model.test_step(batch)]
    torch.manual_seed(5)  # global state is of no matter
    number = 8 if model.joint_samples else 3
    model.test_cfg.update(num_samples=number, samples_per_chunk=1)
    fewer = [s.pred_samples.data for s in model.test_step(turned)][::-1]
    for many, few in zip(first, fewer, strict=True):
        assert torch.equal(many[:number], few)
    assert any((maps[0] != maps[1:]).any() for maps in first)
    model.test_cfg.update(num_samples=8, seed=1)
    others = [s.pred_samples.data for s in model.test_step(toy_batch())]
    assert any((a != b).any() for a, b in zip(first, others, strict=True))


@pytest.mark.parametrize('name', NAMES)
def test_probabilities_are_the_mean_of_samples(name):
    """Of soft samples or of label maps, up to the noise of the draw."""
    if name.startswith('flow'):
        pytest.skip('only as far as the flow has learnt it')
    model = build(name)
    model.test_cfg.update(num_samples=200, samples_per_chunk=None)
    if name == 'mc_dropout':
        model.decode_head.generator = GumbelSampler(2)
    if hasattr(model, 'mean_samples'):
        model.mean_samples = 200
    for sample in model.test_step(toy_batch()):
        mean = sample.seg_logits.data.exp()
        assert mean.sum(0).allclose(torch.ones(16, 16), atol=1e-4)
        difference = (mean - sample.sample_probs.data).abs()
        assert difference.mean() < 0.08


@pytest.mark.parametrize('name', NAMES)
def test_one_window_over_all_changes_nothing(name):
    cfg = dict(mode='slide', crop_size=(16, 16), stride=(8, 8), num_samples=2)
    if name == 'views':
        pytest.skip('its model has the windows')
    whole, windowed = build(name), build(name, test_cfg=cfg)
    state = [m.encode(torch.ones(1, 3, 16, 16)) for m in (whole, windowed)]
    torch.testing.assert_close(
        whole.log_probs(state[0]), windowed.log_probs(state[1])
    )
    state = windowed.encode(torch.ones(1, 3, 24, 40))
    assert windowed.log_probs(state).shape == (1, 2, 24, 40)
