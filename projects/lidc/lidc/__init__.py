"""Real CT: what the configs of this project add to the package."""
