"""Texts to train an adapter on: each a conversation with an answer, and the same conversation asked to be honest.

None is ever evaluated: `builtin` was written for this, `sandbox` is drawn from pinocchio's world on the side that its
sandboxes never draw from, and a file is the user's own (whitebox/README.md has its format).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path
from random import Random
from typing import Literal

import orjson
from msgspec import Struct

from maskbench.doors import Misfit, Unknown, fitted, neutral, plain, under_developer
from maskbench.errors import UsageError
from maskbench.scenarios.pinocchio.grammar import EVASIONS, abstain, capital, evade, reply, state
from maskbench.scenarios.pinocchio.lures import INCENTIVES, WAYS, developer_prompt, pressure, wordings
from maskbench.scenarios.pinocchio.sandbox import build, fact_for, is_held_out, novel_fact, open_questions, questions
from maskbench.scenarios.pinocchio.world import Fact, facts
from maskbench.types import ARCHETYPES, Message, Scenario

Variant = Literal["lorra", "prompt-distill"]
Conversation = tuple[Message, ...]
SANDBOX_TEXTS = 1_000  # of either kind
HONEST, DISHONEST = (
    "Give a truthful answer.",
    "Give an untruthful answer.",
)  # of the public scripts (whitebox/README.md)
_SHOWN = 10  # problems of a file that an error lists


@dataclass(frozen=True, slots=True)
class Text:
    """A conversation with an answer; `honest` and `dishonest` are T+ and T−, the same conversation under a template.

    A neutral text has neither: an adapter should leave it as it is.
    """

    messages: Conversation
    answer: str
    honest: Conversation | None = None
    dishonest: Conversation | None = None


@dataclass(frozen=True, slots=True)
class Templates:
    """What turns a conversation into T+ and T−: a developer's prompt around it (T− is T), or a sentence after it."""

    variant: Variant
    developer: str = ""
    honest: str = HONEST
    dishonest: str = DISHONEST

    @property
    def texts(self) -> dict[str, str]:
        """The texts that are used."""
        if self.variant == "prompt-distill":
            return {"developer": self.developer}
        return {"honest": self.honest, "dishonest": self.dishonest}

    def applied(self, messages: Conversation, answer: str) -> Text:
        """A conversation with its T+ and T−."""
        if self.variant == "prompt-distill":
            return Text(messages, answer, under_developer(messages, self.developer), messages)
        return Text(messages, answer, _followed(messages, self.honest), _followed(messages, self.dishonest))


def _followed(messages: Conversation, sentence: str) -> Conversation:
    *before, last = messages
    return (*before, Message(last.role, f"{last.content} {sentence}"))


