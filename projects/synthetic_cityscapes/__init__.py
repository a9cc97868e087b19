"""The card's commands, rehearsed at real size on drawn streets."""
