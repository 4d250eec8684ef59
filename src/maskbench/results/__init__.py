"""A run, or several, read into numbers."""
