"""A runner that starts quickly: short trainings start often."""

import json
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.logging import MessageHub, MMLogger
from mmengine.runner import Runner
from mmengine.visualization import Visualizer

from mmcar.utils.files import write_json


class PlainConfig(Config):
    """A config that is shown as it is; formatting it takes seconds."""

    @property
    def pretty_text(self) -> str:
        """The config as JSON."""
        return json.dumps(self.to_dict(), default=str)


class QuickRunner(Runner):
    """Writes its config as JSON and does not describe the machine."""

    def dump_config(self) -> None:
        """Write ``config.json`` into the work dir."""
        content = json.loads(self.cfg.pretty_text)
        write_json(Path(self.work_dir) / 'config.json', content)

    def _log_env(self, env_cfg: dict[str, Any]) -> None:
        """Say nothing."""


def build(cfg: Config, folder: Path) -> Runner:
    """A runner of its own in a process that has had others."""
    for known in (MMLogger, MessageHub, Visualizer):
        known._instance_dict.clear()
    content = cfg.to_dict()
    content.update(
        work_dir=str(folder),
        experiment_name=folder.name,
        log_level='INFO',
        visualizer=dict(type='Visualizer', vis_backends=None, name='none'),
    )
    return QuickRunner.from_cfg(PlainConfig(content))
