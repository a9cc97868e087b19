"""Which checkpoint a run goes on from, whatever lies in its folder."""

import io
import itertools
import multiprocessing
import os
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from mmengine.evaluator import BaseMetric
from mmseg.registry import METRICS
from torch import nn

from mmcar.engine.checkpoints import (
    NEEDED,
    WholeFileBackend,
    check_started,
    damage,
    find_resumable_checkpoint,
)
from mmcar.utils.errors import UserError
from mmcar.utils.files import claim_folder
from tests.test_engine.runs import (
    CHECKPOINT,
    build_runner,
    keep_checkpoint,
    only,
    phased,
    run_config,
    scored,
    train,
    weights,
)
from tests.toys import toy_config


def checkpoint(folder, number):
    path = folder / f'iter_{number}.pth'
    content = {key: dict(a=torch.arange(100.0)) for key in NEEDED}
    torch.save(content, path)
    return path


def test_finds_the_newest_whole_one(tmp_path):
    assert find_resumable_checkpoint(tmp_path) is None
    for number in (900, 1000, 1100):
        checkpoint(tmp_path, number)
    for name in (
        *('best_GED_iter_2000.pth', 'iter_3000-12345678.pth'),
        *('iter_4000.pth.part', 'backbone_2021.pth'),
    ):
        checkpoint(tmp_path, 2000).rename(tmp_path / name)
    assert find_resumable_checkpoint(tmp_path).name == 'iter_1100.pth'
    newest = tmp_path / 'iter_1100.pth'
    content = newest.read_bytes()
    for broken in (b'', content[:100], content[:-10]):
        newest.write_bytes(broken)
        assert find_resumable_checkpoint(tmp_path).name == 'iter_1000.pth'
    newest.write_bytes(content)
    assert damage(newest) is None


def test_what_cannot_be_resumed_from_is_passed_over(tmp_path):
    checkpoint(tmp_path, 7).rename(tmp_path / 'step-7.ckpt')
    assert find_resumable_checkpoint(tmp_path) is None
    found = find_resumable_checkpoint(tmp_path, 'step-{}.ckpt')
    assert found.name == 'step-7.ckpt'
    checkpoint(tmp_path, 1)
    for content in (dict(state_dict={}), [1]):
        torch.save(content, tmp_path / 'iter_2.pth')
        assert find_resumable_checkpoint(tmp_path).name == 'iter_1.pth'


def flip_bits(path, flips, seed=0):
    """Files with one flipped bit each; whether they load as before."""
    content = path.read_bytes()
    before = torch.load(path)
    random_bits = random.Random(seed)
    for _ in range(flips):
        place = random_bits.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        if damage(path) is None:
            # A bit that nobody reads, such as a time stamp.
            after = torch.load(path)
            assert after.keys() == before.keys(), place
            for key in before:
                assert torch.equal(after[key]['a'], before[key]['a']), place
            yield True
        else:
            yield False


@pytest.mark.parametrize(
    'flips', [100, pytest.param(1500, marks=pytest.mark.fault)]
)
def test_a_flipped_bit_is_found_or_harmless(tmp_path, flips):
    outcomes = list(flip_bits(checkpoint(tmp_path, 1), flips))
    assert 0 < sum(outcomes) < flips


def test_an_entry_that_became_a_folder_is_found(tmp_path):
    """One bit of the archive's directory makes torch read nothing."""
    path = checkpoint(tmp_path, 1)
    content = bytearray(path.read_bytes())
    entry = content.rindex(b'PK\x01\x02', 0, content.rindex(b'data/0'))
    content[entry + 38] ^= 0x10
    path.write_bytes(content)
    assert 'marked as a folder' in damage(path)


def test_weights_to_start_from():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    runner = SimpleNamespace(model=model, _load_from='start.pth')
    check_started(runner, dict(state_dict=model.state_dict()))
    some = {f'module.{k}': w for k, w in model[:1].state_dict().items()}
    check_started(runner, some)  # told, not refused
    other = {k: w[:1] for k, w in model.state_dict().items() if k[0] == '0'}
    with pytest.raises(UserError, match=r'start\.pth.*has 0 of'):
        check_started(runner, dict(state_dict=other))


SHORT = phased(
    dict(iters=2, train=['calibration', 'generator', 'discriminator'])
)


