"""Models behind an endpoint of chat completions: providers, requests, answers and refusals."""
