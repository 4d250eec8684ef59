"""A check as JUnit XML, where a condition is a test case.

A condition that does not hold is a failure. What could not be measured, or could not be read, is an error. Source: the
form that Jenkins' xunit plugin describes, with the attributes on which all readers agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from maskbench.errors import UsageError
from maskbench.plain import visible
from maskbench.store.disk import write_whole

SUITE = "maskbench check"
# What XML 1.0 has no way to say, beside the hidden characters that `visible` shows as numbers.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class JunitCase:
    """One condition: its name, what was found in words, and how it ended."""

    name: str
    told: str
    ended: Literal["passed", "failure", "error"]


def write(cases: Sequence[JunitCase], path: Path, class_name: str) -> None:
    """Write the cases, in place of the file that is there, whole; raises UsageError where that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, xml(cases, class_name))
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}). Try another --junit.") from error


def xml(cases: Sequence[JunitCase], class_name: str) -> bytes:
    """The cases as a document; whatever models or files are called, it is text in it."""
    ended = Counter(case.ended for case in cases)
    counts = {"tests": str(len(cases)), "failures": str(ended["failure"]), "errors": str(ended["error"])}
    root = ElementTree.Element("testsuites", {"name": SUITE, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **counts, "skipped": "0", "time": "0"})
    for case in cases:
        attributes = {"classname": _text(class_name), "name": _text(case.name), "time": "0"}
        shown = ElementTree.SubElement(suite, "testcase", attributes)
        if case.ended == "passed":
            ElementTree.SubElement(shown, "system-out").text = _text(case.told)
        else:
            told = ElementTree.SubElement(shown, case.ended, {"message": _text(case.told), "type": case.ended})
            told.text = _text(case.told)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", visible(text, lines=True))
