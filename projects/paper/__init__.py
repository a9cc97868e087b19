"""The figures and tables of the paper, each by one command."""
