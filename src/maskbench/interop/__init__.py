"""What other tools write and read, one file a format."""
