"""One run, several verdict sets: judging again, ensembles, a second look, agreement."""
