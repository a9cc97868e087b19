"""Data sets in memory: reading files would take half of a small budget."""

import numpy as np
from mmcv.transforms import BaseTransform, Compose
from mmseg.registry import TRANSFORMS

# What comes first in a pipeline and is the same at every visit, but for the
# annotator that is drawn.
READING = (
    'LoadCheckedImage',
    'LoadMultiAnnotations',
    'LesionCenteredCrop',
    'CenterCropAll',
    'ResizeOriginal',
)


def in_memory(pipeline: list[dict]) -> list[dict]:
    """Let a pipeline read every file once."""
    rest = [
        i for i, step in enumerate(pipeline) if step['type'] not in READING
    ]
    first = rest[0]
    kept = dict(type='KeepInMemory', transforms=list(pipeline[:first]))
    return [kept, *pipeline[first:]]


@TRANSFORMS.register_module()
class KeepInMemory(BaseTransform):
    """Reads an image and its labels at the first visit only.

    Of several annotators, one is drawn at every visit, if that is what the
    transforms do.

    Args:
        transforms: Transforms that read and prepare.
    """

    known: dict[tuple[str, str], dict] = {}  # of all data sets of a process

    def __init__(self, transforms: list[dict]) -> None:
        self.key = repr(transforms)
        self.draws = any(
            step['type'] == 'LoadMultiAnnotations' and step.get('draw', True)
            for step in transforms
        )
        self.read = Compose([TRANSFORMS.build(step) for step in transforms])

    def transform(self, results: dict) -> dict:
        """What has been read, as if it were read now."""
        key = self.key, results['img_path']
        if key not in self.known:
            self.known[key] = self.read(results)
        found = dict(self.known[key])
        found['seg_fields'] = list(found['seg_fields'])
        maps = [k for k in found['seg_fields'] if k.startswith('gt_seg_map_')]
        if self.draws and maps:
            drawn = maps[np.random.randint(len(maps))]
            found['gt_seg_map'] = found[drawn].copy()
        return found
