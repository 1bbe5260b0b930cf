"""Algorithms of the field that are not given, and why: in place of a stub under their names.

A row says what stands in the way, what was tried to get past it, and what to use instead. ``ss.policy`` refuses such a
name with its row; ``ss.policies(absent=True)`` and ``sigshift policies`` list them.
"""

from typing import NamedTuple


class Absence(NamedTuple):
    """Why an algorithm is not given."""

    policy: str  # the name that it would have
    paper: str
    reason: str
    tried: str
    instead: str


ABSENCES = (
    Absence(
        "arm_switch",
        "Abbasi-Yadkori, Gyorgy, Lazic 2023, A new look at dynamic regret for non-stationary stochastic bandits",
        "The text of its pseudo-code and its constants were not to be had; a scheme made up from the abstract would "
        "bear the name without the proof.",
        "The paper's abstract and the sentences that later papers spend on it, which say what it promises but not its "
        "tests; no public implementation was found.",
        "meta: it promises as much, up to the power of the logarithm, as there are never more significant shifts than "
        "switches of the best arm.",
    ),
    Absence(
        "manegueu",
        "Manegueu, Carpentier, Yu 2021, Generalized non-stationary bandits",
        "The text of its procedures was not to be had: neither the tests nor the constants.",
        "The paper's abstract and the sentences that later papers spend on it; no public implementation was found.",
        "detect or glr_kl_ucb, told the number of changes; meta, if it is not known.",
    ),
)


def absence(name: str) -> Absence | None:
    """The row of an algorithm that is not given."""
    return next((row for row in ABSENCES if row.policy == name), None)
