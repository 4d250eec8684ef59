"""A run while it is made: its folder, its store, and the flow of asks and replies."""
