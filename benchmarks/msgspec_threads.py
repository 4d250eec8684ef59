"""Show that msgspec ends a process whose threads use a type for the first time together; maskbench is not in it.

    python benchmarks/msgspec_threads.py && echo "no thread met a type that was half known"

What msgspec notes of a type (a struct or a dataclass) is on the type before it is whole, and while it is made Python
runs, so that threads switch: another thread takes the half for the whole. With msgspec 0.22.0 on CPython 3.11 this ends
by SIGSEGV within seconds. `maskbench.runs.fitting` lets one thread at a time look at a type that is new.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import make_dataclass

import msgspec

TYPES, PARTS, FIELDS, THREADS = 200, 10, 30, 8


def use_at_once(number: int) -> None:
    """Let threads convert to a type that nobody has used, all at the same time."""
    fields = [(f"field_{field}", int) for field in range(FIELDS)]
    parts = [(f"part_{part}", make_dataclass(f"Part{number}x{part}", fields)) for part in range(PARTS)]
    whole = make_dataclass(f"Whole{number}", parts)
    plain = {part: dict.fromkeys((field for field, _ in fields), 1) for part, _ in parts}
    begin = threading.Barrier(THREADS)

    def convert() -> None:
        begin.wait()
        msgspec.convert(plain, whole)

    threads = [threading.Thread(target=convert) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    for number in range(TYPES):
        use_at_once(number)
