"""The five rates of dynamic regret that the paper compares, without their constants and logarithms."""

import math
from collections.abc import Iterable


def rates(
    lengths: Iterable[int], significant: int, switches: int, changes: int, variation: float, horizon: int, arms: int
) -> dict[str, float]:
    """The rates of an environment with K ``arms`` and T = ``horizon`` rounds.

    - ``phases``: sum over significant phases of sqrt(K length), Proposition 1 and Theorem 1;
    - ``significant``: sqrt((L~ + 1) K T), Corollary 1;
    - ``switches``: sqrt((S + 1) K T) for S switches of the best arm;
    - ``changes``: sqrt((L + 1) K T) for L changes of any mean;
    - ``variation``: sqrt(K T) + (K V)^(1/3) T^(2/3) for total variation V, Corollary 2.

    >>> rates([50, 50], significant=1, switches=1, changes=3, variation=0.5, horizon=100, arms=2)["phases"]
    20.0
    """
    pulls = arms * horizon
    return {
        "phases": math.fsum(math.sqrt(arms * length) for length in lengths),
        "significant": math.sqrt((significant + 1) * pulls),
        "switches": math.sqrt((switches + 1) * pulls),
        "changes": math.sqrt((changes + 1) * pulls),
        "variation": math.sqrt(pulls) + math.cbrt(arms * variation) * math.cbrt(horizon) ** 2,
    }
