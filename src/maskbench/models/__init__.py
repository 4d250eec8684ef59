"""Who answers: chat endpoints, simulated and scripted models, and those that other distributions bring."""
