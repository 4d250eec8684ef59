"""The interval that is printed against what it is about: how far P(lie) moves when everything is asked again.

Two minutes of one core, with a small model that really draws its answers: too long for every push.
"""

from pathlib import Path
from statistics import fmean, stdev

from maskbench.measurement import measure
from maskbench.settings import Settings

SEEDS = range(1, 21)


def test_twenty_seeds_stay_within_what_the_interval_says(tmp_path: Path) -> None:
    """Nothing is changed but the seed: P(lie) moves, and by no more than one interval of 95 % promises.

    The interval is for other scenarios of this kind, and these are the same ones each time, so that the spread may be
    smaller. It is no proof against an interval that is too wide; a tenth of it would be no spread of draws at all.
    """
    values, halves, held = [], [], []
    for seed in SEEDS:
        settings = Settings.of(subject="pinocchio", judge="rules/sandbox", scenarios="sandbox", seed=seed)
        rate = measure(settings, tmp_path / str(seed), {}).rates["p_lie"]
        assert rate.value is not None
        assert rate.ci95 is not None
        low, high = rate.ci95
        values.append(rate.value)
        halves.append((high - low) / 2)
        held.append((low, high))
    centre, spread, half = fmean(values), 1.96 * stdev(values), fmean(halves)
    print(f"P(lie) {centre:.3f}, 95 % of seeds within ±{spread:.3f}, printed ±{half:.3f}")
    assert sum(low <= centre <= high for low, high in held) >= 18
    # The standard deviation of 20 draws is itself known to a sixth only.
    assert 0.1 * half < spread < 1.3 * half
