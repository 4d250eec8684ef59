"""One row of a scenario file → a Scenario, or everything that is wrong with the row."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

import orjson

from maskbench.errors import Problem, UsageError
from maskbench.method.archetypes import EVENT, TABLE, TWIN
from maskbench.method.proposition import pivot
from maskbench.method.said_and_did import GAIN, LIST, OTHER, PLAIN, PROPOSITION, REPORT, TRUTH
from maskbench.scenarios.identity import content_id
from maskbench.scenarios.messages import NOT_TEXT, read_messages
from maskbench.types import ARCHETYPES, Archetype, Definition, Kind, Messages, Option, Range, Scenario, conversation

QUESTIONS = ("belief_elicit_1", "belief_elicit_2", "belief_elicit_3")
FIRST_TURN = ("dd_turn_1_prompt", "dd_turn_1_response")
CONVERSATION = ("system_prompt", "user_prompt")
REQUIRED = ("proposition", "formatted_ground_truth")
# `delivery` is undocumented in the data set and ignored (method.md section 8).
MESSAGES = "messages"  # in the place of a conversation's other columns
COLUMNS = frozenset(
    {
        *("task_id", "archetype", "type", "canary", "asked_outright", "delivery", MESSAGES, "messages_on_beliefs"),
        *(*CONVERSATION, *REQUIRED, *QUESTIONS, *FIRST_TURN),
    }
)

PIVOT = "Write it like `Figs <pivotal>are/are not</pivotal> sweet.` or `It is <pivotal><value></pivotal> m tall.`"
PYTHON_RANGE = re.compile(r"(?:None|[-+\d.eE,()\[\]\s]){1,200}")  # only such a text is given to Python's parser
TO_WRITE = "TO WRITE: "  # begins the cells of a file that `maskbench scenarios new` made
YES_OR_NO = {"yes": True, "true": True, "no": False, "false": False}


def required_columns(definition: Definition | None, columns: Collection[str]) -> tuple[str, ...]:
    """What a file with these columns must have: one named after an archetype, or (None) one of any archetypes."""
    said = () if MESSAGES in columns else CONVERSATION
    if definition is None:
        return ("archetype", *said, *REQUIRED)
    questions = () if definition.given else QUESTIONS[:1]
    turn = FIRST_TURN if definition.scripted and said else ()
    return (*said, *REQUIRED, *questions, *turn)


def read_row(
    cells: Mapping[str, object],
    file: str,
    number: int,
    archetype: Archetype | None = None,
    known: Mapping[Archetype, Definition] = TABLE,
) -> Scenario | list[Problem]:
    """Read one row of `file`; `archetype` is the one that the file's name gives, `known` are all that there are.

    Returns every problem of the row, not the first only. A missing task_id is made from the content.
    """
    row = _Row(cells, file, number)
    if not any(row.filled(column) for column in cells):
        row.report(None, "the row is empty", "Remove it")
        return row.problems
    for column, value in cells.items():
        if isinstance(value, str) and value.startswith(TO_WRITE):
            row.report(column, "it is still to be written", f"Write {value.removeprefix(TO_WRITE)}")
    if row.problems:
        return row.problems
    definition = _archetype(row, known.get(archetype or ""), known)
    kind = _kind(row, definition)
    truth = _truth(row, kind)
    task_id = row.text("task_id", _identifier)
    proposition = _proposition(row, kind)
    messages = _messages(row, definition) if row.filled(MESSAGES) else _columns(row, definition)
    questions = _questions(row, definition, kind)
    asked_outright = _yes_or_no(row, "asked_outright")
    on_beliefs = _on_beliefs(row, definition)
    if definition and definition.given:
        row.unwanted(("neutral",), f"{definition.name} elicits no belief")
    canary = row.text("canary") or None
    extra = {name: row.text(name, _any_text) for name in cells if name not in COLUMNS and row.filled(name)}
    if definition and definition.name in (EVENT, TWIN):
        _log_columns(row)
    if row.problems or definition is None or truth is None:
        return row.problems
    scenario = Scenario(
        archetype=definition.name,
        task_id=task_id,
        kind=kind,
        proposition=proposition,
        truth=truth,
        messages=messages,
        questions=questions,
        messages_on_beliefs=on_beliefs,
        asked_outright=asked_outright,
        canary=canary,
        extra=extra,
        definition=None if definition.name in ARCHETYPES else definition,
    )
    return scenario if task_id else replace(scenario, task_id=content_id(scenario))


@dataclass(frozen=True, slots=True)
class _Row:
    """One row being read: its cells, where they stand, and what is wrong with them so far."""

    cells: Mapping[str, object]
    file: str
    number: int
    problems: list[Problem] = field(default_factory=list)

    def report(self, column: str | None, problem: str, remedy: str) -> None:
        self.problems.append(Problem(self.file, self.number, column, problem, remedy))

    def filled(self, column: str) -> bool:
        """Whether the cell holds anything."""
        value = self.cells.get(column)
        if is_nan(value):
            return False
        return bool(value.strip()) if isinstance(value, str) else value is not None

    def text(self, column: str, convert: Callable[[object], object] = lambda value: value) -> str:
        """The cell's text exactly as it stands, "" where it is empty or no text at all (then reported)."""
        if not self.filled(column):
            return ""
        value = convert(self.cells[column])
        if not isinstance(value, str):
            self.report(column, f"{excerpt(value)} is no text", "Write the cell as text")
            return ""
        if NOT_TEXT.search(value):
            self.report(column, "the text holds a NUL or half a character", "Remove what is not text")
        return value

    def needed(self, column: str, remedy: str) -> str:
        if not self.filled(column):
            self.report(column, "the cell is empty" if column in self.cells else "it is missing", remedy)
        return self.text(column)

    def unwanted(self, columns: Iterable[str], why: str) -> None:
        for column in columns:
            if self.filled(column):
                self.report(column, f"it would be ignored: {why}", "Empty the cell, or mend the archetype")


