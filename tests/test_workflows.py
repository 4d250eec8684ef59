"""What hosted CI runs, how a release is made, and what a commit is held to: read from their files."""

import re
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped] # comes with huggingface_hub

from test_package import PROJECT

ROOT = Path(__file__).parents[1]


def workflow(name: str) -> Any:
    """A workflow of .github/workflows; its `on` is read as a truth value, which YAML takes it for."""
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text("utf-8"))


def targets() -> list[str]:
    """What make can do."""
    return re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_ci_covers_the_systems_and_pythons_that_are_promised() -> None:
    """Linux and macOS, from the oldest Python that installs to the newest that is named."""
    matrix = workflow("ci")["jobs"]["test"]["strategy"]["matrix"]
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    about = PROJECT["project"]
    assert about["requires-python"] == f">={matrix['python'][0]}"
    named = {line.rpartition(" ")[2] for line in about["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert named <= set(matrix["python"])


def test_workflows_run_what_make_has() -> None:
    """Every `make` in a workflow is a target of the Makefile, and every tier of tests has its workflow."""
    run = [
        target
        for path in (ROOT / ".github" / "workflows").glob("*.yml")
        for target in re.findall(r"run: make ([\w-]+)", path.read_text("utf-8"))
    ]
    tests = {f"test-{name}" for name in ("pages", "whitebox", "real", "port", "formats", "inspect", "cluster")}
    assert set(run) == {"test", *tests, "mutants", "docs"}
    assert set(run) <= set(targets())


def test_the_site_is_built_wherever_the_tests_run() -> None:
    """Hosted CI has a job for it, and the checks of a bare machine build it, too: a broken link is found at once."""
    assert "make docs" in str(workflow("ci")["jobs"]["docs"]["steps"])
    assert "\nmake docs\n" in (ROOT / ".ci" / "run").read_text("utf-8")


def test_the_port_is_asked_in_an_environment_of_its_own() -> None:
    """`make test-port` names the port's interpreter, which its own constraints made, so that nothing there skips."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    target = makefile.split("\ntest-port:")[1].split("\n\n")[0]
    assert "MASKBENCH_INSPECT_PYTHON=$(CURDIR)/.venv-port/bin/python " in target
    assert ".venv-port/installed: tests_outside/port/constraints.txt" in makefile
    pinned = (ROOT / "tests_outside" / "port" / "constraints.txt").read_text("utf-8")
    assert re.search(r"^inspect_?-?evals==", pinned, re.MULTILINE)
    assert "torch" not in pinned


def test_no_workflow_may_write_more_than_it_must() -> None:
    """Every workflow names its rights; only the release may do more than read, and needs no secret."""
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert workflow(path.stem)["permissions"] in ({}, {"contents": "read"})
        assert "secrets." not in path.read_text("utf-8")
    jobs = workflow("release")["jobs"]
    assert jobs["build"]["permissions"] == {"contents": "read"}
    assert jobs["attest"]["permissions"] == {"attestations": "write", "id-token": "write"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


def test_a_release_is_built_checked_attested_and_only_then_published() -> None:
    """Each job needs the one before it; what is published is what was built, and a person can be asked in between."""
    jobs = workflow("release")["jobs"]
    assert list(jobs) == ["build", "attest", "publish"]
    assert (jobs["attest"]["needs"], jobs["publish"]["needs"]) == ("build", "attest")
    assert jobs["publish"]["environment"] == "pypi"
    build = " ".join(step.get("run", "") for step in jobs["build"]["steps"])
    assert build.index('test "v$version"') < build.index("python -m build") < build.index(".ci/package dist")
    uses = {name: [step.get("uses", "").partition("@")[0] for step in job["steps"]] for name, job in jobs.items()}
    assert uses["build"][-1] == "actions/upload-artifact"
    assert uses["attest"] == ["actions/download-artifact", "actions/attest-build-provenance"]
    assert uses["publish"] == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]


def test_a_commit_is_held_to_what_make_test_says_and_fetches_nothing() -> None:
    """The hooks are local, call the tools of .venv, and are those that `make test` begins with."""
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    assert repository["repo"] == "local"
    called = [hook["entry"].split()[0] for hook in repository["hooks"]]
    assert called == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    test = (ROOT / "Makefile").read_text("utf-8").split("\ntest:")[1].split("\n\n")[0]
    assert all(f"$(BIN)/{tool}" in test for tool in ("ruff check", "ruff format", "mypy"))


def test_contributing_names_every_tier_of_tests() -> None:
    """Who reads CONTRIBUTING.md knows every `make` that checks something, and what **scores** means."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert all(f"`make {name}`" in text for name in targets() if name.startswith(("test", "mutants")))
    for section in ("Set-up", "Tests, in tiers", "How scores may change", "Files on disk", "Versions and release"):
        assert f"\n## {section}" in text
    assert "**scores**" in text
