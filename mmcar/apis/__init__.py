"""Trained models in use; import its modules by name."""
