from types import SimpleNamespace

import numpy as np
import torch
from mmengine.structures import PixelData
from mmseg.registry import HOOKS
from mmseg.structures import SegDataSample
from PIL import Image

from mmcar.visualization.hooks import input_image, output_name


def predicted(stochastic=True, key=None):
    torch.manual_seed(0)
    sample = SegDataSample(metainfo=dict(img_path='a/b/val/x.1.png'))
    if key:
        sample.set_metainfo(dict(sample_key=key))
    sample.pred_sem_seg = PixelData(data=torch.randint(2, (1, 6, 8)))
    sample.seg_logits = PixelData(data=torch.randn(2, 6, 8))
    sample.gt_sem_seg = PixelData(data=torch.randint(2, (1, 6, 8)))
    if stochastic:
        maps = torch.randint(2, (3, 6, 8), dtype=torch.uint8)
        sample.pred_samples = PixelData(data=maps)
        sample.sample_probs = PixelData(data=torch.rand(2, 6, 8))
    return sample


def run_hook(hook, sample):
    dataset = SimpleNamespace(metainfo=dict(classes=('a', 'b')))
    loop = SimpleNamespace(dataloader=SimpleNamespace(dataset=dataset))
    image = torch.randint(256, (3, 3, 4), dtype=torch.uint8)
    hook.after_test_iter(
        SimpleNamespace(test_loop=loop), 0, dict(inputs=[image]), [sample]
    )


def test_save_samples(tmp_path):
    hook = HOOKS.build(dict(type='SaveSamplesHook', out_dir=str(tmp_path)))
    sample = predicted()
    run_hook(hook, sample)
    decision = np.array(Image.open(tmp_path / 'decision/val/x.1.png'))
    assert (decision == sample.pred_sem_seg.data[0].numpy()).all()
    folder = tmp_path / 'samples' / 'val' / 'x.1'
    maps = [np.array(Image.open(path)) for path in sorted(folder.iterdir())]
    assert (np.stack(maps) == sample.pred_samples.data.numpy()).all()


def test_draw_samples_of_any_model(tmp_path):
    hook = HOOKS.build(dict(type='DrawSamplesHook', out_dir=str(tmp_path)))
    run_hook(hook, predicted(key='val/ours'))
    run_hook(hook, predicted(stochastic=False, key='val/stock'))
    ours = Image.open(tmp_path / 'val' / 'ours.png')
    stock = Image.open(tmp_path / 'val' / 'stock.png')
    assert ours.width > stock.width


def test_output_name():
    assert str(output_name(predicted())) == 'val/x.1'
    assert str(output_name(predicted(key='only'))) == 'only'


def test_input_image():
    image = torch.tensor([10, 20, 30]).view(3, 1, 1).expand(3, 2, 2)
    assert input_image(image, (4, 6)).shape == (4, 6, 3)
    assert input_image([image], (2, 2))[0, 0].tolist() == [30, 20, 10]
    grey = torch.tensor([[[-1.0, 1.0]]])
    assert input_image(grey, (1, 2)).tolist() == [[[0] * 3, [255] * 3]]