@METRICS.register_module()
class ScriptedScore(BaseMetric):
    """Returns given scores one after the other."""

    default_prefix = None

    def __init__(self, scores):
        super().__init__()
        self.scores = list(scores)

    def process(self, data_batch, data_samples):
        self.results.append(0)

    def compute_metrics(self, results):
        return dict(score=self.scores.pop(0))


def names(folder):
    return sorted(path.name for path in folder.glob('*.pth*'))


def test_keeps_the_old_until_the_new_is_whole(tmp_path, monkeypatch):
    """A crash while iter_30 is written leaves 10 and 20 as they were."""
    replace = os.replace

    def crash(source, target):
        if str(target).endswith('iter_30.pth'):
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr('os.replace', crash)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path)
    whole = ['iter_10.pth', 'iter_20.pth']
    assert names(tmp_path) == [*whole, 'iter_30.pth.part']
    last = (tmp_path / 'last_checkpoint').read_text()
    assert last == str(tmp_path / 'iter_20.pth')
    monkeypatch.undo()
    runner = train(tmp_path, resume=True)
    assert runner._load_from == str(tmp_path / 'iter_20.pth')
    assert names(tmp_path) == ['iter_30.pth', 'iter_40.pth']


def test_what_a_kill_left_goes_at_the_next_save(tmp_path, monkeypatch):
    """A crash when iter_30 is whole and iter_10 not yet removed."""

    def crash(self):
        if any('iter_10' in path for path in self.replaced):
            raise KeyboardInterrupt

    monkeypatch.setattr(WholeFileBackend, 'remove_replaced', crash)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path)
    monkeypatch.undo()
    assert names(tmp_path) == ['iter_10.pth', 'iter_20.pth', 'iter_30.pth']
    train(tmp_path, resume=True)
    assert names(tmp_path) == ['iter_30.pth', 'iter_40.pth']


def test_resumes_before_a_damaged_checkpoint(tmp_path):
    train(tmp_path)
    # MMEngine empties it before it writes: a kill may come in between.
    (tmp_path / 'last_checkpoint').write_text('')
    newest = tmp_path / 'iter_40.pth'
    newest.write_bytes(newest.read_bytes()[:-100])
    runner = build_runner(tmp_path, resume=True)
    runner.call_hook('before_run')
    assert runner._load_from == str(tmp_path / 'iter_30.pth')


def test_starts_over_where_nothing_is_whole(tmp_path):
    (tmp_path / 'iter_10.pth').write_bytes(b'x')
    (tmp_path / 'last_checkpoint').write_text(str(tmp_path / 'iter_10.pth'))
    assert train(tmp_path, resume=True).iter == 40


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    """MMEngine would go on with random weights where shapes differ."""
    model, number = toy_config(), 999999
    model['decode_head']['generator'].update(depth=3)
    ema = [dict(type='NetworkEMAHook')]
    short = dict(train_cfg=SHORT, custom_hooks=ema)
    train(tmp_path / 'other', model=model, **short)
    train(tmp_path / 'own', **short)
    stray = tmp_path / 'own' / f'iter_{number}.pth'
    stray.write_bytes((tmp_path / 'other' / 'iter_2.pth').read_bytes())
    with pytest.raises(UserError, match=f'{stray.name} does not fit'):
        train(tmp_path / 'own', resume=True, **short)
    with pytest.raises(UserError, match=f'{stray.name} does not fit'):
        train(tmp_path / 'new', resume=True, load_from=str(stray))


def test_best_checkpoint(tmp_path, monkeypatch):
    present = []
    put = WholeFileBackend.put

    def spy(self, obj, filepath):
        put(self, obj, filepath)
        present.append([n for n in names(tmp_path) if n.startswith('best')])

    monkeypatch.setattr(WholeFileBackend, 'put', spy)
    train(tmp_path, **scripted(tmp_path, [1, 3, 2, 4]))
    best = [f'best_score_iter_{n}.pth' for n in (10, 20, 40)]
    assert names(tmp_path) == [best[2], 'iter_30.pth', 'iter_40.pth']
    # From the first best on there was never a moment without one.
    first = next(i for i, found in enumerate(present) if found)
    assert all(present[first:])
    assert best[:2] in present


