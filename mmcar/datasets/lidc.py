"""LIDC-IDRI: lung nodules, each outlined by up to four radiologists."""

from collections.abc import Sequence

from mmseg.registry import DATASETS

from .multi_annotator import MultiAnnotatorDataset


@DATASETS.register_module()
class LIDCDataset(MultiAnnotatorDataset):
    """Nodules in CT crops, with the masks of four readers.

    Reads each form of the data alike:

    - the 180x180 crops published with the Hierarchical Probabilistic U-Net,
      ``images/<patient>/<slice>.png`` and ``gt/<patient>/<slice>_l<0-3>.png``
      in three split folders;
    - what ``tools/dataset_converters/lidc_pickle.py`` makes of the pickle of
      the PyTorch Probabilistic U-Net;
    - what ``tools/dataset_converters/lidc_shapes.py`` makes of the readers'
      outlines.

    Masks are 0 and 1, or 0 and 255. The arguments are those of
    :class:`MultiAnnotatorDataset`.
    """

    METAINFO = {
        'classes': ('background', 'nodule'),
        'palette': [[0, 0, 0], [255, 80, 60]],
    }
    # Patients by name, or by the scan's UID where the name is unknown.
    PATIENT_PATTERN = r'LIDC-IDRI-\d+|\d+(\.\d+){5,}'

    @classmethod
    def get_label_map(
        cls, new_classes: Sequence[str] | None = None
    ) -> dict[int, int]:
        """Masks of 0 and 255 mean 0 and 1."""
        return {255: 1}
