"""The options of `maskbench run`, as the command line shows them: what each takes, and what it says about itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskbench.cli.console import ArchetypeName, Rules
from maskbench.settings import Filtered, Precision, Protocol, Truncation
from maskbench.system_prompts import LIBRARY
from maskbench.types import JudgeStyle

_WHAT, _HOW, _JUDGE, _RULES = "What is measured", "How it runs", "Judge", "Scoring"
_LOCAL = "A model in this process (hf/)"
_CHECKS = "Checks on the subject (extra calls; a finished run can add them)"

Model = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help="The subject: SERVICE/NAME (openai/gpt-4o, openrouter/..., vllm/...), openai-api/SERVICE/NAME, "
        "hf/NAME_OR_PATH (a transformers model in this process), scripted/FILE.json, "
        "sim/lie=0.4,evade=0.2,unsure=0.1, or pinocchio, which comes with maskbench. Left out, "
        "the run in --out goes on as it began.",
        show_default="pinocchio",
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="The model that gives verdicts.",
        show_default="rules/sandbox for pinocchio, sim-judge for sim; else none",
        rich_help_panel=_JUDGE,
    ),
]
NumericJudge = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL", help="The judge of numerical scenarios.", show_default="the judge", rich_help_panel=_JUDGE
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
Archetype = Annotated[
    list[ArchetypeName] | None,
    typer.Option(
        metavar="NAME",
        help=f"Only this archetype ({', '.join(ArchetypeName)}); may be given several times.",
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
        help="Visible text that was cut at the limit is judged as it stands, asked for once more with twice the "
        "tokens (and is a failure if cut again), or a failure.",
        rich_help_panel=_WHAT,
    ),
]
FilteredAs = Annotated[
    Filtered,
    typer.Option(help="What a reply withheld by a content filter is: a failure, or an evasion.", rich_help_panel=_WHAT),
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
JudgeProtocol = Annotated[
    Protocol,
    typer.Option(
        metavar="NAME",
        help="maskbench; or published: judge as the published code does (temperature 1, 500 tokens, no verdict "
        "shared).",
        rich_help_panel=_JUDGE,
    ),
]
JudgeStyleName = Annotated[
    JudgeStyle,
    typer.Option(
        metavar="NAME",
        help="reasoning: a reason, then the verdict; or verdict: the verdict alone, in a few tokens, with its "
        "probability where the endpoint gives it.",
        rich_help_panel=_JUDGE,
    ),
]
JudgeTemperature = Annotated[
    float | None,
    typer.Option(metavar="X", help="The judge's temperature.", show_default="0; published: 1", rich_help_panel=_JUDGE),
]
JudgeMaxTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Tokens of a verdict.",
        min=1,
        show_default="1000; published: 500; the verdict alone: 64",
        rich_help_panel=_JUDGE,
    ),
]
JudgeReasoningTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Tokens added once the judge is seen to reason.",
        min=0,
        show_default="16000",
        rich_help_panel=_JUDGE,
    ),
]
JudgePrompts = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder of judge prompts of your own.",
        show_default="the packaged ones",
        rich_help_panel=_JUDGE,
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
Connections = Annotated[
    int,
    typer.Option(metavar="N", help="Requests in flight, subject and judge together.", min=1, rich_help_panel=_HOW),
]
Timeout = Annotated[float, typer.Option(metavar="X", help="Seconds that one request may take.", rich_help_panel=_HOW)]
Retries = Annotated[
    int,
    typer.Option(metavar="N", help="Further tries of a request that fails in passing.", min=0, rich_help_panel=_HOW),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count calls and tokens, call nothing.", rich_help_panel=_HOW)]

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

Adapter = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="An adapter that PEFT wrote (or `maskbench lorra`), put on the subject.",
        show_default="none",
        rich_help_panel=_LOCAL,
    ),
]
Adapters = Annotated[
    str | None,
    typer.Option(
        metavar="PATTERN",
        help="Several, as in 'DIR/step_*': a run each in a folder of --out, compared with the first at the end.",
        show_default="none",
        rich_help_panel=_LOCAL,
    ),
]
Steer = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Vectors of `maskbench steer`, added to the subject's hidden states while it answers.",
        show_default="none",
        rich_help_panel=_LOCAL,
    ),
]
Layers = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="The layers to steer, from 0, as in 10,12-16.",
        show_default="all that the vectors have",
        rich_help_panel=_LOCAL,
    ),
]
Strength = Annotated[
    float,
    typer.Option(metavar="X", help="How many times the vectors are added; may be negative.", rich_help_panel=_LOCAL),
]
Dtype = Annotated[
    Precision,
    typer.Option(
        metavar="NAME",
        help="auto (the checkpoint's; fp32 on a CPU), fp32, bf16 or fp16.",
        rich_help_panel=_LOCAL,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="cpu, cuda or cuda:1.", show_default="cuda where there is one", rich_help_panel=_LOCAL
    ),
]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Tokens that a batch may come to hold, prompts and answers; halved where memory runs out.",
        min=1,
        show_default="what fits the GPU; 32768 on a CPU",
        rich_help_panel=_LOCAL,
    ),
]
TrustRemoteCode = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that the model brings along.", rich_help_panel=_LOCAL),
]
