"""Readers: a share of each scenario is a rate and a difference, and records have what readers find in its place."""

from pathlib import Path
from statistics import median

import numpy as np
import pytest
from msgspec import Struct

from maskbench.method.rates import tabulate
from maskbench.method.rules import named
from maskbench.presentation.of_one_run import result as printed
from maskbench.presentation.terminal import text
from maskbench.results.further_rate import FurtherRate
from maskbench.results.reader import OfKind, Reader, Shared, Whole, with_found
from maskbench.results.readers import WordsReader
from maskbench.results.scored import result, score
from maskbench.results.textless_run import write_without_texts
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import Done, OpenRun
from maskbench.types import OUTCOMES, Reply, Scored
from measured_runs import run
from scored_runs import SETTINGS, reader, rows, scored_run
from there import there


class Even(FurtherRate):
    """A toy whose shares are given."""

    name, title, what = "even", "even", "scenarios"

    def share(self, done: Done) -> float | None:
        """It is shown none."""
        return None


def shares(values: list[float | None]) -> Even:
    """What has seen these shares of the scenarios 1, 2, 3, ...; None is one that does not count."""
    known = {str(at): value for at, value in enumerate(values, 1)}
    return reader(Even, _shares={("known_facts", at): value for at, value in known.items() if value is not None})


def whole(scored: list[Scored], withheld: str | None = None) -> Whole:
    """These scenarios as a whole run."""
    run = scored_run("a", scored)
    subject = run.record.models.subject
    return Whole(scored, tabulate(scored)[0], ["known_facts"], SETTINGS, run.rules, subject, True, withheld)


def shared(scored: list[Scored], **changed: bool) -> Shared:
    """These scenarios as those that two runs share."""
    table, flags = tabulate(scored)[0], {"withheld": False, "untested": False, "by_labels": False} | changed
    return Shared(scored, (table, table), np.ones(len(scored)), (SETTINGS, SETTINGS), **flags)


def test_a_rate_is_the_mean_of_the_shares_that_count() -> None:
    """A scenario without a share is in neither the hits nor the count."""
    found = shares([1.0, 0.5, None, 0.0]).found(whole(rows("HHHH")))
    assert (found.value, found.n) == (0.5, 3)
    assert there(found.low) < 0.5 < there(found.high)


def test_a_rate_is_withheld_with_the_others() -> None:
    """Where the run has no rates it has not this one either."""
    found = shares([1.0, 0.5]).found(whole(rows("HH"), "Too many failed."))
    assert (found.value, found.ci95, found.n) == (None, None, 2)


def test_a_difference_is_over_what_counts_in_both() -> None:
    """It has an interval and no p, since one test is made, and that is another."""
    first, other = shares([1.0, 0.5, None, 0.0, 0.5] * 5), shares([None, 1.0, 1.0, 0.5, 0.0] * 5)
    found = first.against(other, shared(rows("H" * 25)))
    assert (found.first, found.other, found.difference) == pytest.approx((1 / 3, 0.5, 1 / 6))
    assert found.n == 15
    assert found.ci95
    assert found.p is None


@pytest.mark.parametrize("why", ["untested", "withheld"])
def test_a_difference_that_is_not_tested_has_no_interval(why: str) -> None:
    """With too many failures there is no difference either."""
    found = shares([1.0, 0.5]).against(shares([0.0, 0.5]), shared(rows("HH"), **{why: True}))
    assert (found.ci95, found.one_sided95, found.n) == (None, None, 2)
    assert found.difference == (None if why == "withheld" else -0.5)


def test_of_scenarios_that_are_alike_one_is_looked_at() -> None:
    """The others have what was made of it."""
    made = OfKind(id)
    some, same, another = (reader(Done, like=like) for like in (1, 1, 2))
    assert [made(done) for done in (some, same, another)] == [id(some), id(some), id(another)]


def test_a_record_has_what_readers_find_where_json_has_it() -> None:
    """Before another field or last; null in a summary where it is always told, else left out, as in two runs."""

    class First(Reader[int, str]):
        name, always, before = "first", True, "b"

    class Last(Reader[int, None]):
        name = "last"

    class Nameless(Reader[int, int]):
        pass

    every = (First, Last, Nameless)

    @with_found(every, runs=1)
    class One(Struct, kw_only=True, omit_defaults=True):
        a: int
        b: int

    @with_found(every, runs=2)
    class Two(Struct, kw_only=True, omit_defaults=True):
        a: int
        b: int

    assert One.__struct_fields__ == ("a", "first", "b", "last")
    assert Two.__struct_fields__ == ("a", "first", "b")
    assert (One.__struct_defaults__, Two.__struct_defaults__[-2:-1]) == ((None,), (None,))


def test_the_median_words_of_a_statement_are_by_its_outcome(tmp_path: Path) -> None:
    """Statements that failed count nowhere; a run that holds no texts has no lengths."""
    folder = RunFolder(run(tmp_path / "run", "sim/fail=0.05", limit=24, statements=2, max_error_rate=0.5))
    words: dict[str, list[int]] = {}
    with OpenRun(folder) as opened:
        for done in opened.verdicts().read(named("reference")):
            for (elicitation, number), item in done.items.items():
                if elicitation == 0 and isinstance(item.reply, Reply):
                    words.setdefault(done.scored.outcomes[number - 1], []).append(len(item.reply.text.split()))
    found = result(folder).of(WordsReader)
    assert found == {name: median(words[name]) for name in OUTCOMES if name != "error" and name in words}
    write_without_texts(folder, tmp_path / "textless")
    assert result(RunFolder(tmp_path / "textless")).of(WordsReader) is None
    told = text(printed(score(folder.path).summary), 200)
    assert f"Median words of a statement by its outcome: honest {there(found)['honest']:g}, lie " in told