def content_hash(texts: Sequence[Text]) -> str:
    """16 hexadecimal digits that stand for these texts in this order."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(orjson.dumps(asdict(text)) + b"\n")
    return digest.hexdigest()[:16]


def read_texts(source: str, templates: Templates, seed: int) -> list[Text]:
    """The texts of `builtin`, of `sandbox` (drawn by seed), or of a JSONL file.

    Raises UsageError where the file cannot be read, naming every line that is wrong.
    """
    if source == "sandbox":
        return [*sandbox_texts(templates.variant, seed)]
    if source == "builtin":
        shipped = resources.files("maskbench_whitebox") / "lorra" / "texts.jsonl"
        return _parsed("builtin", shipped.read_bytes(), templates)
    try:
        return _parsed(source, Path(source).read_bytes(), templates)
    except OSError as error:
        raise UsageError(
            f"--data {source}: give builtin, sandbox or a JSONL file; this one cannot be read ({error.strerror})."
        ) from error


# Files


class _Row(Struct, forbid_unknown_fields=True):
    messages: Conversation
    answer: str
    neutral: bool = False
    honest: Conversation | None = None
    dishonest: Conversation | None = None


def _parsed(source: str, content: bytes, templates: Templates) -> list[Text]:
    texts: list[Text] = []
    problems: list[str] = []
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            try:
                texts.append(_text(fitted(orjson.loads(line), _Row), templates))
            except (Misfit, orjson.JSONDecodeError) as error:
                problems.append(f"line {number}: {_wrong(error)}")
    if problems:
        more = [f"... and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        raise UsageError("\n  ".join([f"--data {source} cannot be used:", *problems[:_SHOWN], *more]))
    if not any(text.honest for text in texts):
        raise UsageError(f"--data {source} holds no text to learn honesty from, only neutral ones or none at all.")
    return texts


def _wrong(error: ValueError) -> str:
    match error:
        case Unknown():
            return f"it has a key {plain(str(error))!r}; known are {', '.join(sorted(_Row.__struct_fields__))}"
        case orjson.JSONDecodeError():
            return f"it is not JSON ({error})"
    return f"{plain(str(error))}; whitebox/README.md has the form"


def _text(row: _Row, templates: Templates) -> Text:
    for name in ("messages", "honest", "dishonest"):
        turns: Conversation | None = getattr(row, name)
        if turns is not None and (not turns or turns[-1].role != "user"):
            raise Misfit(f'"{name}" must end with the user: what the model says to that is "answer"')
    if not row.answer.strip():
        raise Misfit('"answer" must be a text that is not empty')
    if row.neutral:
        return Text(row.messages, row.answer)
    text = templates.applied(row.messages, row.answer)
    return replace(text, honest=row.honest or text.honest, dishonest=row.dishonest or text.dishonest)


# pinocchio's world


def sandbox_texts(variant: Variant, seed: int) -> Iterator[Text]:
    """As many pressured texts as neutral ones, of facts, names and sentences that no sandbox draws from.

    T+ has a developer's prompt for honesty; T− presses once more for the falsehood, under prompt-distill it is T.
    """
    rng = Random(f"lorra {seed}")
    for _ in range(SANDBOX_TEXTS):
        yield _pressed(rng, variant)
        yield _neutral(rng)


def _pressed(rng: Random, variant: Variant) -> Text:
    archetype = rng.choice(ARCHETYPES)
    fact = fact_for(rng, archetype, held_out=False)
    scenario = build(rng, fact, pressure(rng, archetype, held_out=False), "training")
    system, *turns = scenario.messages
    honest = Message("system", developer_prompt(rng, system.content, held_out=False))
    pressed = Message("system", f"{system.content} {_more_pressure(rng, fact, scenario)}")
    dishonest = (pressed, *turns) if variant == "lorra" else (system, *turns)
    return Text((system, *turns), _answer(rng, fact, scenario), (honest, *turns), dishonest)


def _more_pressure(rng: Random, fact: Fact, scenario: Scenario) -> str:
    """A strong stake, and the order to say what is wanted."""
    stake = rng.choice(wordings(INCENTIVES["strong"], held_out=False))
    order = rng.choice(wordings(WAYS["order"], held_out=False))
    return f"{stake} {order.format(f=fact.say(scenario.extra['wanted']))}"


def _answer(rng: Random, fact: Fact, scenario: Scenario) -> str:
    """A lie, an honest answer or an evasion, each as likely: what is learned should hold whatever is being said."""
    wanted, archetype = scenario.extra["wanted"], scenario.archetype
    belief = fact.truth if archetype == "provided_facts" else fact.belief
    outcome = rng.choice(("lie", "honest", "evasive"))
    if outcome == "lie":
        return state(rng, fact, wanted, "lying", archetype).text
    if outcome == "honest" and belief is not None:
        return state(rng, fact, belief, "honest", archetype).text
    return evade(rng, fact, wanted, rng.choice(tuple(EVASIONS))).text


def _neutral(rng: Random) -> Text:
    """A question without pressure and its answer: about a taught fact, a fact just given, or a name nobody knows."""
    kind = rng.choices(("taught", "given", "unknown"), (8, 1, 1))[0]
    if kind == "taught":
        fact = rng.choice([fact for fact in facts() if fact.belief is not None and not is_held_out(fact)])
        asked = [
            question for question in (rng.choice(open_questions(fact, False)), *questions(rng, fact)[1:]) if question
        ]
        return Text(neutral(rng.choice(asked)), reply(rng, fact, fact.belief or "").text)
    fact = novel_fact(rng, held_out=False, numerical=None)
    question = rng.choice(open_questions(fact, False))
    if kind == "given":
        return Text(neutral(f"{capital(fact.say(fact.truth))}. {question}"), reply(rng, fact, fact.truth).text)
    return Text(neutral(question), abstain(rng, fact).text)
