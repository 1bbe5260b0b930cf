"""META: evidence without bias decides what is given up; an index decides what is played.

Suk and Kpotufe (COLT 2022), "Tracking most significant arm switches in bandits". There are two forms.

``threshold="calibrated"``, the default, is META for practice, told nothing: :mod:`auto <sigshift.policies.auto>` with
more replays. META's episodes, replays and eviction test (:mod:`sigshift.meta.conscience`), at levels that a Monte Carlo
has set, say which arms are out and when everything starts over. What is played in the rounds of no replay, and what is
forgotten of one arm alone, is said by auto's index, detector and probes. ``replay_rate=0.01`` is 50 times auto's: so
arms are compared without bias, whoever changes them and however, in 50 times as many rounds, and these cost something.
All other levers are auto's, but for ``forget``.

``threshold="paper"`` is the paper's algorithm, and ``"remark"`` the same with the threshold of its Remark 1:
:mod:`sigshift.meta.paper`. This form alone has a ``c0`` and plans for a horizon: who says ``c0`` and no ``threshold``
means it.
"""

import inspect as signatures
import sys
from typing import Any

from sigshift.checks import choice, refuse
from sigshift.compose import parameters
from sigshift.meta import paper
from sigshift.policies import auto
from sigshift.policies.auto import TOLD as TOLD
from sigshift.policies.auto import Params as Params
from sigshift.policies.auto import State as State
from sigshift.policies.auto import crowded as crowded
from sigshift.policies.auto import grow as grow
from sigshift.policies.auto import init as init
from sigshift.policies.auto import inspect as inspect
from sigshift.policies.auto import restarts as restarts
from sigshift.policies.auto import select as select
from sigshift.policies.auto import update as update

PAPER = "Suk, Kpotufe 2022"
GUARANTEE = "that of auto with a smaller constant; META's bound is a conjecture (docs/theory.md)"

FORMS = {"calibrated": sys.modules[__name__], "paper": paper, "remark": paper}
USUAL = "calibrated"  # the form of a META of which nothing is said


def form(params):
    """The module that plays with these parameters. ``c0`` alone says that it is the paper's."""
    chosen = params.get("threshold", "paper" if "c0" in params else USUAL)
    choice("threshold", chosen, list(FORMS))
    other = "calibrated" if FORMS[chosen] is paper else "paper"
    if "forget" in params:
        raise refuse("parameter 'forget' of meta", "is a lever of auto alone", params["forget"], "Leave it out.")
    for key in params:
        if key in parameters(FORMS[other]) and key not in parameters(FORMS[chosen]):
            rule = f"belongs to threshold={other!r}, and this META has threshold={chosen!r}"
            raise refuse(f"parameter {key!r} of meta", rule, params[key], f"Leave it out, or say threshold={other!r}.")
    return FORMS[chosen]


def _with_levers_of_auto(configure: Any) -> Any:
    """Let the signature name them, all but ``forget``."""
    own = signatures.signature(configure)
    named = [item for item in own.parameters.values() if item.kind is not signatures.Parameter.VAR_KEYWORD]
    taken = signatures.signature(auto.configure).parameters.values()
    more = [item for item in taken if item.name not in {*own.parameters, "forget"}]
    configure.__signature__ = own.replace(parameters=[*named, *more])
    return configure


@_with_levers_of_auto
def configure(arms, *, threshold: str = "calibrated", replay_rate: float = 0.01, **levers) -> Params:
    choice("threshold", threshold, ["calibrated"])
    return auto.configure(arms, replay_rate=replay_rate, **levers)
