"""One run, several verdict sets: judging again, ensembles, agreement."""
