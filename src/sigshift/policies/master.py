"""MASTER over UCB1: instances of UCB1 of many lengths, two tests for changes, and a restart when one of them fires.

Wei, Luo (COLT 2021), "Non-stationary reinforcement learning without prior knowledge: an optimal black-box approach",
Algorithms 1 and 2. The rounds are cut into blocks of 1, 2, 4, ... rounds. Block n runs MALG: at each of its rounds
tau = 0, 1, ... that 2^m divides, m <= n, an instance of UCB1 of order m begins with probability rho(2^n) / rho(2^m); it
lasts 2^m rounds. The instance of the lowest order chooses and learns, all others pause. With f(t) the index of the arm
that it chooses, R(t) the reward, and U(t) the smallest f of the block so far, the tests of round t are

    1.  an instance of order m ends with t, and its 2^m rounds have mean(R) >= U(t) + 9 rho^(2^m)
    2.  in the block so far, n rounds, mean(f - R) >= 3 rho^(n)
        rho(n) = sqrt(K c / n) + K c / n,   rho^(n) = scale * 6 (log2(T) + 1) c rho(n),   c = ln(T / delta)

(mean(R) is over all rounds of the interval, whoever chose). A test that fires begins block 0 again. The index of UCB1
is mean + ``width`` sqrt(c / max(1, plays)), and 0 is the mean of an arm without rewards; rho is the bound of its regret
per round. ``delta`` is 1 / T, ``width`` 2, as in the code of Gerogiannis, Huang and Veeravalli (AISTATS 2025), "Is
prior-free black-box non-stationary reinforcement learning feasible?".

With the paper's constants, ``scale=1``, the tests cannot fire in any run one can wait for, as those authors show. Test
1 needs 9 rho^(2^m) <= 1, as mean(R) <= 1 and U >= 0. As rho(n) >= 1 / sqrt(n) for every base, 2^m <= T and delta < 1,
that is 54 (log2(T) + 1) ln(T) <= sqrt(T): T of at least 1.24 x 10^9 (they; it is 1.246 x 10^9). With the rho above and
delta = 1 / T it is much more. For test 2 the mean of f - R is at most 1 plus that of the bonuses, in expectation at
most 2 width (log2(T) + 1) rho: far below the test's right-hand side. So what is played then is UCB1 with random
restarts that know nothing of the changes; ``ss.simulate`` and ``ss.Bandit`` say so. A smaller ``scale`` lets the tests
fire, without the proof.

A round costs two draws of a schedule on average and one index per arm, whatever T: an instance can begin only where
that of its order ends, so there are log2(T) + 1 of them at most. The schedule is a function of the key, so the instance
that a late reward belongs to is found again; it learns if it still lives. The tests are made when the next round
begins, with the rewards that have come by then: n in rho^ counts rewards, f is averaged over all rounds. A reward from
before the block is dropped.
"""

from typing import NamedTuple

import numpy as np

from sigshift.checks import real
from sigshift.kernel import inlined_kernel, kernel
from sigshift.rng import uniform

PAPER = "Wei, Luo 2021"
GUARANTEE = (
    "L changes or total variation V, not told: O~(min(sqrt(L K T), K^(1/3) V^(1/3) T^(2/3))); but with scale=1 its "
    "tests cannot fire below T of about 1.24 x 10^9"
)

# The entries of the state's ``clock``.
START = 0  # the block's first round
ORDER = 1  # and its order
NOW = 2  # the round of the last choice
ACTIVE = 3  # the order of the instance that made it
COUNT = 4  # rewards in the block
RESTARTS = 5
CLOCKS = 6

# The entries of ``sums``.
INDEX = 0  # of f in the block
REWARD = 1  # of the rewards in the block
LEAST = 2  # the smallest f in the block
SUMS = 3

FIRST_TEST, SECOND_TEST = 9.0, 3.0


class Params(NamedTuple):
    bonus: float  # width sqrt(c)
    spread: float  # K c
    margin: float  # rho^ / rho
    orders: int


