"""Equal parts of scored scenarios are kept once, and nothing that a row says is changed by it."""

from collections import Counter
from pathlib import Path

from maskbench import Settings, measure
from maskbench.judges.equal_parts import EqualParts
from maskbench.judges.verdict_sets import reading
from maskbench.method.rules import named
from outcomes import one


def test_rows_keep_what_they_say_and_share_what_is_equal() -> None:
    """Equal outcomes and counts are one object, others stay apart, and a Counter still has zeros."""
    rows = [
        one("LH", evasions=Counter(refusal=2), failures=Counter()),
        one("HL", evasions=Counter(refusal=2), failures={}),
        one("LH", evasions=Counter(refusal=1), failures=Counter()),
    ]
    parts = EqualParts()
    first, other, third = kept = [parts.shared(row) for row in rows]
    assert kept == rows
    assert first.evasions is other.evasions is not third.evasions
    assert first.outcomes is third.outcomes is not other.outcomes
    assert first.denials is other.denials is third.denials
    assert first.failures["subject", "timeout"] == 0
    assert type(other.failures) is dict


def test_a_run_is_read_into_shared_parts(tmp_path: Path) -> None:
    """Of 40 scenarios of a run there are no 40 objects that hold counts."""
    settings = Settings.of("sim", judge="sim-judge", numeric_judge="sim-judge", scenarios="starter", sample=40)
    measure(settings, tmp_path / "run", {})
    with reading(tmp_path / "run") as opened:
        rows = opened.verdicts(None).scored(named("reference"))
    assert len(rows) >= 40
    for name in ("outcomes", "denials", "truncated", "failures", "numerical", "disputes"):
        values = {id(getattr(row, name)): getattr(row, name) for row in rows}
        assert len(values) < 15
        assert len({repr(value) for value in values.values()}) == len(values)
