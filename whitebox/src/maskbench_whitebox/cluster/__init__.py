"""A model as copies on a cluster of Ray's, which are workers that Ray places and restarts."""
