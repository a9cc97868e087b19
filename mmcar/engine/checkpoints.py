"""Which checkpoint of a run can be trusted."""

import logging
import re
import zipfile
from pathlib import Path

import torch
from mmengine.logging import print_log

FOLDER = 0x10  # in the attributes of a zip archive's entry
NEEDED = ('state_dict', 'optimizer', 'message_hub', 'meta')


def damage(path: Path) -> str | None:
    """Say what is wrong with a checkpoint to resume from, if anything.

    Args:
        path: The file.

    Returns:
        The reason not to use it; None if it is whole.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
            folders = [
                info.filename
                for info in archive.infolist()
                if info.external_attr & FOLDER
            ]
        if broken is not None:
            return f'{broken} inside it is damaged'
        if folders:  # torch would read nothing and give what memory holds
            return f'{folders[0]} inside it is marked as a folder'
        # The archive's own fields have no checksum: reading it tells.
        loaded = torch.load(path, map_location='cpu', weights_only=True)
    except Exception as error:  # a flipped bit can raise anything
        return f'{type(error).__name__}: {error}'.splitlines()[0]
    missing = [key for key in NEEDED if key not in loaded]
    return f'it has no {missing}' if missing else None


def find_resumable_checkpoint(
    folder: str | Path, template: str = 'iter_{}.pth'
) -> Path | None:
    """Find the newest whole checkpoint of a run.

    Args:
        folder: Folder of the checkpoints.
        template: Their name; a number takes the place of the braces. Neither
            ``best_GED_iter_100.pth`` nor weights of something else match.

    Returns:
        Its path, or None if there is none. Damaged files are passed over
        with a warning.
    """
    before, after = (re.escape(part) for part in template.split('{}'))
    name = re.compile(rf'{before}(\d+){after}')
    numbered = [
        (int(match[1]), path)
        for path in Path(folder).glob('*')
        if (match := name.fullmatch(path.name))
    ]
    for _, path in sorted(numbered, reverse=True):
        problem = damage(path)
        if problem is None:
            return path
        print_log(
            f'{path} cannot be resumed from ({problem}): trying the one '
            'before it.',
            logger='current',
            level=logging.WARNING,
        )
    return None
