"""Two runs written down by hand and held against each other: what is shared, tested, withheld, counted and said."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from maskbench.errors import UsageError
from maskbench.presentation.sections.comparison import comparison as blocks_of
from maskbench.presentation.terminal import text
from maskbench.results.comparability import Differs, judge_alike, shared
from maskbench.results.comparison import SIGN_FLIP, Change, McNemar, Pairing, check_given, compare_read, worst
from maskbench.results.people.labelled_outcomes import Label
from maskbench.results.scored import ScoredRun
from maskbench.store.record import About, PromptsUsed
from maskbench.store.verdict_sets import JudgeShown
from scored_runs import NOBODY, SETTINGS, rows, scored_run
from there import there


def pairing(first: ScoredRun, other: ScoredRun, margin: float | None = None) -> Pairing:
    """The other run held against the first."""
    (held,) = compare_read(first, [other], margin).data.others
    return held


def answered(*models: str) -> JudgeShown:
    """A judge of options in whose name these models answered."""
    return structs.replace(NOBODY, binary=About(name="judge", resolved=list(models)))


def test_what_became_of_each_outcome() -> None:
    """Rows are the first run's outcomes; McNemar's counts leave out what failed; changes keep the order of rows."""
    held = pairing(scored_run("a", "LLLHEX"), scored_run("b", "HLXLEH"))
    assert held.transitions["lie"] == {"honest": 1, "lie": 1, "evasive": 0, "no_belief": 0, "error": 1}
    assert held.transitions["honest"]["lie"] == 1
    assert held.mcnemar == McNemar(lie_to_other=1, other_to_lie=1)
    assert held.changed == [
        Change("known_facts", "1", "lie", "honest"),
        Change("known_facts", "3", "lie", "error"),
        Change("known_facts", "4", "honest", "lie"),
        Change("known_facts", "6", "error", "honest"),
    ]


def test_what_failed_is_counted_by_run() -> None:
    """In the first alone, in the other alone, in both; the pair is tested on the rest."""
    held = pairing(scored_run("a", "XXLLHHHHHH", max_error_rate=0.5), scored_run("b", "XHXXHHHHLL", max_error_rate=0.5))
    counts = held.shared
    assert (counts.failed_in_first_only, counts.failed_in_other_only, counts.failed_in_both) == (1, 2, 1)
    assert (counts.scenarios, counts.propositions, counts.with_outcomes_in_both) == (10, 10, 6)
    assert held.rates["p_lie"].n == 6
    assert held.test is not None


def test_scenarios_of_other_texts_are_not_shared() -> None:
    """One text differs, one scenario is in the first alone, two are in the other alone; warnings say so."""
    first, other = scored_run("a", "LHLH"), scored_run("b", [*rows("LHL"), *rows("HH", archetype="continuations")])
    digests = {**other.digests, ("known_facts", "2"): b"other"}
    other = replace(other, digests=digests)
    both = shared(first, other)
    assert [row.task_id for row in both.first] == [row.task_id for row in both.other] == ["1", "3"]
    assert (both.only_first, both.only_other, both.changed_text) == (1, 2, (("known_facts", "2"),))
    held = pairing(first, other)
    assert (held.shared.only_in_first, held.shared.only_in_other, held.shared.other_text) == (1, 2, 1)
    assert held.warnings[0].startswith("The scenarios differ: 1 are in a only, 2 in b only.")
    assert held.warnings[1] == (
        "1 scenario has the same name but another text, and counts as not shared: known_facts 2."
    )


def test_six_changed_texts_are_counted_and_five_named() -> None:
    """The list ends with dots where more than five scenarios changed."""
    first, other = scored_run("a", "LHLHLHL"), scored_run("b", "LHLHLHL")
    for left, dots in ((6, ", ..."), (5, "")):
        digests = {key: b"" if at < left else text for at, (key, text) in enumerate(other.digests.items())}
        (warning,) = pairing(first, replace(other, digests=digests)).warnings
        assert warning.startswith(f"{left} scenarios have the same name")
        assert warning.endswith(f"known_facts 5{dots}.")


def test_nothing_shared_is_refused_with_the_reason() -> None:
    """Other names, or the same names with other texts."""
    first = scored_run("a", "LH")
    apart = scored_run("b", rows("LH", archetype="continuations"), scenarios="theirs.csv")
    with pytest.raises(UsageError, match=r"a and b share no scenario .* mine\.csv and theirs\.csv have none in common"):
        shared(first, apart)
    renamed = replace(scored_run("b", "LH"), digests=dict.fromkeys(first.digests, b""))
    with pytest.raises(UsageError, match="2 have the same names, but other texts"):
        shared(first, renamed)


def test_weights_are_those_of_the_run_with_fewer_scenarios() -> None:
    """Whichever comes first; of two that have equally many, those of the first."""
    whole = scored_run("a", "LLHH")
    part = scored_run("b", [*rows("L", weight=3.0), *rows("H", task_id="2", proposition="P2")])
    for first, other in ((whole, part), (part, whole)):
        held = pairing(first, other)
        assert (held.rates["p_lie"].first if first is part else held.rates["p_lie"].other) == pytest.approx(3 / 4)
        assert "the weights of b are used for both." in " ".join(held.warnings)
    equal = pairing(scored_run("c", "LH"), part)
    assert (equal.rates["p_lie"].first, equal.rates["p_lie"].other) == (0.5, 0.5)
    assert "the weights of c are" in " ".join(equal.warnings)
    assert pairing(scored_run("d", rows("LH", weight=2.0)), scored_run("e", rows("LH", weight=6.0))).warnings == []


@pytest.mark.parametrize(
    ("first", "other", "worse"),
    [
        ("H" * 30 + "L" * 30, "H" * 30 + "L" * 30, {}),
        ("H" * 60, "L" * 12 + "H" * 48, {"p_lie", "p_honest"}),
        ("L" * 12 + "H" * 48, "H" * 60, set()),
        ("H" * 60, "E" * 12 + "H" * 48, {"p_evasive", "p_honest"}),
        ("H" * 60, "N" * 12 + "H" * 48, {"p_no_belief", "p_honest"}),
    ],
)
def test_a_loss_is_in_its_own_direction(first: str, other: str, worse: set[str]) -> None:
    """More lies, evasion or missing beliefs are losses, and so is less honesty; gains never are."""
    test = pairing(scored_run("a", first), scored_run("b", other), 0.1).non_inferiority
    assert test is not None
    assert {name for name, is_shown in test.shown.items() if not is_shown} == set(worse)
    assert test.all_shown is (not worse)
    assert test.margin == 0.1


def test_a_loss_is_shown_where_its_bound_is_below_the_margin() -> None:
    """The one-sided end of the difference in lies is the loss at worst; a margin of just that is not kept to."""
    first, other = scored_run("a", "H" * 40), scored_run("b", "L" * 4 + "H" * 36)
    held = pairing(first, other, 0.5)
    assert held.rates["p_lie"].one_sided95 is not None
    loss = held.rates["p_lie"].one_sided95[1]
    assert worst("p_lie", held.rates["p_lie"]) == loss
    for margin, is_shown in ((loss, False), (loss + 1e-9, True)):
        test = pairing(first, other, margin).non_inferiority
        assert test is not None
        assert test.shown["p_lie"] is is_shown


def test_no_test_no_statement_on_a_margin() -> None:
    """Runs by two protocols have no interval, so that nothing is shown about any loss."""
    held = pairing(scored_run("a", "LLHH"), replace(scored_run("b", "LLHH"), protocol="def"), 0.1)
    test = held.non_inferiority
    assert test is not None
    assert (test.shown, test.all_shown) == ({}, None)


def test_holm_is_over_the_comparisons_that_have_a_test() -> None:
    """Of three pairings one has no test: the smaller p counts twice, the other once."""
    first = scored_run("a", "LLLLLLLLHH")
    others = [scored_run("b", "HHHHHHHHHH"), scored_run("c", "LLLLLLHHHH"), scored_run("d", "LLLL", wanted=9)]
    data = compare_read(first, others).data
    small, large, none = data.others
    assert (small.test, large.test, none.test) == (SIGN_FLIP, SIGN_FLIP, None)
    assert (none.p_holm, none.significant) == (None, None)
    assert data.comparisons == 2
    assert (small.p_holm, small.significant) == (2 * there(small.rates["p_lie"].p), True)
    assert (large.p_holm, large.significant) == (large.rates["p_lie"].p, False)
    assert "with both tests of 2 comparisons corrected together" in " ".join(text(list(blocks_of(data)), 100).split())


def test_a_p_that_only_holm_raises_over_the_level_is_not_significant() -> None:
    """Alone it is significant, beside a second comparison of the same size it is not."""
    first, (other, third) = scored_run("a", "LLLLLH"), (scored_run(name, "HHHHHH") for name in "bc")
    alone = pairing(first, other)
    assert 0.025 < there(alone.rates["p_lie"].p) < 0.05
    assert alone.significant
    held, _ = compare_read(first, [other, third]).data.others
    assert held.significant is False


def test_a_run_that_is_not_complete_withholds_everything() -> None:
    """No share, no test, no bounds; the reason says how many are done, and how it goes on."""
    stopped = scored_run("b", "LLHX", wanted=9)
    for first, other in ((scored_run("a", "LHHH"), stopped), (stopped, scored_run("a", "LHHH"))):
        held = pairing(first, other)
        assert held.withheld is not None
        assert held.withheld.startswith("b is not complete: 4 of 9 scenarios are done")
        assert "Take it up again with `maskbench run --out b`." in held.withheld
        lie = held.rates["p_lie"]
        assert (lie.first, held.test, lie.bounds, held.factors) == (None, None, None, None)
    data = compare_read(scored_run("a", "LHHH"), [scored_run("b", "LLH", wanted=9)]).data
    assert "%" not in text(list(blocks_of(data)), 100)
    by_name = replace(stopped, verdicts="mine", go_on="Judge the rest")
    assert "are no sample. Judge the rest." in str(pairing(scored_run("a", "LHHH"), by_name).withheld)


def test_too_many_failures_withhold_and_leave_the_bounds() -> None:
    """A run may fail in its own --max-error-rate and no more; at exactly that share it is tested."""
    failing = scored_run("b", "LLLX", max_error_rate=0.24)
    held = pairing(scored_run("a", "LHHH"), failing)
    assert held.withheld == (
        "25.0 % of the outcomes of b are missing, and its --max-error-rate allows 24.0 %. Start the run again, "
        "and what failed is asked again."
    )
    assert held.rates["p_lie"].bounds is not None
    assert held.rates["p_lie"].bounds_ci95 is None
    assert pairing(scored_run("a", "LHHH"), scored_run("b", "LLLX", max_error_rate=0.25)).withheld is None


def test_no_common_outcome_is_said() -> None:
    """Where every shared scenario failed on one side there is nothing to test, and that is the reason."""
    held = pairing(scored_run("a", "XXLL", max_error_rate=0.9), scored_run("b", "LLXX", max_error_rate=0.9))
    assert held.untested_because == ["No shared scenario has an outcome in both runs."]
    assert (held.test, held.withheld, held.rates["p_lie"].n) == (None, None, 0)


def test_what_differs_is_named_and_untests() -> None:
    """Fields of settings, of prompts and of who answered, each with both values; the differences stay."""
    theirs = structs.replace(answered("judge-1"), prompts=PromptsUsed(name="p", version="2", hash="f" * 64))
    first = scored_run("a", "LLHH", beliefs=3)
    warm = replace(SETTINGS.judging.sampling, temperature=1.0)
    other = replace(scored_run("b", "LHHH", beliefs=5, judge_sampling=warm), judge=theirs)
    held = pairing(first, other)
    assert Differs("beliefs", 3, 5) in held.differs
    assert Differs("judge prompts", "unversioned ()", "2 (ffffffffffff)") in held.differs
    assert Differs("binary judge answered as", "", "judge-1") in held.differs
    assert [each.field for each in held.differs] == [
        "beliefs",
        "judge temperature",
        "judge prompts",
        "equal verdicts shared",
        "binary judge answered as",
    ]
    assert held.untested_because[0].startswith("The two are different measurements (they differ in beliefs, ")
    assert held.rates["p_lie"].difference == pytest.approx(-0.25)
    assert held.rates["p_lie"].ci95 is None


def test_who_answered_is_open_until_both_are_complete() -> None:
    """A judge that was not asked yet differs in nothing; one that answered as another does."""
    first, other, named = (
        replace(scored_run(name, "LLHH", wanted=5), judge=answered(*models))
        for name, models in (("a", ["x"]), ("b", []), ("c", ["y"]))
    )
    assert pairing(first, other).differs == []
    assert pairing(first, named).differs == [Differs("binary judge answered as", "x", "y")]


def judged_at(name: str, first: float, last: float, **changed: Any) -> ScoredRun:
    """A run whose statements a service's judge judged in this time."""
    judge = About(name="judge", base_url="https://judge.example")
    run = scored_run(name, "LLHH", judged_between=(first, last), **changed)
    return replace(run, judge=structs.replace(NOBODY, binary=judge, numeric=judge))


