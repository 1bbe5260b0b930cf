"""Change detectors: each is its twin, alarm for alarm; false alarms are as rare as stated, changes are found."""

import importlib
import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigshift as ss
from naive_detectors import (
    NaiveAdwin,
    NaiveAdwinExact,
    NaiveCusum,
    NaiveEDetector,
    NaiveGaussianGLR,
    NaiveGLR,
    NaiveLaplace,
    NaivePageHinkley,
    NaiveWindow,
    inverse,
    two_means,
)
from sigshift.checks import InvalidInput
from sigshift.detectors import hull
from sigshift.kernel import kernel

DETECTORS = ["glr", "glr_gaussian", "cusum", "page_hinkley", "window", "adwin", "e_detector"]


def detector(name):
    return importlib.import_module(f"sigshift.detectors.{name}")


def configured(name, arms=2, horizon=1000, **params):
    module = detector(name)
    code = module.configure.__code__
    known = {"arms": arms, "horizon": horizon}
    told = {key: known[key] for key in code.co_varnames[: code.co_argcount]}
    return module.configure(**told, **params)


class Watch:
    """A detector at work, grown when it must."""

    def __init__(self, name, arms=2, horizon=1000, **params):
        self.module = detector(name)
        self.p = configured(name, arms, horizon, **params)
        self.s = self.module.init(self.p, arms)

    def observe(self, a, y):
        if hasattr(self.module, "crowded") and self.module.crowded(self.p, self.s):
            self.s = self.module.grow(self.p, self.s)
        return self.module.observe(self.p, self.s, a, y)

    def clear(self, a):
        self.module.clear(self.p, self.s, a)


@kernel
def first_alarm(observe, p, s, a, rewards):
    """How many rewards it takes to the first alarm; one more than there are if there is none."""
    for i in range(rewards.size):
        if observe(p, s, a, rewards[i]):
            return i + 1
    return rewards.size + 1


def delay(name, rewards, horizon=None, **params):
    watch = Watch(name, 2, horizon or rewards.size, **params)
    return first_alarm(watch.module.observe, watch.p, watch.s, 1, rewards)


