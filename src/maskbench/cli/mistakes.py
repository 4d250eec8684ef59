"""What is said where a line cannot be understood: what is wrong with it, and what to type in its place."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

from cyclopts import Argument, CycloptsError, MissingArgumentError, UnusedCliTokensError
from cyclopts.exceptions import RepeatArgumentError, UnknownCommandError, UnknownOptionError

from maskbench.cli.console import command

_ADDRESS = (
    "The address of a server is a variable, in the environment or in .env: for vllm/NAME set "
    "VLLM_BASE_URL=http://127.0.0.1:8000/v1."
)
_KEY = (
    "A key is a variable, so that no shell and no log keeps it: for openai/NAME set OPENAI_API_KEY, or put it in .env."
)
_MODEL = "The model has no option and stands behind the command, as in `maskbench run openai/gpt-4o`."
_SAMPLE = "To measure fewer scenarios, `--sample N`."
_SET = "Scenarios are named by `--scenarios NAME|PATH`."
_FILE = "What is written is named by `--out`."
# Options that other programs have, and what they are here.
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("--base-url", "--api-base", "--url", "--host", "--endpoint"), _ADDRESS),
    **dict.fromkeys(("--api-key", "--key", "--token"), _KEY),
    **dict.fromkeys(("--model", "--subject", "-m"), _MODEL),
    **dict.fromkeys(("-n", "--n", "--num", "--num-samples", "--max-samples"), _SAMPLE),
    **dict.fromkeys(("--data", "--dataset", "--set", "--task", "-d"), _SET),
    **dict.fromkeys(("-o", "--output", "--output-dir", "--html", "--csv"), _FILE),
    **dict.fromkeys(
        ("--resume", "--continue"), "A run goes on where its folder is given again, as in `maskbench run --out runs/A`."
    ),
    **dict.fromkeys(("-q", "--silent"), "To print nothing on stderr but errors, `maskbench run --quiet`."),
}


_FORMS = ("text", "markdown", "latex", "csv", "json", "jsonl", "parquet")  # of what is printed
_PICTURES = ("pdf", "svg", "png", "format")  # what a page is asked for by those who want its charts
_CHARTS = "Charts go into a folder, as PDF, SVG and PNG: --figures DIR."
_TABLES = "Tables are printed by `maskbench score RUN --format latex` (or markdown)."


def sentence(error: CycloptsError) -> str:
    """What is wrong, what to type, and where to read more."""
    text, chain = str(error), error.command_chain or ()
    match error:
        case UnusedCliTokensError():
            text = f"What is {shlex.join(error.unused_tokens or ())} for? Nothing takes it."
        case MissingArgumentError(argument=Argument(name=name, parameter=parameter)) if name.startswith("-"):
            text = f"{name} is missing. Add {name} {parameter.metavar}. {parameter.help}"
        case MissingArgumentError(argument=Argument(name=name, parameter=parameter)):
            text = f"{name} is missing. {parameter.help}"
        case RepeatArgumentError(token=token):
            text = f"{token.keyword} stands there more than once. Give it once."
        case UnknownOptionError(token=token):
            name = (token.keyword or token.value).partition("=")[0]
            advice = _form(name, error.argument_collection) or _ELSEWHERE.get(name)
            text = f"Unknown option: {name}. {advice}" if advice else text
        case UnknownCommandError(unused_tokens=[word, *rest]):
            if word == "help":
                chain, text = (*chain, *rest[:1]), "help is an option."
            elif "Did you mean" not in text or word.startswith("-") or "/" in word:
                text = f'Unknown command "{word}". {_no_command(word, chain)}'
    return f"{text} For help: {command(*chain)} --help"


def _form(name: str, known: Iterable[Argument]) -> str | None:
    """How to have another form: by --format where the command has it, and charts as files by --figures."""
    wanted, options = name.removeprefix("--"), {option: argument for argument in known for option in argument.names}
    if wanted in _FORMS and "--format" in options:
        hint = options["--format"].hint
        forms = {form for part in (hint, *get_args(hint)) for form in get_args(part)}  # one that may be left out, too
        return f"The form is an option: --format {wanted}." if wanted in forms else None
    if wanted in _PICTURES and "--figures" in options:
        return f"{_CHARTS} {_TABLES}"
    return _TABLES if wanted in ("format", "latex", "markdown") else None


def _no_command(word: str, chain: Sequence[str]) -> str:
    """What a word may be that stands where a command is to stand."""
    if "intervene" in chain:
        return "Give steer, lorra or dose, and then the model."
    if chain:
        return f"If {word} is a scenario set: {command('scenarios', 'validate', word)}."
    if word.startswith("-"):
        return "An option stands behind its command, as in `maskbench run MODEL --out DIR`."
    if Path(word).is_dir():
        return f"If it is a run: {command('score', word)}."
    return f"If it is a model: {command('run', word)}."
