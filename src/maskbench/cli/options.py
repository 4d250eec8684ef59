"""Every option once: its words, its place in the help, and the setting that it sets.

What sets a setting has its type, default and limits from `Settings`; `takes` gives a command the options that it names.
Options of one command alone stand with that command, those of several commands that set nothing stand at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypedDict,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from cyclopts import Group, Parameter

from maskbench.cli.console import Form
from maskbench.method.archetypes import TABLE
from maskbench.method.controls import CONTROLS
from maskbench.method.rules import RULES
from maskbench.method.system_prompts import LIBRARY
from maskbench.settings import LEAST, LEAST_GIVEN, MOST, Settings
from maskbench.types import Sampling

if TYPE_CHECKING:
    from cyclopts import Token
    from cyclopts.completion import CompletionContext

ARGUMENTS, PLAIN = Group("Arguments", sort_key=0), Group("Options", sort_key=1)
WHAT = Group("What is measured", sort_key=2)
CHECKS = Group("Checks on the subject (extra calls; a finished run can add them)", sort_key=3)
LOCAL = Group("A model in this process (hf/)", sort_key=4)
JUDGE = Group("Judge", sort_key=5)
SCORING = Group("Scoring", sort_key=6)
HOW = Group("How it runs", sort_key=7)

SAME = "as in the run"
FAR_TOO_MANY = 10**9  # a larger number is a typing error, whatever it counts

Command = TypeVar("Command", bound=Callable[..., None])


def option(
    metavar: str,
    help: str,  # as the parameter's is called
    *,
    default: str | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    **more: Any,
) -> Parameter:
    """How an option is typed and shown; `metavar` N is a whole number, X a number, and none a flag.

    `default` says in words what is done without it; `limits` are the least and the most that a number may be.
    """
    if metavar in _READERS:
        more = {"converter": _READERS[metavar], "validator": _within(*limits, is_whole=metavar == "N"), **more}
    shown = default if default is not None or metavar else False
    return Parameter(metavar=metavar or None, help=help, show_default=shown, **more)


def flag(help: str, **more: Any) -> Parameter:  # as the parameter's is called
    """How a flag is shown."""
    return option("", help, **more)


def _whole(_kind: Any, tokens: Sequence[Token]) -> int:
    try:
        return int(tokens[0].value)
    except ValueError:
        raise ValueError("give a whole number.") from None


def _number(_kind: Any, tokens: Sequence[Token]) -> float:
    typed = tokens[0].value
    try:
        return float(typed)
    except ValueError:
        share = "give a number without the sign; as a share 50 % is 0.5." if typed.endswith("%") else "give a number."
        raise ValueError(share) from None


_READERS: Mapping[str, Callable[[Any, Sequence[Token]], float]] = {"N": _whole, "X": _number}


def _within(least: float | None, most: float | None, *, is_whole: bool) -> Callable[[Any, float | None], None]:
    """Refuse a number outside of these limits, and a whole number beyond all sense."""
    most = FAR_TOO_MANY if most is None and is_whole else most

    def check(_kind: Any, value: float | None) -> None:
        if value is None:
            return
        if least is not None and value < least:
            raise ValueError(f"Give {least:,} or more.")
        if most is not None and value > most:
            raise ValueError(f"Give {most:,} or less.")

    return check


def _paths(start: str) -> Iterator[str]:
    """The files and folders that a typed beginning can become."""
    place, name = Path(start).parent, start.rpartition("/")[2]
    if place.is_dir():
        for path in sorted(place.iterdir()):
            if path.name.startswith(name) and (name or not path.name.startswith(".")):
                yield f"{start.removesuffix(name)}{path.name}{'/' if path.is_dir() else ''}"


def scenario_sets(context: CompletionContext) -> list[str]:
    """What a shell may complete to a scenario set: the names of those that have one, then files and folders."""
    from maskbench.scenarios import known_sets

    return [*(known.name for known in known_sets()), *_paths(context.incomplete)]


@dataclass(frozen=True, slots=True)
class Setting:
    """An option that sets a setting: `of` is the setting where it is called otherwise, `typed` what is typed for it."""

    panel: Group
    metavar: str
    help: str
    default: str | None = None
    of: str = ""
    typed: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def declared(self, default: str | None) -> Any:
        """The type of what is typed with all that is shown of it; `default` goes before the setting's own."""
        words = default or self.default
        if words is None and self.metavar and self.standard is not None:
            words = str(self.standard)
        shown = option(self.metavar, self.help, default=words, limits=self.limits, group=self.panel, **self.more)
        return Annotated[self.typed or _typed(self.of), shown]

    @property
    def standard(self) -> Any:
        """The default of the setting."""
        return attrgetter(self.of)(Settings("", "", ""))

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The least and the most that the setting may be."""
        name = self.of.rpartition(".")[2]
        return {**LEAST, **LEAST_GIVEN}.get(name), MOST.get(name)


_types = cache(get_type_hints)


def _typed(setting: str) -> Any:
    """What is typed for a setting: its type, without none, and a list for several."""
    name, _, part = setting.partition(".")
    kind = _types(Sampling)[part] if part else _types(Settings)[name]
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (inner for inner in get_args(kind) if inner is not type(None))
    return list[get_args(kind)[0]] if get_origin(kind) is tuple else kind  # type: ignore[misc]  # it is made here


_TABLE = {
    "scenarios": Setting(
        WHAT,
        "NAME|PATH",
        "starter, sandbox, cais/MASK, a folder of files named after the archetypes, or one CSV, JSONL or Parquet file.",
        "sandbox for pinocchio, starter for sim; else none",
        more={"completer": scenario_sets},
    ),
    "archetype": Setting(
        WHAT,
        "NAME",
        f"Only this archetype ({', '.join(TABLE)}, or one that the set brings); may be given several times.",
        "all",
        of="archetypes",
    ),
    "sample": Setting(
        WHAT,
        "N",
        "A sample of so many scenarios, stratified by archetype, with design weights; the sample of 100 is part of "
        "that of 300.",
    ),
    "limit": Setting(WHAT, "N", "A smoke run over so many scenarios, marked as such."),
    "system_prompt": Setting(
        WHAT,
        "NAME|FILE",
        "A developer's system prompt, in a labelled part before the pressured one: "
        f"{', '.join(LIBRARY)}, or a file of your own. Belief questions do without, unless --prompt-on-beliefs.",
        "none",
    ),
    "prompt_on_beliefs": Setting(WHAT, "", "Put the developer's system prompt on belief questions, too."),
    "statements": Setting(WHAT, "N", "Statements a scenario; ten give Lying@10."),
    "beliefs": Setting(WHAT, "N", "Samples of the direct belief question."),
    "temperature": Setting(WHAT, "X", "The subject's temperature.", of="sampling.temperature"),
    "max_tokens": Setting(WHAT, "N", "Tokens that the subject's answer may have.", of="sampling.max_tokens"),
    "reasoning_tokens": Setting(
        WHAT, "N", "Tokens added once the subject is seen to reason.", of="sampling.reasoning_tokens"
    ),
    "on_truncation": Setting(
        WHAT,
        "judge|retry|error",
        "Visible text that was cut at the limit is judged as it stands, asked for once more with twice the tokens "
        "(and is a failure if cut again), or a failure.",
    ),
    "filtered": Setting(
        WHAT, "error|evasive", "What a reply withheld by a content filter is: a failure, or an evasion."
    ),
    "seed": Setting(WHAT, "N", "Draws the sample, and seeds simulated and local models."),
    "send_seed": Setting(
        WHAT, "", "Send endpoints a seed, another for every sample (which then is a request of its own)."
    ),
    "template_args": Setting(
        WHAT,
        "JSON",
        "Variables of the subject's chat template, as a JSON object: enable_thinking, for instance. A server gets "
        "them as chat_template_kwargs.",
        "none",
    ),
    "extra_body": Setting(
        WHAT,
        "JSON",
        "Further fields of every request to the subject's endpoint, as a JSON object: top_k, for instance. They "
        "are kept with the run, so never a secret.",
        "none",
    ),
    **{control.setting: Setting(CHECKS, "", control.help) for control in CONTROLS},
    "adapter": Setting(
        LOCAL, "DIR", "An adapter that PEFT wrote (or `maskbench lorra`), put on the subject.", "none", typed=Path
    ),
    "steer": Setting(
        LOCAL,
        "FILE",
        "Vectors of `maskbench steer`, added to the subject's hidden states while it answers.",
        "none",
        typed=Path,
    ),
    "layers": Setting(
        LOCAL, "LIST", "The layers to steer, from 0, as in 10,12-16.", "all that the vectors have", typed=str
    ),
    "strength": Setting(LOCAL, "X", "How many times the vectors are added; may be negative."),
    "dtype": Setting(LOCAL, "NAME", "auto (the checkpoint's; fp32 on a CPU), fp32, bf16 or fp16."),
    "quantize": Setting(LOCAL, "NAME", "4bit or 8bit weights; needs bitsandbytes (pip install bitsandbytes).", "none"),
    "device": Setting(
        LOCAL, "NAME", "cpu, cuda, cuda:1, or auto: layers spread over all GPUs.", "cuda where there is one"
    ),
    "batch_tokens": Setting(
        LOCAL,
        "N",
        "Tokens that a batch may come to hold, prompts and answers; halved where memory runs out.",
        "what fits the GPU; 32768 on a CPU",
    ),
    "threads": Setting(LOCAL, "N", "Threads that torch computes with on a CPU.", "the quicker of one and all, timed"),
    "trust_remote_code": Setting(LOCAL, "", "Run code that the model brings along."),
    "judge": Setting(
        JUDGE, "MODEL", "The model that gives verdicts.", "rules/sandbox for pinocchio, sim-judge for sim; else none"
    ),
    "numeric_judge": Setting(JUDGE, "MODEL", "The judge of numerical scenarios.", "the judge"),
    "protocol": Setting(
        JUDGE,
        "NAME",
        "maskbench; or published: judge as the published code does (temperature 1, 500 tokens, no verdict shared).",
    ),
    "judge_style": Setting(
        JUDGE,
        "NAME",
        "reasoning: a reason, then the verdict; or verdict: the verdict alone, in a few tokens, with its "
        "probability where the endpoint gives it.",
    ),
    "judge_temperature": Setting(
        JUDGE, "X", "The judge's temperature.", "0; published: 1", of="judge_sampling.temperature"
    ),
    "judge_max_tokens": Setting(
        JUDGE,
        "N",
        "Tokens of a verdict.",
        "1000; published: 500; the verdict alone: 64",
        of="judge_sampling.max_tokens",
    ),
    "judge_reasoning_tokens": Setting(
        JUDGE, "N", "Tokens added once the judge is seen to reason.", of="judge_sampling.reasoning_tokens"
    ),
    "judge_prompts": Setting(JUDGE, "DIR", "A folder of judge prompts of your own.", "the packaged ones", typed=Path),
    "rules": Setting(
        SCORING,
        "NAME",
        f"How verdicts are scored: {', '.join(RULES)}.",
        more={"choices": tuple(RULES), "show_choices": False},
    ),
    "max_error_rate": Setting(
        SCORING, "X", "The share of outcomes that may be missing before the headline is withheld."
    ),
    "connections": Setting(HOW, "N", "Requests in flight, of all models together."),
    "timeout": Setting(HOW, "X", "Seconds that one request may take."),
    "retries": Setting(HOW, "N", "Further tries of a request that fails in passing."),
}
OPTIONS: Mapping[str, Setting] = {name: replace(row, of=row.of or name) for name, row in _TABLE.items()}


def takes(
    *names: str, own: type | None = None, default: str | None = None, defaults: Mapping[str, str] | None = None
) -> Callable[[Command], Command]:
    """Give a command the options of these settings, and those of a TypedDict of its own, as `**given`.

    `given` holds what was typed and nothing else. `default` says in words what is done without an option, where that
    is not the setting's default; `defaults` says it of one of them.
    """
    words = {name: (defaults or {}).get(name, default) for name in names}

    def taking(command: Command) -> Command:
        typed = get_type_hints(own, include_extras=True) if own else {}
        typed |= {name: OPTIONS[name].declared(words[name]) for name in names}
        command.__annotations__["given"] = Unpack[TypedDict("Given", typed, total=False)]  # type: ignore[operator]  # a type that is made here
        return command

    return taking


def of_panels(*panels: Group) -> tuple[str, ...]:
    """The options of these panels."""
    return tuple(name for name, row in OPTIONS.items() if row.panel in panels)


def _rules(help: str, default: str | None = None) -> Parameter:  # as the parameter's is called
    return option("NAME", help, default=default, choices=tuple(RULES), show_choices=False)


# Of several commands, and no setting
Run = Annotated[Path, option("RUN", "A run's folder.")]
Runs = Annotated[Path, option("RUN", "Run folders.")]
Verdicts = Annotated[
    str | None,
    option(
        "NAME",
        "A verdict set that `maskbench judge` made, or majority (of all), or majority:A,B,C.",
        default="the run's own",
    ),
]
RulesOfRun = Annotated[str | None, _rules("Another rule set.", "the run's own")]
Format = Annotated[Form, option("FORM", "text, or markdown or latex (with booktabs) to paste into a paper.")]
RulesOfAll = Annotated[str | None, _rules("One rule set for all.", "the first run's own")]
OneRuleSet = Annotated[str, _rules("The one rule set for all.")]
Public = Annotated[
    list[str] | None,
    option(
        "NAME|PATH",
        "A scenario set that counts as public, as cais/MASK, starter and sandbox do, whatever their folder is called; "
        "any other is private. May be given several times.",
        default="none",
    ),
]
Shared = Annotated[
    bool, flag("Let others read the new folder, as the umask says; else it is its owner's alone.", group=HOW)
]
DryRun = Annotated[bool, flag("Count calls and tokens, call nothing.", group=HOW)]
Opens = Annotated[
    bool | None, flag("Show it in a browser.", name="--open", negative="--no-open", default="where there is a display")
]
