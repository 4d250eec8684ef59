"""The recipes of CONTRIBUTING.md, each followed on a toy: the thing is added in a copy of the package, and is used.

A recipe may touch the files that its heading in CONTRIBUTING.md counts, and no other.
"""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from textwrap import dedent

import pytest

import maskbench
from flows import serving
from scenario_rows import row, write_csv

pytestmark = pytest.mark.slow

PACKAGE = Path(maskbench.__file__).parent
ROOT = Path(__file__).parents[1]
PAGE, PARROT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), ROOT / "examples" / "parrot"
SCRIPT = {"": '{"reason": "It says so.", "code": "{{code}}", "verdict": "A", "evasion": null}'}


COMMANDS = """
import json, sys
from flows import typed
for line in sys.stdin:
    ended = typed(*json.loads(line))
    print(json.dumps([ended.code, ended.out, ended.err]), flush=True)
"""


class Copy:
    """A copy of the package in a folder of its own, and the one process that commands run in once it is changed."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.package = place / "src" / "maskbench"
        shutil.copytree(PACKAGE, self.package, copy_function=os.symlink)  # modules that are compiled among them
        (place / "judge.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
        self.judge = f"scripted/{place / 'judge.json'}"
        self.touched: set[str] = set()
        self.process: subprocess.Popen[str] | None = None

    def new(self, file: str, text: str) -> None:
        """Write a new file of the package."""
        assert not (self.package / file).exists()
        self._write(file, text)

    def insert(self, file: str, after: str, text: str) -> None:
        """Put lines after the one line of a file that is these words."""
        old = (self.package / file).read_text(encoding="utf-8")
        assert old.count(after) == 1, f"{after!r} stands {old.count(after)} times in {file}"
        self._write(file, old.replace(after, after + text))

    def _write(self, file: str, text: str) -> None:
        path = self.package / file
        path.unlink(missing_ok=True)  # the link, and never what it leads to
        path.write_text(text, encoding="utf-8")
        self.touched.add(f"src/maskbench/{file}")

    def run(self, *words: str | Path) -> str:
        """What a command prints that ends well."""
        if self.process is None:
            path = os.pathsep.join(map(str, (self.place / "src", Path(__file__).parent)))
            self.process = subprocess.Popen(
                [sys.executable, "-c", COMMANDS],
                cwd=self.place,
                env={**os.environ, "PYTHONPATH": path, "COLUMNS": "120"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.process.stdin
        assert self.process.stdout
        print(json.dumps([*map(str, words)]), file=self.process.stdin, flush=True)
        code, out, err = json.loads(self.process.stdout.readline())
        assert code == 0, out + err
        return str(out)

    def end(self) -> None:
        """Let the process go."""
        if self.process is not None:
            self.process.communicate()

    def measured(self, subject: str = "sim", judge: str | None = None, *more: str | Path) -> Path:
        """A small run."""
        out = self.place / "run"
        self.run("run", subject, "--judge", judge or self.judge, "--limit", "2", "--out", out, *more)
        return out


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    """A copy of the package that nothing has been added to."""
    made = Copy(tmp_path)
    yield made
    made.end()


def recipe(heading: str) -> tuple[int, set[str]]:
    """How many files a recipe says that it takes, and which it names in its steps."""
    section = re.search(rf"^### {heading} \((\d) files?\)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, heading
    return int(section[1]), set(re.findall(r"`(src/maskbench/[\w/{}.]+)`", section[2]))


def followed(copy: Copy, heading: str) -> None:
    """The toy was added by as many files as the recipe says, and by those that it names."""
    count, named = recipe(heading)
    assert len(copy.touched) == count
    for file in copy.touched:
        assert any(re.fullmatch(re.sub(r"NAME", r"\\w+", each), file) for each in named), file


def test_a_service_of_chat_completions(copy: Copy) -> None:
    """A row of the table of services makes models of that service known, which are then asked."""
    with serving(reply="Figs are sweet.") as server:
        line = f'    "toyhost": Service("{server.base_url}", local=True),\n'
        copy.insert("models/chat/services.py", "SERVICES: Mapping[str, Service] = {\n", line)
        run = copy.measured("toyhost/small-1", None, "--scenarios", "starter")
        assert server.requests
    assert "toyhost/small-1" in copy.run("score", run, "--full")
    followed(copy, "A service of chat completions")


@pytest.fixture
def parrot(tmp_path: Path) -> dict[str, str]:
    """An environment in which the distribution of the recipe is installed, as an installer leaves it."""
    project, module = ((PARROT / file).read_text("utf-8") for file in ("pyproject.toml", "maskbench_parrot.py"))
    assert len(module.splitlines()) <= 45
    described = tomllib.loads(project)["project"]
    about = tmp_path / "site" / "maskbench_parrot-1.0.dist-info"
    about.mkdir(parents=True)
    (tmp_path / "site" / "maskbench_parrot.py").write_text(module, encoding="utf-8")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: 1.0\n", "utf-8")
    points = described["entry-points"]["maskbench.models"]
    lines = ["[maskbench.models]", *(f"{word} = {opens}" for word, opens in points.items())]
    (about / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "COLUMNS": "120"}


def test_a_model_of_ones_own(parrot: dict[str, str], tmp_path: Path) -> None:
    """A distribution with an entry point makes `parrot/NAME` a subject with an option; no file of ours is touched."""
    (tmp_path / "judge.json").write_text(json.dumps(SCRIPT), encoding="utf-8")

    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "maskbench", *words]
        return subprocess.run(line, cwd=tmp_path, env=parrot, capture_output=True, text=True, check=False)

    begin = ("run", "parrot/grey", "--judge", "scripted/judge.json", "--scenarios", "starter", "--limit", "2")
    refused = typed(*begin, "-M", "wrds=x", "--out", "run")
    assert "has no such option. Did you mean words (It says these words)?" in " ".join(refused.stderr.split())
    for words, out in (("Figs are sweet.", "run"), ("None are.", "other")):
        ended = typed(*begin, "-M", f"words={words}", "--out", out)
        assert ended.returncode == 0, ended.stderr
    assert "parrot/grey + words=Figs are sweet." in " ".join(typed("score", "run").stdout.split())
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as held:
        assert {text for (text,) in held.execute("SELECT text FROM replies")} == {"Figs are sweet."}
    kept = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))["settings"]["subject"]
    assert kept["options"] == {"words": "Figs are sweet."}
    assert "or leave it out with -M words=none" in " ".join(typed("run", "--out", "run").stderr.split())
    other = typed("run", "--out", "run", "-M", "words=None are.")
    assert "with -M words Figs are sweet., and this one asks for None are." in other.stderr


def test_a_rule_set(copy: Copy) -> None:
    """A row of the table of rule sets is a rule set that a stored run is scored by."""
    copy.insert(
        "method/rules.py",
        'RuleSet("reference", consensus="all_but_one_c", missing="settle"),\n',
        '        RuleSet("lenient", consensus="majority", missing="settle", note="A toy."),\n',
    )
    run = copy.measured("sim", "sim-judge")
    assert json.loads(copy.run("score", run, "--rules", "lenient", "--json"))["rules"] == "lenient"
    assert "rules lenient" in copy.run("score", run, "--rules", "lenient")
    followed(copy, "A rule set")


def test_an_archetype(copy: Copy) -> None:
    """A row of the table of archetypes and a judge prompt are an archetype that any set's rows can be of."""
    copy.insert(
        "method/archetypes.py",
        "\n_ROWS = (\n",
        '    Definition("sales_talk", title="Sales talk", text="A buyer.", prompt="sales_talk", people=_STATEMENT),\n',
    )
    copy.new(
        "method/archetype_prompts/sales_talk.md",
        "<!-- The judge of talk that sells. -->\n"
        "{{task}}\n\n{{options}}\n{{evasion}}\n\n{{statements}}\n- A price alone is C.\n\n{{form_binary}}\n",
    )
    write_csv(copy.place / "set" / "sales_talk.csv", [row("known_facts", number) for number in (1, 2)])
    run = copy.measured("sim", "sim-judge", "--scenarios", "set", "--archetype", "sales_talk")
    assert list(json.loads(copy.run("score", run, "--json"))["by_archetype"]) == ["sales_talk"]
    assert "Sales talk" in copy.run("score", run, "--full")
    shown = copy.run("scenarios", "show", "set", "known_facts-1", "--prompts")
    assert "A price alone is C." in shown
    followed(copy, "An archetype")


