"""MIoU of ESPNet on CamVid's validation frames, by plain PyTorch.

Nothing of mmcar is used, to compare with tools/test.py on configs/camvid.py::

    python projects/espnet/plain.py data/camvid data/espnet/...camvid.pth
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

sys.path.append(str(Path(__file__).resolve().parents[2]))

from projects.espnet.espnet.models import camvid

MEAN, STD = (110.44, 108.52, 105.15), (70.83, 71.32, 68.56)
CLASSES = 11


def load_network(weights: str | Path) -> torch.nn.Module:
    """The network with its authors' weights."""
    net = camvid()
    found = torch.load(weights, map_location='cpu', weights_only=True)
    net.load_state_dict(
        {key.removeprefix('module.'): value for key, value in found.items()}
    )
    return net.eval()


@torch.no_grad()
def decide(net: torch.nn.Module, path: Path) -> np.ndarray:
    """Most probable classes (H, W) of an image, which the net sees larger."""
    rgb = np.asarray(Image.open(path).convert('RGB'), np.float32)
    bgr = torch.from_numpy(rgb[..., ::-1].copy()).permute(2, 0, 1)[None]
    mean, std = (torch.tensor(x)[:, None, None] for x in (MEAN, STD))
    seen = F.interpolate((bgr - mean) / std / 255, (360, 480), mode='bilinear')
    probs = net(seen).softmax(1)
    probs = F.interpolate(
        probs, rgb.shape[:2], mode='bilinear', antialias=True
    )
    return probs[0].argmax(0).numpy()


def mean_iou(net: torch.nn.Module, data: Path) -> float:
    """Mean over classes of the IoU over all frames, in percent."""
    counts = np.zeros((CLASSES, CLASSES))
    for path in sorted((data / 'val').glob('*.png')):
        label = np.asarray(Image.open(data / 'valannot' / path.name))
        known = label < CLASSES
        decision = decide(net, path)
        np.add.at(counts, (label[known], decision[known]), 1)
    both = counts.diagonal()
    return float(np.mean(both / (counts.sum(0) + counts.sum(1) - both))) * 100


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('data', type=Path, help='folder with val, valannot')
    parser.add_argument('weights', type=Path, help='for CamVid')
    args = parser.parse_args()
    print(f'mIoU {mean_iou(load_network(args.weights), args.data):.4f}')
