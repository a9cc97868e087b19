"""16 samples of an image: ours against plain ways to draw them.

``serial`` is the way of the authors' published code, written anew: a smaller
network that runs as a whole for every sample. ``plain`` is our own network
without the folded decoder, in chunks of 8 samples; ``plain, compiled`` the
same in chunks of one, by torch.compile. ``argmax of all sums``
draws one sample and is scaled to 16. ``whole prediction`` is all that a test
does beside the network: samples, their mean, decision and log-probabilities;
the forward pass of DeepLabV3 with ResNet-50 is timed once.
"""

import argparse
import copy
from pathlib import Path

import torch
import torch.nn.functional as F
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.utils import get_installed_path
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmcar.models import GumbelSampler, RefinementUNet, StochasticSegmentor

from .timing import compare, processor_seconds

SAMPLES = 16
BN = dict(type='BN', requires_grad=True)
CASES = (
    ('LIDC 128x128, 2 classes', 2, (128, 128)),
    ('Cityscapes24 256x512, 24 classes', 24, (256, 512)),
)


class SerialUNet(nn.Module):
    """A U-Net of the size of the published one, with its three noises."""

    def __init__(self, num_classes: int, noise_size: int = 8) -> None:
        super().__init__()
        widths = (32, 64, 128, 256)
        ins = (3 + num_classes, *widths)
        self.down = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(i, o, 3, 2, 1), nn.BatchNorm2d(o), nn.LeakyReLU(0.2)
            )
            for i, o in zip(ins, widths, strict=False)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(i, o, 2, 2)
            for i, o in ((256, 128), (256, 64), (128, 32), (64, 32))
        )
        self.mix = nn.ModuleList(nn.Conv2d(c, c, 1) for c in (128, 64, 32))
        self.noise = nn.ModuleList(
            nn.Linear(noise_size, 2 * c) for c in (128, 64, 32)
        )
        self.logits = nn.Conv2d(32, num_classes, 1)

    def forward(self, image: Tensor, probs: Tensor, z: Tensor) -> Tensor:
        """Probabilities (B, K, H, W) for one noise vector per image."""
        levels = [torch.cat((image, probs), dim=1)]
        for block in self.down:
            levels.append(block(levels[-1]))
        x, skips = levels[-1], levels[-2:0:-1]
        for up, mix, noise, skip in zip(
            self.up, self.mix, self.noise, skips, strict=False
        ):
            scale, shift = noise(z)[..., None, None].chunk(2, dim=1)
            x = F.leaky_relu(mix((up(x) + shift) * scale), 0.2)
            x = torch.cat((x, skip), dim=1)
        x = F.leaky_relu(self.up[-1](x), 0.2)
        return self.logits(x).softmax(dim=1)