def test_a_judge_that_answered_at_another_time_is_told() -> None:
    """It may have drifted: both times are named, and the commands that judge both in one go, whichever is the later."""
    early, late = judged_at("a", 0.0, 7200.0), judged_at("b", 180_000.0, 190_000.0)
    for pair in ((early, late), (late, early)):
        (told,) = (line for line in pairing(*pair).warnings if "The judge answered" in line)
        assert "for a until 1970-01-01 02:00 and for b from 1970-01-03 02:00 (UTC)" in told
        assert "--name together && maskbench judge" in told
    assert pairing(early, late).test is not None


@pytest.mark.parametrize(
    "other",
    [
        judged_at("b", 9000.0, 190_000.0),  # half an hour later
        judged_at("b", 3600.0, 190_000.0),  # while the first was judged
        judged_at("b", 180_000.0, 190_000.0, imported=("rows",)),  # its times are those of the import
        replace(judged_at("b", 180_000.0, 190_000.0), judge=NOBODY),  # no service's: it does not change by itself
        replace(judged_at("b", 0.0, 1.0), judged_between=None),
    ],
)
def test_a_judge_that_did_not_answer_long_after_is_not_told(other: ScoredRun) -> None:
    """Nothing is said of runs that were judged one after the other, nor of judges that nobody serves."""
    first = judged_at("a", 0.0, 7200.0)
    assert not any("The judge answered" in line for line in pairing(first, other).warnings)


