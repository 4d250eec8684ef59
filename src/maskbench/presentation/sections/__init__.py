"""What is said of a run or of several, a section a file."""
