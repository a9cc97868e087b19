"""ESPNet: the network."""