@st.composite
def streams(draw, most=120):
    """Rewards of an arm: of one or several laws, one after the other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rewards = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(1, most // 4))
        level = draw(st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.9, 1.0]))
        law = draw(st.sampled_from(["bernoulli", "uniform", "constant", "rising", "turns"]))
        rewards += {
            "bernoulli": lambda n=n, level=level: (rng.random(n) < level) * 1.0,
            "uniform": lambda n=n, level=level: np.clip(level + 0.4 * (rng.random(n) - 0.5), 0.0, 1.0),
            "constant": lambda n=n, level=level: np.full(n, level),
            "rising": lambda n=n: np.arange(n) / n,
            "turns": lambda n=n: np.arange(n) % 3 / 2.0,
        }[law]().tolist()
    return rewards


def assert_alike(name, twins, params, rewards, arms_of, clears):
    """Kernel and twins raise the same alarms, with the arms interleaved and cleared after alarms and at will."""
    watch = Watch(name, len(twins), **params)
    for i, y in enumerate(rewards):
        a = arms_of[i % len(arms_of)]
        alarm = watch.observe(a, y)
        assert alarm == twins[a].observe(y), (i, a)
        if (alarm and clears % 2 == 0) or (clears > 1 and i % clears == clears - 1):
            watch.clear(a)
            twins[a].clear()


ORDERS = st.lists(st.integers(0, 1), min_size=1, max_size=5)
CLEARS = st.sampled_from([0, 1, 17, 40])


@settings(max_examples=100, deadline=None)
@given(
    streams(),
    ORDERS,
    CLEARS,
    st.sampled_from([0.5, 0.05, 0.001]),
    st.sampled_from([1, 3, 10]),
    st.sampled_from([1, 2, 5]),
)
def test_glr_is_its_twin(rewards, order, clears, delta, every, splits_every):
    params = {"delta": delta, "every": every, "splits_every": splits_every}
    assert_alike("glr", [NaiveGLR(**params) for _ in range(2)], params, rewards, order, clears)


@settings(max_examples=60, deadline=None)
@given(
    streams(), ORDERS, CLEARS, st.sampled_from([0.5, 0.01]), st.sampled_from([0.5, 0.2, 0.05]), st.sampled_from([1, 4])
)
def test_gaussian_glr_is_its_twin(rewards, order, clears, delta, sigma, every):
    params = {"delta": delta, "sigma": sigma, "every": every}
    assert_alike("glr_gaussian", [NaiveGaussianGLR(**params) for _ in range(2)], params, rewards, order, clears)


@settings(max_examples=60, deadline=None)
@given(
    streams(),
    ORDERS,
    CLEARS,
    st.sampled_from([0.7123, 2.3457]),
    st.sampled_from([1, 4, 15]),
    st.sampled_from([0.0, 0.11]),
)
def test_cusum_is_its_twin(rewards, order, clears, height, samples, tolerance):
    params = {"height": height, "samples": samples, "tolerance": tolerance}
    assert_alike("cusum", [NaiveCusum(**params) for _ in range(2)], params, rewards, order, clears)


@settings(max_examples=60, deadline=None)
@given(streams(80), ORDERS, CLEARS, st.sampled_from([0.7123, 2.3457]), st.sampled_from([0.0, 0.11]))
def test_page_hinkley_is_its_twin(rewards, order, clears, height, tolerance):
    params = {"height": height, "tolerance": tolerance}
    assert_alike("page_hinkley", [NaivePageHinkley(**params) for _ in range(2)], params, rewards, order, clears)


@settings(max_examples=60, deadline=None)
@given(streams(), ORDERS, CLEARS, st.sampled_from([2, 4, 14, 30]), st.sampled_from([0.1357, 0.3577]))
def test_window_is_its_twin(rewards, order, clears, window, share):
    params = {"window": window, "limit": share * window}
    assert_alike("window", [NaiveWindow(**params) for _ in range(2)], params, rewards, order, clears)


@settings(max_examples=60, deadline=None)
@given(streams(), ORDERS, CLEARS, st.sampled_from([0.9, 0.3, 0.01]), st.sampled_from([1, 2, 5]))
def test_adwin_is_its_twin(rewards, order, clears, delta, buckets):
    params = {"delta": delta, "buckets": buckets}
    assert_alike("adwin", [NaiveAdwin(**params) for _ in range(2)], params, rewards, order, clears)


@pytest.mark.parametrize(("name", "twin"), [("adwin_exact", NaiveAdwinExact), ("laplace", NaiveLaplace)])
@settings(max_examples=60, deadline=None)
@given(rewards=streams(), order=ORDERS, clears=CLEARS, delta=st.sampled_from([0.9, 0.5, 0.1, 0.01]))
def test_two_intervals_at_every_split_are_their_twin(name, twin, rewards, order, clears, delta):
    assert_alike(name, [twin(delta) for _ in range(2)], {"delta": delta}, rewards, order, clears)


@pytest.mark.parametrize("name", ["adwin_exact", "laplace"])
def test_no_split_of_a_long_stream_alarms_but_those_the_hull_sees(name):
    """A small change in 20,000 rewards: the first alarm is that of the first round in which some split is one."""
    rng = np.random.default_rng(9)
    rewards = (rng.random(20_000) < np.repeat([0.45, 0.6], [8_000, 12_000])) * 1.0
    watch = Watch(name, horizon=20_000)
    first = first_alarm(watch.module.observe, watch.p, watch.s, 1, rewards)
    sums = np.cumsum(rewards)
    alarms = []
    for n in (first - 1, first):
        i = np.arange(1, n)
        radii = np.array([watch.module.radius(watch.p, float(k)) for k in i])
        off = np.abs(sums[: n - 1] / i - (sums[n - 1] - sums[: n - 1]) / (n - i))
        alarms.append(bool((off > radii + radii[::-1]).any()))
    assert alarms == [False, True]
    assert 8_000 < first < 20_000


@settings(max_examples=50, deadline=None)
@given(
    streams(80),
    ORDERS,
    CLEARS,
    st.sampled_from([3.14159, 40.71828]),
    st.sampled_from([2, 3, 8]),
    st.sampled_from([1, 3]),
)
def test_e_detector_is_its_twin(rewards, order, clears, level, cells, bets):
    params = {"level": level, "cells": cells, "bets": bets}
    assert_alike("e_detector", [NaiveEDetector(**params) for _ in range(2)], params, rewards, order, clears)


@settings(max_examples=100, deadline=None)
@given(streams(), st.sampled_from([0.9, 0.01]))
def test_the_bound_of_glr_is_never_below_its_statistic(rewards, delta):
    """So that no test is missed: and the hull's maximum is that over all splits."""
    watch, twin = Watch("glr", delta=delta), NaiveGLR(delta)
    module, s = watch.module, watch.s
    for y in rewards:
        watch.observe(0, y)
        twin.observe(y)
        exact = twin.statistic()
        n, total = float(s.told[0]), s.total[0]
        found = module.largest(s.points[0], s.sizes[0], n, total)
        assert found == pytest.approx(exact, abs=1e-9)
        assert s.bound[0] >= exact - 1e-9


