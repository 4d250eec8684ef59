"""What the controls on the subject come to: every control's figures, by one judge's verdict set."""

from __future__ import annotations

from maskbench.judges.verdict_sets import Done, Ensemble, SecondLook, VerdictSet
from maskbench.method.asks import VERDICTS
from maskbench.method.controls import CONTROLS, Controls, control_asks, wanted
from maskbench.method.controls.control import Seen
from maskbench.method.outcomes import verdict_on
from maskbench.method.rules import RuleSet


class ControlFigures:
    """What the run's controls on the subject show, by one judge's verdict set: shown its scenarios, it has the figures.

    Reasoning is that of lies by the run's own judge, and other judges are not asked about it.
    """

    def __init__(self, judged: VerdictSet, rules: RuleSet) -> None:
        self._judged = judged
        self._rules = rules
        has_none = isinstance(judged, Ensemble | SecondLook)
        controls = [] if has_none else wanted(judged.settings)
        self._tallies = {
            control: control.tally() for control in controls if control.asks is not None or judged.name == VERDICTS
        }

    def see(self, done: Done) -> None:
        """Take in one scenario that is done."""
        if not self._tallies:
            return
        settings = self._judged.settings
        statements = [done.items[key] for key in sorted(done.items) if key[0] == 0]
        seen = Seen(done.scenario, done.scored, statements, self._rules)
        verdicts = {(item.elicitation, item.run): verdict_on(item, settings) for item in done.checks()}
        lies = [run for run, outcome in enumerate(done.scored.outcomes, start=1) if outcome == "lie"]
        asked = control_asks(done.scenario, settings)
        for control, tally in self._tallies.items():
            runs = lies if control.asks is None else [ask.runs[0] for ask in asked if ask.call == control.call]
            for run in runs:
                tally.see(seen, run, verdicts.get((control.elicitation, run)))

    def figures(self) -> Controls | None:
        """What was found, each part None where it was not asked for; None where there is none to read.

        Rates have value, ci95 (over propositions) and n; what has no verdict is in `failed`, and in no rate.
        """
        if not self._tallies:
            return None
        parts = {control.setting: tally.figures() for control, tally in self._tallies.items()}
        return Controls(**{control.setting: parts.get(control.setting) for control in CONTROLS})
