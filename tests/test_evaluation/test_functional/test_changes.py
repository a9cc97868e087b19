import torch

from mmcar.evaluation import describe_changes
from mmcar.evaluation.functional.changes import find_changes

CLASSES = ('ground', 'square')
LEFT = torch.zeros(16, 16, dtype=torch.uint8)
LEFT[4:12, 1:7] = 1
RIGHT = LEFT.flip(1)


def test_nothing_changes():
    assert find_changes(LEFT, LEFT, 2) == ()
    assert describe_changes((), CLASSES) == 'as the decision'


def test_changes_say_what_where_and_how_much():
    gained, lost = found = find_changes(LEFT, RIGHT, 2)
    assert (gained.before, gained.after, gained.pixels) == (0, 1, 48)
    assert (lost.before, lost.after, lost.pixels) == (1, 0, 48)
    assert gained.share == 48 / 256
    assert gained.centre == (0.5, 12 / 16)
    assert describe_changes(found, CLASSES) == (
        'square instead of ground on 18.8 % of the image (48 pixels, right); '
        'ground instead of square on 18.8 % of the image (48 pixels, left)'
    )


def test_the_largest_come_first():
    decision = torch.zeros(40, 40, dtype=torch.uint8)
    other = decision.clone()
    other[0, 0] = 1
    other[20:, 10:] = 2
    other[:3, 30:] = 3
    found = find_changes(decision, other, 4, limit=2)
    assert [c.after for c in found] == [2, 3]
    assert [c.pixels for c in found] == [600, 30]
    (tiny,) = find_changes(decision, other.clamp(max=1) * (other == 1), 4)
    names = ('a', 'b', 'c', 'd')
    assert describe_changes([tiny], names) == (
        'b instead of a on < 0.1 % of the image (1 pixel, top left)'
    )