def test_equal_settings_of_two_protocols_are_two_versions() -> None:
    """Where nothing else differs, the versions that made the protocol ids do."""
    first, other = scored_run("a", "LH"), replace(scored_run("b", "LH"), protocol="def")
    other.record.maskbench = "0.3.0"
    assert pairing(first, other).differs == [Differs("maskbench version", "0.2.0", "0.3.0")]


def test_the_way_to_judge_alike_names_what_the_judge_takes() -> None:
    """The commands have the first run's judge and every option in which the judging differs, and no other."""
    first = scored_run(
        "a",
        "LH",
        judge="good",
        numeric_judge="counts",
        judge_sampling=replace(SETTINGS.judging.sampling, temperature=0.5),
    )
    other = scored_run("b", "LH")
    differs = [Differs(field, None, None) for field in ("judge", "numeric judge", "judge temperature")]
    assert judge_alike(differs, first, other) == (
        "To judge the other as the first was, `maskbench judge b --judge good --numeric-judge counts "
        "--judge-temperature 0.5 --name as-the-first`; then `maskbench compare a b --verdicts default --verdicts "
        "as-the-first`."
    )
    moved = [Differs("binary judge answered as", "x", "y")]
    assert judge_alike(moved, first, other) == (
        "To judge both in one go, `maskbench judge a --judge good --numeric-judge counts --name together && maskbench "
        "judge b --judge judge --name together`; then `maskbench compare a b --verdicts together`."
    )
    for odd in ([], [Differs("beliefs", 3, 5)], [*differs, Differs("beliefs", 3, 5)]):
        assert judge_alike(odd, first, other) == "Measure or judge one of them again as the other was."
    prompts = [Differs("judge prompts", None, None)]
    assert " --judge-prompts packaged --name" in judge_alike(prompts, other, first)
    assert " --judge-prompts mine --name" in judge_alike(prompts, scored_run("c", "LH", judge_prompts="mine"), other)


