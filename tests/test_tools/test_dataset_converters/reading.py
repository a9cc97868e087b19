"""Reading back what a converter wrote."""

from mmcar.datasets import LIDCDataset

ALL = [
    {'type': 'LoadCheckedImage'},
    {'type': 'LoadMultiAnnotations', 'draw': False},
    {'type': 'PackStochasticInputs'},
]


def read_split(root, split):
    return LIDCDataset(
        data_root=str(root),
        data_prefix={
            'img_path': f'images/{split}',
            'seg_map_path': f'annotations/{split}',
        },
        pipeline=ALL,
        test_mode=True,
    )
