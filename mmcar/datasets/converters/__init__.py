"""What the dataset converters of ``tools/`` are made of."""
