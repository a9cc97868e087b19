"""The benchmark of samplers: one harness, one budget."""
