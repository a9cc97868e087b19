import math
import random

import pytest

from mmcar.apis.report_images import Selection


def choose(scores, limit):
    selection = Selection(len(scores), limit)
    made = []
    for i, score in enumerate(scores):
        selection.offer(i, score, lambda i=i: made.append(i) or f'image {i}')
    return selection.chosen(), made


@pytest.mark.parametrize('limit', [7, 8])
def test_half_are_spread_and_half_are_worst(limit):
    scores = [random.Random(3).random() for _ in range(50)]
    random.Random(4).shuffle(scores)
    scores = [score + i / 1e6 for i, score in enumerate(scores)]
    chosen, _ = choose(scores, limit)
    spread = [round(i * 49 / 3) for i in range(4)]
    others = sorted(set(range(50)) - set(spread), key=lambda i: scores[i])
    assert list(chosen) == sorted(spread + others[-(limit - 4) :])
    assert chosen[49] == 'image 49'


def test_all_of_a_small_set():
    chosen, made = choose([0.3, math.nan, 0.1], 40)
    assert list(chosen) == made == [0, 1, 2]


def test_images_without_a_score_come_last():
    scores = [0.0, math.nan, 0.2, math.nan, 0.1, 0.0]
    chosen, _ = choose(scores, 4)
    assert list(chosen) == [0, 2, 4, 5]


def test_none_at_all():
    assert choose([0.1, 0.2], 0) == ({}, [])


def test_few_are_made():
    falling = [1 - i / 1000 for i in range(1000)]
    _, made = choose(falling, 10)
    assert len(made) == 10
