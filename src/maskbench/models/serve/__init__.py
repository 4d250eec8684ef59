"""A server of one's own that a run starts and ends: its command, its process, and its port."""
