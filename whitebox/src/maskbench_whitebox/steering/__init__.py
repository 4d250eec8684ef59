"""Directions of honesty in hidden states: contrast pairs, recorded states, and what is found in them."""
