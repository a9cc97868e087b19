"""The drawn data set, in the layout in which Cityscapes unpacks."""

from pathlib import Path

from rich.progress import track

from mmcar.datasets.image_files import write_png

from .scenes import draw_scene

# Images of each city; no city of Cityscapes has such a name.
CITIES = {
    'train': {'ahausen': 12, 'bestadt': 12, 'cedorf': 12},
    'val': {'deburg': 12},
}


def frames() -> list[tuple[str, str]]:
    """Split and name of every image, without suffix, in their order."""
    return [
        (split, f'{city}/{city}_{number:06d}_000019')
        for split, cities in CITIES.items()
        for city, count in cities.items()
        for number in range(count)
    ]


def write_dataset(root: Path, seed: int = 0) -> None:
    """Draw what is missing; the same seed draws the same pixels.

    Args:
        root: Folder that gets leftImg8bit/ and gtFine/.
        seed: Of the scenes.
    """
    names = list(enumerate(frames()))
    for index, (split, name) in track(names, description='Scenes'):
        image_file = root / f'leftImg8bit/{split}/{name}_leftImg8bit.png'
        if image_file.is_file():
            continue
        image, labels = draw_scene(seed, index)
        label_file = root / f'gtFine/{split}/{name}_gtFine_labelIds.png'
        write_png(label_file, labels)
        write_png(image_file, image)  # last: an image there is complete
