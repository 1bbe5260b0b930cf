"""The problem of Mukherjee and Maillard (2019)."""

from sigshift.environment import Environment
from sigshift.environments.registry import entry, equal_starts, rounds


@entry("Mukherjee and Maillard (2019)")
def mukherjee(*, horizon: int = 20_000) -> Environment:
    """Three arms, four equal segments; a new best arm in each, the last by little."""
    means = [(0.1, 0.2, 0.9), (0.4, 0.9, 0.1), (0.5, 0.1, 0.2), (0.2, 0.2, 0.3)]
    return Environment.piecewise(equal_starts(rounds(horizon, 20), 4), means, horizon)
