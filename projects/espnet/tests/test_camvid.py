"""Our pipeline decides as plain PyTorch does, pixel by pixel."""

import numpy as np
import pytest
from mmengine.config import Config
from mmengine.dataset import pseudo_collate
from mmseg.registry import DATASETS, MODELS

from tests.test_tools.project import ROOT

from ..plain import decide, load_network, mean_iou

FRAMES = 2
CHECKPOINT = 'espnet/espnet_p_2_q_8_camvid.pth'


@pytest.fixture
def cfg(real_data, monkeypatch):
    """The config of the samples, with data and weights where they are."""
    if not (real_data / CHECKPOINT).is_file():
        pytest.skip(f'no {real_data / CHECKPOINT}')
    monkeypatch.chdir(ROOT)
    cfg = Config.fromfile('projects/espnet/configs/camvid.py')
    cfg.model.decode_head.black_box.checkpoint = str(real_data / CHECKPOINT)
    cfg.val_dataloader.dataset.data_root = str(real_data / 'camvid')
    return cfg


def test_decisions_of_config_and_plain_network(cfg, real_data):
    net = load_network(real_data / CHECKPOINT)
    dataset = DATASETS.build(cfg.val_dataloader.dataset)
    model = MODELS.build(cfg.model).eval()
    for i in range(FRAMES):
        (sample,) = model.test_step(pseudo_collate([dataset[i]]))
        expected = decide(net, sample.img_path)
        found = sample.pred_sem_seg.data[0].numpy()
        np.testing.assert_array_equal(found, expected)
        assert len(np.unique(expected)) > 5
        labels = sample.gt_sem_seg.data[0].numpy()
        assert (found == labels)[labels != 255].mean() > 0.8


def test_mean_iou_counts_pixels(tmp_path, monkeypatch):
    from PIL import Image

    label = np.array([[0, 0, 1, 11], [1, 1, 0, 11]], np.uint8)
    decided = np.array([[0, 1, 1, 0], [1, 1, 0, 1]])
    for name in ('val', 'valannot'):
        (tmp_path / name).mkdir()
        Image.fromarray(label).save(tmp_path / name / 'a.png')
    module = 'projects.espnet.plain'
    monkeypatch.setattr(f'{module}.decide', lambda net, path: decided)
    monkeypatch.setattr(f'{module}.CLASSES', 2)
    label[label == 11] = 2
    Image.fromarray(label).save(tmp_path / 'valannot' / 'a.png')
    expected = (2 / 3 + 3 / 4) / 2 * 100
    assert mean_iou(None, tmp_path) == pytest.approx(expected)
