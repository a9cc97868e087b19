"""What users call: checks of a config, training, a dry run."""
