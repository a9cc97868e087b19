"""Fixtures of the project's tests."""

from .toy_tools import commands

__all__ = ['commands']
