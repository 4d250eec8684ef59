"""Directions of the same lengths that point anywhere, as a control.

python random_direction.py FROM.safetensors TO.safetensors
"""

import sys
from pathlib import Path
from random import Random

from maskbench_whitebox.models.vectors import load_vectors

given, made = map(Path, sys.argv[1:])
load_vectors(given).random(Random(0)).save(made)
