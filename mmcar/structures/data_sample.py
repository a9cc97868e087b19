"""What all that is known of an image has in common."""

from collections.abc import Mapping
from typing import Any, Protocol


class HasFields(Protocol):
    """A data sample of MMSegmentation."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return a field or a piece of metainfo."""


DataSample = Mapping | HasFields
"""A data sample, or its form as a dict."""
