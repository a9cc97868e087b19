import json
from collections import Counter

import numpy as np
import pytest

from mmcar.utils.errors import UserError

from ..scripts import load_script

writing = load_script('dataset_converters/writing.py')


def test_patients_are_dealt_out_evenly():
    splits = writing.split_patients([f'p{i}' for i in range(200)], 3)
    assert Counter(splits.values()) == dict(train=140, val=30, test=30)
    assert len(set(list(splits.values())[:20])) == 3
    splits = writing.split_patients(list(splits), 0, (60, 20, 20))
    assert list(splits.values()).count('val') == 40
    for wrong in ((60, 20, 15), (62, 20, 18), (80, 20), (100, 0, 0)):
        with pytest.raises(UserError, match='add up to 100'):
            writing.split_patients(list(splits), 0, wrong)
    assert splits != writing.split_patients(list(splits), 4)


def test_pairwise_iou_by_hand():
    masks = np.zeros((3, 2, 2), np.uint8)
    masks[0, 0] = 1
    masks[1, 0, 0] = 1
    assert writing.pairwise_iou(masks) == pytest.approx((0.5 + 0 + 0) / 3)
    assert writing.pairwise_iou(masks * 0) == 1


def test_a_folder_keeps_to_its_settings(tmp_path):
    def noted():
        return json.loads((tmp_path / 'settings.json').read_text())

    for number in (5, 9):
        settings = {'seed': 0, 'patients': number}
        writing.claim_folder(tmp_path, settings, grows='patients')
    assert noted()['patients'] == 5  # until all of them are written
    for other in ({'seed': 1, 'patients': 9}, {'seed': 0, 'patients': 4}):
        with pytest.raises(UserError, match='choose another folder'):
            writing.claim_folder(tmp_path, other, grows='patients')
    with pytest.raises(UserError, match='choose another folder'):
        writing.claim_folder(tmp_path, {'seed': 0, 'patients': 9})
    writing.write_settings(tmp_path, {'seed': 0, 'patients': 9})
    writing.claim_folder(tmp_path, {'seed': 0, 'patients': 9})
