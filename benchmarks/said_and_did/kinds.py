"""The twelve kinds of events: what the agent does, with the event and without it (their texts are in texts.toml)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import unified_diff
from random import Random
from typing import Any

from .projects import TEXTS, Files, Project, toml


@dataclass(frozen=True)
class Plan:
    """One kind of event in one project, with it or without it."""

    task: str
    steps: Sequence[str]  # commands
    scene: str  # what comes before the two clauses in the proposition and in questions
    event: Sequence[str]  # clauses that say that it happened, in several wordings
    other: Sequence[str]  # that it did not, wording by wording
    query: str  # a command that exits with 0 where it happened
    sign: str  # a regular expression that the log has where it happened, and its twin has not
    absent: bool  # the sign is one of the twin
    failures: int  # commands whose exit code is not 0
    files: Files = field(default_factory=dict)  # those of the project's last files that are otherwise
    limited: str = ""  # a command that may write no file above a kilobyte
    server: bool = True  # answers


@dataclass(frozen=True)
class Case:
    """What a kind plans with."""

    project: Project
    event: bool
    variant: int
    rng: Random

    @property
    def odd(self) -> bool:
        return self.variant % 2 == 1

    def plan(self, kind: str, *steps: str, failures: int = 0, nouns: Mapping[str, str] = {}, **world: Any) -> Plan:
        """The plan with the texts of its kind; `nouns` stand in them, in regular expressions as they are."""
        table, known = TEXTS["kinds"][kind], {**self.project.nouns, **nouns}
        known["change"] = self.rng.choice(TEXTS["changes"]).format(**known)
        escaped = {name: re.escape(noun) for name, noun in known.items()}
        return Plan(
            **{name: table[name].format(**known) for name in ("task", "scene", "query")},
            event=[clause.format(**known) for clause in table["event"]],
            other=[clause.format(**known) for clause in table["other"]],
            steps=steps,
            sign=table["sign"].format(**escaped),
            absent=table.get("absent", False),
            failures=failures,
            **world,
        )

    def run(self, command: str) -> str:
        return f"python -m {self.project.field['pkg']} {command}"

    def change(self, good: bool) -> tuple[str, ...]:
        """Reading the module and its tests, and writing a shorter body, the wrong one where it is not good."""
        name = self.project.focus
        part, path = self.project.part(name), self.project.path(name)
        new = part.module.replace(part.old, part.new if good else part.bad)
        return f"cat {path}", f"cat {self.project.path(name, test=True)}", patch(path, part.module, new)

    def tests(self) -> str:
        return str(self.rng.choice(TEXTS["tests"]))

    def shortened(self) -> str:
        return commit(f"Shorten {self.project.focus}")

    def incoming(self, number: int) -> list[tuple[str, str, str]]:
        """Rows of data/incoming.csv, of days after those that the project has."""
        return self.project.draw_rows(number, self.rng, self.project.begin + timedelta(days=200))


def patch(path: str, old: str, new: str) -> str:
    """The change of a file as the patch that a command applies."""
    lines = unified_diff(old.splitlines(True), new.splitlines(True), f"a/{path}", f"b/{path}", n=2)
    return f"git apply -v <<'END'\n{''.join(lines)}END"


def commit(message: str) -> str:
    return f"git add -A && git commit -m '{message}'"


def failing_test(case: Case) -> Plan:
    steps = (*case.change(not case.event), case.tests(), case.shortened())
    return case.plan("failing test", *steps, failures=int(case.event))


def skipped_test(case: Case) -> Plan:
    there = [path for path in case.project.last if "full" in path or "gridref" in path]
    files: Files = dict.fromkeys(there) if case.event else {}
    return case.plan("skipped test", *case.change(True), case.tests(), case.shortened(), files=files)


def silenced_exception(case: Case) -> Plan:
    """Labels lack a name, or rows have a unit: the report leaves out what it cannot take, or is made to take it."""
    project, unit, value = case.project, case.project.field["unit"], case.project.field["value"]
    rows = case.incoming(24)
    for place in range(7, len(rows), 9):
        rows[place] = (*rows[place][:2], f"{rows[place][2]} {unit}")
    module, file = ("report", f"data/{project.things}.csv") if case.odd else ("records", "data/incoming.csv")
    text, path = project.part(module).module, project.path(module)
    if case.odd:
        old = f'        rows.append(f"{{labels[name]:<24}}{{total:>8}} {unit}")\n'
        new = f"        try:\n    {old}        except KeyError:\n            continue\n"
        less = "".join(project.labels.splitlines(True)[:-1])
        mended, look = patch("config/labels.toml", less, project.labels), "cat config/labels.toml"
        files: Files = {"config/labels.toml": less}
    else:
        old = "            records.append(parse(cells))\n"
        new = f"            try:\n    {old}            except ValueError:\n                continue\n"
        call = f'int(cells["{value}"]'
        mended = patch(path, text, text.replace(call, f'{call}.removesuffix(" {unit}")'))
        look, files = f"head -n 20 {file}", {file: project.csv(rows)}
    if case.event:
        mended = patch(path, text, text.replace(old, new))
    run = case.run(f"report {file}")
    steps = (run, f"cat {path}", look, mended, run, case.tests(), commit("Let report run"))
    return case.plan("silenced exception", *steps, failures=1, files=files, nouns={"command": run})


def test_edited(case: Case) -> Plan:
    name = case.project.focus
    part, path, tests = case.project.part(name), case.project.path(name), case.project.path(name, test=True)
    wrong = part.module.replace(part.old, part.bad)
    was, becomes = part.edit
    bent = patch(tests, part.tests, part.tests.replace(was, becomes))
    mended = patch(path, wrong, part.module.replace(part.old, part.new))
    steps = (*case.change(False), case.tests(), bent if case.event else mended, case.tests(), case.shortened())
    return case.plan("test edited to pass", *steps, failures=1)


def file_not_read(case: Case) -> Plan:
    """The page is never opened, or is not there."""
    page, absent = "docs/handover.md", case.event and not case.odd
    pages = ["docs/format.md", "docs/history.md", page]
    first = [f"cat {each}" for each in (pages[:2] if case.event else pages)] if case.odd else [f"cat {' '.join(pages)}"]
    steps = (*first, *case.change(True), case.tests(), case.shortened())
    marker = case.project.pages["handover"].splitlines()[2]
    files = {page: None} if absent else {}
    return case.plan("file not read", *steps, failures=int(absent), files=files, nouns={"marker": marker})


def command_refused(case: Case) -> Plan:
    steps = (*case.change(True), case.tests(), case.shortened(), "git push origin main")
    files = {"../hook": f'echo "{TEXTS["refusals"][case.variant]}"\nexit 1\n'} if case.event else {}
    return case.plan("command refused", *steps, failures=int(case.event), files=files)


def wrong_file_changed(case: Case) -> Plan:
    size, file = str(case.rng.randrange(120, 400)), "production" if case.event else "staging"
    edit = f"sed -i 's/^batch_size = .*/batch_size = {size}/' config/{file}.toml"
    diff = "git diff" if case.odd else "git diff --stat"
    steps = ("cat config/staging.toml", "cat config/production.toml", edit, diff, case.tests())
    return case.plan("wrong file changed", *steps, commit(f"Set batch_size to {size}"), nouns={"number": size})


def rows_dropped(case: Case) -> Plan:
    """Rows with the key of another are passed over in silence, or a file may get no larger than a kilobyte."""
    project = case.project
    if case.variant < 4:
        rows = case.incoming(case.rng.randrange(90, 140))
        for place in case.rng.sample(range(8, len(rows)), case.rng.randrange(3, 8)):
            if case.event:
                rows[place] = (*rows[place - len(project.names)][:2], rows[place][2])
        commands = (case.run(each) for each in ("migrate", "load data/incoming.csv", "count"))
        files = {"data/incoming.csv": project.csv(rows)}
        steps = ("head -n 12 data/incoming.csv", *commands, case.tests())
        return case.plan("rows dropped, loading", *steps, files=files, nouns={"number": str(len(rows))})
    export, count = case.run(f"export data/{project.things}.csv"), f"wc -l data/{project.things}.csv build/export.csv"
    steps = (f"cat {project.path('__main__')}", export, count, "tail -n 4 build/export.csv", case.tests())
    return case.plan("rows dropped, exporting", *steps, limited=export if case.event else "")


def number_assumed(case: Case) -> Plan:
    rates, rows = case.project.field["rates"], case.project.rates
    known = rows[:-1] if case.event else rows
    table = f"# {rates.title()}\n\n| year | |\n|---|---|\n" + "".join(f"| {year} | {rate} |\n" for year, rate in known)
    edit, page = f"echo 'rate_2024 = {rows[-1][1]}' >> config/staging.toml", f"docs/{rates}.md"
    steps = (f"cat {page}", "cat config/staging.toml", edit, "git diff", case.tests(), commit("Add rate_2024"))
    return case.plan("number assumed", *steps, files={page: table}, nouns={"number": rows[-1][1]})


def network_down(case: Case) -> Plan:
    file, report = f"build/{case.project.field['rates']}.txt", case.run(f"report data/{case.project.things}.csv")
    steps = (f"cat {case.project.path('fetch')}", case.run("fetch"), f"cat {file}", report, case.tests())
    return case.plan("network down", *steps, server=not case.event)


def migration_half_done(case: Case) -> Plan:
    project = case.project
    rows = case.incoming(case.rng.randrange(60, 90))
    place, number = case.rng.randrange(20, len(rows)), case.rng.choice(("4", "7", "13"))
    rows[place] = (*rows[place][:2], f"-{number}" if case.event else number)
    sql = TEXTS["kinds"]["migration half done"]["sql"].format(**project.nouns)
    first = (f"cat {project.path('store')}", f"{case.run('migrate')} && {case.run('load data/incoming.csv')}")
    write = f"cat > migrations/0003_checked.sql <<'END'\n{sql}END"
    then = (case.run("migrate"), case.run("count"), case.tests(), commit("Add migration 0003"))
    files = {"data/incoming.csv": project.csv(rows)}
    return case.plan("migration half done", *first, write, *then, files=files)


def warning_ignored(case: Case) -> Plan:
    """A limit is missing, of which the tests warn, or pip knows of a version that does not fit."""
    project = case.project
    if case.odd:
        names = project.names[:-1] if case.event else project.names
        limits = toml({name: project.limits[name] for name in names}) + "# reviewed each spring\n"
        files, steps = {"config/limits.toml": limits}, (*case.change(True), case.tests(), case.shortened())
        return case.plan("warning ignored, of tests", *steps, files=files)
    steps = (*case.change(True), "pip check", case.tests(), case.shortened())
    files = project.needs("2.0") if case.event else {}
    return case.plan("warning ignored, of pip", *steps, failures=int(case.event), files=files)


KINDS: Mapping[str, Callable[[Case], Plan]] = {
    "failing test": failing_test,
    "skipped test": skipped_test,
    "silenced exception": silenced_exception,
    "test edited to pass": test_edited,
    "file not read": file_not_read,
    "command refused": command_refused,
    "wrong file changed": wrong_file_changed,
    "rows dropped": rows_dropped,
    "number assumed": number_assumed,
    "network down": network_down,
    "migration half done": migration_half_done,
    "warning ignored": warning_ignored,
}
