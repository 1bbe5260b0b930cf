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
        "ada_ilt_cb",
        "Chen, Lee, Luo, Wei 2019, A new algorithm for non-stationary contextual bandits: efficient, optimal and "
        "parameter-free",
        "Its two tests and its optimisation problem have constants (of the thresholds, the blocks, the replays) that "
        "decide what it does, and the text of the pseudo-code was not to be had.",
        "The paper's abstract and introduction and what later papers say of it: blocks, replay phases of many lengths, "
        "a test at the end of each, but none of the constants; no public implementation was found.",
        "ad_switch or meta with threshold='paper', which promise as much for arms without contexts; master, by two of "
        "the same authors, whose statement is complete.",
    ),
    Absence(
        "arm_switch",
        "Abbasi-Yadkori, Gyorgy, Lazic 2023, A new look at dynamic regret for non-stationary stochastic bandits",
        "The text of its pseudo-code and its constants were not to be had; a scheme made up from the abstract would "
        "bear the name without the proof.",
        "The paper's abstract, and later papers on switches of the best arm and on duels, which say what it promises "
        "but not its tests; copies of the paper as published could not be read; no public implementation was found.",
        "meta with threshold='paper': it promises as much, up to the power of the logarithm, as there are never more "
        "significant shifts than switches of the best arm.",
    ),
    Absence(
        "manegueu",
        "Manegueu, Carpentier, Yu 2021, Generalized non-stationary bandits",
        "The text of its procedures was not to be had: neither the tests nor the constants.",
        "The paper's abstract and the sentences that later papers spend on it; no public implementation was found.",
        "detect or glr_kl_ucb, told the number of changes; meta, if it is not known.",
    ),
    Absence(
        "sapo",
        "Auer, Chiang 2016, An algorithm with nearly optimal pseudo-regret for both stochastic and adversarial bandits",
        "Its checks, its exploration phases and their constants decide when it gives up on a stochastic world, and the "
        "text of the pseudo-code was not to be had.",
        "The paper's abstract and introduction, and what later papers on both worlds say of it; no public "
        "implementation was found.",
        "tsallis_inf: better bounds in both worlds, without tests; sao, whose tests it refines.",
    ),
    Absence(
        "slivkins_upfal",
        "Slivkins, Upfal 2008, Adapting to a changing environment: the Brownian restless bandits",
        "The state-informed algorithm is told the exact mean of the arm it plays, which no policy here is; the "
        "statement and the constants of the state-oblivious one were not to be had.",
        "The paper's abstract and what later papers say of it; no public implementation was found. Its world is given: "
        "the environment brownian.",
        "d_ts, sw_ts, exp3s or, told how fast the means drift, slow_elimination.",
    ),
)


def absence(name: str) -> Absence | None:
    """The row of an algorithm that is not given."""
    return next((row for row in ABSENCES if row.policy == name), None)
