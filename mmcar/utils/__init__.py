"""Small things that every room uses: checks, errors, files, weights."""
