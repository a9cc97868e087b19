"""The card's commands, run at real size on drawn streets."""