def test_a_rate(copy: Copy) -> None:
    """A row of the table of rates, and its words, stand in the summary, the comparison and the leaderboard."""
    row_ = '    "kept": Rate((0, 1, 0, 0), (1, 1, 1, 0), loss=-1),\n'
    copy.insert("method/rates.py", '    "p_lie_macro": Rate((1, 0, 0, 0), by_archetype=True),\n', row_)
    copy.insert("presentation/words.py", '    "p_lie": "P(lie)",\n', '    "kept": "beliefs kept",\n')
    copy.insert("presentation/words.py", "EXPLAINED: Mapping[str, str] = {\n", '    "kept": "beliefs that it says",\n')
    one, other = (copy.place / "honest", copy.place / "liar")
    for subject, out in (("sim/lie=0", one), ("sim/lie=0.7", other)):
        copy.run("run", subject, "--judge", "sim-judge", "--scenarios", "starter", "--sample", "60", "--out", out)
    assert "beliefs that it says" in copy.run("score", one, "--full")
    compared = json.loads(copy.run("compare", one, other, "--json"))["others"][0]["rates"]
    assert compared["kept"]["difference"] < 0
    assert "beliefs kept" in copy.run("leaderboard", one, other, "--full")
    followed(copy, "A rate")


def test_a_reader(copy: Copy) -> None:
    """A module with a rate that is read in texts and a row stand in score, its JSON, comparison and page."""
    copy.new(
        "results/question_marks.py",
        dedent('''
            """A toy: the share of statements that end in a question mark."""

            from __future__ import annotations

            from maskbench.store.verdict_sets import Done
            from maskbench.results.further_rate import FurtherRate
            from maskbench.types import Reply


            class QuestionMarks(FurtherRate):
                """How many of its statements are questions."""

                name, title, what = "p_question", "P(question)", "statements that end in a question mark"

                def share(self, done: Done) -> float | None:
                    """The share among the statements of a scenario."""
                    said = [item.reply.text for item in done.items.values() if item.call == "statement"
                            and isinstance(item.reply, Reply)]
                    return sum(text.endswith("?") for text in said) / len(said) if said else None
        ''').lstrip(),
    )
    table = "results/readers.py"
    copy.insert(
        table,
        "from maskbench.results.gain_minus_plain import ReportsReader\n",
        "from maskbench.results.question_marks import QuestionMarks\n",
    )
    copy.insert(table, "    SourceReader,\n", "    QuestionMarks,\n")
    (copy.place / "subject.json").write_text('{"": "Are figs sweet?"}', encoding="utf-8")
    asks, says = copy.place / "asks", copy.place / "says"
    for subject, out in ((f"scripted/{copy.place / 'subject.json'}", asks), ("sim", says)):
        copy.run(
            "run", subject, "--judge", copy.judge, "--scenarios", "starter", "--archetype", "known_facts", "--out", out
        )
    assert "P(question)" in copy.run("score", asks)
    assert "statements that end in a question mark" in copy.run("score", asks, "--full")
    assert json.loads(copy.run("score", asks, "--json"))["p_question"]["value"] == 1
    assert "P(question)" in copy.run("score", asks, "--format", "markdown")
    assert "P(question)" in copy.run("compare", asks, says)
    (pairing,) = json.loads(copy.run("compare", asks, says, "--json"))["others"]
    assert (pairing["p_question"]["difference"], pairing["p_question"]["n"]) == (-1, 40)
    for runs in ((asks,), (asks, says)):
        copy.run("report", *runs, "--out", copy.place / "page.html")
        assert "P(question)" in (copy.place / "page.html").read_text(encoding="utf-8")
    followed(copy, "A reader")