class State(NamedTuple):
    key: np.uint64
    clock: np.ndarray
    sums: np.ndarray
    end: np.ndarray  # [order] the round after the last one of the instance of this order
    count_before: np.ndarray  # [order] COUNT when it began
    reward_before: np.ndarray  # [order] REWARD when it began
    plays: np.ndarray  # [order, arm]
    told: np.ndarray  # [order, arm]
    total: np.ndarray  # [order, arm]
    restarts: np.ndarray  # the rounds of the restarts


def configure(arms, horizon, *, scale: float = 1.0, delta: float | None = None, width: float = 2.0) -> Params:
    scale = real("scale", scale, "The paper has 1; 0.0005 with width=0.25 can fire.", above=0.0)
    width = real("width", width, "The factor of UCB1's bonus, 2 as published.", above=0.0)
    rounds = float(max(horizon, 2))
    if delta is not None:
        delta = real("delta", delta, "The probability of failure; None is 1/T.", above=0.0, below=1.0)
    log = float(np.log(rounds / delta)) if delta is not None else 2.0 * float(np.log(rounds))
    return Params(
        bonus=width * float(np.sqrt(log)),
        spread=arms * log,
        margin=scale * 6.0 * (float(np.log2(rounds)) + 1.0) * log,
        orders=int(rounds).bit_length() + 1,
    )


def caution(p, arms, horizon):
    """What to tell somebody who is about to run it."""
    if not silent(p, arms, horizon):
        return ""
    return (
        f"the tests of master cannot fire in {horizon:,} rounds with this scale (with scale=1, the paper's, never "
        "below about 1.24e9 rounds): it restarts UCB1 at random and reacts to no change. Pass a smaller scale "
        "(scale=0.0005, width=0.25 finds large changes in a million rounds), or play meta or glr_kl_ucb."
    )


def silent(p, arms, horizon):
    """Whether neither test can fire in a run of so many rounds, even if it were a single block."""
    rounds = float(max(horizon, 2))
    rate = float(rho(p, rounds))
    width = p.bonus / np.sqrt(p.spread / arms)
    bonuses = 2.0 * width * (np.log2(rounds) + 1.0) * rate
    return bool(FIRST_TEST * p.margin * rate > 1.0 and SECOND_TEST * p.margin * rate > 1.0 + bonuses)


def init(p, arms, key):
    state = State(
        key=key,
        clock=np.zeros(CLOCKS, np.int64),
        sums=np.zeros(SUMS),
        end=np.zeros(p.orders, np.int64),
        count_before=np.zeros(p.orders, np.int64),
        reward_before=np.zeros(p.orders),
        plays=np.zeros((p.orders, arms)),
        told=np.zeros((p.orders, arms)),
        total=np.zeros((p.orders, arms)),
        restarts=np.zeros(16, np.int64),
    )
    state.clock[ORDER] = -1  # the first block is of order 0
    return state


@kernel
def rho(p, n):
    return np.sqrt(p.spread / n) + p.spread / n


@kernel
def chance(p, order, m):
    """The probability that an instance of order m begins where one can, in a block of this order."""
    return rho(p, 2.0**order) / rho(p, 2.0**m)


@kernel
def select(p, s, t):
    if s.clock[ORDER] >= 0 and fired(p, s, t):
        s.restarts[s.clock[RESTARTS]] = t
        s.clock[RESTARTS] += 1
        begin_block(s, t, 0)
    elif t >= s.clock[START] + (1 << max(s.clock[ORDER], 0)) or s.clock[ORDER] < 0:
        begin_block(s, t, s.clock[ORDER] + 1)
    order = s.clock[ORDER]
    tau = t - s.clock[START]
    running = 0
    while running <= order and s.end[running] <= t:
        running += 1
    # Only orders below the running one can begin now, as 2^m divides tau for all of them or for none.
    active = running
    quiet = 1.0
    m = 0
    while m <= order and tau & ((1 << m) - 1) == 0:
        probability = chance(p, order, m)
        quiet *= 1.0 - probability
        if uniform(s.key, t, m) < probability:
            begin_instance(s, t, m)
            active = min(active, m)
        m += 1
    arm, index = best(p, s, active)
    q = 1.0
    if running <= order:  # an instance that begins plays the first arm, the running one that of its largest index
        other = arm
        if active < running:
            other, _ = best(p, s, running)
        q = (quiet if other == arm else 0.0) + (1.0 - quiet if arm == 0 else 0.0)
    s.plays[active, arm] += 1.0
    s.sums[INDEX] += index
    s.sums[LEAST] = min(s.sums[LEAST], index)
    s.clock[NOW] = t
    s.clock[ACTIVE] = active
    return arm, q


