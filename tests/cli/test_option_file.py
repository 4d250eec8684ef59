"""A run in a file: what it may hold, what goes before it, and how the run goes on."""

from dataclasses import replace
from pathlib import Path

import pytest

from flows import typed
from maskbench.asking.options import IN_FILES
from maskbench.cli.asked import joined, named_values, with_given
from maskbench.cli.commands import told_of_fields
from maskbench.cli.option_file import run_file
from maskbench.errors import UsageError
from maskbench.settings import JUDGE_SAMPLING, Budget, Settings
from maskbench.store.folder import RunFolder

WHOLE = """
model = "sim"
out = "there"
limit = 6
timeout = 20
retries = 1
rpm = 100000
price-in = 1
price-out = 2.5
judge-price-in = 3
judge-price-out = 4
judge-temperature = 0.5
judge-numbers = "apart"
extra-body = { top_k = 20 }
archetype = ["known_facts", "statistics"]
whole-ends = ["Repetition", "other"]
placebo = false
"""


def written(folder: Path, text: str) -> Path:
    """A file with that text."""
    path = folder / "it.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_holds_all_options(tmp_path: Path) -> None:
    """Fields have the names of options, their types and limits; false and none leave an option out."""
    model, out, given = run_file(written(tmp_path, WHOLE))
    assert (model, out) == ("sim", Path("there"))
    assert given["extra_body"] == '{"top_k": 20}'
    assert given["archetype"] == ["known_facts", "statistics"]
    assert (given["price_out"], given["timeout"]) == (2.5, 20.0)
    assert "placebo" not in given


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time-out = 3", "it.toml: nothing is called time-out. Did you mean timeout?"),
        (
            "timeout = '3'",
            'it.toml, timeout: a number is expected, and "3" in quotes is text. Write it as in timeout = 3',
        ),
        ("retries = -1", "it.toml, retries: -1 is outside of its limits. Give 0 or more."),
        ("whole-ends = [1]", "it.toml, whole-ends: [1] cannot be meant"),
        ("like = 'me'", "it.toml, like: 'me' cannot be meant"),
        ("x", "it.toml is no TOML"),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With file, field and remedy; an unknown field with the nearest that is known."""
    with pytest.raises(UsageError) as caught:
        run_file(written(tmp_path, text))
    assert said in str(caught.value)


def test_a_run_from_a_file_and_what_is_typed_before_it(tmp_path: Path) -> None:
    """What is typed goes before the file's; prices are kept with the run, which goes on without the file."""
    file, out = written(tmp_path, WHOLE.replace("extra-body", "# extra-body")), tmp_path / "run"
    assert typed("run", file, "--out", out, "--limit", "4", "--beliefs", "2").code == 0
    settings = RunFolder(out).settings()
    assert (settings.design.limit, settings.design.beliefs, settings.pace.timeout, settings.pace.retries) == (
        4,
        2,
        20,
        1,
    )
    prices = Budget(price_in=1, price_out=2.5, judge_price_in=3, judge_price_out=4, rpm=100_000)
    assert settings.budget == prices
    file.unlink()
    assert typed("run", "--out", out).code == 0
    assert RunFolder(out).settings().budget == prices


def test_a_table_has_the_model_and_what_it_takes_for_itself(tmp_path: Path) -> None:
    """Its name and its own options; `-M` goes before them one by one, and none leaves one out."""
    file = written(tmp_path, '[model]\nname = "toy/x"\nadapter = "a"\nstrength = 2\ndevice = "none"\n')
    model, _, told = run_file(file)
    assert (model, told) == ("toy/x", {"model_options": {"adapter": "a", "strength": 2}})
    given = joined(told, {"model_options": ["strength=4", "text=a=b"]})
    assert given["model_options"] == {"adapter": "a", "strength": "4", "text": "a=b"}
    plain = Settings.of("toy/x", "sim-judge", "starter", model_options={"adapter": "a", "dtype": "bf16"})
    changed = with_given(plain, {"model_options": ["adapter=none", "threads=2"]})
    assert changed.subject.options == {"dtype": "bf16", "threads": "2"}


@pytest.mark.parametrize(
    ("typed", "said"), [(["adapter"], "give a name and a value"), (["a=1", "a=2"], "-M a stands there more than once")]
)
def test_what_is_no_option_of_a_models_own_is_refused(typed: list[str], said: str) -> None:
    """A name without a value, and a name that is given twice."""
    with pytest.raises(UsageError, match=said):
        named_values(typed)


