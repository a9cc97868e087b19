"""Which checkpoint a run goes on from, whatever lies in its folder."""

import random
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from mmcar.engine.checkpoints import (
    NEEDED,
    check_started,
    damage,
    find_resumable_checkpoint,
)
from mmcar.utils.errors import UserError


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
        'best_GED_iter_2000.pth',
        'iter_3000-12345678.pth',
        'iter_4000.pth.part',
        'backbone_2021.pth',
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


def test_other_names_are_found_by_their_template(tmp_path):
    checkpoint(tmp_path, 7).rename(tmp_path / 'step-7.ckpt')
    assert find_resumable_checkpoint(tmp_path) is None
    found = find_resumable_checkpoint(tmp_path, 'step-{}.ckpt')
    assert found.name == 'step-7.ckpt'


def test_weights_alone_cannot_be_resumed_from(tmp_path):
    checkpoint(tmp_path, 1)
    torch.save(dict(state_dict={}), tmp_path / 'iter_2.pth')
    assert "no ['optimizer'" in damage(tmp_path / 'iter_2.pth')
    assert find_resumable_checkpoint(tmp_path).name == 'iter_1.pth'


def test_what_is_no_dict_cannot_be_resumed_from(tmp_path):
    checkpoint(tmp_path, 1)
    torch.save([1], tmp_path / 'iter_2.pth')
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
    with pytest.raises(UserError, match=r'start\.pth.*none of its 2 weights'):
        check_started(runner, dict(state_dict=other))
