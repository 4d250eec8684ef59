"""Sections on a run or on several, a file each."""
