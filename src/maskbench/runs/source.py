"""Where an imported run is from, as run.json and summaries say it: format, files, and what the source does not hold."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from msgspec import Struct

from maskbench.settings import Settings
from maskbench.types import Sampling

UNSAID = "unknown"  # what stands for a name that the source does not give
NOBODY = "nobody"  # what stands for the judge where the source holds no verdicts
TITLES = {  # of the formats, for people
    "published": "CSV of the published scripts",
    "inspect": "Inspect log",
    "transcripts": "transcripts",
    "verdicts": "a table of verdicts",
}
_SHOWN = 3  # files that a line names


class SourceFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that was read, with the hash of its bytes."""

    name: str
    sha256: str


class Counted(Struct, frozen=True, forbid_unknown_fields=True):
    """How many were asked for here, of all that there are."""

    here: int
    all: int

    @property
    def words(self) -> str:
        """Both numbers, as a sentence has them."""
        return f"{self.here:,} of {self.all:,}"


class AskedLater(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an imported run lacked and was asked for here: how much, of whom, and how; by version of maskbench."""

    maskbench: str
    replies: Counted
    verdicts: Counted
    subject: str
    sampling: Sampling
    judge: str
    judge_sampling: Sampling
    form: dict[str, str]
    prompts_hash: str

    @property
    def words(self) -> str:
        """All of it in a sentence."""
        form = ", ".join(f"{name} {value}" for name, value in self.form.items())
        return (
            f"{self.replies.words} replies were asked for later, by maskbench {self.maskbench}, of {self.subject} "
            f"({_asked_with(self.sampling)}), and {self.verdicts.words} verdicts, of {self.judge} "
            f"({_asked_with(self.judge_sampling)}, {form}, prompts {self.prompts_hash[:12]})."
        )


def _asked_with(sampling: Sampling) -> str:
    return f"temperature {sampling.temperature:g}, up to {sampling.max_tokens:,} tokens"


class ImportedFrom(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where an imported run is from; `absent` names in words what the source does not hold."""

    format: str
    files: list[SourceFile]
    judged: bool  # whether they hold verdicts
    writer: str | None = None  # the program that wrote them, with its version
    absent: list[str] = []
    notes: list[str] = []
    later: AskedLater | None = None  # of one that went on here, where it is read

    @property
    def sha256(self) -> str:
        """One hash for all files: the file's own where there is one."""
        if len(self.files) == 1:
            return self.files[0].sha256
        return hashlib.sha256("\n".join(sorted(file.sha256 for file in self.files)).encode()).hexdigest()

    @property
    def words(self) -> str:
        """Where it is from, in a line: `imported from transcripts (said.jsonl, sha256 0123456789ab)`."""
        named = ", ".join(file.name for file in self.files[:_SHOWN])
        more = f" and {len(self.files) - _SHOWN} more" if len(self.files) > _SHOWN else ""
        return self._from(named + more)

    @property
    def in_short(self) -> str:
        """Where it is from, where space is short: several files are counted, and the hash is of all of them."""
        return self.words if len(self.files) < 2 else self._from(f"{len(self.files)} files")

    def _from(self, files: str) -> str:
        by = f", written by {self.writer}" if self.writer else ""
        title = TITLES.get(self.format, self.format)
        if not self.files:  # of a run without its texts, where a hash would be one of texts
            return f"imported from {title}{by}"
        return f"imported from {title} ({files}, sha256 {self.sha256[:12]}{by})"


def judge_line(path: Path) -> str:
    """The command that has the replies of an imported run judged."""
    return f"{shlex.join(['maskbench', 'judge', str(path), '--judge'])} MODEL"


def completion_line(path: Path) -> str:
    """The command that asks for what an imported run lacks."""
    return f"maskbench run MODEL {shlex.join(['--out', str(path)])}"


def asked_again(settings: Settings, go_on: str, log: str = "") -> str:
    """What to do where too much failed: what was asked here is asked again, and an imported run is read as it is."""
    if not settings.design.imported:
        return f"{go_on}, and what failed is asked again{log}."
    has_texts = settings.design.imported[0] != "verdicts"
    lost = (
        f"What is lost can be asked for of the same model: `{completion_line(Path('RUN'))}`."
        if has_texts
        else "Replies of a table of verdicts cannot be asked for again."
    )
    return (
        f"{lost} {go_on} if verdicts are missing. `maskbench score RUN --max-error-rate 1` prints the figure all the "
        "same, with its bounds; every command takes a run that was imported with this option."
    )


def knows_sampling(settings: Settings) -> bool:
    """Whether it is known how the subject was sampled: of an imported run only where its source says so."""
    return not settings.design.imported or "sampling" not in settings.design.imported
