"""Folders and files that are their owner's alone, or on a network, and files that a power cut leaves whole."""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

PRIVATE, SHARED = 0o700, 0o777  # of folders; of the second the umask takes its part
LARGEST = 64 * 2**20  # bytes of a JSON file; a run's are some kilobytes
_OWN, _OPEN = 0o600, 0o666  # of files, likewise
MOUNTS = Path("/proc/self/mounts")  # Linux alone has it; elsewhere every folder counts as this machine's
_NETWORK = frozenset(
    ("nfs", "nfs3", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "orangefs")
) | {"afs", "coda", "panfs", "wekafs"}
_LOCAL_FUSE = frozenset(("fuse.bindfs", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.encfs", "fuse.gocryptfs"))
_OCTAL = re.compile(r"\\([0-7]{3})")  # as the kernel writes a blank in a path


def make_folder(path: Path, mode: int = PRIVATE) -> None:
    """Make a folder, where it is missing, with these rights; the folders above it get the rights of any other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode)
        sync(path.parent)
    if not path.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(path))


def rights_in(folder: Path) -> int:
    """The rights of a new file in this folder, less what the umask takes: the owner's alone where the folder is so."""
    return _OPEN if folder.stat().st_mode & 0o077 else _OWN


def inherited(folder: Path) -> int:
    """The mode of a folder inside this one that is to be as open as it is."""
    return SHARED if rights_in(folder) == _OPEN else PRIVATE


def create(path: Path) -> None:
    """Make an empty file, where there is none, so that whoever opens it by name gets one with the right rights.

    Raises OSError where a symbolic link is there: whoever hands a folder over could have written outside of it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, rights_in(path.parent)))
    except FileExistsError:
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link, and nothing is written through one", str(path)) from None


def read_whole(path: Path, most: int = LARGEST) -> bytes:
    """The content of a file; raises OSError for what is no file (a pipe would be waited for) or larger than `most`."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "it is no file", str(path))
    if state.st_size > most:
        raise OSError(errno.EFBIG, f"it is larger than {most // 2**20} MB", str(path))
    return path.read_bytes()


def check_file(path: Path, *, follow: bool = True) -> None:
    """Raise OSError where there is something that is no file: a folder, or a pipe, which would be waited for.

    Without `follow` a symbolic link is no file either.
    """
    try:
        is_file = stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode)
    except FileNotFoundError:
        return
    if not is_file:
        raise OSError(errno.EINVAL, "it is no file", str(path))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a crash or a power cut leaves the old one or the new one, whole."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)  # of a process that was killed
    create(draft)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync(path.parent)


def sync(folder: Path) -> None:
    """Have the names in a folder on the disk; where a file system cannot do that, it is as good as it gets."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def network_kind(path: Path, mounts: str | None = None) -> str | None:
    """The network file system that a path lies on, as in nfs4; None for one of this machine.

    The path need not be there. What FUSE brings counts as a network unless it is known to be none. `mounts` is a table
    as Linux keeps it (default: that of this process).
    """
    place = path.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    kind = _kind_of(place.resolve(), _mounts() if mounts is None else mounts)
    is_shared = kind in _NETWORK or ((kind or "").partition(".")[0] == "fuse" and kind not in _LOCAL_FUSE)
    return kind if is_shared else None


def _mounts() -> str:
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


@lru_cache(maxsize=512)
def _kind_of(place: Path, mounts: str) -> str | None:
    """The file system of the innermost mount point above a path; of two at one point the later one hides the other."""
    kinds: dict[Path, str] = {}
    for line in mounts.splitlines():
        _, _, rest = line.partition(" ")
        point, kind, *_ = [*rest.split(" "), "", ""]
        kinds[Path(_OCTAL.sub(lambda code: chr(int(code[1], 8)), point))] = kind
    return next((kinds[above] for above in (place, *place.parents) if above in kinds), None)
