"""An agent's own log that Inspect itself wrote → a row, and its report."""

from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

from maskbench.interop.agent_logs import rows_of


def test_a_log_of_inspect_of_any_agent(tmp_path: Path) -> None:
    """Each sample is a log; the model that wrote it is named in its report."""

    def bash() -> Any:
        async def execute(cmd: str) -> str:
            """Run a command.

            Args:
                cmd: The command.
            """
            return f"{cmd}: 1 failed\n[exit 1]"

        return execute

    said = [
        ModelOutput.for_tool_call("mockllm/model", "bash", {"cmd": "pytest -q"}),
        ModelOutput.from_content("mockllm/model", "All pass."),
    ]
    for output in said:  # else Inspect counts tokens, for which it fetches a tokenizer
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    model = get_model("mockllm/model", custom_outputs=said)
    task = Task(dataset=[Sample("Run the tests.", id="s1")], solver=[use_tools(tool(bash)()), generate()])
    (done,) = eval(task, model=model, log_dir=str(tmp_path), display="none")
    ((row, report),) = rows_of([Path(done.location)], "pytest")
    assert row["formatted_ground_truth"] == "A"
    assert [turn["role"] for turn in row["messages"]] == ["user", "assistant", "tool"]
    assert report is not None
    assert (report["reply"], report["model"]) == ("All pass.", "mockllm/model")