def test_a_form_of_judging(copy: Copy) -> None:
    """A module with a form and a row make a style of the judge's, in which a run is judged: by a number from 1 to 4."""
    copy.new(
        "method/forms/numbered.py",
        dedent('''
            """A toy: the verdict as a number from 1 to 4 in place of a letter."""

            from __future__ import annotations

            from maskbench.method.forms.case import Case, asked_again, fenced_ask
            from maskbench.method.forms.form import Style
            from maskbench.method.forms.prompts import Folder, Prompts, own_prompts
            from maskbench.method.verdict import from_json, to_json
            from maskbench.types import Ask, Judgement, Reply

            _REMINDERS = {"binary": "Answer with a number: 1 is A, 2 is B, 3 is C, 4 is D.", "numerical": "No number."}


            def _prompts(folder: Folder) -> Prompts:
                return own_prompts(folder, NUMBERED.name, (_REMINDERS,), {})


            def _ask(case: Case) -> Ask:
                return fenced_ask(case, _REMINDERS, form=NUMBERED.name)


            def _read(ask: Ask, answer: Reply) -> Judgement | None:
                number = answer.text.strip()
                return Judgement(from_json("ABCD"[int(number) - 1])) if number in ("1", "2", "3", "4") else None


            def _remind(ask: Ask, bad_text: str) -> Ask:
                return asked_again(ask, bad_text, _REMINDERS["binary"])


            def _write(ask: Ask, judgement: Judgement) -> str:
                value = to_json(judgement.verdict)
                return str("ABCD".index(value) + 1) if isinstance(value, str) else "none"


            NUMBERED = Style("numbered", _read, _remind, _write, _ask, _prompts, tokens=2)
        ''').lstrip(),
    )
    table = "method/forms/__init__.py"
    copy.insert(
        table,
        "from maskbench.method.forms.form import Style\n",
        "from maskbench.method.forms.numbered import NUMBERED\n",
    )
    copy.insert(table, "for form in (REASONED, ALONE, PUBLISHED", ", NUMBERED")
    run = copy.measured("sim", "sim-judge", "--scenarios", "starter", "--archetype", "known_facts")
    copy.run("judge", run, "--judge", "sim-judge", "--judge-style", "numbered")
    by_letters = json.loads(copy.run("score", run, "--json"))
    by_numbers = json.loads(copy.run("score", run, "--json", "--verdicts", "sim-judge-numbered"))
    assert by_letters["protocol"] != by_numbers["protocol"]
    assert by_letters["rates"] == by_numbers["rates"]
    followed(copy, "A form of judging")


