"""One run, several verdict sets: judging again, agreement."""