def _archetype(row: _Row, named: Definition | None, known: Mapping[Archetype, Definition]) -> Definition | None:
    if named and not row.filled("archetype"):
        return named
    one_of = f"Write one of {', '.join(known)}"
    written = row.needed("archetype", one_of).strip()
    in_cell = known.get(written)
    if written and not in_cell:
        row.report("archetype", f"{excerpt(written)} is no archetype", one_of)
    if named and in_cell and named != in_cell:
        both = f"the file's name says {named.name}, the cell {written}"
        row.report("archetype", both, "Move the row, or mend the cell")
    return named or in_cell


def _kind(row: _Row, definition: Definition | None) -> Kind:
    """Binary or numerical, by the majority of what says so; who says otherwise is reported.

    `<value>` in the proposition decides a tie (method.md section 1: test for it first).
    """
    proposition = row.cells.get("proposition")
    by_proposition: Kind = "numerical" if isinstance(proposition, str) and "<value>" in proposition else "binary"
    says: dict[str, Kind | None] = {
        "proposition": by_proposition if row.filled("proposition") else None,
        "type": _declared(row),
        "formatted_ground_truth": _form(row.cells.get("formatted_ground_truth")),
        "archetype": definition.kind if definition else None,
    }
    votes = [kind for kind in says.values() if kind]
    tie = 2 * votes.count("binary") == len(votes)
    kind: Kind = by_proposition if tie else max(get_args(Kind), key=votes.count)
    for column, vote in says.items():
        if vote and vote != kind:
            problem, remedy = CONTRADICTIONS[column, kind]
            row.report(column, problem.format(definition.name if definition else ""), remedy)
    return kind


CONTRADICTIONS: Mapping[tuple[str, Kind], tuple[str, str]] = {
    ("proposition", "numerical"): ("the scenario is numerical, and there is no <value>", "Write <value> in the pivot"),
    ("proposition", "binary"): ("the scenario is binary, and there is a <value>", "Write two options in the pivot"),
    ("type", "numerical"): ("it says binary, and the proposition is numerical", "Write numerical"),
    ("type", "binary"): ("it says numerical, and the proposition is binary", "Write binary"),
    ("formatted_ground_truth", "numerical"): (
        "it is a letter, and the proposition is numerical",
        "Write a range such as [31.0, 34.0], or [31.0, None]",
    ),
    ("formatted_ground_truth", "binary"): ("it is a number or a range, and the proposition is binary", "Write A or B"),
    ("archetype", "binary"): ("{} is numerical, and this scenario is binary", "Choose another archetype"),
    ("archetype", "numerical"): ("{} is binary, and this scenario is numerical", "Choose another archetype"),
}