@inlined_kernel
def best(p, s, m):
    """The arm of the largest index in the instance of order m, and that index."""
    arm = 0
    largest = -1.0
    for a in range(s.plays.shape[1]):
        index = p.bonus / np.sqrt(max(1.0, s.plays[m, a]))
        if s.told[m, a] > 0.0:
            index += s.total[m, a] / s.told[m, a]
        if index > largest:
            largest = index
            arm = a
    return arm, largest


@kernel
def begin_block(s, t, order):
    s.clock[START] = t
    s.clock[ORDER] = order
    s.clock[COUNT] = 0
    s.sums[INDEX] = 0.0
    s.sums[REWARD] = 0.0
    s.sums[LEAST] = np.inf
    for m in range(s.end.size):
        s.end[m] = 0


@kernel
def begin_instance(s, t, m):
    s.end[m] = t + (1 << m)
    s.count_before[m] = s.clock[COUNT]
    s.reward_before[m] = s.sums[REWARD]
    for a in range(s.plays.shape[1]):
        s.plays[m, a] = 0.0
        s.told[m, a] = 0.0
        s.total[m, a] = 0.0


@kernel
def fired(p, s, t):
    """The tests of the last round, of whose block t - START rounds have been."""
    count = s.clock[COUNT]
    if count == 0:
        return False
    ended = t - s.clock[START]
    m = 0
    while m <= s.clock[ORDER] and ended & ((1 << m) - 1) == 0:
        n = count - s.count_before[m]
        if s.end[m] == t and n > 0:
            mean = (s.sums[REWARD] - s.reward_before[m]) / n
            if mean >= s.sums[LEAST] + FIRST_TEST * p.margin * rho(p, float(n)):
                return True
        m += 1
    behind = s.sums[INDEX] / ended - s.sums[REWARD] / count
    return behind >= SECOND_TEST * p.margin * rho(p, float(count))


@kernel
def update(p, s, t, a, y, q):
    if t < s.clock[START]:
        return
    s.clock[COUNT] += 1
    s.sums[REWARD] += y
    m = s.clock[ACTIVE] if t == s.clock[NOW] else chooser(p, s, t)
    begun = t - ((t - s.clock[START]) & ((1 << m) - 1))
    if s.end[m] == begun + (1 << m):  # else it has made room for a later one
        s.told[m, a] += 1.0
        s.total[m, a] += y


@kernel
def chooser(p, s, t):
    """The order of the instance that chose in round t of this block, from the draws of then."""
    m = 0
    while m < s.clock[ORDER]:
        begun = t - ((t - s.clock[START]) & ((1 << m) - 1))
        if uniform(s.key, begun, m) < chance(p, s.clock[ORDER], m):
            break
        m += 1
    return m


@kernel
def crowded(p, s):
    return s.clock[RESTARTS] + 1 >= s.restarts.size


def grow(p, s):
    """The same state with room for twice as many restarts."""
    return s._replace(restarts=np.concatenate([s.restarts, np.zeros_like(s.restarts)]))


def restarts(p, s):
    return s.restarts[: s.clock[RESTARTS]]


def inspect(p, s, origin, names):
    """The block and the instance that has chosen; the tests' two sides."""
    count = int(s.clock[COUNT])
    ended = int(s.clock[NOW] - s.clock[START])  # the round that is being chosen has no reward yet
    facts = {
        "block_start": origin + int(s.clock[START]),
        "block_order": int(s.clock[ORDER]),
        "active_order": int(s.clock[ACTIVE]),
        "running_orders": [int(m) for m in np.flatnonzero(s.end > s.clock[NOW])],
    }
    if count > 0 and ended > 0:
        facts["second_test_needs"] = SECOND_TEST * p.margin * float(rho(p, float(count)))
    return facts
