"""The experiments of the results page, sized for a CPU."""
