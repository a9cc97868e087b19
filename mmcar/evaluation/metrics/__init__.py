"""Metrics for the evaluators of a config, and their names for --eval."""
