"""The method itself, without any input or output: ask, judge, read, resolve, classify, score and rate."""
