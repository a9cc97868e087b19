"""The CPU experiments: what runs, how it runs, and the tables of results."""
