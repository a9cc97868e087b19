"""Parts of a user's own package, with negative and zero numbers."""

from mmengine.hooks import Hook
from mmengine.model import BaseModule
from mmengine.optim import DefaultOptimWrapperConstructor
from mmseg.registry import (
    HOOKS,
    MODELS,
    OPTIM_WRAPPER_CONSTRUCTORS,
    TRANSFORMS,
)
from torch import nn

from mmcar.models.generators import RefinementUNet


@MODELS.register_module()
class MarginLoss(nn.Module):
    """A loss whose numbers are negative."""

    loss_name = 'loss_margin'

    def __init__(self, weight=1.0, gamma=2.0, margin=0.2, parts=None):
        super().__init__()
        self.weight, self.gamma, self.margin = weight, gamma, margin

    def forward(self, scores, labels, weight=None, **more):
        return self.weight * scores.mean() * 0


@MODELS.register_module()
class SpreadUNet(RefinementUNet):
    """A generator with a logarithm."""

    def __init__(self, log_sigma=0.0, **settings):
        super().__init__(base_channels=2, depth=1, **settings)
        self.log_sigma = log_sigma


@TRANSFORMS.register_module()
class Hounsfield:
    """Values of a CT."""

    def __init__(self, clip=(0, 1), hu=0, seg_pad_val=255):
        self.clip, self.hu = clip, hu

    def __call__(self, results):
        return results


@MODELS.register_module()
class LayeredBackbone(BaseModule):
    """Gives the image at two places."""

    def __init__(self, out_layers=(0, 1), freeze_at=0, log_sigma=0.0):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, image):
        return [self.conv(image)] * 3


@HOOKS.register_module()
class QuietHook(Hook):
    """Does nothing at no interval."""

    def __init__(self, interval=1, levels=()):
        self.interval = interval


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class DecayingConstructor(DefaultOptimWrapperConstructor):
    """Takes settings of its own."""

    def __init__(self, optim_wrapper_cfg, paramwise_cfg=None):
        own = {'decay_rate', 'num_stages'}
        rest = {k: v for k, v in paramwise_cfg.items() if k not in own}
        super().__init__(optim_wrapper_cfg, rest)
