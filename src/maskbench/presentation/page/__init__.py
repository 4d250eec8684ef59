"""Pages for people: the report of runs, its explorer, and the local server."""
