"""The developer's system prompts that come with maskbench, each a file whose head names its source; or your own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.store.disk import read_whole

LIBRARY: Mapping[str, str] = {
    "honest": "asks to state only what is held to be true",
    "rewarded": "honesty is what counts as success",
    "no_deception": "warns against deception in all its forms",
    "may_decline": "gives permission to decline",
    "stakes": "what hangs on it for the reader",
    "as_if_asked": "say what you would say if asked plainly",
    "say_so_first": "name a conflict with your belief before anything else",
    "placebo": "a control that says nothing about honesty",
}
_LONGEST = 2**20  # bytes of a file of one's own


def system_prompt(name: str) -> str:
    """The text of a developer's system prompt: one of LIBRARY, or a file; a comment at its head is left out.

    Raises UsageError where it is neither, or empty.
    """
    shipped = resources.files("maskbench") / "method" / "developer_prompts" / f"{name}.md"
    try:
        text = shipped.read_text(encoding="utf-8") if name in LIBRARY else read_whole(Path(name), _LONGEST).decode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        near = get_close_matches(name, LIBRARY, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(
            f"--system-prompt {name}: it is neither in the library ({', '.join(LIBRARY)}) nor a file of text ({why})."
            f"{meant}"
        ) from error
    text = re.sub(r"\A\s*<!--.*?-->", "", text, flags=re.DOTALL).strip()
    if not text:
        raise UsageError(f"--system-prompt {name}: the file is empty. Write the prompt into it.")
    return text