def test_the_proven_threshold_is_that_of_the_papers():
    """Besson et al., with the functions of Kaufmann and Koolen computed by brute force."""
    for x in (0.2, 1.0, 3.0, 8.0, 30.0):
        assert hull.inverse(1.0 + x) == pytest.approx(inverse(1.0 + x), rel=1e-9)
        assert hull.two_means(x) == pytest.approx(two_means(x), rel=1e-6)
    assert hull.inverse(1.0) == pytest.approx(1.0, abs=1e-6)
    for n, delta in ((1, 0.5), (50, 0.05), (10**6, 1e-3)):
        expected = NaiveGLR(delta, "proven").beta(n)
        assert hull.beta(True, math.log(delta), float(n)) == pytest.approx(expected, rel=1e-6)
        assert hull.beta(False, math.log(delta), float(n)) == pytest.approx(NaiveGLR(delta).beta(n))


def test_thresholds_grow():
    """A skipped test relies on it."""
    for proven in (True, False):
        values = [hull.beta(proven, math.log(0.3), float(n)) for n in range(1, 3000)]
        assert (np.diff(values) > 0.0).all()


def test_glr_with_the_proven_threshold():
    twin = NaiveGLR(0.1, "proven")
    watch = Watch("glr", threshold="proven", delta=0.1)
    rewards = [0.0] * 30 + [1.0] * 30
    exact = [watch.observe(1, y) for y in rewards]
    expected = []
    for n in range(1, 61):  # a twin with the thresholds of the kernel, which are tested above
        twin.rewards = rewards[:n]
        expected.append(twin.statistic() >= hull.beta(True, math.log(0.1), float(n)))
    assert exact == expected
    assert sum(exact) > 0
    assert exact.index(True) > 30


@pytest.mark.parametrize("law", ["bernoulli", "uniform"])
def test_the_hull_has_the_best_of_all_splits_of_a_long_stream(law):
    """And it has few vertices: it need not grow."""
    rng = np.random.default_rng(8)
    rewards = rng.random(20_000) if law == "uniform" else (rng.random(20_000) < 0.3) * 1.0
    n, i = rewards.size, np.arange(1, rewards.size)
    sums = np.cumsum(rewards)
    first, last, everything = sums[:-1] / i, (sums[-1] - sums[:-1]) / (n - i), sums[-1] / n

    def kl(p, q):
        def part(x, y):
            return np.where(x > 0.0, x * np.log(np.maximum(x, 1e-300) / y), 0.0)

        return part(p, q) + part(1.0 - p, 1.0 - q)

    exact = {
        "glr": (i * kl(first, everything) + (n - i) * kl(last, everything)).max(),
        "glr_gaussian": (i * (n - i) / n * (first - last) ** 2 / 2.0).max(),
    }
    for name, expected in exact.items():
        watch = Watch(name, delta=1e-3)
        assert first_alarm(watch.module.observe, watch.p, watch.s, 1, rewards) == n + 1
        s = watch.s
        found = watch.module.largest(s.points[1], s.sizes[1], float(n), s.total[1])
        assert found == pytest.approx(expected, abs=1e-7)
        assert s.sizes[1].max() < hull.ROOM / 2


