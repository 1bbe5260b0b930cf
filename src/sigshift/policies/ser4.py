"""SER4: SER3 that starts over at random rounds, so that it follows a best arm that switches.

Allesiardo, Feraud, Maillard (2017), "The non-stationary stochastic multi-armed bandit problem", Algorithm 2. In every
round everything is forgotten with probability ``reset_rate``; between resets it is SER3 with ``delta`` and
``epsilon``, 1 / (K T) by default.

``reset_rate=None`` is sqrt(N / (K T ln(K T))), which balances the rounds lost after each of the N ``switches``, about
1 / rate, against the cost of a reset, about K ln(K T) for gaps that are constant. N = 1 if they are not told.
"""

import numpy as np

from sigshift.checks import not_both, real, whole
from sigshift.policies import ser3
from sigshift.policies.ser3 import Params, State, crowded, grow, init, restarts, select, update

__all__ = ["Params", "State", "configure", "crowded", "grow", "init", "restarts", "select", "update"]

PAPER = ser3.PAPER
GUARANTEE = "N switches of the arm that is best on average, told: O(sqrt(N K T log(K T)) / mean gap)"
TOLD = "switches (optional)"


def configure(
    arms,
    horizon,
    *,
    switches: int | None = None,
    reset_rate: float | None = None,
    delta: float | None = None,
    epsilon: float | None = None,
):
    not_both(switches=switches, reset_rate=reset_rate)
    if switches is not None:
        switches = whole("switches", switches, 0, "Pass the number of switches of the best arm, or None.")
    if reset_rate is None:
        size = float(arms) * horizon
        reset_rate = min(1.0, float(np.sqrt(max(switches or 1, 1) / (size * max(np.log(size), 1.0)))))
    reset_rate = real("reset_rate", reset_rate, "The probability of a reset in a round.", least=0.0, most=1.0)
    return ser3.parameters(arms, horizon, delta, epsilon, reset_rate)
