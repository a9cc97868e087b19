"""What a CPU computes faster than by torch's own operations."""