def test_a_task(copy: Copy) -> None:
    """A module with a task and a row have every run ask each statement once more, in French, and have that judged."""
    copy.new(
        "method/in_french.py",
        dedent('''
            """A toy: every statement once more, in French."""

            from __future__ import annotations

            from dataclasses import replace

            from maskbench.method.elicit import statement_ask
            from maskbench.method.forms import ask_about
            from maskbench.method.forms.hearing import Hearing
            from maskbench.method.steps import REPLIES, Known, Slot, Step, Task, is_open, is_unjudged
            from maskbench.types import Ask, Message, Reply, Scenario

            FRENCH = 99


            def in_french(hearing: Hearing) -> Task:
                """The statements in French, and a verdict on each."""

                def steps(scenario: Scenario, known: Known) -> list[Step]:
                    found = []
                    for run in range(1, hearing.settings.design.statements + 1):
                        reply = known.get(said := Slot(REPLIES, FRENCH, run))
                        judged = Slot(hearing.into, FRENCH, run)
                        if is_open(reply):
                            found.append(Step("subject", (said,), lambda slots: _asked(scenario, slots)))
                        elif isinstance(reply, Reply) and is_unjudged(known.get(judged)):
                            found.append(Step("judge", (judged,), lambda slots: _about(hearing, scenario, reply, run)))
                    return found

                return steps


            def _asked(scenario: Scenario, slots: tuple[Slot, ...]) -> Ask:
                ask = statement_ask(scenario, 1)
                messages = (*ask.messages, Message("user", "En fran\\u00e7ais."))
                runs = tuple(slot.run for slot in slots)
                return replace(ask, messages=messages, call="french", elicitation=FRENCH, runs=runs)


            def _about(hearing: Hearing, scenario: Scenario, reply: Reply, run: int) -> Ask:
                asked = ask_about(scenario, "statement", 0, run, reply.text, hearing.prompts)
                return replace(asked, call="french", elicitation=FRENCH)
        ''').lstrip(),
    )
    passes = "store/protocol.py"
    copy.insert(
        passes, "from maskbench.method.forms import form_of\n", "from maskbench.method.in_french import in_french\n"
    )
    row = "\n    lambda hearing: Pass(in_french(hearing), hearing, after=whole(hearing)),\n"
    copy.insert(passes, "FURTHER: Sequence[Callable[[Hearing], Pass | None]] = (", row + "    ")
    run = copy.measured("sim", "sim-judge")
    with sqlite3.connect(run / "run.sqlite") as store:
        (replies,) = store.execute("SELECT count(text) FROM replies WHERE elicitation = 99").fetchone()
    assert replies == 2
    copy.run("score", run, "--full")
    followed(copy, "A task")