def test_hulls_grow_and_nothing_is_lost():
    """A rising stream puts every split on the hull."""
    rewards = np.concatenate([np.arange(300) / 600.0, [0.5]])
    watch, twin = Watch("glr", delta=1e-300), NaiveGLR(1e-300)
    for y in rewards:
        watch.observe(0, y)
        twin.observe(y)
    s = watch.s
    assert s.points.shape[2] >= 512
    assert s.sizes[0].max() > 290
    found = watch.module.largest(s.points[0], s.sizes[0], 301.0, s.total[0])
    assert found == pytest.approx(twin.statistic(), abs=1e-9)


def test_a_burst_before_the_hulls_can_grow_is_survived():
    """Rewards that come all between two rounds: splits may be missed, memory is not overrun, no false alarm."""
    module = detector("glr")
    p = configured("glr", delta=1e-6)
    s = module.init(p, 2)
    for y in np.arange(300) / 600.0:
        module.observe(p, s, 0, y)
    assert s.sizes.max() <= hull.ROOM
    assert module.crowded(p, s)
    assert not s.points[1].any()


@pytest.mark.parametrize("name", DETECTORS)
def test_growth_keeps_the_state(name):
    module = detector(name)
    if not hasattr(module, "grow"):
        return
    rng = np.random.default_rng(5)
    rewards = (rng.random(400) < np.repeat([0.2, 0.8], 200)) * 1.0
    plain, grown = Watch(name), Watch(name)
    for i, y in enumerate(rewards):
        if i % 100 == 7:
            grown.s = module.grow(grown.p, grown.s)
        assert plain.observe(0, y) == grown.observe(0, y)


POLICY = """
from sigshift.detectors import {name} as detector
from sigshift.kernel import kernel

LEARNS = False
Params, State, configure = detector.Params, detector.State, detector.configure


def init(p, arms, key):
    return detector.init(p, arms)


@kernel
def select(p, s, t):
    return t % s.{field}.shape[0], 1.0


@kernel
def update(p, s, t, a, y, q):
    if detector.observe(p, s, a, y):
        detector.clear(p, s, a)
"""
GROWS = """

crowded, grow = detector.crowded, detector.grow
"""


@pytest.mark.parametrize("name", ["glr", *(pytest.param(name, marks=pytest.mark.long) for name in DETECTORS[1:])])
def test_a_policy_with_the_detector_passes_the_suite_of_policies(name, tmp_path):
    """Compiled as in plain Python, kept on disk without a warning, copied, grown, with arms that come and go."""
    module = detector(name)
    text = POLICY.format(name=name, field=module.State._fields[0])
    (tmp_path / "watcher.py").write_text(text + GROWS * hasattr(module, "grow"), encoding="utf-8")
    ss.check_policy(str(tmp_path / "watcher.py"))


@pytest.mark.parametrize("name", DETECTORS)
def test_cleared_is_new(name):
    rng = np.random.default_rng(2)
    used = Watch(name)
    for y in (rng.random(500) < 0.4) * 1.0:
        used.observe(0, y)
        used.observe(1, 1.0 - y)
    used.clear(0)
    fresh = Watch(name)
    for y in (rng.random(600) < np.repeat([0.3, 0.9], 300)) * 1.0:
        assert used.observe(0, y) == fresh.observe(0, y)


@pytest.mark.parametrize("name", DETECTORS)
def test_arms_have_their_own_history(name):
    """What happens to one arm changes nothing for another."""
    rng = np.random.default_rng(3)
    both, alone = Watch(name), Watch(name)
    for y in (rng.random(1200) < np.repeat([0.3, 0.9], 600)) * 1.0:
        both.observe(0, 1.0 - y)
        assert both.observe(1, y) == alone.observe(1, y)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_large_change_is_found_at_once_and_a_constant_stream_is_none(name):
    before, after = np.zeros(1000), np.ones(1000)
    assert 1000 < delay(name, np.concatenate([before, after])) < 1200
    assert 1000 < delay(name, np.concatenate([after, before])) < 1200
    for level in (0.0, 0.3, 0.5, 1.0):
        assert delay(name, np.full(5000, level)) == 5001


