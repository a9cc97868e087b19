"""The paper's 1D regression."""
