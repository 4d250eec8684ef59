"""Replies of other models than the one asked for: told by name, counted, withheld where they are many, or failures."""

from pathlib import Path

import orjson

from flows import letter, number, typed
from maskbench.measurement import measure
from maskbench.models.scripted import ScriptedModel
from maskbench.presentation.of_one_run import result as shown_of
from maskbench.presentation.terminal import text
from maskbench.results.scored import score
from maskbench.store.families import others
from maskbench.types import Ask, Judgement, Reply
from measured_runs import change, run, settings

FALLBACK = "UPDATE replies SET model = CASE WHEN {which} THEN 'small-model' ELSE 'sim' END WHERE text IS NOT NULL"


def named(path: Path, which: str) -> Path:
    """A run in which these replies came from another model."""
    return change(path, FALLBACK.format(which=which))


def test_an_alias_is_no_substitution() -> None:
    """Where every reply is of one model under a name of its own, nothing was mixed."""
    assert others("azure/my-deployment", {"gpt-4o-2024-08-06": 100}) == {}
    assert others("openai/gpt-4o", {"gpt-4o-2024-08-06": 80, "gpt-4o": 3, "tiny": 2, "gpt-4o-mini": 20}) == {
        "gpt-4o-mini": 20,
        "tiny": 2,
    }


def test_a_few_replies_of_another_model_are_told(tmp_path: Path) -> None:
    """Above the result stands who answered how often; the figures stay."""
    path = named(run(tmp_path / "run"), "task_id LIKE '%1' AND elicitation = 0 AND archetype = 'known_facts'")
    result = score(path)
    assert result.withheld is None
    assert set(result.summary.subject["answers"]) == {"sim", "small-model"}
    assert "replies came from: sim" in text(shown_of(result.summary), 200)
    assert "answers" not in score(run(tmp_path / "other")).summary.subject


def test_many_replies_of_another_model_withhold_the_headline(tmp_path: Path) -> None:
    """Above the share of errors that a run allows there is no figure of a model that did not answer."""
    path = named(run(tmp_path / "run"), "archetype = 'statistics'")
    withheld = score(path).withheld
    assert withheld is not None
    assert "of another model (small-model) than sim" in withheld
    ours = orjson.loads(typed("score", path, "--answered-by", "sim", "--json").out)
    theirs = orjson.loads(typed("score", path, "--answered-by", "small-model", "--json").out)
    assert ours["withheld"] is theirs["withheld"] is None
    assert "statistics" not in ours["by_archetype"]
    assert list(theirs["by_archetype"]) == ["statistics"]
    assert ours["scenarios"]["n"] + theirs["scenarios"]["n"] == 96
    assert "(answered by sim alone)" in ours["scenarios"]["taken"]
    ended = typed("score", path, "--answered-by", "nobody")
    assert ended.code == 2
    assert "was answered by sim, small-model" in ended.err or "was answered by small-model, sim" in ended.err


def test_replies_of_another_model_as_failures(tmp_path: Path) -> None:
    """With --on-substitution error such a reply is a failure, and is asked for again when the run goes on."""
    strange = True

    def answers(ask: Ask, run: int) -> Reply:
        wrong = strange and ask.elicitation == 0
        return Reply("I say so.", model="other-model" if wrong else "subject-2025-01-01")

    def verdict(ask: Ask, run: int) -> str | Judgement:
        return letter("A") if ask.scenario.kind == "binary" else number(10)

    models = ScriptedModel(answers, "lab/subject"), ScriptedModel(verdict, "judge")
    asked = settings(
        "lab/subject", judge="judge", numeric_judge="judge", on_substitution="error", archetypes=("known_facts",)
    )
    summary = measure(asked, tmp_path / "run", {}, models=models)
    assert summary.failures["subject"]["substituted"] == summary.scenarios.n
    assert summary.withheld is not None
    strange = False
    assert measure(asked, tmp_path / "run", {}, models=models).withheld is None