def scripted(folder, scores, **changes):
    """Settings of a run that validates every 10 iterations."""
    hooks = run_config(folder)['default_hooks']
    hooks['checkpoint'] = CHECKPOINT | dict(save_best='score', rule='greater')
    return dict(
        train_cfg=run_config(folder)['train_cfg'] | dict(val_interval=10),
        default_hooks=hooks,
        **scored(dict(type='ScriptedScore', scores=scores), 'val'),
        **changes,
    )


def test_a_validation_that_was_cut_off_is_made_up_for(tmp_path, monkeypatch):
    """The kill comes after checkpoint 20, before its validation is over."""
    calls = []

    def compute(self, results):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return dict(score=self.scores.pop(0))

    monkeypatch.setattr(ScriptedScore, 'compute_metrics', compute)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, **scripted(tmp_path, [1]))
    monkeypatch.undo()
    # The scores of 20, 30 and 40: that of 20 is the best of all.
    train(tmp_path, **scripted(tmp_path, [9, 3, 4], resume=True))
    assert 'best_score_iter_20.pth' in names(tmp_path)


@METRICS.register_module()
class RandomScore(ScriptedScore):
    """A score of random numbers, as of a model with dropout in use."""

    def compute_metrics(self, results):
        self.scores.append(np.random.rand() + float(torch.rand(())))
        return dict(score=self.scores[-1])


def test_a_validation_that_is_made_up_for_has_the_same_score(tmp_path):
    whole, again = tmp_path / 'whole', tmp_path / 'again'
    settings = scripted(tmp_path, [])
    settings['val_evaluator']['type'] = 'RandomScore'
    expected = random_scores(train(whole, **settings))
    for number in (30, 40):  # the last one is followed by nothing else
        keep_checkpoint(whole, number, again)
        runner = train(again, **settings, resume=True)
        scores = random_scores(runner)
        assert scores == expected[-len(scores) :]
        assert len(scores) == (2 if number == 30 else 1)


def random_scores(runner):
    return runner.val_loop.evaluator.metrics[0].scores


@pytest.mark.parametrize('skipped', [4, 19])
def test_accumulated_gradients_survive(tmp_path, skipped):
    """Checkpoints at 10, 20, ... lie in the middle of three batches."""
    changes = dict(
        train_cfg=phased(dict(iters=30, train=['calibration'])),
        optim_wrapper=only('calibration', accumulative_counts=3),
        param_scheduler=None,
        model=toy_config(nonfinite='skip'),
        custom_hooks=[dict(type='PoisonHook', at=skipped)],
    )
    train(tmp_path / 'whole', **changes)
    keep_checkpoint(tmp_path / 'whole', 20, tmp_path / 'again')
    train(tmp_path / 'again', **changes, resume=True)
    one, other = (weights(tmp_path / name) for name in ('whole', 'again'))
    assert all(torch.equal(one[key], other[key]) for key in one)


def test_two_trainings_cannot_share_a_work_dir(tmp_path):
    def hold(folder, ready):
        lock = claim_folder(folder)
        ready.set()
        time.sleep(600)
        lock.close()

    fork = multiprocessing.get_context('fork')
    ready = fork.Event()
    other = fork.Process(target=hold, args=(tmp_path, ready), daemon=True)
    other.start()
    assert ready.wait(60)
    with pytest.raises(ValueError, match='in use by another'):
        train(tmp_path, train_cfg=SHORT)
    other.kill()
    other.join()
    train(tmp_path, train_cfg=SHORT)


def write_for_ever(path):
    for number in itertools.count():
        file = io.BytesIO()
        torch.save(dict(number=number, weight=torch.rand(300_000)), file)
        WholeFileBackend().put(file.getvalue(), path)


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / 'iter_1.pth'
    rng = random.Random(0)
    fork = multiprocessing.get_context('fork')
    process = fork.Process(target=write_for_ever, args=(path,), daemon=True)
    process.start()
    while not path.exists():
        time.sleep(0.01)
    # Look at it at many moments, the last of them after the kill.
    for last in [False] * 20 + [True]:
        time.sleep(rng.uniform(0, 0.05))
        if last:
            process.kill()
            process.join()
        assert torch.load(path)['weight'].shape == (300_000,)
