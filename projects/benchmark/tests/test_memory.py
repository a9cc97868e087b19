"""A data set in memory gives what files would."""

import numpy as np
import pytest
from mmcv.transforms import BaseTransform
from mmseg.registry import TRANSFORMS

from ..benchmark.memory import KeepInMemory, in_memory

READ = []


@TRANSFORMS.register_module()
class ReadNumbers(BaseTransform):
    """Reads three annotators' maps, and notes that it did."""

    def transform(self, results):
        READ.append(results['img_path'])
        maps = {f'gt_seg_map_{a}': np.full((2, 2), a) for a in range(3)}
        results.update(img=np.zeros((2, 2)), gt_seg_map=maps['gt_seg_map_0'])
        results.update(maps)
        results['seg_fields'] = ['gt_seg_map', *maps]
        return results


@pytest.fixture(autouse=True)
def forget():
    KeepInMemory.known.clear()
    READ.clear()


def test_files_are_read_once_and_annotators_drawn_every_time():
    keep = KeepInMemory([dict(type='ReadNumbers')])
    keep.draws = True
    np.random.seed(0)
    drawn = [
        int(keep(dict(img_path='a'))['gt_seg_map'][0, 0]) for _ in range(40)
    ]
    assert set(drawn) == {0, 1, 2}
    assert READ == ['a']
    keep(dict(img_path='b'))
    assert READ == ['a', 'b']


def test_what_later_steps_do_leaves_no_trace():
    keep = KeepInMemory([dict(type='ReadNumbers')])
    first = keep(dict(img_path='a'))
    first['seg_fields'].append('more')
    first['img'] = None
    again = keep(dict(img_path='a'))
    assert again['img'] is not None and 'more' not in again['seg_fields']


def test_only_the_first_steps_are_kept():
    steps = ['LoadCheckedImage', 'ResizeOriginal', 'RandomFlip', 'Pack']
    pipeline = [dict(type=name) for name in steps]
    kept, *rest = in_memory(pipeline)
    assert kept['transforms'] == pipeline[:2]
    assert rest == pipeline[2:]
