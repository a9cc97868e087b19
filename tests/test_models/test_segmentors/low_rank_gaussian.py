"""A method that is not CAR, as a user would add it: one file.

One network predicts a Gaussian over the logits of the whole image: a mean and
a few directions in which the image as a whole may vary. It is trained on the
Monte-Carlo likelihood of the drawn label.
"""

import math
from typing import NamedTuple

import torch
from mmseg.registry import MODELS
from torch import Tensor, nn

from mmcar.models import StochasticSegmentor


class Gaussian(NamedTuple):
    mean: Tensor  # (B, K, H, W)
    factor: Tensor  # (B, R, K, H, W)


@MODELS.register_module()
class LowRankGaussian(StochasticSegmentor):
    """Logits = mean + factor @ z, with z of length ``rank``."""

    def __init__(self, num_classes, rank=2, train_samples=8, **kwargs):
        super().__init__(num_classes, **kwargs)
        self.rank, self.train_samples = rank, train_samples
        channels = (1 + rank) * num_classes
        self.net = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, channels, 3, padding=1),
        )

    def networks(self):
        return dict(net=self.net)

    def encode(self, inputs, data_samples=None):
        maps = self.net(inputs).unflatten(1, (1 + self.rank, -1))
        return Gaussian(maps[:, 0], maps[:, 1:])

    def noise_shape(self, size):
        return (self.rank,)

    def logits(self, state, z):
        return state.mean + torch.einsum('sbr,brkhw->sbkhw', z, state.factor)

    def sample(self, state, z):
        return self.logits(state, z).softmax(2)

    def log_probs(self, state):
        # A fixed set of noise: the mean over draws, the same every time.
        z = torch.linspace(-2, 2, 9).to(state.mean)[:, None, None]
        z = z.expand(-1, len(state.mean), self.rank)
        return self.sample(state, z).mean(0).log()

    def losses(self, name, batch):
        z = self.draw_noise(
            batch.image, batch.data_samples, self.train_samples, batch.seed
        )
        log_probs = self.logits(self.encode(batch.image), z).log_softmax(2)
        likelihood = (log_probs * batch.real).sum((2, 3, 4))  # (s, B)
        evidence = likelihood.logsumexp(0) - math.log(self.train_samples)
        return dict(
            loss_likelihood=-evidence.mean() / batch.real[0, 0].numel()
        )
