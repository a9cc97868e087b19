"""The paper's first experiment, on real CT."""
