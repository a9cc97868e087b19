"""Experiments beside the package: each with code, tool, docs and tests."""