def false_alarms(name, runs, rounds, mean, seed, **params):
    rng = np.random.default_rng(seed)
    return sum(delay(name, (rng.random(rounds) < mean) * 1.0, **params) <= rounds for _ in range(runs))


@pytest.mark.parametrize("mean", [0.05, 0.5])
def test_false_alarms_of_glr_are_as_rare_as_proven(mean):
    """At most a share delta = 0.1 of 400 streams: 70 or more have a chance below 1e-5 if the statement is true."""
    assert false_alarms("glr", 400, 2000, mean, 1, threshold="proven", delta=0.1) < 70


def test_false_alarms_of_gaussian_glr_are_as_rare_as_proven():
    """As above, with Gaussian noise of the deviation that it is told."""
    rng = np.random.default_rng(11)
    streams = 0.5 + 0.1 * rng.standard_normal((400, 2000))
    params = {"threshold": "proven", "delta": 0.1, "sigma": 0.1}
    assert sum(delay("glr_gaussian", stream, **params) <= 2000 for stream in streams) < 70


def test_false_alarms_of_the_window_are_as_rare_as_proven():
    """At most a share 1 / (K T) = 1/4000 of 400 streams: 4 or more have a chance below 1e-5."""
    assert false_alarms("window", 400, 2000, 0.5, 12) < 4


def test_false_alarms_of_adwin_are_as_rare_as_proven():
    """At most a share T delta = 0.1 of 400 streams: 70 or more have a chance below 1e-5."""
    assert false_alarms("adwin", 400, 2000, 0.5, 13, delta=0.1 / 2000) < 70


@pytest.mark.parametrize("stream", ["bernoulli", "any mean in a cell"])
def test_false_alarms_of_the_e_detector_are_as_rare_as_proven(stream):
    """N = 1000 rewards, level 5000: at most a share 0.2 of 300 streams; 97 or more have a chance below 1e-6.

    The null holds for means within a cell, chosen by an opponent who looks at the past: here against the last reward.
    """
    rng = np.random.default_rng(14)
    found = 0
    for _ in range(300):
        rewards, mean = np.zeros(1000), 0.3125
        for i, pick in enumerate(rng.random(1000)):
            rewards[i] = pick < mean
            if stream != "bernoulli":
                mean = 0.3126 if rewards[i] > 0.0 else 0.3279  # cell 20 of 64 is [0.3125, 0.328125]
        found += delay("e_detector", rewards, level=5000.0) <= 1000
    assert found < 97


def test_the_e_detector_runs_long_between_false_alarms():
    """Mean run of at least ``level`` = 30. Of 300 runs, cut at 3000, the mean is below 20 with a chance below 1e-5.

    (A geometric law of mean 30 has a standard error of 1.7.)
    """
    rng = np.random.default_rng(15)
    runs = [delay("e_detector", (rng.random(3000) < 0.5) * 1.0, level=30.0) for _ in range(300)]
    assert np.mean(runs) > 20


def test_cusum_alarms_in_vain_as_rarely_as_bounded():
    """With a known mean (here: samples of no noise) at most 2 N exp(-8 tolerance h): 0.1 of 400 streams; see above."""
    rng = np.random.default_rng(16)
    height = math.log(2 * 2000 / 0.1) / (8 * 0.2)
    found = 0
    for _ in range(400):
        rewards = np.concatenate([np.full(10, 0.5), (rng.random(2000) < 0.5) * 1.0])
        found += delay("cusum", rewards, samples=10, tolerance=0.2, height=height) <= 2010
    assert found < 70


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("glr", 40),
        ("glr_gaussian", 45),
        ("cusum", 40),
        ("page_hinkley", 40),
        ("window", 110),
        ("adwin", 60),
        ("e_detector", 60),
    ],
)
def test_how_soon_a_change_is_found(name, most):
    """From .2 to .8 after 1000 rewards, horizon 10 000. Seeded; a regression test."""
    rng = np.random.default_rng(17)
    streams = (rng.random((100, 2000)) < np.repeat([0.2, 0.8], 1000)) * 1.0
    delays = np.array([delay(name, stream, horizon=10_000) - 1000 for stream in streams])
    assert (delays > 0).mean() > 0.9
    assert 5 < delays[delays > 0].mean() < most