def test_smoke_runs_and_other_numbers_of_statements_are_warned_of() -> None:
    """A smoke run by its path, statements by their numbers."""
    held = pairing(scored_run("a", "LH", limit=2), scored_run("b", "LL HH", statements=2))
    assert held.warnings[0].startswith("a is a smoke run")
    assert held.warnings[1].startswith("Statements a scenario: 1 in a, 2 in b.")


def test_labels_of_either_run_bring_the_corrected_pair() -> None:
    """Without labels there is none; with too few it says why, for each run by itself."""
    first, other = scored_run("a", "LLHH"), scored_run("b", "LHHH")
    assert pairing(first, other).corrected is None
    labelled = other.labelled({("known_facts", "1"): Label(1.0, "honest")})
    pair = pairing(first, labelled).corrected
    assert pair is not None
    assert (pair.labelled, pair.disagreements, pair.rates) == ((0, 1), (0, 1), {})
    assert str(pair.withheld).startswith("first: ")
    assert "other: " in str(pair.withheld)


def test_a_copy_is_refused() -> None:
    """Two folders with one beginning are one run."""
    run = scored_run("a", "LH")
    with pytest.raises(UsageError, match="b is a copy of a"):
        compare_read(run, [replace(scored_run("b", "LH"), record=run.record)])


@pytest.mark.parametrize("margin", [0.0, 1.0, -0.1, 3.0])
def test_a_margin_is_a_share(margin: float) -> None:
    """0 and 1 are no margins, and neither is anything outside."""
    with pytest.raises(UsageError, match=r"is no margin. Give a share such as 0\.03"):
        check_given("a", ["b"], margin)
    check_given("a", ["b"], 0.5)


def test_a_run_is_given_once() -> None:
    """By whatever path, among the others too; and one alone is too few."""
    with pytest.raises(UsageError, match="is given twice"):
        check_given("a", ["b", "c/../b"])
    with pytest.raises(UsageError, match="One run alone"):
        check_given("a", [])
