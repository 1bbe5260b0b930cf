"""CUSUM: alarm when rewards have run above, or below, the mean of the first ones for too long.

Liu, Lee, Shroff (2018), "A change-detection based framework for piecewise-stationary multi-armed bandit problem",
Algorithm 2. The first ``samples`` (M) rewards of an arm give its mean u. From then on

    up = max(0, up + y - u - tolerance),    down = max(0, down + u - y - tolerance),

and it is an alarm when one of them reaches ``height`` (h). ``tolerance`` (the paper's epsilon) is the change that is
not worth finding: changes must be larger than twice that. The paper sets h of the order ln(T / L) for L changes: here
that is ``ln(T / max(L, 1))`` if told ``changes=L``, and ln(T) if not. M and epsilon are the user's; 200 and 0.1 are
those of the experiments of Besson et al. (2022).

False alarms: with e = tolerance - |u - true mean| > 0 both walks drift down, and by Hoeffding's lemma the probability
of an alarm within N independent rewards is at most ``2 N exp(-8 e h)``. Mind that h = ln(T) makes this small only if
e is above 1/8: a tolerance of 0.1 alarms in vain now and then at means near 1/2. With e <= 0 an alarm comes sooner or
later; that has a chance of at most 2 exp(-2 M tolerance^2), 3.7 % with the defaults, each time the arm is cleared.
Cost: O(1) per reward. Rewards count in the order in which they arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real, whole
from sigshift.kernel import kernel

PAPER = "Liu, Lee, Shroff 2018"
TOLD = "changes (optional)"


class Params(NamedTuple):
    """What the kernels read."""

    samples: int
    tolerance: float
    height: float


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # its rewards
    mean: np.ndarray  # the mean of the first of them
    up: np.ndarray
    down: np.ndarray


def configure(
    horizon, *, samples: int = 200, tolerance: float = 0.1, height: float | None = None, changes: int | None = None
) -> Params:
    """What the user says, checked."""
    samples = whole("samples", samples, 1, "The rewards that give the mean; the paper's M.")
    tolerance = real("tolerance", tolerance, "The change not worth finding; the paper's epsilon.", least=0.0, below=1.0)
    return Params(samples, tolerance, height_for(horizon, height, changes))


def height_for(horizon, height, changes):
    """The height of an alarm, as said or derived."""
    if changes is not None:
        changes = whole("changes", changes, 0, "Pass the number of changes of the means, or None.")
    if height is not None:
        return real("height", height, "The paper's h; None is ln(T / L).", above=0.0)
    return float(max(1.0, np.log(horizon / max(changes or 1, 1))))


def init(p, arms):
    """The state before the first reward."""
    return State(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms))


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    s.told[a] += 1
    if s.told[a] <= p.samples:
        s.mean[a] += (y - s.mean[a]) / s.told[a]
        return False
    s.up[a] = max(0.0, s.up[a] + y - s.mean[a] - p.tolerance)
    s.down[a] = max(0.0, s.down[a] + s.mean[a] - y - p.tolerance)
    return max(s.up[a], s.down[a]) >= p.height


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.told[a] = 0
    s.mean[a] = 0.0
    s.up[a] = 0.0
    s.down[a] = 0.0
