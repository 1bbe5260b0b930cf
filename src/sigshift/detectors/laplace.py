"""Two means with Laplace's confidence intervals: alarm when those before and after some split are disjoint.

Mukherjee and Maillard (2019), "Distribution-dependent and time-uniform bounds for piecewise i.i.d. bandits", the
detector of UCBL-CPD. With n rewards since the arm was cleared it is an alarm when for some split 0 < i < n

    |mean of first i - mean of last n - i| > radius(i) + radius(n - i),
    radius(n) = sqrt((1 + 1/n) ln(sqrt(n + 1) / delta) / (2 n)).

Each radius holds for all n at once with probability 1 - 2 delta (Laplace's method). ``delta`` is 1/T unless given; the
paper takes 1/t, which a detector of one arm cannot know.

The paper tries every split after every reward, in time n. Here a split is kept at every multiple of a stride that is
at most n / 64, and the test is made whenever the rewards of the arm have grown by 1 % (every one of the first 200). So
it sees what the paper's sees, at most 3 % of n rewards later; it cannot alarm where the paper's would not.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import kernel

PAPER = "Mukherjee, Maillard 2019"

ROOM = 128  # splits kept; the stride doubles when they are full
SHARE = 100  # a test after every n / SHARE rewards


class Params(NamedTuple):
    """What the kernels read."""

    log_delta: float


class State(NamedTuple):
    """What is known of each arm since it was cleared."""

    told: np.ndarray  # its rewards
    total: np.ndarray  # their sum
    next: np.ndarray  # the number of rewards at which it is tested
    stride: np.ndarray  # rewards between two splits
    kept: np.ndarray  # splits
    sums: np.ndarray  # [arm, split] the sum of the rewards up to it


def configure(horizon, *, delta: float | None = None) -> Params:
    """What the user says, checked."""
    delta = 1.0 / max(horizon, 2) if delta is None else delta
    delta = real("delta", delta, "The probability of a false alarm of one interval.", above=0.0, below=1.0)
    return Params(float(np.log(delta)))


def init(p, arms):
    """The state before the first reward."""
    return State(
        told=np.zeros(arms, np.int64),
        total=np.zeros(arms),
        next=np.full(arms, 2),
        stride=np.ones(arms, np.int64),
        kept=np.zeros(arms, np.int64),
        sums=np.zeros((arms, ROOM)),
    )


@kernel
def radius(log_delta, n):
    """Laplace's half width of a confidence interval for the mean of n rewards, for all n at once."""
    return np.sqrt((1.0 + 1.0 / n) * (0.5 * np.log(n + 1.0) - log_delta) / (2.0 * n))


@kernel
def observe(p, s, a, y):
    """Take in the reward y of arm a; whether its rewards have changed."""
    s.told[a] += 1
    s.total[a] += y
    n = s.told[a]
    changed = False
    if n >= s.next[a]:
        s.next[a] = n + max(1, n // SHARE)
        for k in range(s.kept[a]):
            i = (k + 1.0) * s.stride[a]
            before = s.sums[a, k] / i
            after = (s.total[a] - s.sums[a, k]) / (n - i)
            changed = changed or abs(before - after) > radius(p.log_delta, i) + radius(p.log_delta, n - i)
    if n % s.stride[a] == 0:
        if s.kept[a] == ROOM:
            thin(s, a)
        if n % s.stride[a] == 0:
            s.sums[a, s.kept[a]] = s.total[a]
            s.kept[a] += 1
    return changed


@kernel
def thin(s, a):
    """Keep every second split."""
    for k in range(ROOM // 2):
        s.sums[a, k] = s.sums[a, 2 * k + 1]
    s.kept[a] = ROOM // 2
    s.stride[a] *= 2


@kernel
def clear(p, s, a):
    """Forget the rewards of arm a."""
    s.told[a] = 0
    s.total[a] = 0.0
    s.next[a] = 2
    s.stride[a] = 1
    s.kept[a] = 0
