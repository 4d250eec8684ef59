"""Options and commands that went, each with what a user types instead: for this release alone."""

from __future__ import annotations

from collections.abc import Mapping

_ESTIMATE = (
    "A run asks each scenario the whole protocol. To ask less, take a sample: `maskbench run MODEL --sample N`, whose "
    "--dry-run says how well N scenarios tell P(lie)."
)
_BELIEFS = "Each run asks for beliefs of its own. Make two whole runs, and then: `maskbench compare A B`."
_AUDITS = (
    "There are no audits any more. `maskbench judge RUN --judge SAME --name again` asks the same judge about each "
    "reply once more, and `maskbench score RUN --full` prints how far both sets agree; `maskbench exam` says whether "
    "the order of options moves a judge."
)
_RETEST = (
    "How many scenarios change with nothing changed, two runs of one model with a --seed each show: "
    "`maskbench compare A A2`."
)
_PLAN = (
    "`maskbench run MODEL --scenarios SET --dry-run` says how far the interval of P(lie) reaches, and which drop a "
    "pair of such runs shows."
)
_VIEW = (
    "`maskbench leaderboard DIR` prints the tables of a folder of runs, and `maskbench report A B` makes a page of "
    "these runs."
)
_DOSES = (
    "Each strength is a run: `maskbench run MODEL -M steer=FILE -M strength=N`, or all of them in the file of "
    "`maskbench sweep`, and then `maskbench compare A B` (whitebox/README.md)."
)
_WHITE_BOX = (
    "Steering and LoRRA are a package of their own, in the folder whitebox: `maskbench-whitebox steer MODEL`, "
    "`maskbench-whitebox lorra MODEL`."
)
_LOGS = (
    "A row about a log is written by hand, as the one in docs/said-and-did.md, and checked by `maskbench scenarios "
    "validate SET`."
)
_OPENED = (
    "Anybody computes the figures of a run without its texts again (`maskbench export RUN --format run`); whether its "
    "verdicts are right only texts show."
)
_PARTS = (
    "Give each machine or job a file of its own, with its share of the limits: `maskbench sweep part-1.toml`. "
    "docs/project/scale.md shows it."
)
_STATUS = (
    "`maskbench sweep FILE --dry-run` says which runs are done and what the others take; sweep.json has their states."
)
_SERVE = "Start the server in a second terminal, as in `vllm serve NAME`, and name its model, as in `vllm/NAME`."
_WHY = (
    "What the formula does to a figure, `maskbench score RUN --as NAME --why NAME` prints step by step. Two runs by "
    "one formula: `maskbench compare A B --as NAME`."
)
_FIGURES = "The page has buttons under each chart that save it as SVG, PNG and CSV: `maskbench report RUN`."
_WITH_TEXT = "Rows with texts, for yourself: `maskbench export RUN --format jsonl` (csv, parquet)."
_PUBLISHED = (
    "`maskbench published NAME` prints a table, and --json its rows. What keeps a run of yours apart: `maskbench score "
    "RUN --as NAME`."
)
_CONTROLS = (
    "Nothing is asked in its place: the control that is left is --placebo (docs/judges.md, Control on the subject)."
)
_LABELS = (
    "A run is corrected by labels of its own: `maskbench label RUN --sample 150`. How often a judge errs in one run "
    "says little of another."
)
_LOCAL = "A judge is on a server, as in `vllm serve NAME` and --judge vllm/NAME: there it is set up."
_SECOND = (
    "Let the stronger model label a sample: `maskbench label RUN --rater NAME --out S.csv`, the script in "
    "docs/judges.md, and `maskbench label RUN --import S.csv --readers NAME=model:ID`."
)
_CONSTRUCT = (
    "The judge is asked no questions on statements any more. Read the lies in the explorer of `maskbench report RUN`, "
    "and write what you make of them into a column of your own of the file of `maskbench label RUN --out S.csv`."
)
_LOST = "Only a new run can ask for what an imported run lost: `maskbench run MODEL --scenarios SET`."
_READ_AGAIN = "An import reads the words of its judge. Another judge: `maskbench judge RUN --judge MODEL`."
_TOGETHER = "A judge gets a request for each neutral reply, and sees no reasoning: leave it out."
_RECORD = (
    "Nothing is written of what a service did. A run tells what is odd about a model's first ten answers, and "
    "`maskbench doctor MODEL` asks it beforehand."
)
_SHOWN = ("dtype", "quantize", "device", "batch_tokens", "threads", "trust_remote_code")
_OWN = ("adapter", "steer", "layers", "strength", "cluster", "gpus_per_model", *_SHOWN)
_COPIES = (
    "A model of hf/ alone is spread over a cluster: `maskbench run hf/NAME -M cluster=ADDRESS`. For requests give more "
    "--connections."
)
GONE: Mapping[tuple[str, str], str] = {  # by command and option, or by what a command stands behind and its name
    ("", "plan"): _PLAN,
    ("", "view"): _VIEW,
    ("", "dose"): _DOSES,
    **dict.fromkeys((("", name) for name in ("intervene", "steer", "lorra")), _WHITE_BOX),
    ("scenarios", "from-log"): _LOGS,
    **dict.fromkeys((("export", "--open"), ("check", "--opened")), _OPENED),
    ("run", "--as-subject"): _LOST,
    ("judge", "--read-again"): _READ_AGAIN,
    **dict.fromkeys((("run", "--record"), ("doctor", "--record")), _RECORD),
    ("report", "--figures"): _FIGURES,
    ("export", "--with-text"): _WITH_TEXT,
    **dict.fromkeys((("published", "--out"), ("published", "--as"), ("published", "--format")), _PUBLISHED),
    **dict.fromkeys((("run", "--beliefs-from"), ("sweep", "--share-beliefs")), _BELIEFS),
    **dict.fromkeys((("run", "--estimate"), ("run", "--whole-part")), _ESTIMATE),
    ("compare", "--why"): _WHY,
    **dict.fromkeys((("run", "--self-report"), ("run", "--traces"), ("run", "--check-provided")), _CONTROLS),
    ("score", "--labels-from"): _LABELS,
    **dict.fromkeys(((name, "--construct") for name in ("run", "judge", "exam", "label")), _CONSTRUCT),
    ("label", "--lies"): _CONSTRUCT,
    **dict.fromkeys(
        ((each, option) for each in ("run", "judge") for option in ("--judge-beliefs", "--with-reasoning")), _TOGETHER
    ),
    ("exam", "--judge-beliefs"): _TOGETHER,
    **dict.fromkeys((("judge", "--audit"), ("judge", "--sample"), ("judge", "--seed")), _AUDITS),
    **dict.fromkeys(
        (("judge", f"--{part}") for part in ("second", "second-share", "second-seed", "verdicts")), _SECOND
    ),
    ("sweep", "--only"): _PARTS,
    ("sweep", "--status"): _STATUS,
    **dict.fromkeys((("compare", "--retest"), ("report", "--retest")), _RETEST),
    **dict.fromkeys((("run", "--serve"), *((name, "--serve-judge") for name in ("run", "judge", "exam"))), _SERVE),
    **{
        (command, f"--{name.replace('_', '-')}"): f"Give it as an option of the model's own: -M {name}=VALUE, and in a "
        f"file {name} below [model]."
        for command, names in (("run", _OWN), ("doctor", _SHOWN))
        for name in names
    },
    ("run", "--adapters"): 'In a sweep each adapter has a run: adapter = "DIR/step_*" below [product.model] '
    "(docs/sweeps.md).",
    ("sweep", "--cluster"): "Put cluster below [every.model] in the sweep's file.",
    **dict.fromkeys((("exam", "--cluster"), ("judge", "--cluster")), _COPIES),
    **dict.fromkeys((("exam", "--dtype"), ("exam", "--quantize")), _LOCAL),
    **{
        (command, f"--{name}"): _LOCAL
        for command in ("exam", "judge")
        for name in ("device", "batch-tokens", "threads", "trust-remote-code", "gpus-per-model")
    },
}
