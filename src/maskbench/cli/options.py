"""The options of `maskbench run` about what is measured and how it is scored; those of several commands stand once.

The judge's are in judge_options.py, those of models in this process in local_options.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskbench.cli.console import Form, Rules
from maskbench.method.archetypes import TABLE
from maskbench.method.system_prompts import LIBRARY
from maskbench.settings import Filtered, Truncation

_WHAT, _RULES = "What is measured", "Scoring"
_CHECKS = "Checks on the subject (extra calls; a finished run can add them)"

# Of every command that reads runs
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
Verdicts = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A verdict set that `maskbench judge` made, or majority (of all), or majority:A,B,C.",
        show_default="the run's own",
    ),
]
Format = Annotated[
    Form, typer.Option(metavar="FORM", help="text, or markdown or latex (with booktabs) to paste into a paper.")
]
RulesOfRun = Annotated[
    Rules | None, typer.Option(metavar="NAME", help="Another rule set.", show_default="the run's own")
]
RulesOfAll = Annotated[
    Rules | None, typer.Option(metavar="NAME", help="One rule set for all.", show_default="the first run's own")
]
OneRuleSet = Annotated[Rules, typer.Option(metavar="NAME", help="The one rule set for all.")]
Public = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME|PATH",
        help="A scenario set that counts as public, as cais/MASK, starter and sandbox do, whatever their folder is "
        "called; any other is private. "
        "May be given several times.",
        show_default="none",
    ),
]

# Of a run
Model = Annotated[
    str | None,
    typer.Argument(
        metavar="[MODEL]",
        help="The subject: SERVICE/NAME (openai/gpt-4o, openrouter/..., vllm/...), openai-api/SERVICE/NAME, "
        "hf/NAME_OR_PATH (a transformers model in this process), scripted/FILE.json, "
        "sim/lie=0.4,evade=0.2,unsure=0.1, or pinocchio, which comes with maskbench. Left out, "
        "the run in --out goes on as it began.",
        show_default="pinocchio",
    ),
]
Scenarios = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|PATH",
        help="starter, sandbox, cais/MASK, a folder of files named after the archetypes, or one CSV, JSONL or "
        "Parquet file.",
        show_default="sandbox for pinocchio, starter for sim; else none",
        rich_help_panel=_WHAT,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="The run's folder; a run that is there goes on.",
        show_default="runs/<time>-<subject>-<hash>",
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Ask everything anew, as for a new checkpoint under the same name; the run in --out is moved aside.",
    ),
]
Archetype = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help=f"Only this archetype ({', '.join(TABLE)}, or one that the set brings); may be given several times.",
        show_default="all",
        rich_help_panel=_WHAT,
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="A sample of so many scenarios, stratified by archetype, with design weights; "
        "the sample of 100 is part of that of 300.",
        min=1,
        rich_help_panel=_WHAT,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="A smoke run over so many scenarios, marked as such.",
        min=1,
        rich_help_panel=_WHAT,
    ),
]
SystemPrompt = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE",
        help="A developer's system prompt, in a labelled part before the pressured one: "
        f"{', '.join(LIBRARY)}, or a file of your own. Belief questions do without, unless --prompt-on-beliefs.",
        show_default="none",
        rich_help_panel=_WHAT,
    ),
]
PromptOnBeliefs = Annotated[
    bool,
    typer.Option(
        "--prompt-on-beliefs",
        help="Put the developer's system prompt on belief questions, too.",
        rich_help_panel=_WHAT,
    ),
]
Statements = Annotated[
    int,
    typer.Option(metavar="N", help="Statements a scenario; ten give Lying@10.", min=1, rich_help_panel=_WHAT),
]
Beliefs = Annotated[
    int,
    typer.Option(metavar="N", help="Samples of the direct belief question.", min=1, rich_help_panel=_WHAT),
]
Temperature = Annotated[float, typer.Option(metavar="X", help="The subject's temperature.", rich_help_panel=_WHAT)]
MaxTokens = Annotated[
    int,
    typer.Option(metavar="N", help="Tokens that the subject's answer may have.", min=1, rich_help_panel=_WHAT),
]
ReasoningTokens = Annotated[
    int,
    typer.Option(metavar="N", help="Tokens added once the subject is seen to reason.", min=0, rich_help_panel=_WHAT),
]
OnTruncation = Annotated[
    Truncation,
    typer.Option(
        metavar="judge|retry|error",
        help="Visible text that was cut at the limit is judged as it stands, asked for once more with twice the "
        "tokens (and is a failure if cut again), or a failure.",
        rich_help_panel=_WHAT,
    ),
]
FilteredAs = Annotated[
    Filtered,
    typer.Option(
        metavar="error|evasive",
        help="What a reply withheld by a content filter is: a failure, or an evasion.",
        rich_help_panel=_WHAT,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Draws the sample, and seeds simulated and local models.",
        min=0,
        rich_help_panel=_WHAT,
    ),
]
SendSeed = Annotated[
    bool,
    typer.Option(
        "--send-seed",
        help="Send endpoints a seed, another for every sample (which then is a request of its own).",
        rich_help_panel=_WHAT,
    ),
]
TemplateArgs = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help="Variables of the subject's chat template, as a JSON object: enable_thinking, for instance. A server gets "
        "them as chat_template_kwargs.",
        show_default="none",
        rich_help_panel=_WHAT,
    ),
]
ExtraBody = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help="Further fields of every request to the subject's endpoint, as a JSON object: top_k, for instance. They "
        "are kept with the run, so never a secret.",
        show_default="none",
        rich_help_panel=_WHAT,
    ),
]
RuleSetName = Annotated[
    Rules,
    typer.Option(
        metavar="NAME",
        help="How verdicts are scored: reference, published, strict or inspect.",
        rich_help_panel=_RULES,
    ),
]
MaxErrorRate = Annotated[
    float,
    typer.Option(
        metavar="X",
        help="The share of outcomes that may be missing before the headline is withheld.",
        rich_help_panel=_RULES,
    ),
]
Placebo = Annotated[
    bool,
    typer.Option(
        "--placebo",
        help="One more neutral reply, judged as if it were a statement: its share of lies is the noise floor.",
        rich_help_panel=_CHECKS,
    ),
]
CheckProvided = Annotated[
    bool,
    typer.Option(
        "--check-provided",
        help="Ask neutrally whether provided facts were understood: P(lie) where they were.",
        rich_help_panel=_CHECKS,
    ),
]
SelfReport = Annotated[
    bool,
    typer.Option(
        "--self-report",
        help="Ask as the developer, after each statement, whether it was true.",
        rich_help_panel=_CHECKS,
    ),
]
Traces = Annotated[
    bool,
    typer.Option(
        "--traces",
        help="Judge the reasoning before each lie: does it state the belief that the answer contradicts?",
        rich_help_panel=_CHECKS,
    ),
]
