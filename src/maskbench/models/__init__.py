"""Models that answer: chat endpoints, simulated and scripted ones, and those that other distributions bring."""