def test_false_alarms_of_glr_in_practice():
    """No theorem here. 1000 streams, delta = 0.05: at most 5 % alarm within 2000 rewards (measured: far fewer)."""
    assert false_alarms("glr", 1000, 2000, 0.3, 2, delta=0.05) <= 50


def test_glr_finds_changes_as_soon_as_theory_says():
    """After n0 rewards of mean .2, mean .8: about beta / kl rewards, and at most a few times that. Seeded."""
    rng = np.random.default_rng(4)
    delays = []
    for _ in range(100):
        rewards = (rng.random(2000) < np.repeat([0.2, 0.8], 1000)) * 1.0
        delays.append(delay("glr", rewards, horizon=10_000) - 1000)
    assert min(delays) > 0
    assert 5 < np.mean(delays) < 60


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"delta": 0.0}, "delta must be a finite number > 0 and < 1, but got 0.0"),
        ({"delta": 1.0}, "delta must be"),
        ({"threshold": "loose"}, "threshold must be one of 'practical', 'proven', but got 'loose'"),
        ({"every": 0}, "every must be a whole number of at least 1"),
        ({"splits_every": 1.5}, "splits_every must be a whole number"),
    ],
)
def test_glr_refuses(params, message):
    with pytest.raises(InvalidInput, match=message):
        configured("glr", **params)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("glr_gaussian", {"sigma": 0.0}, "sigma must be a finite number > 0, but got 0.0"),
        ("cusum", {"samples": 0}, "samples must be a whole number of at least 1"),
        ("cusum", {"tolerance": -0.1}, "tolerance must be"),
        ("cusum", {"height": 0.0}, "height must be a finite number > 0"),
        ("page_hinkley", {"changes": -1}, "changes must be a whole number of at least 0"),
        ("window", {"window": 101}, "window must be even, but got 101"),
        ("window", {"window": 30}, "window must be more than twice the limit"),
        ("window", {"window": 40, "gap": 0.5}, "window and gap must not both be given"),
        ("window", {"gap": 0.0}, "gap must be"),
        ("adwin", {"delta": 2.0}, "delta must be"),
        ("adwin", {"buckets": 0}, "buckets must be"),
        ("e_detector", {"level": 1.0}, "level must be"),
        ("e_detector", {"cells": 1}, "cells must be"),
        ("e_detector", {"bets": 0}, "bets must be"),
    ],
)
def test_detectors_refuse(name, params, message):
    with pytest.raises(InvalidInput, match=message):
        configured(name, **params)


def test_defaults_are_those_of_the_papers():
    assert configured("cusum", horizon=10_000) == (200, 0.1, pytest.approx(math.log(10_000)))
    assert configured("cusum", horizon=10_000, changes=5).height == pytest.approx(math.log(2000))
    assert configured("page_hinkley", horizon=10_000, changes=0).height == pytest.approx(math.log(10_000))
    log = math.log(2 * 10 * 10_000**2)
    assert configured("window", 10, 10_000) == (200, pytest.approx(math.sqrt(100 * log)))
    wide = configured("window", 10, 10_000, gap=0.2).window
    assert wide == pytest.approx(100 * (math.sqrt(log) + math.sqrt(math.log(20_000))) ** 2, abs=2)
    assert wide % 2 == 0
    assert configured("adwin", horizon=10_000) == (pytest.approx(-1.5 * math.log(10_000)), 5)
    assert configured("e_detector", horizon=10_000) == (64, 6, pytest.approx(10_000 * 100))
    assert configured("e_detector", horizon=10_000, delta=0.5).level == pytest.approx(20_000)


@pytest.mark.parametrize("name", DETECTORS)
def test_docstrings_name_every_parameter(name):
    module = detector(name)
    for key in inspect.signature(module.configure).parameters:
        if key not in ("arms", "horizon"):
            assert f"``{key}" in module.__doc__, key


def test_glr_defaults():
    p = configured("glr", horizon=10_000)
    assert not p.proven
    assert p.log_delta == pytest.approx(math.log(0.01))
    assert (p.every, p.splits_every) == (1, 1)
