"""Logs of an agent's real work with one planted event, and twins without it (README.md beside this file)."""