def _declared(row: _Row) -> Kind | None:
    written = row.text("type").strip().lower()
    kind = next((kind for kind in get_args(Kind) if kind == written), None)
    if written and not kind:
        row.report("type", f"{excerpt(written)} is no type", "Write binary or numerical, or leave the cell empty")
    return kind


def _form(value: object) -> Kind | None:
    if _letter(value):
        return "binary"
    return "numerical" if _bounds(value) else None


def _letter(value: object) -> Option | None:
    written = value.strip().upper() if isinstance(value, str) else None
    return next((option for option in get_args(Option) if option == written), None)


def _bounds(value: object) -> list[float | None] | None:
    """The bounds of `[31.0, 34.0]`, be it text or a list; a single number is both bounds of its range.

    An open side is None. In text it is `None` or `null`: the data set writes Python literals (method.md section 8).
    """
    if isinstance(value, str):
        value = _literal(value)
    if value is None:
        return None
    items = value if isinstance(value, list | tuple) else [value, value]
    bounds = [item for item in items if item is None or (isinstance(item, int | float) and not isinstance(item, bool))]
    if not items or len(bounds) < len(items):
        return None
    try:
        return [None if bound is None else float(bound) + 0.0 for bound in bounds]  # + 0.0: minus zero is zero
    except OverflowError:
        return [math.inf, math.inf]


def _literal(text: str) -> object:
    """What the text is in JSON, else as a Python literal; None where it is neither."""
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        pass
    try:
        return cast(object, ast.literal_eval(text.strip())) if PYTHON_RANGE.fullmatch(text) else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _truth(row: _Row, kind: Kind) -> Option | Range | None:
    column = "formatted_ground_truth"
    value = row.cells.get(column)
    if not row.filled(column):
        row.needed(column, "Write A or B, or a range such as [31.0, 34.0] for a numerical scenario")
    elif _form(value) == kind:
        return _letter(value) or _range(row, _bounds(value) or [])
    elif _form(value) is None:
        wanted = "A or B" if kind == "binary" else "a range such as [31.0, 34.0]"
        row.report(column, f"{excerpt(value)} is not {wanted}", f"Write {wanted}")
    return None


def _range(row: _Row, bounds: list[float | None]) -> Range | None:
    low, high = bounds[0], bounds[-1]
    wrong = ""
    if len(bounds) != 2:
        wrong = f"a range has two bounds, and there are {len(bounds)}"
    elif low is None and high is None:
        wrong = "both sides of the range are open"
    elif not all(bound is None or math.isfinite(bound) for bound in bounds):
        wrong = "a bound is not a finite number"
    elif low is not None and high is not None and low > high:
        wrong = f"the range is the wrong way round: {low} is above {high}"
    if wrong:
        remedy = "Write the lower bound, then the upper: [31.0, 34.0]; None for one that is open: [31.0, None]"
        row.report("formatted_ground_truth", wrong, remedy)
        return None
    return Range.between(low, high)


def _proposition(row: _Row, kind: Kind) -> str:
    text = row.needed("proposition", PIVOT)
    if text and ("<value>" in text) == (kind == "numerical"):
        wrong = _no_value(text) if kind == "numerical" else _no_options(text)
        if wrong:
            row.report("proposition", wrong, PIVOT)
    return text


def _no_options(proposition: str) -> str | None:
    try:
        pivot(proposition)
    except UsageError as error:
        return str(error).rstrip(".")
    return None


def _no_value(proposition: str) -> str | None:
    marks = proposition.count("<pivotal>"), proposition.count("</pivotal>")
    if marks == (1, 1) and re.search("<pivotal>.*<value>.*</pivotal>", proposition, re.DOTALL):
        return None
    return "the proposition needs exactly one <pivotal>...</pivotal>, with <value> in it"


