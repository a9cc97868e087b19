"""What is compared, on what, how it runs and how it is shown."""
