"""FEWA: filter the arms by their last h rewards, for growing h, and play one that has no more of them to show.

Seznec, Locatelli, Carpentier, Lazaric, Valko (AISTATS 2019), "Rotting bandits are not harder than stochastic ones",
Algorithm 1. For h = 1, 2, 4, ... only those arms stay whose mean over their last h rewards is at least that of the best
of them less ``2 c(h)``, where ``c(h) = sqrt(2 sigma^2 log(t^alpha) / h)``. The first time that an arm which stays has
fewer rewards than the next h, the least played of such arms is chosen. ``sigma`` is that of sub-Gaussian rewards: 1/2
holds for all within [0, 1], less for those known to be calmer. ``alpha`` = 5 is that of Theorem 1; the experiments of
the paper have 0.06, far below what the theorem covers and far better there.

The plain form remembers every reward and looks at all windows, h = 1, 2, 3, ...: time and memory of a round grow with
the rounds. This is EFF-FEWA of the appendix. Its windows grow by ``ratio`` (2 in the paper; from 1.05 on, and
each window the next whole number above the product), and window j is renewed only when all of its rewards are there,
then begins its next count with those that window j - 1 holds: at the ratio 2, it is renewed every w(j) / 2 rewards. So
an arm with n rewards costs log(n) numbers. Of any last h rewards some window holds at least h / 3 at the ratio 2, none
older; its width is at most sqrt(3) times c(h). So the guarantee keeps its form, with larger constants.

The paper has no delay. With late rewards the windows are over the rewards told, in the order in which they come, and
"least played" counts decisions, so that arms without rewards wait in turn. Equal arms: the first one.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import inlined_kernel, kernel

PAPER = "Seznec, Locatelli, Carpentier, Lazaric, Valko 2019"
GUARANTEE = (
    "rested rotting: regret O(sigma sqrt(K T log T)) to the greedy oracle, larger constants for the windows here"
)
TOLD = "sigma (optional)"

LONGEST = 2**40  # rewards of a window; no arm lives to see more


class Params(NamedTuple):
    spread: float  # 2 sqrt(2 alpha) sigma: what sqrt(log(t) / h) is multiplied with
    windows: np.ndarray
    narrow: np.ndarray  # 1 / sqrt(windows)


class State(NamedTuple):
    asked: np.ndarray
    filled: np.ndarray  # the number of windows that an arm has filled
    mean: np.ndarray  # [arm, window]
    total: np.ndarray  # [arm, window] of the rewards for the next renewal
    rewards: np.ndarray  # [arm, window] and their number
    left: np.ndarray  # the arms that stay, while one is chosen


def configure(*, alpha: float = 5.0, sigma: float = 0.5, ratio: float = 2.0) -> Params:
    alpha = real("alpha", alpha, "The exponent of the confidence 1 / t^alpha; the theorem has 5.", least=0.0)
    sigma = real("sigma", sigma, "1/2 covers all rewards within [0, 1].", above=0.0, most=0.5)
    windows = window_lengths(ratio)
    return Params(2.0 * float(np.sqrt(2.0 * alpha)) * sigma, windows, 1.0 / np.sqrt(windows))


def window_lengths(ratio: float) -> np.ndarray:
    """1 and on, each the whole number next above ``ratio`` times the one before."""
    ratio = real("ratio", ratio, "2 is quick, 1.1 nearly all windows there are.", least=1.05, most=2.0)
    windows = [1]
    while windows[-1] < LONGEST:
        windows.append(max(windows[-1] + 1, int(np.ceil(ratio * windows[-1]))))
    return np.array(windows)


def init(p, arms, key):
    windows = (arms, p.windows.size)
    counts = np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    return State(*counts, np.zeros(windows), np.zeros(windows), np.zeros(windows, np.int64), np.zeros(arms, np.int64))


@kernel
def select(p, s, t):
    width = p.spread * np.sqrt(np.log(t + 1.0))
    left = s.asked.size
    for i in range(left):
        s.left[i] = i
    least = fewest(s.filled, s.left, left)
    j = 0
    while j < least and width * p.narrow[j] >= 1.0:  # rewards within [0, 1]: nobody can fall behind
        j += 1
    while left > 1:
        if j == least:
            least = fewest(s.filled, s.left, left)
            if j == least:
                break
        left = stay(s, j, left, width * p.narrow[j])
        j += 1
    best = s.left[0]
    if left > 1:
        best = -1
        for i in range(left):
            a = s.left[i]
            if s.filled[a] == j and (best < 0 or s.asked[a] < s.asked[best]):
                best = a
    chosen(p, s, t, best)
    return best, 1.0


@inlined_kernel
def fewest(filled, left, size):
    """How many windows are filled by each of the arms that are left."""
    least = filled[left[0]]
    for i in range(1, size):
        least = min(least, filled[left[i]])
    return least


@inlined_kernel
def stay(s, j, left, width):
    """Keep the arms whose mean over window j is within the width of the highest; returns how many they are."""
    top = 0.0
    bottom = 1.0
    for i in range(left):
        mean = s.mean[s.left[i], j]
        top = max(top, mean)
        bottom = min(bottom, mean)
    least = top - width
    if bottom >= least:
        return left
    kept = 0
    for i in range(left):
        a = s.left[i]
        if s.mean[a, j] >= least:
            s.left[kept] = a
            kept += 1
    return kept


@kernel
def update(p, s, t, a, y, q):
    s.filled[a] = gather(p.windows, s.mean[a], s.total[a], s.rewards[a], s.filled[a], y)


@inlined_kernel
def gather(windows, mean, total, count, filled, y):
    """One more reward of an arm, for all its windows; returns how many are filled by now.

    A window that is renewed begins again with what the previous one has gathered; the first that is not filled yet has
    all rewards so far.
    """
    last = min(filled, windows.size - 1)
    for j in range(last + 1):
        total[j] += y
        count[j] += 1
    for j in range(last, -1, -1):
        if count[j] == windows[j]:
            mean[j] = total[j] / count[j]
            if j == filled:
                filled += 1
                if filled < windows.size:
                    total[filled] = total[j]
                    count[filled] = count[j]
            total[j] = total[j - 1] if j > 0 else 0.0
            count[j] = count[j - 1] if j > 0 else 0
    return filled


@inlined_kernel
def chosen(p, s, t, a):
    s.asked[a] += 1


@kernel
def forget(p, s, a):
    s.asked[a] = 0
    s.filled[a] = 0
    s.total[a, 0] = 0.0
    s.rewards[a, 0] = 0
