"""A black box that somebody else trained: ESPNet on road scenes."""
