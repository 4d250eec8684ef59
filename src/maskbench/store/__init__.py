"""A run on disk: its folder, record and databases, and the readers of its verdict sets."""
