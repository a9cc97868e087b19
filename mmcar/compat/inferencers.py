"""MMSeg's inferencer with pipelines that load images by our transform."""

import functools
from typing import Any

LOADER = 'LoadCheckedImage'


def let_inferencers_load_images() -> None:
    """Let ``MMSegInferencer`` run pipelines that begin with our loader.

    It looks for MMSeg's loader by name, to put one in its place that takes
    arrays and paths alike. Ours does that by itself, at full depth.
    """
    from mmcv.transforms import Compose
    from mmseg.apis import MMSegInferencer

    original = MMSegInferencer._init_pipeline

    @functools.wraps(original)
    def init_pipeline(self: Any, cfg: Any) -> Any:
        pipeline = cfg.test_dataloader.dataset.pipeline
        if pipeline and pipeline[0]['type'] == LOADER:
            return Compose(pipeline)
        return original(self, cfg)

    MMSegInferencer._init_pipeline = init_pipeline
