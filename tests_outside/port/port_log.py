"""Real logs of the MASK task of Inspect Evals, over scenarios that are made; runs in the environment that has the task.

    inspect-env/bin/python tests_outside/port/port_log.py FOLDER LOGS --form eval --statements 1 --trouble none

reads the scenarios of FOLDER, lets models that throw dice answer and judge, and prints the log's place and the task's
scores as JSON. With `--own-prompts` the judge is asked in a few words of our own, so that the log holds none of the
task's texts. With `--server` subject and judge are models behind an endpoint.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inspect_ai  # type: ignore[import-not-found, unused-ignore]
from inspect_ai.dataset import csv_dataset  # type: ignore[import-not-found, unused-ignore]
from inspect_ai.model import (  # type: ignore[import-not-found, unused-ignore]
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_evals.mask import data, mask  # type: ignore[import-not-found, unused-ignore]
from inspect_evals.mask.prompts import builder  # type: ignore[import-not-found, unused-ignore]

TROUBLES = ("none", "subject", "retried", "judge", "limit", "unscored")
OWN = (
    "System:\n{system_prompt}\n---\nUser:\n{user_prompt}\n---\nReply:\n{model_response}\n####\n"
    "A: {proposition_option_1}\nB: {proposition_option_2}\nEnd with: Final Answer: A, B, C or D"
)
OWN_TWO = (
    "System:\n{system_prompt}\n---\nUser:\n{user_prompt1}\n---\nScripted:\n{response1}\n---\nUser:\n{user_prompt2}\n---\n"
    "Reply:\n{final_response}\n####\nA: {proposition_option_1}\nB: {proposition_option_2}"
)
OWN_NUMBER = (
    "System:\n{system_prompt}\n---\nUser:\n{user_prompt}\n---\nReply:\n{model_response}\n####\n"
    "Which <value> does it say? {proposition}"
)


def output(model: str, content: Any, stop: str = "stop") -> ModelOutput:
    """An answer with its usage, without which a tokenizer would be fetched to count it."""
    message = ChatMessageAssistant(content=content)
    choice = ChatCompletionChoice(message=message, stop_reason=stop)
    return ModelOutput(
        model=model, choices=[choice], usage=ModelUsage(input_tokens=9, output_tokens=5, total_tokens=14)
    )


def subject(dice: random.Random, alike: bool, trouble: str) -> Callable[..., ModelOutput]:
    """A subject whose replies are long or short, some with reasoning, some cut; or all one word."""

    def answer(*_: Any) -> ModelOutput:
        if trouble in ("subject", "retried") and dice.random() < 0.15:
            raise TimeoutError("The subject took too long.")
        if alike:
            return output("subject-1", "Yes.")
        text = f"I say {dice.choice(['yes', 'no'])}, {dice.random()}." + "\n\nMore of it." * dice.randint(0, 30)
        if dice.random() < 0.2:
            return output("subject-1", [ContentReasoning(reasoning=f"Let me see: {text}"), ContentText(text=text)])
        return output("subject-1", text, "max_tokens" if dice.random() < 0.1 else "stop")

    return answer


def judge(dice: random.Random, trouble: str, clear: bool) -> Callable[..., ModelOutput]:
    """A judge that throws dice, and is unreadable now and then, or has its letter in marks."""

    def answer(messages: list[Any], *_: Any) -> ModelOutput:
        if trouble == "judge" and dice.random() < 0.1:
            raise RuntimeError("Rate limit reached for key sk-abcdefghijklmnop123456.")
        if "<value>" in messages[-1].text:
            low = dice.choice([20, 26, 28])
            names = ("lower_bound", "upper_bound", "relative_lower_bound", "relative_upper_bound")
            return output("judge-1", json.dumps(dict(zip(names, (low, low + 2, None, None), strict=True))))
        says = dice.choice(["Final Answer: {}", "It is so.\nfinal answer: {}.", "Final Answer: {} (it says so)"])
        odd = "I would rather not." if clear or dice.random() < 0.5 else "Final Answer: **A**"
        return output("judge-1", odd if dice.random() < 0.05 else says.format(dice.choice("AAABBBCD")))

    return answer


def in_own_words() -> None:
    """Put a few words of our own in the place of the task's prompts."""
    for name in ("BELIEF_BINARY_JUDGE_PROMPT_DIRECT", "BELIEF_BINARY_JUDGE_PROMPT_CONSISTENCY"):
        setattr(builder, name, OWN)
    builder.BINARY_JUDGE_PROMPT_TEMPLATE = OWN
    builder.DOUBLING_DOWN_BINARY_PROMPT = OWN_TWO
    builder.NUMERICAL_JUDGE_PROMPT = OWN_NUMBER
    builder.DISINFORMATION_RULES = builder.CONTINUATIONS_RULES = ""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("logs")
    parser.add_argument("--form", choices=["eval", "json"], default="eval")
    parser.add_argument("--statements", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--archetype")
    parser.add_argument("--handling", default="tolerant")
    parser.add_argument("--tolerance", type=float, default=0.05)
    parser.add_argument("--trouble", choices=TROUBLES, default="none")
    for flag in ("--alike", "--clear", "--own-prompts", "--server"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args()


def models(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Subject and judge."""
    if arguments.server:
        return "openai-api/bench/subject", "openai-api/bench/judge"
    dice = random.Random(arguments.seed)
    answers = subject(dice, arguments.alike, arguments.trouble)
    judged = judge(dice, arguments.trouble, arguments.clear)
    return (
        get_model("mockllm/model", memoize=False, custom_outputs=answers),
        get_model("mockllm/judge", memoize=False, custom_outputs=judged),
    )


def main() -> None:
    """Evaluate, and print where the log is and what the task made of each scenario."""
    arguments = parsed()

    def from_folder(path: str, *, name: str, sample_fields: Callable[..., Any], **_: Any) -> Any:
        return csv_dataset(str(arguments.folder / f"{name}.csv"), sample_fields)

    data.hf_dataset = from_folder
    if arguments.own_prompts:
        in_own_words()
    asked, judging = models(arguments)
    (log,) = inspect_ai.eval(
        mask(
            honesty_at_n=arguments.statements,
            question_archetype=arguments.archetype,
            binary_judge_model=judging,
            numeric_judge_model=judging,
            no_belief_handling=arguments.handling,
            numeric_tol=arguments.tolerance,
        ),
        model=asked,
        epochs=arguments.epochs if arguments.epochs > 1 else None,
        token_limit=50 if arguments.trouble == "limit" else None,
        score=arguments.trouble != "unscored",
        fail_on_error=False,
        retry_on_error=9 if arguments.trouble == "retried" else None,
        log_dir=arguments.logs,
        log_format=arguments.form,
        display="none",
    )
    scores = [
        {
            "archetype": sample.metadata["config"],
            "task_id": sample.metadata["task_id"],
            "epoch": sample.epoch,
            "value": next(iter(sample.scores.values())).value if sample.scores else None,
        }
        for sample in log.samples or []
    ]
    json.dump({"place": log.location, "status": log.status, "scores": scores}, sys.stdout)


if __name__ == "__main__":
    main()
