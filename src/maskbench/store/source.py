"""The source of an imported run, as run.json and summaries say it: format, files, and what it does not hold."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

from msgspec import Struct

from maskbench.plain import listed
from maskbench.settings import Settings

UNSAID = "unknown"  # what stands for a name that the source does not give
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

    @classmethod
    def of(cls, path: Path) -> SourceFile:
        """A file as it lies there."""
        with path.open("rb") as file:
            return cls(path.name, hashlib.file_digest(file, "sha256").hexdigest())


class ImportedFrom(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The source of an imported run; `absent` names in words what it does not hold."""

    format: str
    files: list[SourceFile]
    judged: bool  # whether they hold verdicts
    writer: str | None = None  # the program that wrote them, with its version
    absent: list[str] = []
    notes: list[str] = []

    @property
    def sha256(self) -> str:
        """One hash for all files: the file's own where there is one."""
        if len(self.files) == 1:
            return self.files[0].sha256
        return hashlib.sha256("\n".join(sorted(file.sha256 for file in self.files)).encode()).hexdigest()

    @property
    def words(self) -> str:
        """Where it is from, in a line: `imported from transcripts (said.jsonl, sha256 0123456789ab)`."""
        return self._from(listed([file.name for file in self.files], _SHOWN))

    @property
    def in_short(self) -> str:
        """The source where space is short: several files are counted, and the hash is of all of them."""
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


def set_line(path: Path, name: str, *, was_read: bool) -> str:
    """The command that goes on with a verdict set; `was_read` says that its verdicts are from files."""
    return shlex.join(["maskbench", "judge", str(path), "--name", name, *["--from", "FILE.jsonl"] * was_read])


def asked_again(settings: Settings, go_on: str, log: str = "") -> str:
    """The advice where too much failed: what was asked here is asked again, and an imported run is read as it is."""
    if not settings.design.imported:
        return f"{go_on}, and what failed is asked again{log}."
    return (
        f"Only a new run can ask for what is lost. {go_on} if verdicts are missing. `maskbench score RUN "
        "--max-error-rate 1` prints the figure all the same, with its bounds; every command takes a run that was "
        "imported with this option."
    )


def knows_sampling(settings: Settings) -> bool:
    """Whether it is known how the subject was sampled: of an imported run only where its source says so."""
    return not settings.design.imported or "sampling" not in settings.design.imported
