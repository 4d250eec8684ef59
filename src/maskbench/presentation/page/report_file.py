"""The page of a run, or of several, as one file: where it goes, what it may show, and that it is written whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from maskbench.errors import UsageError
from maskbench.install import extra, install
from maskbench.results.scaling import Compute
from maskbench.results.together import check_together
from maskbench.store.disk import create
from maskbench.store.folder import RunFolder


def report(
    *runs: str | PathLike[str],
    out: str | PathLike[str] | None = None,
    rules: str | None = None,
    verdicts: str | None = None,
    include_text: bool = False,
    public: bool = False,
    compute: Mapping[str, Compute] | None = None,
    convention: str | None = None,
) -> Path:
    """Write one self-contained page of a run, or of several that are compared with the first, and return its path.

    `out` is the file (default: report.html in the run's folder, or in this one for several). `include_text` shows the
    texts of any set, `public` makes a page without a text, a path or words of a server. The others are as for the
    command `report`. Asks no model. Raises UsageError for what does not go together and where the extra `report` is
    missing, RunUnreadable where a folder holds no run.
    """
    folders = [Path(run) for run in runs]
    place = page_of(folders, out)
    whole = place.absolute()  # what is for others is made in another folder
    check_together("report", public=public, include_text=include_text)
    with extra_for("report"):
        from maskbench.presentation.page.page import render
    with _for_others(folders) if public else nullcontext(folders) as shown:
        page = render(
            shown,
            rules=rules,
            verdicts=verdicts,
            include_text=include_text,
            compute=compute,
            convention=convention,
        )
        write_page(whole, tuple(page.parts))
    return place


def page_of(runs: Sequence[Path], out: str | PathLike[str] | None) -> Path:
    """Where the page on these runs goes; raises UsageError for a file that is no page."""
    if not runs:
        raise UsageError('Which run? Give its folder: report("runs/a").')
    place = Path(out) if out is not None else runs[0] / "report.html" if len(runs) == 1 else Path("report.html")
    if place.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {place}: give a file that ends in .html.")
    return place


@contextmanager
def _for_others(runs: Sequence[Path]) -> Iterator[list[Path]]:
    """The runs as others may see them, in a folder for as long as this context lasts, under names of their own."""
    from maskbench.results.textless_run import write_without_texts

    whole, seen, shown = [run.absolute() for run in runs], Counter[str](), []
    with TemporaryDirectory() as scratch, chdir(scratch):
        for run in whole:
            seen[run.name] += 1
            name = Path(run.name if seen[run.name] == 1 else f"{run.name}-{seen[run.name]}")
            if RunFolder(run).read().without_texts:
                name.symlink_to(run)
            else:
                write_without_texts(RunFolder(run), name)
            shown.append(name)
        yield shown


@contextmanager
def extra_for(command: str) -> Iterator[None]:
    """Name what is missing of the extra that pages need."""
    try:
        yield
    except ImportError as error:
        if error.name and error.name.partition(".")[0] == "maskbench":
            raise UsageError(f"A part of maskbench itself is missing ({error}). Install maskbench again.") from error
        raise UsageError(f"{command} needs {error.name}. Type: {install(*extra('report'))}") from None


def write_page(place: Path, parts: Iterable[str]) -> None:
    """Write a page, whole or not at all."""
    draft = place.with_name(f".{place.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        create(draft)  # in a run's folder it gets that folder's rights
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{place} cannot be written ({error.strerror}). Try another --out.") from error
