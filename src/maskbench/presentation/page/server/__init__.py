"""The local server: the folder of runs, runs under way, and the labelling page."""
