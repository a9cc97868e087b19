"""Which training images are held out."""

import pytest
from mmengine.config import Config

from ..benchmark.tasks import TASKS, split


def test_every_fifth_case_is_held_out_with_all_its_images():
    names = [f'case{i // 2:02d}_{i % 2}' for i in range(20)]
    kept, held_out = split(names, r'.*(?=_)')
    assert [names[i] for i in held_out] == [
        'case04_0',
        'case04_1',
        'case09_0',
        'case09_1',
    ]
    assert sorted(kept + held_out) == list(range(20))


def test_neighbours_in_a_video_are_held_out_together():
    kept, held_out = split([f'{i:03d}' for i in range(160)], None)
    assert held_out == [*range(60, 75), *range(135, 150)]
    assert not set(kept) & set(held_out)


@pytest.mark.parametrize('name', TASKS)
def test_views_at_test_are_those_of_training(name):
    task = TASKS[name]
    steps = Config.fromfile(task.config).train_dataloader.dataset.pipeline
    turned = any(step.type == 'RandomRotate' for step in steps)
    flips = {
        step.get('direction', 'horizontal')
        for step in steps
        if step.type == 'RandomFlip'
    }
    assert turned == (task.symmetries == 'square')
    assert flips == {'horizontal'} | ({'vertical'} if turned else set())
