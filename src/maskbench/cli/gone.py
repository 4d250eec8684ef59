"""Commands and options that are gone, and where each went: one line for whoever types one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from maskbench.errors import UsageError
from maskbench.runs.options import IN_FILES, JUDGED_AS, PRICES

# By name; where it went is the end of a sentence, as in "see `maskbench plan`".
COMMANDS: dict[str, str] = {
    **{name: f"it is `maskbench intervene {name}`" for name in ("steer", "lorra", "dose")},
    "agreement": "`maskbench label RUN --show` holds the judge against labels",
    "explain": "see `maskbench compare RUN RUN --why` and `maskbench score RUN --as NAME --why NAME`",
    "models": "`maskbench doctor` without a model lists them",
    "audit": "`maskbench judge RUN --audit swap` (or repeat) audits the judge, and --audit show prints its audits",
}
_FIELD = "it is a field of the file of `maskbench run FILE.toml`"
_PRICES = "prices stand in maskbench-prices.toml, or as fields in `maskbench run FILE.toml`"
_PRICED = ("run", "judge", "exam", "intervene dose")
_FIXED = "see `maskbench plan`, `run --estimate lie` and `check`"
# By name, of all commands or, behind a command's name ("run --until"), of that one.
OPTIONS: dict[str, str] = {
    "run --serve-adapters": "the server holds them (`vllm serve --lora-modules`), and vllm/NAME is a model",
    "--log": "`maskbench.score(RUN).metrics()` gives the numbers to Weights & Biases or MLflow",
    "export --dataset": "`maskbench.score(RUN).metrics()` gives the numbers for an entry of the hub",
    "--common-noise": "runs of one subject share their beliefs by `--beliefs-from`, which makes differences sharper",
    "--protocol": "see --like",
    **dict.fromkeys(("export --to", "leaderboard --to", "published --plot", "label --export"), "see --out"),
    "sweep --submitit": "`maskbench sweep FILE --only I/N` is one job of an array, see docs/project/sbatch.md",
    **dict.fromkeys(
        (f"plan --{judge}price-{side}" for judge in ("", "judge-") for side in ("in", "out")),
        "maskbench-prices.toml has the prices, see docs/money.md",
    ),
    "plan --second": "see `maskbench judge RUN --second MODEL --second-share X`",
    **{f"run --{name.replace('_', '-')}": _FIELD for name in IN_FILES},
    **{f"run --{name.replace('_', '-')}": f"see --like; alone {_FIELD}" for name in JUDGED_AS},
    **{f"{command} --{name.replace('_', '-')}": _PRICES for command in _PRICED for name in PRICES},
    "--judge-format": "see --judge-style, which in a run --like paper sets",
    "run --until": _FIXED,
    "run --claim": _FIXED,
    "run --baseline": "see `maskbench check --baseline RUN`",
    "judge --until": "see `maskbench judge --second-share`",
}


def check_gone(
    typed: Sequence[str], commands: Mapping[str, str] = COMMANDS, options: Mapping[str, str] = OPTIONS
) -> None:
    """Raise UsageError, with where it went, for the first word that names what is gone."""
    if typed and typed[0] in commands:
        raise UsageError(f"`maskbench {typed[0]}` is gone: {commands[typed[0]]}.")
    for command, option in _options(typed):
        if where := options.get(f"{command} {option}") or options.get(option):
            raise UsageError(f"{option} is gone: {where}.")


def told_of_fields(typed: Sequence[str], text: str) -> str:
    """An error's text; of a run it says which of the options that it names are fields of the run's file alone."""
    if not typed or typed[0] != "run":
        return text
    named = dict.fromkeys(re.findall(r"(?<![\w-])--([a-z-]+[a-z])", text))
    fields = [name for name in named if name.replace("-", "_") in IN_FILES and f"--{name}" not in typed]
    if not fields:
        return text
    are = "is a field" if len(fields) == 1 else "are fields"
    return f"{text} In a run {' and '.join(fields)} {are} of the file of `maskbench run FILE.toml`."


def _options(typed: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option that is typed, with the command or the two words of one that it stands behind."""
    words = list(typed[: typed.index("--")] if "--" in typed else typed)
    for word in words:
        if word.startswith("--"):
            option = word.partition("=")[0]
            yield words[0], option
            yield " ".join(words[:2]), option
