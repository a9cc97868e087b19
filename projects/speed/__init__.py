"""How fast parts of mmcar are, against plain versions of them."""
