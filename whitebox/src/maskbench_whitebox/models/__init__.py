"""The subject `hf/NAME_OR_PATH`: a transformers model in this process.

decoding.py continues prompts, batches.py makes batches of them, model.py answers asks, opening.py reads the settings.
"""
