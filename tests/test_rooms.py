"""The rooms of the house and whom each may know: two halves, ask and read, on the plinth of store and method."""

from __future__ import annotations

from test_layers import FACE, ours, room, trees

PLAIN = {"types", "errors", "plain", "install", "together"}  # words that every room uses
METHOD = {"stats", "settings", "method", "scenarios"}  # the method: values in, values out, and the sets of scenarios
STORE = {"store"}  # what is kept of a run
ASK = {"models", "asking"}  # who is asked, and the asking
READ = {"results", "presentation"}  # figures of what is stored, and what people see of them
COUNTER = {"measurement", "sweeps", "interop", "cli"}  # what a user calls: it asks, and then reads

# Each room, and the rooms that it may know besides itself.
KNOWS = {
    "install": set(),
    "errors": set(),
    "plain": {"errors"},
    "together": {"errors"},
    "types": {"errors"},
    "stats": PLAIN,
    "settings": PLAIN,
    "method": PLAIN | {"stats", "settings"},
    "scenarios": PLAIN | {"stats", "settings", "method"},
    "store": PLAIN | METHOD,
    "models": PLAIN | METHOD | STORE,
    "asking": PLAIN | METHOD | STORE | {"models"},
    "results": PLAIN | METHOD | STORE,
    "presentation": PLAIN | METHOD | STORE | {"results"},
    "measurement": PLAIN | METHOD | STORE | ASK | READ,
    "sweeps": PLAIN | METHOD | STORE | ASK | READ | {"measurement"},
    "interop": PLAIN | METHOD | STORE | ASK | READ,
    "cli": PLAIN | METHOD | STORE | ASK | READ | COUNTER,
}


def test_a_room_knows_whom_it_may() -> None:
    """Ask and read do not know each other, store and method know neither, and no module imports past this table."""
    assert {room(name) for name in trees() if name not in FACE} == set(KNOWS)
    past = {
        f"{name} imports {other}"
        for name, tree in trees().items()
        for other in ours(tree)
        if name not in FACE and room(other) not in {room(name), *KNOWS[room(name)]}
    }
    assert past == set()
