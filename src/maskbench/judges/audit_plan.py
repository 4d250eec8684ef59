"""What an audit of a judge sets out to do: whose verdicts are asked for again, how, and on which scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maskbench.judges.audit_kinds import kind_of
from maskbench.runs.run_json import Audited
from maskbench.types import Scenario

AUDIT = "~"  # stands in the name of a set that audits another one, and in no other
_OWN = "default"  # the name of a run's own verdict set, which no option has to give


class Audit(Audited, frozen=True):
    """What is audited and how: verdict set `of`, on `sample` scenarios drawn by `seed` (None: on all of them)."""

    @property
    def name(self) -> str:
        """The name of its verdict set."""
        drawn = "" if self.sample is None else f"-{self.sample}" + (f"-seed{self.seed}" if self.seed else "")
        return f"{self.of}{AUDIT}{self.kind}{drawn}"

    def fits(self, scenario: Scenario) -> bool:
        """Whether it can ask about this scenario."""
        return kind_of(self.kind).shown(scenario) is not None

    def wants(self, scenario: Scenario, chosen: Mapping[tuple[str, str], float]) -> bool:
        """Whether it asks about this scenario; `chosen` is the sample that was drawn."""
        return self.fits(scenario) if self.sample is None else scenario.key in chosen

    def command(self, path: Path) -> list[str]:
        """The words that begin it on a run, or take it up again."""
        words = ["maskbench", "judge", str(path), "--audit", self.kind]
        if self.sample is not None:
            words += ["--sample", str(self.sample), *(["--seed", str(self.seed)] if self.seed else [])]
        return words if self.of == _OWN else [*words, "--verdicts", self.of]

    def part(self, n: int, whole: int) -> str:
        """Which `n` of a run's `whole` scenarios it is about, for people; nothing where it is about all of them."""
        if n == whole:
            return ""
        fit = kind_of(self.kind).only
        if self.sample is None:
            return f"{n:,} of {whole:,} scenarios: {fit}"
        return f"{n:,} of {whole:,} scenarios, drawn by seed {self.seed}" + (f" from {fit}" if fit else "")
