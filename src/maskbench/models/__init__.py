"""Who answers: chat endpoints, models in this process, simulated and scripted models."""