def inputs(num_classes: int, size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """An image (1, 3, H, W) and a smooth log F (1, K, H, W)."""
    torch.manual_seed(0)
    coarse = 6 * torch.randn(
        1, num_classes, *(-(-side // 32) for side in size)
    )
    logits = F.interpolate(coarse, size, mode='bilinear')
    return torch.randn(1, 3, *size), logits.log_softmax(dim=1)


@torch.no_grad()
def unet_rows(
    case: str, num_classes: int, size: tuple[int, int], repeats: int
) -> list[dict]:
    """Time the trained sampler's network."""
    image, log_probs = inputs(num_classes, size)
    ours = RefinementUNet(num_classes).eval()
    serial = SerialUNet(num_classes).eval()
    z = torch.randn(SAMPLES, 1, ours.noise_size)

    compiled = copy.deepcopy(ours)
    compiled.decode = torch.compile(compiled.decode)

    def folded() -> None:
        features = ours.encode(image, log_probs)
        for noise in z.split(1):
            ours.sample(features, noise)

    def plain(network: RefinementUNet = ours, chunk: int = 8) -> None:
        features = network.encode(image, log_probs)
        features = features._replace(
            base=features.base.contiguous(),
            skips=[skip.contiguous() for skip in features.skips],
            folded=None,
        )
        for noise in z.split(chunk):
            network.sample(features, noise)

    def one_by_one() -> None:
        for noise in z:
            serial(image, log_probs.exp(), noise)

    versions = {
        'ours': folded,
        'plain, chunks of 8': plain,
        'plain, compiled': lambda: plain(compiled, 1),
        'serial, smaller network': one_by_one,
    }
    return compare(case, versions, repeats)


class GivenProbabilities(StochasticSegmentor):
    """The training-free sampler on a log F that is there already."""

    def __init__(self, log_probs: Tensor, sampler: GumbelSampler) -> None:
        super().__init__(log_probs.shape[1])
        self.given = log_probs
        self.sampler = sampler

    def encode(self, inputs: Tensor, data_samples: object = None) -> Tensor:
        """Log F."""
        return self.given

    def log_probs(self, state: Tensor) -> Tensor:
        """Log F."""
        return state

    def noise_shape(self, size: tuple[int, int]) -> tuple[int]:
        """One vector per sample."""
        return (self.sampler.noise_size,)

    def sample(self, state: Tensor, z: Tensor) -> Tensor:
        """Probabilities."""
        return self.sampler.sample(state, z)

    def sample_labels(self, state: Tensor, z: Tensor) -> Tensor:
        """Label maps."""
        return self.sampler.sample_labels(state, z)

    @property
    def one_hot(self) -> bool:
        """Whether samples are label maps."""
        return self.sampler.one_hot

    def networks(self) -> dict:
        """None."""
        return {}

    def losses(self, name: str, batch: object) -> dict:
        """None."""
        return {}


def deeplab_seconds(image: Tensor) -> float:
    """Processor seconds of DeepLabV3 with ResNet-50 on an image."""
    init_default_scope('mmseg')
    folder = Path(get_installed_path('mmseg')) / '.mim/configs/_base_'
    cfg = Config.fromfile(folder / 'models/deeplabv3_r50-d8.py').model
    cfg.pretrained = cfg.auxiliary_head = None
    cfg.backbone.norm_cfg = cfg.decode_head.norm_cfg = BN
    model = MODELS.build(cfg).eval()
    return processor_seconds(lambda: model(image, mode='tensor'))


@torch.no_grad()
def free_rows(size: tuple[int, int], repeats: int) -> list[dict]:
    """Time the training-free sampler."""
    classes = 19
    image, log_probs = inputs(classes, size)
    rows = []
    for length in (None, 32.0):
        sampler = GumbelSampler(classes, correlation_length=length)
        z = torch.randn(SAMPLES, 1, sampler.noise_size)
        model = GivenProbabilities(log_probs, sampler)

        def ours(sampler: GumbelSampler = sampler, z: Tensor = z) -> None:
            sampler.sample_labels(log_probs, z)

        def plain(sampler: GumbelSampler = sampler, z: Tensor = z) -> None:
            sampler.decode(log_probs, z[:1]).argmax(dim=2)

        def predict(model: GivenProbabilities = model) -> None:
            model.predict(image)

        kind = 'one number per class' if length is None else 'fields'
        case = f'training-free {size[0]}x{size[1]}, 19 classes, {kind}'
        versions = {
            'ours': ours,
            'whole prediction': predict,
            'argmax of all sums': plain,
        }
        parts = {'argmax of all sums': SAMPLES}
        rows += compare(case, versions, repeats, parts)
    seconds = deeplab_seconds(image)
    times = seconds / rows[0]['seconds']
    case = f'DeepLabV3-R50, {size[0]}x{size[1]}'
    print(f'  {case:44}{"forward pass":34}{seconds:9.3f} s{times:8.2f} x')
    row = dict(version='forward pass', seconds=seconds, times_ours=times)
    return [*rows, dict(case=case, **row)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument(
        '--shrink', type=int, default=1, help='divide image sides by this'
    )


def run(args: argparse.Namespace) -> list[dict]:
    """Measure everything; print and return the rows."""
    rows = []
    for case, classes, (height, width) in CASES:
        size = height // args.shrink, width // args.shrink
        rows += unet_rows(case, classes, size, args.repeats)
    large = 1024 // args.shrink, 2048 // args.shrink
    return rows + free_rows(large, max(args.repeats // 3, 1))
