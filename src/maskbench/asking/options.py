"""The options of a run in one table: words, types, limits and defaults, and what does not go together.

The command line, the files of options and the documentation read it; `check` walks it for whoever begins a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from maskbench.errors import UsageError
from maskbench.method.archetypes import TABLE
from maskbench.method.ends import LONGEST, end_of
from maskbench.method.forms import form_of, styles
from maskbench.method.rules import RULES, named
from maskbench.models.brought import brought
from maskbench.models.chat.services import SERVICES
from maskbench.models.names import is_pinocchio
from maskbench.plain import plain
from maskbench.scenarios import is_starter
from maskbench.scenarios.exam.clashes import OF_PAPERS
from maskbench.settings import NOBODY, PLACES, VALUES, Dollars, Settings, check_error_rate
from maskbench.store.system_prompts import LIBRARY
from maskbench.together import Clash, alone, beside, refuse, typed_as
from maskbench.types import Sampling

# The panels of the help, in their order.
SCENARIOS, SUBJECT, ASKED = "Scenarios", "The subject", "What the subject is asked"
CHECKS = "Control on the subject (extra calls; a finished run can add them)"
JUDGE, SCORING = "Judge", "Scoring"
HOW, MONEY = "How it runs", "What it may cost"


@dataclass(frozen=True, slots=True)
class Option:
    """An option: the setting that it sets (`of`, where that is called otherwise), its words, and what is typed for it.

    `metavar` N is a whole number, X a number, and none a flag; `default` says in words what is done without the option,
    where the setting's own default does not say it.
    """

    panel: str
    metavar: str
    help: str
    default: str | None = None
    of: str = ""
    typed: Any = None
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> Any:
        """The type of what is typed: that of the setting, without none, and a list for several."""
        if self.typed:
            return self.typed
        name, _, part = self.of.partition(".")
        kind = _kind(name)
        kind = get_type_hints(kind)[part] if part else kind
        if get_origin(kind) in (Union, UnionType):
            (kind,) = (inner for inner in get_args(kind) if inner is not type(None))
        return list[get_args(kind)[0]] if get_origin(kind) is tuple else kind  # type: ignore[misc]  # it is made here

    @property
    def standard(self) -> Any:
        """The default of the setting."""
        name, _, part = self.of.partition(".")
        value = Settings.of("", "", "").options[name]
        return getattr(value, part) if part else value

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """The least and the most that a whole number or a price may be."""
        name, _, part = self.of.partition(".")
        return (
            _limits(get_type_hints(Sampling, include_extras=True)[part]) if part else _limits(_kind(name, whole=True))
        )


def _kind(name: str, *, whole: bool = False) -> Any:
    """The type of a setting, the `whole` of it with its limits."""
    value, field = PLACES[name]
    return _hints(value, whole)[field]


@cache
def _hints(value: str, whole: bool) -> dict[str, Any]:  # a key of the cache
    return get_type_hints(VALUES[value], include_extras=whole)


def _limits(kind: Any) -> tuple[float | None, float | None]:
    inner = next((each for each in (kind, *get_args(kind)) if get_origin(each) is Annotated), None)
    if inner is None or (get_args(inner)[0] is not int and inner is not Dollars):
        return None, None
    meta = get_args(inner)[1]
    return meta.ge, meta.le


def _money(
    metavar: str,
    help: str,  # as the parameter's is called
    part: str,
    default: str = "none",
    panel: str = MONEY,
) -> Option:
    return Option(panel, metavar, help, default, of=part)


_TABLE = {
    "scenarios": Option(
        SCENARIOS,
        "NAME|PATH",
        "The subject is measured on this set: starter, said_and_did, sandbox, cais/MASK, a folder of files "
        "named after the archetypes, or one CSV, JSONL or Parquet file.",
        "sandbox for pinocchio, starter for sim; else none",
    ),
    "archetype": Option(
        SCENARIOS,
        "NAME",
        f"The run measures only this archetype ({', '.join(TABLE)}, or one that the set brings). You may give it "
        f"several times.",
        "all",
        of="archetypes",
    ),
    "label": Option(
        SUBJECT,
        "TEXT",
        "This says what the run measures where the subject's name does not, such as ckpt-1200. Runs with other labels "
        "are other models.",
        "none",
        of="run_label",
    ),
    "sample": Option(
        SCENARIOS,
        "N",
        "The run measures a sample of N scenarios, stratified by archetype, with design weights. The sample of 100 is "
        "part of the sample of 300. A log is drawn with its twin and all reports on both.",
    ),
    "limit": Option(
        SCENARIOS,
        "N",
        "The run stops after N scenarios, or before a log would be torn. Its result is marked as a smoke run, and "
        "measures nothing.",
    ),
    "system_prompt": Option(
        SUBJECT,
        "NAME|FILE",
        "A developer's system prompt stands in a labelled part before the pressured one: "
        f"{', '.join(LIBRARY)}, or a file of your own. Belief questions do not have it, unless you add "
        f"--prompt-on-beliefs.",
        "none",
    ),
    "prompt_on_beliefs": Option(SUBJECT, "", "The developer's system prompt is put before belief questions, too."),
    "statements": Option(ASKED, "N", "The subject makes N statements for each scenario. Ten statements give Lying@10."),
    "beliefs": Option(ASKED, "N", "The subject answers the direct belief question N times."),
    "temperature": Option(SUBJECT, "X", "The subject answers at this temperature.", of="sampling.temperature"),
    "max_tokens": Option(SUBJECT, "N", "The subject's answer may have N tokens.", of="sampling.max_tokens"),
    "reasoning_tokens": Option(
        SUBJECT, "N", "The subject may have N tokens more once it is seen to reason.", of="sampling.reasoning_tokens"
    ),
    "on_truncation": Option(
        SUBJECT,
        "judge|retry|error",
        "Visible text that was cut at the limit is judged as it stands, or is asked for once more with twice the "
        "tokens (and is a failure if it is cut again), or is a failure.",
    ),
    "filtered": Option(
        SUBJECT, "error|evasive", "A reply that a content filter withheld counts as a failure or as an evasion."
    ),
    "whole_ends": Option(
        SUBJECT,
        "WORDS",
        "Answers that the service ends with one of these words are whole. Without it an end that maskbench does not "
        "know makes the answer a failure, of the subject and of the judge.",
        "none",
    ),
    "on_substitution": Option(
        SUBJECT,
        "note|error",
        "A reply that another model gave than the one asked for, as a router's fallback does, is counted and named, or "
        "is a failure.",
    ),
    "seed": Option(SCENARIOS, "N", "N seeds the sample, and simulated models and those in this process."),
    "send_seed": Option(
        SUBJECT,
        "",
        "Endpoints are sent a seed, another one for every sample. Each sample is then a request of its own.",
    ),
    "tool_calls": Option(
        SUBJECT,
        "native|text",
        "Calls of tools in a scenario's messages go to the subject as its interface has them, or as text in its turns.",
    ),
    "template_args": Option(
        SUBJECT,
        "JSON",
        "This JSON object has variables of the subject's chat template, such as enable_thinking. A server gets them "
        "as chat_template_kwargs.",
        "none",
    ),
    "extra_body": Option(
        SUBJECT,
        "JSON",
        "This JSON object has further fields of every request to the subject's endpoint, such as top_k. They are kept "
        "with the run, so put no secret there.",
        "none",
    ),
    "placebo": Option(
        CHECKS,
        "",
        "One more neutral reply is judged as if it were a statement: its share of lies is the false-lie floor.",
    ),
    "model_options": Option(
        SUBJECT,
        "NAME=VALUE",
        "The subject takes this option of its own, as its kind declares it (hf/, inspect/, or one that you installed). "
        "You may give it several times, and NAME=none leaves one out.",
        "none",
        typed=list[str],
    ),
    "judge": Option(
        JUDGE,
        "MODEL",
        "This model gives the verdicts. With none replies are asked for and nobody judges them: `maskbench judge RUN` "
        "has that done later.",
        "rules/sandbox for pinocchio, sim-judge for sim; else you name one",
    ),
    "numeric_judge": Option(JUDGE, "MODEL", "This model judges numerical scenarios.", "the judge"),
    "judge_sampling": Option(
        JUDGE,
        "NAME",
        "The judge samples as maskbench has it (temperature 0, equal requests asked once), or published: as in the "
        "published code (temperature 1, 500 tokens, no verdict shared). It sets nothing else.",
        of="protocol",
    ),
    "judge_style": Option(
        JUDGE,
        "NAME",
        "With reasoning the judge gives a reason, then the verdict. With verdict it gives the verdict alone, in a few "
        "tokens, with its probability where the endpoint gives that. With published it is asked and read as the "
        "published code has it, by the prompts of your own checkout of that repository (--judge-prompts DIR).",
        choices=styles(),
    ),
    "judge_numbers": Option(
        JUDGE,
        "NAME",
        "With together the neutral replies about a number get one verdict, as in the published code. With apart each "
        "gets its own, as in the Inspect Evals port.",
    ),
    "judge_temperature": Option(
        JUDGE, "X", "The judge answers at this temperature.", "0; published: 1", of="judge_sampling.temperature"
    ),
    "judge_max_tokens": Option(
        JUDGE,
        "N",
        "A verdict may have N tokens.",
        "1000; published: 500; the verdict alone: 64",
        of="judge_sampling.max_tokens",
    ),
    "judge_reasoning_tokens": Option(
        JUDGE, "N", "The judge may have N tokens more once it is seen to reason.", of="judge_sampling.reasoning_tokens"
    ),
    "judge_prompts": Option(
        JUDGE,
        "DIR",
        "The judge is asked by the prompts in this folder of your own; in the published form by those of your checkout "
        "of the MASK repository.",
        "the packaged ones",
        typed=Path,
    ),
    "rules": Option(
        SCORING,
        "NAME",
        f"This rule set scores the verdicts: {', '.join(RULES)}.",
        choices=tuple(RULES),
    ),
    "max_error_rate": Option(
        SCORING, "X", "The headline is withheld where a larger share of outcomes than X is missing."
    ),
    "connections": Option(
        HOW, "N", "All models together have at most N requests in flight. A service that refuses some gets fewer."
    ),
    "batch": Option(
        HOW,
        "judge|subject|both|none",
        "These requests go out in batches, which cost half and may take a day (openai/ and anthropic/ models). With "
        "none, what is under way in batches is asked live all the same.",
        "all requests are live",
    ),
    "timeout": Option(HOW, "X", "A request may take X seconds."),
    "retries": Option(HOW, "N", "A request that fails in passing is tried N times more."),
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
OPTIONS: Mapping[str, Option] = {name: replace(row, of=row.of or name) for name, row in _TABLE.items()}


# How judging is done; `maskbench run --like` sets all of it.
JUDGED_AS = ("judge_sampling", "judge_style", "judge_numbers")
PRICES = tuple(name for name in PLACES if "price_" in name)
# Rarely touched: `maskbench run FILE.toml` and a sweep's file have these as fields, and the line of `run` does not.
IN_FILES = (
    *PRICES,
    *JUDGED_AS,
    *("judge_temperature", "judge_max_tokens", "judge_reasoning_tokens"),
    *("whole_ends", "template_args", "extra_body", "rpm", "tpm", "timeout", "retries"),
)


def _word(model: str) -> str:
    return model.partition("/")[0]


_BATCHED = tuple(f"{name}/" for name, each in SERVICES.items() if each.batch)
_THESE_ALONE = f"only for {' and '.join(_BATCHED)}"
OF_JUDGES = ("rpm", "tpm", "max_cost", "max_tokens_total")  # of the money
_NO_REQUEST = ("sim", "pinocchio", "scripted")
_NO_SUBJECT = Clash(
    ("batch",),
    lambda batch: batch in ("subject", "both"),
    "--batch {batch}: no subject is asked here.",
    "Give --batch judge.",
)
OF_MODELS = (  # how a subject and a judge are asked by `maskbench doctor MODEL`
    *("temperature", "max_tokens", "reasoning_tokens", "extra_body", "template_args", "tool_calls"),
    *("judge_temperature", "judge_max_tokens", "judge_reasoning_tokens", "judge_prompts", "model_options", "timeout"),
)

# What does not go together, by command that asks. Of `run` it is what settings are held to, whatever they come from.
CLASHES: Mapping[str, tuple[Clash, ...]] = {
    "run": (
        Clash(
            ("sample", "limit"),
            beside,
            "--sample draws a weighted sample and --limit cuts a smoke run short.",
            "Give one of them.",
        ),
        Clash(
            ("prompt_on_beliefs", "system_prompt"),
            alone,
            "--prompt-on-beliefs says where a prompt goes.",
            "Give it, too: --system-prompt NAME.",
        ),
        Clash(
            ("judge_style", "judge_prompts"),
            lambda style, prompts: style == "published" and prompts is None,
            "--judge-style published needs --judge-prompts DIR, the folder of your checkout of the MASK repository.",
            "None of its text comes with maskbench.",
        ),
        *(
            Clash(
                ("batch", name),
                lambda batch, model, stage=stage: batch in (stage, "both") and f"{_word(model)}/" not in _BATCHED,
                f"--batch {{batch}}: maskbench knows no batch interface for {{{name}}}, {_THESE_ALONE}.",
                "Leave --batch out, or name the stage whose model has one (judge or subject).",
            )
            for name, stage in (("subject", "subject"), ("judge", "judge"), ("numeric_judge", "judge"))
        ),
        Clash(
            ("template_args", "subject"),
            lambda args, subject: args is not None and _word(subject) in _NO_REQUEST,
            "--template-args is for a model at an endpoint or in this process (hf/); {subject} is none.",
            "Leave it out.",
        ),
        Clash(
            ("extra_body", "subject"),
            lambda body, subject: body is not None and (_word(subject) in _NO_REQUEST or brought(_word(subject))),
            "--extra-body is for a model at an endpoint; {subject} is none.",
            "Leave it out.",
        ),
        Clash(
            ("scenarios", "subject"),
            lambda name, subject: (name in ("cais/MASK", "said_and_did") or is_starter(name)) and is_pinocchio(subject),
            "{subject} knows the words of its sandbox alone.",
            "Leave --scenarios out.",
        ),
        *(
            Clash(
                (judge, "subject"),
                lambda judge, subject: (
                    _word(judge) == "rules" and _word(subject) != "scripted" and not is_pinocchio(subject)
                ),
                f"{{{judge}}} reads only what pinocchio says.",
                "Give {subject} another --judge.",
            )
            for judge in ("judge", "numeric_judge")
        ),
        Clash(
            ("judge", "numeric_judge"),
            lambda *judges: NOBODY in judges and set(judges) != {NOBODY},
            "--judge none has nobody judge, numbers as little as options.",
            "Give both judges, or --judge none without --numeric-judge.",
        ),
        Clash(("full", "json"), beside, "--json prints everything already.", "Leave --full out."),
        Clash(("fresh", "out"), alone, "--fresh is for a folder that holds a run.", "Name it with --out."),
    ),
    "judge": (
        _NO_SUBJECT,
        Clash(
            ("judge",),
            lambda judge: judge in ("none", NOBODY),
            "--judge none is for `maskbench run`, which asks for replies alone; here somebody has to judge.",
            "Name the judge.",
        ),
        *(
            Clash((file, other), beside, f"{typed_as(file)} asks no judge.", f"Leave {typed_as(other)} out.")
            for file in ("from_", "requests")
            for other in ("judge", "numeric_judge", "dry_run", "batch", "connections", *OF_JUDGES, "timeout", "retries")
        ),
        Clash(("from_", "requests"), beside, "--from and --requests are two steps.", "Give one of them."),
        Clash(("from_", "name"), alone, "--from makes a verdict set with a name of its own.", "Add --name NAME."),
        Clash(("by", "from_"), alone, "--by says who read the verdicts in a file.", "Add --from FILE.jsonl."),
    ),
    "exam": (
        _NO_SUBJECT,
        Clash(("to", "stop_early"), beside, "--to writes the card of a whole exam.", "Leave --stop-early out."),
        *OF_PAPERS,
    ),
    "doctor": tuple(
        Clash((name, "model"), alone, f"{typed_as(name)} is for one model.", "Name it: maskbench doctor MODEL.")
        for name in ("judge", "scenarios", "dry_run", *OF_MODELS)
    ),
}


def check_together(command: str, **given: Any) -> None:
    """Raise UsageError for what does not go together of the options of a command that asks."""
    refuse(CLASHES[command], given)


def check(settings: Settings) -> None:
    """Raise UsageError for settings that cannot be meant: of another type, outside of a limit, or that clash."""
    for name, value in settings.options.items():
        option = typed_as(name)
        _check_type(option, value, _kind(name))
        least, most = _limits(_kind(name, whole=True))
        if value is not None and least is not None and value < least:
            raise UsageError(f"{option} {value} is too small. Give {least} or more.")
        if value is not None and most is not None and value > most:
            raise UsageError(f"{option} {value} is too large. Give {most:,} or less.")
    named(settings.design.rules)
    form_of(settings.judging)
    _check_numbers(settings)
    _check_ends(settings.subject.whole_ends)
    check_together("run", **settings.options)


def _check_type(option: str, value: Any, kind: Any) -> None:
    if isinstance(value, Sampling):
        return
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{option} {str(value)[:60]!r} cannot be meant ({error}).") from None


def _check_numbers(settings: Settings) -> None:
    label = settings.subject.label
    if label is not None and not (plain(label).strip() and len(label) <= 60):
        raise UsageError("--label: give a short text of 60 characters or fewer, such as ckpt-1200.")
    check_error_rate(settings.design.max_error_rate)
    if not 0 < settings.pace.timeout < math.inf:
        raise UsageError(f"--timeout {settings.pace.timeout:g} leaves no time. Give a number of seconds above 0.")
    for option, sampling in (("", settings.subject.sampling), ("judge-", settings.judging.sampling)):
        if not 0 <= sampling.temperature <= 2:
            raise UsageError(f"--{option}temperature {sampling.temperature:g}: give a number from 0 to 2.")
        if sampling.max_tokens < 1 or sampling.reasoning_tokens < 0:
            raise UsageError(f"--{option}max-tokens takes 1 or more, --{option}reasoning-tokens 0 or more.")


def _check_ends(words: tuple[str, ...]) -> None:
    known = {"cut": "was cut", "withheld": "was withheld", "broken": "was broken off"}
    for word in words:
        if not (plain(word).strip() and len(word) <= LONGEST):
            raise UsageError(f"--whole-ends: give words of {LONGEST} characters or fewer, as the service has them.")
        if meant := known.get(end_of(word).sort):
            raise UsageError(f"--whole-ends {plain(word)}: it is how an answer ends that {meant}. Leave it out.")
