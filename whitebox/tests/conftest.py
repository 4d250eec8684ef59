"""Examples may take as long as they take, and torch takes the core that it is on: tests run beside each other.

What these tests have of the core's tests (flows, patience, measured_runs, ...) they find in ../tests by `pythonpath` in
pyproject.toml, and nowhere else.
"""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