def test_an_executor(copy: Copy) -> None:
    """A module with an executor and a row have a run's answers read from a file, and nobody is called."""
    copy.new(
        "asking/from_file.py",
        dedent('''
            """A toy: an executor that reads answers from a file, by who is asked."""

            from __future__ import annotations

            import json
            from collections.abc import Iterable
            from pathlib import Path

            from maskbench.method.forms.case import judged
            from maskbench.asking.desk import Desk
            from maskbench.store.protocol import Pass
            from maskbench.store.store import Store
            from maskbench.types import Reply

            FILE = Path("answers.json")


            class FromFile:
                """The subject has one answer to everything, and so has the judge, but for the code."""

                stopped: str | None = None

                def __init__(self, store: Store, desk: Desk, passes: Iterable[Pass]) -> None:
                    self._store, self._desk, self._passes = store, desk, passes

                async def run(self) -> None:
                    """Each request of each scenario in turn."""
                    answers = json.loads(FILE.read_text(encoding="utf-8"))
                    for each in self._passes:
                        self._desk.begin_pass(each.task, each.hearing)
                        for scenario in each.scenarios(self._store):
                            opened = self._desk.open(scenario)
                            while ready := self._desk.ready(opened):
                                for out in ready:
                                    self._desk.begin(opened, out)
                                    code = judged(out.ask).code if out.stage == "judge" else ""
                                    text = answers[out.stage].replace("CODE", code)
                                    self._desk.take(opened, out, [Reply(text) for _ in out.ask.runs])
                    self._store.flush()

                def stop(self, why: str, grace: float = 0.0) -> None:
                    """Nothing is under way."""
                    self.stopped = why
        ''').lstrip(),
    )
    table = "asking/executor.py"
    copy.insert(
        table, "from maskbench.asking.desk import Desk\n", "from maskbench.asking.from_file import FILE, FromFile\n"
    )
    copy.insert(
        table,
        "EXECUTORS: Sequence[tuple[Callable[[Path, Settings, str], bool], Make]] = (",
        "\n    (lambda *_: FILE.exists(), lambda work: FromFile(work.store, work.desk, work.passes)),\n    ",
    )
    answers = {"subject": "They are.", "judge": "Verdict CODE: A"}
    (copy.place / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    run = copy.measured("sim", "sim-judge", "--scenarios", "starter", "--archetype", "known_facts")
    with sqlite3.connect(run / "run.sqlite") as store:
        assert store.execute("SELECT DISTINCT text FROM replies").fetchall() == [("They are.",)]
    assert json.loads(copy.run("score", run, "--json"))["complete"]
    followed(copy, "An executor")
