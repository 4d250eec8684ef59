"""Options of commands that read, and which of them do not go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maskbench.together import Clash, alone, beside, is_given, refuse, typed_as

_TWO_FORMS = Clash(
    ("json", "format"),
    lambda json, format: json and format != "text",
    "--json and --format {format} are two forms of one output.",
    "Give one of them.",
)
_PART = ("archetype", "answered_by", "where", "without")  # of a run that is scored

CLASHES: Mapping[str, tuple[Clash, ...]] = {
    "label": (
        *(
            Clash(
                (name, "show"),
                beside,
                f"{typed_as(name)} says how is labelled, and --show prints what labels say.",
                "Leave one of them out.",
            )
            for name in ("rater", "adjudicate", "readers", "sample", "seed", "out", "import_", "port", "open")
        ),
        *(
            Clash((name, "show"), alone, f"--{name} is for --show.", f"Add --show, or leave --{name} out.")
            for name in ("rules", "worst", "json")
        ),
        Clash(("adjudicate", "rater"), beside, "--rater labels and --adjudicate decides:", "give one of them."),
        Clash(
            ("adjudicate", "import_", "out"),
            beside,
            "--adjudicate is for the page.",
            "Leave it out: a file has the names and roles of all in it.",
        ),
        Clash(
            ("rater", "import_", "out"),
            lambda rater, import_, out: rater and import_ and not out,
            "--import takes the names that are in the file.",
            "Leave --rater out.",
        ),
    ),
    "check": (
        _TWO_FORMS,
        *(
            Clash((name, "baseline"), alone, f"--{name.replace('_', '-')} goes with --baseline.", "Give both.")
            for name in ("baseline_verdicts", "baseline_lies_only")
        ),
        Clash(
            ("max_lie", "max_", "baseline"),
            lambda *limits: not any(map(is_given, limits)),
            "How much may it lie?",
            "Give a run and a limit: maskbench check RUN --max-lie 0.5, or --baseline RUN.",
        ),
        Clash(
            ("as_", "max_lie", "baseline", "rules"),
            lambda as_, max_lie, *others: beside(as_, max_lie is None, *others),
            "--as counts lies as a publisher does, for --max-lie.",
            "Leave --baseline and --rules out.",
        ),
    ),
    "compare": (
        _TWO_FORMS,
        Clash(
            ("as_", "rules", "non_inferiority", "rates"),
            lambda as_, rules, margin, rates: beside(as_, rules, margin, rates != "judge"),
            "--as compares one figure of a publisher.",
            "Leave --rules, --non-inferiority, --rates out.",
        ),
    ),
    "leaderboard": (
        Clash(
            ("as_", "out", "compute", "format", "rates"),
            lambda as_, out, compute, format, rates: beside(
                as_, out, compute, format in ("csv", "json"), rates != "judge"
            ),
            "--as prints a table as text or markdown.",
            "Leave --out, --compute and --rates out.",
        ),
    ),
    "score": (
        Clash(
            ("with_prompt", "format"),
            lambda with_prompt, format: with_prompt and format != "card",
            "--with-prompt is about the card.",
            "Add --format card, or leave it out.",
        ),
        _TWO_FORMS,
        Clash(
            ("as_", "rules", "format"),
            lambda as_, rules, format: format != "card" and beside(as_, rules),
            "--as has the rule set of its convention.",
            "Leave --rules out.",
        ),
        *(
            Clash(("why", name), beside, "--why is about two figures of the whole run.", f"Leave {typed_as(name)} out.")
            for name in ("rules", "by", *_PART, "max_error_rate")
        ),
        Clash(
            ("why", "format"),
            lambda why, format: beside(why, format == "card"),
            "--why is about two figures of the whole run.",
            "Leave --format card out.",
        ),
        Clash(("why", "as_"), alone, "--why begins at the formula of --as.", "Add one, as in --as paper --why {why}."),
    ),
    "export": (
        Clash(
            ("format", "raw", "rules", "verdicts"),
            lambda format, *others: beside(format == "run", *others),
            "--format run writes the whole run.",
            "Leave the options of other forms out.",
        ),
        Clash(
            ("raw", "format"),
            lambda raw, format: raw and format == "markdown",
            "--raw is for CSV.",
            "Leave it out with --format {format}.",
        ),
        *(
            Clash(
                ("format", "out"),
                lambda format, out, forms=forms: format in forms and out is None,
                "--format {format} needs a place:",
                f"add --out {place}.",
            )
            for place, forms in (("FOLDER", ("run", "published")), ("FILE", ("parquet",)))
        ),
    ),
    "report": (
        Clash(
            ("public", "include_text"),
            beside,
            "--public makes a page of runs without their texts.",
            "Leave --include-text out.",
        ),
    ),
}


def check_together(command: str, **given: Any) -> None:
    """Raise UsageError for what does not go together of the options of a command that reads."""
    refuse(CLASHES[command], given)
