"""Studies of regret: what is to be played, who plays it, where the results are kept, and what they say."""

import os
from collections.abc import Callable

from sigshift.study.analyse import Results, check_reference, results
from sigshift.study.run import complete
from sigshift.study.spec import Spec, spec
from sigshift.study.store import Store

__all__ = ["Results", "Spec", "Store", "complete", "measure", "results", "spec"]


def measure(
    study: Spec,
    folder: str | os.PathLike[str],
    reference: str | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Results]:
    """Play what the folder lacks of a study; the results, one for each horizon."""
    check_reference(study, reference)
    store = Store(folder)
    complete(study, store, jobs, progress, say)
    return [results(study, store, horizon, reference) for horizon in study.horizons]
