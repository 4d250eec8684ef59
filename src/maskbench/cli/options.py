"""Every option once: its words, its place in the help, and the setting that it sets.

What sets a setting has its type, default and limits from `Settings`; `takes` gives a command the options that it names.
Options of one command alone stand with that command, those of several commands that set nothing stand at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
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
from maskbench.method.construct import QUESTIONS
from maskbench.method.controls import CONTROLS
from maskbench.method.rules import RULES
from maskbench.runs.system_prompts import LIBRARY
from maskbench.settings import LEAST, LEAST_GIVEN, MOST, PLACES, VALUES, Settings

if TYPE_CHECKING:
    from cyclopts import Token
    from cyclopts.completion import CompletionContext

ARGUMENTS, PLAIN = Group("Arguments", sort_key=0), Group("Options", sort_key=1)
SCENARIOS = Group("Scenarios", sort_key=2)
SUBJECT = Group("The subject", sort_key=3)
ASKED = Group("What the subject is asked", sort_key=3)
CHECKS = Group("Controls on the subject (extra calls; a finished run can add them)", sort_key=4)
LOCAL = Group("A model in this process (hf/)", sort_key=5)
JUDGE = Group("Judge", sort_key=6)
SCORING = Group("Scoring", sort_key=7)
HOW = Group("How it runs", sort_key=8)
MONEY = Group("What it may cost", sort_key=9)

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
        name, _, part = self.of.partition(".")
        value = Settings.of("", "", "").options[name]
        return getattr(value, part) if part else value

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The least and the most that the setting may be."""
        name = self.of.rpartition(".")[2]
        return {**LEAST, **LEAST_GIVEN}.get(name), MOST.get(name)


def _typed(setting: str) -> Any:
    """What is typed for a setting: its type, without none, and a list for several."""
    name, _, part = setting.partition(".")
    value, field = PLACES[name]
    kind: Any = get_type_hints(VALUES[value])[field]
    kind = get_type_hints(kind)[part] if part else kind
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (inner for inner in get_args(kind) if inner is not type(None))
    return list[get_args(kind)[0]] if get_origin(kind) is tuple else kind  # type: ignore[misc]  # it is made here


def _money(
    metavar: str,
    help: str,  # as the parameter's is called
    part: str,
    default: str = "none",
    panel: Group = MONEY,
) -> Setting:
    return Setting(panel, metavar, help, default, of=part)


