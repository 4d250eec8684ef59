"""`doctor --json` as types: what each model was found able to do, and what a run would make of it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from maskbench.types import Stage

# differently: a run goes on without it; wrong: a judge that gave another verdict than the right one
Works = Literal["yes", "no", "differently", "wrong", "unknown"]


class Finding(Struct, frozen=True, forbid_unknown_fields=True):
    """One ability: whether it is there, what that means for a run, and what to type; `stops` where a run would fail."""

    what: str
    works: Works
    says: str
    type: str = ""
    stops: bool = False


class Examined(Struct, frozen=True, forbid_unknown_fields=True):
    """One model in one part, with all that was found and what finding it took."""

    name: str
    part: Stage
    findings: list[Finding]
    requests: int
    tokens_in: int | None = None
    tokens_out: int | None = None
    notes: list[str] = []

    @property
    def stops(self) -> bool:
        """Whether a run with it would fail."""
        return any(finding.stops for finding in self.findings)


class Doctored(Struct, frozen=True, forbid_unknown_fields=True):
    """All models that were asked; `passes` where a run with them would go through, and no verdict was wrong."""

    models: list[Examined]
    passes: bool
    schema: int = 1
