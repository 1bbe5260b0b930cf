"""What the results say: regret over the best tuning-free policy's, environment by environment and over all of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigshift.checks import InvalidInput, refuse
from sigshift.study.spec import Cell, Spec, entrant, short_name
from sigshift.study.store import Row, Store

Floats = NDArray[np.float64]

LEAST_REGRET = 1.0  # smaller ones count as this, so that ratios of next to nothing say nothing
RESAMPLES = 2_000
INTERVAL = (0.05, 0.95)
REFERENCE = "glr_kl_ucb"


@dataclass(frozen=True, eq=False)
class Results:
    """The runs of a study at one horizon: arrays [policy, environment, seed]."""

    horizon: int
    seeds: range
    purpose: str
    policies: tuple[str, ...]
    told: tuple[str, ...]
    tuning_free: NDArray[np.bool_]
    environments: tuple[str, ...]
    reference: str | None
    regret: Floats
    restarts: Floats
    ns_per_round: Floats

    def means(self) -> Floats:
        """The mean regret [policy, environment]."""
        return np.asarray(self.regret.mean(axis=2))

    def over_best(self) -> Floats:
        """The mean regret over that of the best tuning-free policy [policy, environment]."""
        return np.asarray(np.exp(_over_best(self.means(), self.tuning_free)))

    def over_reference(self) -> Floats:
        """The mean regret over that of the reference [policy, environment]."""
        return np.asarray(np.exp(_over(self.means(), self._referee())))

    def best(self) -> list[tuple[str, float]]:
        """The best tuning-free policy of each environment and its mean regret."""
        means = np.where(self.tuning_free[:, np.newaxis], self.means(), np.inf)
        return [(self.policies[row], float(means[row, i])) for i, row in enumerate(means.argmin(axis=0))]

    def summary(self) -> Any:
        """A data frame with a row per policy, the best first.

        ``over_best`` is the geometric mean over the environments of regret over the best tuning-free policy's there,
        with the 90 % bootstrap interval over seeds; ``worst`` the largest of these ratios and ``worst_on`` where it
        is; ``q95`` the geometric mean of the 95 % quantile of regret over the best one's mean. With a reference there
        is the same over that policy's. ``restarts`` is a mean, ``ns_per_round`` a median.
        """
        import pandas as pd

        drawn = self._resampled()
        columns: dict[str, Any] = {"policy": self.policies, "told": self.told, "tuning_free": self.tuning_free}
        columns |= self._columns("", "over_best", _over_best(self.means(), self.tuning_free))
        columns |= _interval("over_best", _over_best(drawn, self.tuning_free))
        best = np.maximum(self.means()[self.tuning_free].min(axis=0), LEAST_REGRET)
        high = np.maximum(np.quantile(self.regret, 0.95, axis=2), LEAST_REGRET)
        columns["q95"] = np.exp(np.log(high / best).mean(axis=1))
        if self.reference is not None:
            columns |= self._columns("reference_", "over_reference", _over(self.means(), self._referee()))
            columns |= _interval("over_reference", _over(drawn, self._referee()))
        columns["restarts"] = self.restarts.mean(axis=(1, 2))
        columns["ns_per_round"] = np.median(self.ns_per_round, axis=(1, 2))
        return pd.DataFrame(columns).sort_values("over_best", kind="stable", ignore_index=True)

    def frame(self) -> Any:
        """A data frame with a row per policy and environment."""
        import pandas as pd

        shape = (len(self.policies), len(self.environments))
        parts = {
            "policy": np.repeat(self.policies, shape[1]),
            "environment": np.tile([short_name(name) for name in self.environments], shape[0]),
            "regret": self.means().ravel(),
            "se": (self.regret.std(axis=2, ddof=1) / np.sqrt(len(self.seeds))).ravel()
            if len(self.seeds) > 1
            else np.full(shape[0] * shape[1], np.nan),
            "q95": np.quantile(self.regret, 0.95, axis=2).ravel(),
            "over_best": self.over_best().ravel(),
            "restarts": self.restarts.mean(axis=2).ravel(),
            "ns_per_round": np.median(self.ns_per_round, axis=2).ravel(),
        }
        return pd.DataFrame(parts)

    def to_dict(self) -> dict[str, Any]:
        """All of it but the single runs, as plain data for JSON."""
        best = zip(self.environments, self.best(), strict=True)
        return {
            "horizon": self.horizon,
            "seeds": [self.seeds.start, len(self.seeds)],
            "purpose": self.purpose,
            "reference": self.reference,
            "summary": _without_nan(self.summary().to_dict("records")),
            "best": {short_name(name): {"policy": policy, "regret": regret} for name, (policy, regret) in best},
            "environments": _without_nan(self.frame().to_dict("records")),
        }

    def _columns(self, before: str, name: str, logs: Floats) -> dict[str, Any]:
        where = logs.argmax(axis=1)
        return {
            name: np.exp(logs.mean(axis=1)),
            f"{before}worst": np.exp(logs.max(axis=1)),
            f"{before}worst_on": [short_name(self.environments[place]) for place in where],
        }

    def _referee(self) -> int:
        if self.reference is None:
            raise InvalidInput("reference must be one of the policies, but none was named. Name one.")
        return self.policies.index(self.reference)

    def _resampled(self) -> Floats:
        """Mean regrets [policy, environment, resample] with seeds drawn anew in each environment, alike for all."""
        generator = np.random.default_rng(0)
        count = len(self.seeds)
        drawn = np.empty((*self.regret.shape[:2], RESAMPLES))
        for place in range(self.regret.shape[1]):
            weights = generator.multinomial(count, np.full(count, 1.0 / count), RESAMPLES) / count
            drawn[:, place] = self.regret[:, place] @ weights.T
        return drawn


def results(study: Spec, store: Store, horizon: int, reference: str | None = None) -> Results:
    """The stored results of a study that is complete."""
    reference = check_reference(study, reference)
    labels = tuple(one.label for one in study.entrants)
    free = np.array([one.tuning_free for one in study.entrants])
    shape = (len(labels), len(study.environments), len(study.seeds))
    tables = {name: np.empty(shape) for name in Row._fields}
    for row, player in enumerate(study.entrants):
        for column, environment in enumerate(study.environments):
            found = store.read(Cell(player, environment, horizon), study.seeds)
            if len(found) < shape[2]:
                raise InvalidInput(
                    f"{store.folder} lacks {shape[2] - len(found)} runs of {player.label} on {environment} at "
                    f"T = {horizon:,}. Play them first."
                )
            for name in Row._fields:
                tables[name][row, column] = [getattr(found[seed], name) for seed in study.seeds]
    return Results(
        horizon=horizon,
        seeds=study.seeds,
        purpose=study.purpose(),
        policies=labels,
        told=tuple(one.told for one in study.entrants),
        tuning_free=free,
        environments=study.environments,
        reference=reference,
        **tables,
    )


def check_reference(study: Spec, reference: str | None) -> str | None:
    """The label of the policy to compare with, if any; there must also be one that is tuning-free."""
    labels = [one.label for one in study.entrants]
    if not any(one.tuning_free for one in study.entrants):
        raise refuse("policies", "must have one that is told nothing but the horizon", labels, "Add one to compare.")
    if reference is None:
        return REFERENCE if REFERENCE in labels else None
    label = entrant(reference).label
    if label not in labels:
        raise refuse("reference", f"must be one of {', '.join(labels)}", reference, "Add it to the policies.")
    return label


def _over_best(means: Floats, tuning_free: NDArray[np.bool_]) -> Floats:
    logs = np.log(np.maximum(means, LEAST_REGRET))
    return np.asarray(logs - logs[tuning_free].min(axis=0))


def _over(means: Floats, row: int) -> Floats:
    logs = np.log(np.maximum(means, LEAST_REGRET))
    return np.asarray(logs - logs[row])


def _interval(name: str, logs: Floats) -> dict[str, Floats]:
    """The bootstrap interval of a geometric mean, from logarithms [policy, environment, resample]."""
    low, high = np.quantile(np.exp(logs.mean(axis=1)), INTERVAL, axis=1)
    return {f"{name}_low": low, f"{name}_high": high}


def _without_nan(rows: list[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """Rows as JSON has them: None for what is not a number."""
    return [{key: None if value != value else value for key, value in row.items()} for row in rows]
