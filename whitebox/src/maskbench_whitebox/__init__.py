"""The white box of maskbench: models in this process, steering, LoRRA, and models on a cluster of Ray's."""
