"""Page-Hinkley test: CUSUM against the mean of all rewards so far, instead of the mean of the first ones.

Page (1954), Hinkley (1971), as in Liu, Lee, Shroff (2018), "A change-detection based framework for
piecewise-stationary multi-armed bandit problem", Section 6 (PHT). With m the mean of all rewards since the arm was
cleared, y among them,

    up = max(0, up + y - m - tolerance),    down = max(0, down + m - y - tolerance),

and it is an alarm when one of them reaches ``height`` (h). ``tolerance`` is the paper's epsilon; h is
``ln(T / max(L, 1))`` if told ``changes=L``, else ln(T), as in ``cusum``. No rewards are set aside to learn the mean,
and it becomes ever more precise; but after a change it follows the new mean, so that a change early in a history may
be missed.

False alarms: the paper has no bound for this test, and we know of none that covers these constants. Once the mean is
within tolerance both walks drift down. Cost: O(1) per reward. Rewards count in the order in which they arrive.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.detectors.cusum import height_for
from sigshift.kernel import kernel

PAPER = "Page 1954; Hinkley 1971; Liu, Lee, Shroff 2018"
TOLD = "changes (optional)"


class Params(NamedTuple):
    """What the kernels read."""

    tolerance: float
    height: float


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # its rewards
    mean: np.ndarray  # their mean
    up: np.ndarray
    down: np.ndarray


def configure(horizon, *, tolerance: float = 0.1, height: float | None = None, changes: int | None = None) -> Params:
    """What the user says, checked."""
    tolerance = real("tolerance", tolerance, "The change not worth finding; the paper's epsilon.", least=0.0, below=1.0)
    return Params(tolerance, height_for(horizon, height, changes))


def init(p, arms):
    """The state before the first reward."""
    return State(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms))


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    s.told[a] += 1
    s.mean[a] += (y - s.mean[a]) / s.told[a]
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
