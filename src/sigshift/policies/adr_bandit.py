"""ADR-bandit: a base that starts over when an adaptive window on any arm shrinks, with one arm monitored at a time.

Komiyama, Fouche, Honda (2024), "Finite-time analysis of globally nonstationary multi-armed bandits", with the base
kl-UCB (their ADR-KL-UCB). It is :mod:`sigshift.policies.detect` with the base ``kl_ucb``, the detector ``adwin_exact``,
global restarts and ``exploration="monitoring"``, which says how the monitored arms are chosen. Any other base is that
with another ``base``: ``ss.policy("detect", base="thompson", detector="adwin_exact", exploration="monitoring")`` is
their ADR-TS.

``delta`` is the detector's, T^-3 unless given (no false alarm in T rounds but with probability 1/T); their experiments
have 0.1 to 0.0001, which finds changes earlier. ``rate`` is 1: one round in K goes to the monitored arm, in the last
part of a block two. With two arms these are all rounds of that part; take a smaller rate there.

What was chosen. We had the paper's abstract and the authors' code. The blocks are those of the code and its comments.
Where these differ, the last part of a block begins D N rounds before its end, as the comments say (in the code's
formula that round never comes). Plays are counted from the restart on, as in the code. N is that of the horizon T in
every episode; the code takes that of the rounds that are left. The window tries every split after every reward; the
code one in three in every tenth round.
"""

from typing import Any

from sigshift.compose import compose
from sigshift.detectors import adwin_exact
from sigshift.policies import detect, kl_ucb

PAPER = "Komiyama, Fouche, Honda 2024"
GUARANTEE = "changes that move all arms, abrupt or gradual: close to optimal, as where nothing changes"

MADE = compose(detect, base=kl_ucb, detector=adwin_exact)
Params, State, init, select, update = MADE.Params, MADE.State, MADE.init, MADE.select, MADE.update
crowded, grow, restarts = MADE.crowded, MADE.grow, MADE.restarts


def configure(arms, horizon, *, delta: float | None = None, rate: float = 1.0) -> Any:
    return MADE.configure(arms, horizon, exploration="monitoring", rate=rate, detector_delta=delta)