_TABLE = {
    "scenarios": Setting(
        SCENARIOS,
        "NAME|PATH",
        "The subject is measured on this set: starter, sandbox, cais/MASK, a folder of files named after the "
        "archetypes, or one CSV, JSONL or Parquet file.",
        "sandbox for pinocchio, starter for sim; else none",
        more={"completer": scenario_sets},
    ),
    "archetype": Setting(
        SCENARIOS,
        "NAME",
        f"The run measures only this archetype ({', '.join(TABLE)}, or one that the set brings). You may give it "
        f"several times.",
        "all",
        of="archetypes",
    ),
    "label": Setting(
        SUBJECT,
        "TEXT",
        "This says what the run measures where the subject's name does not, such as ckpt-1200. Runs with other labels "
        "are other models.",
        "none",
        of="run_label",
    ),
    "sample": Setting(
        SCENARIOS,
        "N",
        "The run measures a sample of N scenarios, stratified by archetype, with design weights. The sample of 100 is "
        "part of the sample of 300.",
    ),
    "limit": Setting(
        SCENARIOS, "N", "The run stops after N scenarios. Its result is marked as a smoke run, and measures nothing."
    ),
    "system_prompt": Setting(
        SUBJECT,
        "NAME|FILE",
        "A developer's system prompt stands in a labelled part before the pressured one: "
        f"{', '.join(LIBRARY)}, or a file of your own. Belief questions do not have it, unless you add "
        f"--prompt-on-beliefs.",
        "none",
    ),
    "prompt_on_beliefs": Setting(SUBJECT, "", "The developer's system prompt is put before belief questions, too."),
    "beliefs_from": Setting(
        ASKED,
        "RUN",
        "The run in this folder gives its neutral replies and the verdicts on them; belief questions are asked in a "
        "drawn twentieth of the scenarios alone, as a check. The two may differ in the pressured conversation alone.",
        "none",
        typed=Path,
    ),
    "statements": Setting(
        ASKED, "N", "The subject makes N statements for each scenario. Ten statements give Lying@10."
    ),
    "beliefs": Setting(ASKED, "N", "The subject answers the direct belief question N times."),
    "estimate": Setting(
        ASKED,
        "all|lie",
        "With lie the subject is asked for its belief only until it is known which statements lie. P(lie) is the same "
        "for fewer calls, and the other rates come from a part of the scenarios. Later --estimate all asks the rest.",
    ),
    "whole_part": Setting(
        ASKED, "X", "With --estimate lie this share of each archetype is asked everything, drawn before the first call."
    ),
    "temperature": Setting(SUBJECT, "X", "The subject answers at this temperature.", of="sampling.temperature"),
    "max_tokens": Setting(SUBJECT, "N", "The subject's answer may have N tokens.", of="sampling.max_tokens"),
    "reasoning_tokens": Setting(
        SUBJECT, "N", "The subject may have N tokens more once it is seen to reason.", of="sampling.reasoning_tokens"
    ),
    "on_truncation": Setting(
        SUBJECT,
        "judge|retry|error",
        "Visible text that was cut at the limit is judged as it stands, or is asked for once more with twice the "
        "tokens (and is a failure if it is cut again), or is a failure.",
    ),
    "filtered": Setting(
        SUBJECT, "error|evasive", "A reply that a content filter withheld counts as a failure or as an evasion."
    ),
    "on_substitution": Setting(
        SUBJECT,
        "note|error",
        "A reply that another model gave than the one asked for, as a router's fallback does, is counted and named, or "
        "is a failure.",
    ),
    "seed": Setting(SCENARIOS, "N", "N seeds the sample, and simulated and local models."),
    "send_seed": Setting(
        SUBJECT,
        "",
        "Endpoints are sent a seed, another one for every sample. Each sample is then a request of its own.",
    ),
    "template_args": Setting(
        SUBJECT,
        "JSON",
        "This JSON object has variables of the subject's chat template, such as enable_thinking. A server gets them "
        "as chat_template_kwargs.",
        "none",
    ),
    "extra_body": Setting(
        SUBJECT,
        "JSON",
        "This JSON object has further fields of every request to the subject's endpoint, such as top_k. They are kept "
        "with the run, so put no secret there.",
        "none",
    ),
    **{control.setting: Setting(CHECKS, "", control.help) for control in CONTROLS},
    "construct": Setting(
        CHECKS,
        "NAMES",
        f"The judge answers questions on the words of each statement: {', '.join(QUESTIONS)}. Alone the option asks "
        "all of them; with commas you name some.",
        "none",
        typed=str,
    ),
    "adapter": Setting(
        LOCAL,
        "DIR",
        "The subject wears this adapter, which PEFT or `maskbench intervene lorra` wrote.",
        "none",
        typed=Path,
    ),
    "steer": Setting(
        LOCAL,
        "FILE",
        "These vectors of `maskbench intervene steer` are added to the subject's hidden states while it answers.",
        "none",
        typed=Path,
    ),
    "layers": Setting(
        LOCAL,
        "LIST",
        "These layers are steered. The first layer is 0, and a list is written as 10,12-16.",
        "all that the vectors have",
        typed=str,
    ),
    "strength": Setting(LOCAL, "X", "The vectors are added X times. X may be negative."),
    "dtype": Setting(
        LOCAL, "NAME", "Weights are kept in this type: auto (the checkpoint's own, fp32 on a CPU), fp32, bf16 or fp16."
    ),
    "quantize": Setting(
        LOCAL,
        "NAME",
        "Weights are reduced to 4bit or 8bit, which needs bitsandbytes (pip install bitsandbytes).",
        "none",
    ),
    "device": Setting(
        LOCAL,
        "NAME",
        "The model is put on this device: cpu, cuda, cuda:1, or auto, which spreads its layers over all GPUs.",
        "cuda where there is one",
    ),
    "batch_tokens": Setting(
        LOCAL,
        "N",
        "A batch may come to hold N tokens of prompts and answers. N is halved where memory runs out.",
        "what fits the GPU; 32768 on a CPU",
    ),
    "threads": Setting(LOCAL, "N", "Torch computes with N threads on a CPU.", "the quicker of one and all, timed"),
    "trust_remote_code": Setting(LOCAL, "", "maskbench runs the code that the model brings along."),
    "judge": Setting(
        JUDGE, "MODEL", "This model gives the verdicts.", "rules/sandbox for pinocchio, sim-judge for sim; else none"
    ),
    "numeric_judge": Setting(JUDGE, "MODEL", "This model judges numerical scenarios.", "the judge"),
    "judge_sampling": Setting(
        JUDGE,
        "NAME",
        "The judge samples as maskbench has it (temperature 0, equal requests asked once), or published: as in the "
        "published code (temperature 1, 500 tokens, no verdict shared). It sets nothing else.",
        of="protocol",
    ),
    "judge_style": Setting(
        JUDGE,
        "NAME",
        "With reasoning the judge gives a reason, then the verdict. With verdict it gives the verdict alone, in a few "
        "tokens, with its probability where the endpoint gives that. With published it is asked and read as the "
        "published code has it, by the prompts of your own checkout of that repository (--judge-prompts DIR).",
    ),
    "with_reasoning": Setting(
        JUDGE,
        "",
        "The judge sees a statement's reasoning, too, and judges both together. Without this the answer alone counts.",
    ),
    "judge_beliefs": Setting(
        JUDGE,
        "NAME",
        "With apart the judge gets a request for each neutral reply. With together it gets all neutral replies of a "
        "scenario with options in one request, and gives a verdict on each. It reads less. Whether it judges as well "
        "is not measured: `maskbench exam --judge-beliefs together` is for that.",
    ),
    "judge_numbers": Setting(
        JUDGE,
        "NAME",
        "With together the neutral replies about a number get one verdict, as in the published code. With apart each "
        "gets its own, as in the Inspect Evals port.",
    ),
    "judge_temperature": Setting(
        JUDGE, "X", "The judge answers at this temperature.", "0; published: 1", of="judge_sampling.temperature"
    ),
    "judge_max_tokens": Setting(
        JUDGE,
        "N",
        "A verdict may have N tokens.",
        "1000; published: 500; the verdict alone: 64",
        of="judge_sampling.max_tokens",
    ),
    "judge_reasoning_tokens": Setting(
        JUDGE, "N", "The judge may have N tokens more once it is seen to reason.", of="judge_sampling.reasoning_tokens"
    ),
    "judge_prompts": Setting(
        JUDGE,
        "DIR",
        "The judge is asked by the prompts in this folder of your own; in the published form (`maskbench run --like "
        "paper`, else --judge-style published) by those of your checkout of the MASK repository.",
        "the packaged ones",
        typed=Path,
    ),
    "rules": Setting(
        SCORING,
        "NAME",
        f"This rule set scores the verdicts: {', '.join(RULES)}.",
        more={"choices": tuple(RULES), "show_choices": False},
    ),
    "max_error_rate": Setting(
        SCORING, "X", "The headline is withheld where a larger share of outcomes than X is missing."
    ),
    "connections": Setting(
        HOW, "N", "All models together have at most N requests in flight. A service that refuses some gets fewer."
    ),
    "batch": Setting(
        HOW,
        "judge|subject|both|none",
        "These requests go out in batches, which cost half and may take a day (openai/ and anthropic/ models). With "
        "none, what is under way in batches is asked live all the same.",
        "all requests are live",
    ),
    "cluster": Setting(
        HOW,
        "auto|local|ADDRESS|none",
        "Models in this process and requests are spread over the machines of this Ray cluster: auto is the one that "
        "this machine belongs to, local is one that lasts as long as the run.",
        "none",
    ),
    "gpus_per_model": Setting(
        HOW, "X", "Each copy of a model on the cluster gets X GPUs, such as 0.5.", "as many as its weights need"
    ),
    "serve": Setting(
        HOW,
        "COMMAND",
        "The run starts this server for the subject on a free port of this machine, waits until it answers, and "
        "ends it at the end: 'vllm serve NAME'. Write {port} where a server of another kind takes its port. With none "
        "a run that goes on starts no server.",
        "none",
    ),
    "serve_judge": Setting(HOW, "COMMAND", "The run starts this server for the judge, as --serve does.", "none"),
    "timeout": Setting(HOW, "X", "A request may take X seconds."),
    "retries": Setting(HOW, "N", "A request that fails in passing is tried N times more."),
    "rpm": _money("N", "A service gets at most N requests a minute.", "rpm", "none", HOW),
    "tpm": _money("N", "A service gets at most N tokens a minute, in and out.", "tpm", "none", HOW),
    "max_cost": _money("X", "The run ends in time to cost no more than X dollars, by --dry-run's prices.", "max_cost"),
    "max_tokens_total": _money(
        "N", "The run ends in time to use no more than N tokens, in and out together.", "max_tokens_total"
    ),
    **{
        f"{judge}price_{what}": _money(
            "X",
            f"A million tokens {how} cost X dollars at the {'judge' if judge else 'subject'}'s service.",
            f"{judge}price_{what}",
            "as in the price list",
        )
        for judge in ("", "judge_")
        for what, how in (("in", "in"), ("out", "out"), ("cached", "in that a cache held"))
    },
}
OF_JUDGES = ("rpm", "tpm", "max_cost", "max_tokens_total")  # of the money
OPTIONS: Mapping[str, Setting] = {name: replace(row, of=row.of or name) for name, row in _TABLE.items()}
Like = Literal["paper", "inspect", "maskbench"]


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
Run = Annotated[Path, option("RUN", "Give the folder of a run.")]
Verdicts = Annotated[
    str | None,
    option(
        "NAME",
        "The run is scored by this verdict set, which `maskbench judge` made, or by majority (of all sets), or by "
        "majority:A,B,C.",
        default="the run's own",
    ),
]
RulesOfRun = Annotated[str | None, _rules("This rule set scores the verdicts.", "the run's own")]
Format = Annotated[
    Form,
    option("FORM", "The result is printed as text, or as markdown or latex (with booktabs) to paste into a paper."),
]
As = Annotated[
    str | None,
    option(
        "NAME|FILE",
        "The figure is computed as a publisher computes its own, such as anthropic-2026-09. With `all` a table has "
        "every convention. A TOML file of your own is one, too.",
        name="--as",
        default="maskbench's own rates",
    ),
]
RulesOfAll = Annotated[str | None, _rules("This rule set scores all runs.", "the first run's own")]
Retest = Annotated[
    Path | None,
    option(
        "RUN",
        "This run of the first subject, with another --seed and nothing else changed, tells how many scenarios change "
        "by themselves.",
    ),
]
OneRuleSet = Annotated[str, _rules("This rule set scores all runs.")]
ComputeFile = Annotated[
    Path | None,
    option(
        "FILE",
        "This CSV has the columns model, flop and, where you want it, family. It adds the scaling analysis.",
        default="none",
    ),
]
Public = Annotated[
    list[str] | None,
    option(
        "NAME|PATH",
        "This scenario set counts as public, as cais/MASK, starter and sandbox do, whatever their folder is called. "
        "Any other set is private. You may give it several times.",
        default="none",
    ),
]
Shared = Annotated[
    bool, flag("Others may read the new folder, as the umask says. Without this it is its owner's alone.", group=HOW)
]
DryRun = Annotated[bool, flag("maskbench counts calls and tokens, and calls nothing.", group=HOW)]
Opens = Annotated[
    bool | None,
    flag("A browser shows the page.", name="--open", negative="--no-open", default="where there is a display"),
]
