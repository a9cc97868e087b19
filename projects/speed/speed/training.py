"""Steps of training: ours against plain ways to make them.

``channels first`` is the same step with PyTorch's usual order of numbers in
memory, ``loop over samples`` runs the whole generator once per sample, as
code without a shared encoder does, and ``denormals kept`` takes a plain
softmax at temperature 0.05 of samples from a sharp F. What denormal numbers
(below 1e-38) cost on this processor is the ratio in their own rows.
"""

import argparse
from collections.abc import Callable
from functools import partial
from unittest import mock

import torch
from torch import Tensor, nn

from mmcar.models import ConvCalibration, DCGANDiscriminator, RefinementUNet
from mmcar.models.generators import base
from mmcar.models.losses import pixel_divergence
from mmcar.sampling.kernels import convolutions

from .sampling import inputs
from .timing import compare

SAMPLES = 20
RECIPE = dict(
    norm_cfg=None,
    dropout=0.0,
    film='residual',
    upsample='resize',
    gumbel=dict(correlation_length=None),
    temperature=0.05,
    base_channels=16,
)


def channels_first(step: Callable[[], None]) -> Callable[[], None]:
    """The same step in the usual order of memory."""

    def call() -> None:
        with mock.patch.object(convolutions, 'CHANNELS_LAST', ()):
            step()

    return call


def compile_all(*networks: nn.Module) -> None:
    """Let torch.compile take what runs in a step, of a generator by parts."""
    for network in networks:
        parts = [p for p in ('encode', 'decode') if hasattr(network, p)]
        for part in parts or ['forward']:
            setattr(network, part, torch.compile(getattr(network, part)))


def generator_step(
    batch: int,
    samples: int,
    size: tuple[int, int],
    sharpness: float = 1.0,
    last: bool = True,
    compiled: bool = False,
    **generator: object,
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Calls that make a step of G: all samples at once, or one by one."""
    torch.manual_seed(0)
    image, log_probs = inputs(2, size)
    image = image.repeat(batch, 1, 1, 1)
    log_probs = (sharpness * log_probs).log_softmax(1)
    log_probs = log_probs.repeat(batch, 1, 1, 1)
    network = RefinementUNet(2, **generator)
    judge = DCGANDiscriminator(2, base_channels=16).requires_grad_(False)
    if last:
        for net in (network, judge):
            convolutions.lay_out_weights(net)
    if compiled:
        compile_all(network, judge)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-5)
    z = torch.randn(samples, batch, network.noise_size)

    def update(drawn: Tensor) -> None:
        logits = judge(image, drawn.flatten(0, 1))
        loss = pixel_divergence(drawn.mean(0), log_probs.exp()).mean()
        loss = 5 * loss + 10 * torch.nn.functional.softplus(-logits).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def together() -> None:
        update(network(image, log_probs, z))

    def loop() -> None:
        drawn = [network(image, log_probs, one[None]) for one in z]
        update(torch.cat(drawn))

    return together, loop


def keep_denormals(step: Callable[[], None]) -> Callable[[], None]:
    """The same step with a plain softmax of the samples' logits."""

    def softmax(logits: Tensor, dim: int, temperature: float) -> Tensor:
        return (logits / temperature).softmax(dim)

    def call() -> None:
        with mock.patch.object(base, 'bounded_softmax', softmax):
            step()

    return call


def calibration_step(
    batch: int,
    size: tuple[int, int],
    last: bool = True,
    compiled: bool = False,
) -> Callable[[], None]:
    """A call that makes a step of F on top of a black box."""
    torch.manual_seed(0)
    net = ConvCalibration(num_classes=24)
    if last:
        convolutions.lay_out_weights(net)
    if compiled:
        compile_all(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-5)
    image = torch.randn(batch, 3, *size)

    def step() -> None:
        optimizer.zero_grad()
        net(image).log_softmax(1).mean().backward()
        optimizer.step()

    return step


def denormal_rows(repeats: int) -> list[dict]:
    """The same operations on normal and on denormal numbers."""
    torch.manual_seed(0)
    numbers = torch.rand(2**22) + 0.5
    maps = torch.rand(4, 32, 64, 64) + 0.5
    conv = torch.nn.Conv2d(32, 32, 3, padding=1)

    def product(scale: float) -> None:
        for _ in range(8):
            numbers * scale

    def exponential(power: float) -> None:
        for _ in range(8):
            (numbers * power).exp()

    def backward(scale: float) -> None:
        inputs = maps.clone().requires_grad_(True)
        out = conv(inputs)
        out.backward(scale * torch.ones_like(out))
        conv.zero_grad()

    rows = []
    for name, call, normal, denormal in (
        ('products', product, 1e-20, 1e-40),
        ('exponentials', exponential, -9.0, -65.0),  # e^-98 to e^-33
        ("convolution's backward pass", backward, 1e-10, 1e-41),
    ):
        versions = {
            'normal numbers': partial(call, normal),
            'denormal numbers': partial(call, denormal),
        }
        rows += compare(f'denormals: {name}', versions, repeats)
    return rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the subcommand."""
    parser.add_argument('--repeats', type=int, default=3)
    parser.add_argument('--side', type=int, default=128)


def run(args: argparse.Namespace) -> list[dict]:
    """Measure; print and return the rows."""
    size = args.side, args.side
    half = args.side // 2, args.side // 2
    shape = f'{args.side}x{args.side}'
    ours, loop = generator_step(1, SAMPLES, size)
    first, _ = generator_step(1, SAMPLES, size, last=False)
    compiled, _ = generator_step(1, SAMPLES, size, compiled=True)
    rows = compare(
        f'step of G, {shape}, batch 1, {SAMPLES} samples',
        {
            'ours': ours,
            'channels first': channels_first(first),
            'loop over samples': loop,
            'ours, compiled': compiled,
        },
        args.repeats,
    )
    sharp, _ = generator_step(8, 8, half, 10.0, **RECIPE)
    plain, _ = generator_step(8, 8, half, 10.0, last=False, **RECIPE)
    rows += compare(
        f'step of our G on a sharp F, {half[0]}x{half[1]}, batch 8, 8 samples',
        {
            'ours': sharp,
            'denormals kept': keep_denormals(sharp),
            'denormals kept, channels first': channels_first(
                keep_denormals(plain)
            ),
        },
        args.repeats,
    )
    rows += compare(
        f'step of F on a black box, {shape}, batch 2',
        {
            'ours': calibration_step(2, size),
            'channels first': channels_first(
                calibration_step(2, size, last=False)
            ),
            'ours, compiled': calibration_step(2, size, compiled=True),
        },
        args.repeats,
    )
    return rows + denormal_rows(args.repeats)
