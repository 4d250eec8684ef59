"""Inside an open model: loading it, recording its hidden states, steering it, training adapters."""
