"""Adapters that are trained towards honest hidden states (LoRRA): texts, loss, training, folder and card."""
