"""What is stored of a run: its folder, record and database, and readers of what others may be asked to judge."""
