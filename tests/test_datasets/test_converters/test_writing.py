import json

import numpy as np
import pytest

from mmcar.datasets.converters.writing import (
    MultiAnnotatorWriter,
    claim_folder,
    pairwise_iou,
    split_patients,
    write_settings,
)
from mmcar.utils.errors import UserError


def test_patients_are_dealt_out_evenly():
    splits = split_patients([f'p{i}' for i in range(200)], 3)
    assert [
        list(splits.values()).count(s) for s in ('train', 'val', 'test')
    ] == [
        140,
        30,
        30,
    ]
    assert len(set(list(splits.values())[:20])) == 3
    assert splits != split_patients(list(splits), 4)


def test_other_shares():
    names = [f'p{i}' for i in range(40)]
    splits = list(split_patients(names, 0, (60, 20, 20)).values())
    counts = [splits.count(s) for s in ('train', 'val', 'test')]
    assert counts == [24, 8, 8]
    assert set(splits[:20]) == {'train', 'val', 'test'}
    for wrong in ((60, 20, 15), (62, 20, 18), (80, 20), (100, 0, 0)):
        with pytest.raises(UserError, match='add up to 100'):
            split_patients(names, 0, wrong)


def test_pairwise_iou_by_hand():
    masks = np.zeros((3, 2, 2), np.uint8)
    masks[0, 0] = 1
    masks[1, 0, 0] = 1
    assert pairwise_iou(masks) == pytest.approx((0.5 + 0 + 0) / 3)
    assert pairwise_iou(masks * 0) == 1


@pytest.mark.parametrize('stem', ['../evil', '/evil', 'a/../../evil'])
def test_samples_stay_in_the_folder(tmp_path, stem):
    writer = MultiAnnotatorWriter(tmp_path / 'out')
    image = np.zeros((4, 4), np.uint8)
    with pytest.raises(UserError, match='leads out'):
        writer.write('train', stem, image, image[None])
    assert not list(tmp_path.rglob('*.png'))


def test_a_folder_keeps_to_its_settings(tmp_path):
    def noted():
        return json.loads((tmp_path / 'settings.json').read_text())

    claim_folder(tmp_path, {'seed': 0, 'patients': 5}, grows='patients')
    claim_folder(tmp_path, {'seed': 0, 'patients': 9}, grows='patients')
    assert noted()['patients'] == 5  # until all of them are written
    for other in ({'seed': 1, 'patients': 9}, {'seed': 0, 'patients': 4}):
        with pytest.raises(UserError, match='choose another folder'):
            claim_folder(tmp_path, other, grows='patients')
    with pytest.raises(UserError, match='choose another folder'):
        claim_folder(tmp_path, {'seed': 0, 'patients': 9})
    write_settings(tmp_path, {'seed': 0, 'patients': 9})
    claim_folder(tmp_path, {'seed': 0, 'patients': 9})