def _questions(row: _Row, archetype: Definition | None, kind: Kind) -> tuple[str | None, str | None, str | None]:
    """The belief questions; only the first must be there (method.md section 2: a missing one is skipped)."""
    if archetype and archetype.given:
        row.unwanted(QUESTIONS, f"{archetype.name} elicits no belief, the fact stands in the system prompt")
        return None, None, None
    if kind == "numerical":
        row.unwanted(QUESTIONS[1:], "a numerical scenario has no consistency questions")
    direct = row.needed(QUESTIONS[0], "Write a neutral question whose answer shows the belief") if archetype else ""
    return direct or None, row.text(QUESTIONS[1]) or None, row.text(QUESTIONS[2]) or None


def _log_columns(row: _Row) -> None:
    """What a row about a report on a log must have beside what every row has."""
    row.needed(QUESTIONS[LIST - 1], "Write the question for all that matters in the log, which names no event")
    if not _yes_or_no(row, "messages_on_beliefs"):
        row.report("messages_on_beliefs", "the questions would be asked without the log", "Write yes")
    if row.text(REPORT) not in ("", PLAIN, GAIN):
        row.report(REPORT, f"{excerpt(row.cells[REPORT])} is none of its words", f"Write {PLAIN} or {GAIN}")
    if not row.filled(QUESTIONS[OTHER - 1]):
        row.unwanted((PROPOSITION, TRUTH), f"there is no {QUESTIONS[OTHER - 1]}")
        return
    proposition = row.needed(PROPOSITION, PIVOT)
    if proposition and (wrong := _no_options(proposition)):
        row.report(PROPOSITION, wrong, PIVOT)
    if row.needed(TRUTH, "Write A or B") not in ("", *get_args(Option)):
        row.report(TRUTH, f"{excerpt(row.cells[TRUTH])} is not A or B", "Write A or B")


def _columns(row: _Row, definition: Definition | None) -> Messages:
    """The conversation as the columns of the data set write it."""
    system_prompt = row.needed("system_prompt", "Put the role and its incentive there")
    user_prompt = row.needed("user_prompt", "Put the message that asks for the statement there")
    return conversation(system_prompt, user_prompt, _first_turn(row, definition))


def _messages(row: _Row, definition: Definition | None) -> Messages:
    """The conversation as the cell `messages` writes it."""
    for column in (*CONVERSATION, *FIRST_TURN):
        if row.filled(column):
            row.report(column, "messages holds the conversation, too", "Keep one of the two, and empty the other")
    read = read_messages(row.cells[MESSAGES])
    if isinstance(read, list):
        for problem, remedy in read:
            row.report(MESSAGES, problem, remedy)
        return ()
    if definition and definition.given and read[0].role != "system":
        row.report(MESSAGES, "it has no system message, where the fact stands", "Begin with one")
    if definition and definition.scripted and not any(turn.role == "assistant" for turn in read):
        row.report(MESSAGES, "it has no message of the assistant's", "Write the scripted false answer")
    return read


def _on_beliefs(row: _Row, definition: Definition | None) -> bool:
    """Whether the messages begin the neutral conversations, too."""
    column = "messages_on_beliefs"
    if (value := _yes_or_no(row, column)) and definition and definition.given:
        row.unwanted((column,), f"{definition.name} elicits no belief")
    elif value and not row.filled(MESSAGES):
        row.report(column, "there are no messages", "Write the conversation in the column messages, or write no")
    return value or False


def _first_turn(row: _Row, archetype: Definition | None) -> tuple[str, str] | None:
    if archetype and archetype.scripted:
        question = row.needed(FIRST_TURN[0], "Write the user's first message")
        return question, row.needed(FIRST_TURN[1], "Write the scripted false answer")
    if archetype:
        row.unwanted(FIRST_TURN, f"{archetype.name} has one turn")
    return None


def _yes_or_no(row: _Row, column: str) -> bool | None:
    value = row.cells.get(column)
    if isinstance(value, bool):
        return value
    written = row.text(column).strip().lower()
    if written and written not in YES_OR_NO:
        row.report(column, f"{excerpt(written)} is neither yes nor no", "Write yes or no")
    return YES_OR_NO.get(written)


def _identifier(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() if isinstance(value, str) else value


def _any_text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def is_nan(value: object) -> bool:
    """Whether a cell is NaN, which is how pandas writes an empty one."""
    return isinstance(value, float) and math.isnan(value)


def excerpt(value: Any) -> str:
    """A value of a cell as an error has it, 60 characters at most."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
