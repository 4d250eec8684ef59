"""Options in the other order."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from flows import scenario
from maskbench.errors import UsageError
from maskbench.method.proposition import options
from maskbench.scenarios.exam.exchanged import exchanged


@given(st.text("ab /", min_size=1, max_size=9), st.text("cd /", min_size=1, max_size=9))
def test_exchanging_options_exchanges_nothing_else(first: str, second: str) -> None:
    """Whatever the pivot holds, the options change places, and so does the truth."""
    made = scenario(proposition="It is <pivotal>x/y</pivotal> here.")
    made = replace(made, proposition=f"It is <pivotal>{first}/{second}</pivotal> here.")
    try:
        before = options(made.proposition)
        other = exchanged(made)
    except UsageError:
        return  # nobody can tell which slash is meant
    assert options(other.proposition) == before[::-1]
    assert {made.truth, other.truth} == {"A", "B"}
    assert replace(other, proposition=made.proposition, truth=made.truth) == made
