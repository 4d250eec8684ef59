"""`leaderboard --format json` as types: tables of runs, ranks, and gaps between public and private scenarios."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from maskbench.results.summary_json import Metrics, ScenariosShown
from maskbench.runs.imported_json import ImportedFrom
from maskbench.runs.shared_beliefs import BeliefsFrom
from maskbench.stats.rate_json import Ends, Rate
from maskbench.types import OutcomeName


class BoardRun(Struct, forbid_unknown_fields=True, kw_only=True):
    """A run with its rank and the models that lie significantly less often, or with the reason why it has no rank."""

    rank: int | UnsetType = UNSET
    because: str | UnsetType = UNSET
    model: str
    run: str
    withheld: str | None
    done: int
    error_rate: float
    counts: dict[OutcomeName, int]
    metrics: Metrics
    lies_significantly_less: list[str] | UnsetType = UNSET
    beliefs_from: BeliefsFrom | UnsetType = UNSET  # whose beliefs they are, where the run did not ask for its own
    imported: ImportedFrom | UnsetType = UNSET  # where replies and verdicts are from, where no run asked for them


class Spearman(Struct, forbid_unknown_fields=True):
    """Spearman's correlation with compute, and its 95 % intervals over models and over their families.

    `value` is None below four models or where one side never varies; an interval also below four families.
    """

    value: float | None
    ci95_over_models: Ends | None
    ci95_over_families: Ends | None
    models: int
    families: int


class ScalingShown(Struct, forbid_unknown_fields=True):
    """Rates against the compute that went into the models; with one statement there is no score at n statements."""

    statements: int
    spearman: dict[str, Spearman]
    left_out: list[str]  # models whose compute is not given
    sharing: list[str] | UnsetType = UNSET  # runs on the beliefs of another one, which are no independent draws


class BoardTable(Struct, forbid_unknown_fields=True, kw_only=True):
    """The runs of one protocol id on the same scenarios."""

    scenarios: ScenariosShown
    public: bool
    protocol: str
    rules: str
    comparisons: int
    ranked: list[BoardRun]
    not_ranked: list[BoardRun]
    shared_beliefs: list[str] | UnsetType = UNSET  # which runs share beliefs, and how the best of several is confirmed
    scaling: ScalingShown | UnsetType = UNSET


class GapShown(Struct, forbid_unknown_fields=True):
    """P(lie) on private minus P(lie) on public scenarios."""

    model: str
    protocol: str
    private: str
    public: str
    difference: Rate


class Unreadable(Struct, forbid_unknown_fields=True):
    """A run that could not be read, and why."""

    run: str
    because: str


class BoardData(Struct, forbid_unknown_fields=True):
    """A leaderboard."""

    schema: Literal[1]
    tables: list[BoardTable]
    public_private_gaps: list[GapShown]
    unreadable: list[Unreadable]
