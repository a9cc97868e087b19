"""Coherent samples of pixelwise probabilities, in pure torch."""