@pytest.mark.parametrize(
    ("words", "said"),
    [('["length"]', "it is how an answer ends that was cut"), ('[""]', "give words"), ('["SAFETY"]', "was withheld")],
)
def test_what_is_no_whole_end_cannot_be_called_one(tmp_path: Path, words: str, said: str) -> None:
    """What is known to be cut or withheld stays so, and nothing is begun."""
    refused = typed("run", written(tmp_path, f'model = "sim"\nwhole-ends = {words}'), "--out", tmp_path / "run")
    assert (refused.code, said in " ".join(refused.err.split())) == (2, True)
    assert not (tmp_path / "run").exists()


def test_a_file_without_a_model_is_for_a_run_that_is_there(tmp_path: Path) -> None:
    """Its fields go to that run; where there is none the model is missed."""
    file, out = written(tmp_path, "timeout = 7"), tmp_path / "run"
    refused = typed("run", file, "--out", out)
    assert (refused.code, "it.toml, model is missing." in refused.err) == (2, True)
    assert typed("run", "sim", "--limit", "4", "--out", out).code == 0
    assert typed("run", file, "--out", out, "--placebo").code == 0
    assert typed("run", tmp_path / "none.toml").code == 2


@pytest.mark.parametrize("name", IN_FILES)
def test_what_files_alone_have_is_said_where_it_is_typed(name: str) -> None:
    """One line says where it stands."""
    option = f"--{name.replace('_', '-')}"
    ended = typed("run", "sim", option, "1")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert f"Unknown option: {option}. " in ended.err
    assert "FILE.toml" in ended.err


def judged(tmp_path: Path, *words: object) -> Settings:
    """The settings of a run that these words plan, and nothing else of it."""
    assert typed("run", "sim", "--limit", "2", "--out", tmp_path / "run", *words).code == 0
    return RunFolder(tmp_path / "run").settings()


def test_judged_like_the_paper(tmp_path: Path) -> None:
    """The judge samples as the published code has it, and where prompts are given it is asked in its form."""
    settings = judged(tmp_path, "--like", "paper")
    assert (settings.judging.protocol, settings.judging.sampling) == ("published", JUDGE_SAMPLING["published"])
    assert settings.judging.style == "reasoning"
    needs = typed("run", "sim", "--like", "paper", "--judge-prompts", tmp_path / "none", "--out", tmp_path / "other")
    assert (needs.code, "none" in needs.err) == (2, True)


def test_judged_like_the_port(tmp_path: Path) -> None:
    """Each reply about a number has a verdict of its own, and the judge's temperature is 1."""
    settings = judged(tmp_path, "--like", "inspect")
    assert (settings.judging.numbers, settings.judging.protocol) == ("apart", "maskbench")
    assert settings.judging.sampling == replace(JUDGE_SAMPLING["maskbench"], temperature=1.0)


def test_the_preset_that_is_typed_goes_before_a_files_options(tmp_path: Path) -> None:
    """In one place an option goes before the preset; a preset of the line goes before the file."""
    file = written(tmp_path, 'model = "sim"\nlimit = 2\nlike = "inspect"\njudge-numbers = "together"')
    assert typed("run", file, "--out", tmp_path / "a").code == 0
    assert RunFolder(tmp_path / "a").settings().judging.numbers == "together"
    assert typed("run", file, "--like", "inspect", "--out", tmp_path / "b").code == 0
    assert RunFolder(tmp_path / "b").settings().judging.numbers == "apart"


def test_a_sweep_takes_the_same_fields(tmp_path: Path) -> None:
    """[every] has prices and presets as a run's file has them."""
    text = "out = 'swept'\n[every]\nmodel = 'sim'\nlimit = 2\nprice-in = 1\nprice-out = 1\n[product]\n"
    file = written(tmp_path, text.replace("'swept'", f"'{tmp_path}/swept'") + "like = ['paper', 'maskbench']\n")
    assert typed("sweep", file).code == 0
    folder = RunFolder(tmp_path / "swept" / "like=paper")
    assert (folder.settings().judging.protocol, folder.settings().budget.price_in) == ("published", 1)
    assert [each.judging.protocol for each in folder.read().verdict_sets.values()] == ["maskbench"]


@pytest.mark.parametrize(
    ("typed", "text", "told"),
    [
        (
            "run f.toml",
            "--timeout 0 leaves no time.",
            " In a run timeout is a field of the file of `maskbench run FILE.toml`.",
        ),
        (
            "run sim",
            "Give --timeout or --retries.",
            " In a run timeout and retries are fields of the file of `maskbench run FILE.toml`.",
        ),
        ("run sim --rpm 3", "--rpm is unknown.", ""),
        ("run sim", "Give another --out.", ""),
        ("exam sim", "Give --timeout.", ""),
        ("", "--timeout 0 leaves no time.", ""),
    ],
)
def test_an_error_of_a_run_says_which_options_are_fields(typed: str, text: str, told: str) -> None:
    """An option that `maskbench run` does not take, and that its error names, is called a field of the run's file."""
    assert told_of_fields(typed.split(), text) == f"{text}{told}"
