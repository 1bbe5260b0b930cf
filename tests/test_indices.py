"""The index policies: their shared kernels against slow and exact ones, tunings and refusals."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alike import instances, plays_alike
from sigshift import indices
from sigshift.checks import InvalidInput
from sigshift.environment import Environment
from sigshift.environments import env
from sigshift.play import Play
from sigshift.policy import definition, policy
from sigshift.simulation import simulate
from sigshift.testing import check_policy

# The Bernoulli divergence


def exact_room(mean, level):
    """1 - q for the q with kl(mean, q) = level: bisection of ln(1 - q) with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        m, f = Decimal(mean), Decimal(level)
        low, high = Decimal(-700), (1 - m).ln()
        for _ in range(110):
            middle = (low + high) / 2
            room = middle.exp()
            value = (1 - m) * ((1 - m) / room).ln() + (m * (m / (1 - room)).ln() if m else 0)
            low, high = (middle, high) if value > f else (low, middle)
        return float(low.exp())


def test_the_upper_bound_is_that_of_fifty_digits():
    chance = np.random.default_rng(3)
    for _ in range(60):
        count = 10.0 ** chance.uniform(-2, 8)
        mean = chance.choice([chance.random(), min(1 / count, 0.999), max(1 - 1 / count, 0.0), 0.0])
        level = chance.uniform(0.01, 20) / count
        room = exact_room(mean, level)
        assert math.exp(-indices.kl_depth(mean, level)) == pytest.approx(room, rel=1e-9, abs=4e-16)
        assert indices.kl_upper(mean, level) == pytest.approx(1 - room, rel=4e-16, abs=4e-16)


@settings(max_examples=200, deadline=None)
@given(mean=st.floats(0, 1), level=st.floats(0, 50))
def test_the_upper_bound_has_the_divergence_asked_for(mean, level):
    q = indices.kl_upper(mean, level)
    assert mean - 1e-15 <= q <= 1
    assert indices.divergence(mean, max(q - 1e-9, mean)) <= level * (1 + 1e-9) + 1e-15
    if q < 1 - 2e-9:
        assert indices.divergence(mean, q + 1e-9) >= level * (1 - 1e-9)


def test_the_divergence_by_hand():
    assert indices.divergence(0.5, 0.5) == 0
    assert indices.divergence(0.0, 0.25) == pytest.approx(-math.log(0.75))
    assert indices.divergence(1.0, 0.25) == pytest.approx(-math.log(0.25))
    assert indices.divergence(0.2, 0.6) == pytest.approx(0.2 * math.log(0.2 / 0.6) + 0.8 * math.log(0.8 / 0.4))
    assert indices.divergence(0.2, 1.0) == indices.divergence(0.2, 0.0) == math.inf
    assert indices.divergence(1e-3, 1e-3 + 1e-9) == pytest.approx(1e-18 / (2 * 1e-3 * 0.999), rel=1e-5)
    assert indices.negative_entropy(0.5) == pytest.approx(-math.log(2))


# The largest kl index


def slowest_best(mean, count, level):
    depths = []
    for m, n, f in zip(mean, count, level, strict=True):
        if f < 0:
            depths.append((-1, 0.0))
        else:
            depths.append((1, 0.0) if n == 0 else (0, indices.kl_depth(m, f / n)))
    return depths.index(max(depths))


@settings(max_examples=60, deadline=None)
@given(
    arms=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["few", "many", "faint", "one"]),
    shared=st.booleans(),
)
def test_the_largest_index_is_found_whatever_the_bar_was(arms, seed, kind, shared):
    """Statistics that have nothing to do with those of the round before, many of them tied, some arms left out."""
    chance = np.random.default_rng(seed)
    bar = indices.new_bar()
    for _ in range(40):
        if kind == "few":
            count = chance.integers(0 if chance.random() < 0.1 else 1, 4, arms).astype(float)
            mean = np.array([chance.integers(0, n + 1) / max(n, 1) for n in count])
        elif kind == "one":
            count, mean = np.ones(arms), np.ones(arms)
        else:
            count = 10.0 ** (chance.uniform(0, 6, arms) if kind == "many" else chance.uniform(-2.5, 3, arms))
            mean = chance.random(arms)
        level = chance.uniform(0, 12, 1 if shared else arms) * np.ones(arms)
        out = chance.random(arms) < 0.2
        out[chance.integers(arms)] = False
        level[out] = -1.0
        entropy = np.array([indices.negative_entropy(m) for m in mean])
        found = indices.kl_best(mean, entropy, count, level, bar)
        assert found == slowest_best(mean, count, level)


def test_equal_statistics_are_ties_and_the_first_arm_wins():
    bar = indices.new_bar()
    for total, n in [(1, 3), (2, 7), (0, 5), (5, 5), (333, 1000)]:
        mean = np.array([0.0, total / n, total / n, total / n])
        count = np.array([1e6, n, n, n])
        entropy = np.array([indices.negative_entropy(m) for m in mean])
        for level in np.linspace(0.5, 9, 30):
            assert indices.kl_best(mean, entropy, count, np.full(4, level), bar) == 1


def test_a_bar_mostly_lasts():
    """kl-UCB on ten arms needs a new one in less than one round of five, in this run."""
    module, arms, rounds = definition("kl_ucb"), 10, 5_000
    params = module.configure()
    state = module.init(params, arms, np.uint64(0))
    chance = np.random.default_rng(1)
    coins = (chance.random((rounds, arms)) < np.linspace(0.3, 0.7, arms)).astype(float)
    moved = 0
    for t in range(rounds):
        before = state.bar[0]
        arm, _ = module.select(params, state, t)
        module.update(params, state, t, arm, coins[t, arm], 1.0)
        moved += state.bar[0] != before
    assert 0 < moved < 0.2 * rounds


# Windows and discounts


@pytest.mark.parametrize("name", ["sw_ucb", "sw_kl_ucb"])
def test_a_window_holds_exactly_its_rounds(name):
    """After many turns of the ring the sums are those of the last rounds, to the last bits."""
    module, arms, rounds, window = definition(name), 3, 5_000, 37
    params = module.configure(rounds, window=window)
    state = module.init(params, arms, np.uint64(0))
    chance = np.random.default_rng(5)
    past = []
    for t in range(rounds):
        arm, _ = module.select(params, state, t)
        reward = chance.random() ** 8
        module.update(params, state, t, arm, reward, 1.0)
        past.append((arm, reward))
    assert state.arms.size == window + 1
    module.select(params, state, rounds)
    for a in range(arms):
        inside = [reward for arm, reward in past[-window:] if arm == a]
        assert state.told[a] == len(inside)
        assert state.total[a] == pytest.approx(math.fsum(inside), rel=1e-13)


def test_a_reward_joins_the_window_of_its_round_or_none():
    module = definition("sw_ucb")
    params = module.configure(100, window=3)
    state = module.init(params, 2, np.uint64(0))
    arms = [module.select(params, state, t)[0] for t in range(4)]  # the window before round 4: rounds 1, 2, 3
    module.update(params, state, 0, arms[0], 1.0, 1.0)
    module.update(params, state, 2, arms[2], 1.0, 1.0)
    arms.append(module.select(params, state, 4)[0])
    assert state.told.sum() == 1  # that of round 0 has left
    module.update(params, state, 4, arms[4], 1.0, 1.0)
    module.update(params, state, 1, arms[1], 1.0, 1.0)
    module.select(params, state, 5)  # rounds 2, 3, 4: that of round 1 has left again
    assert state.told.sum() == 2


def test_weights_fade_exactly_however_often_they_are_scaled_back():
    module, arms, rounds = definition("d_ucb"), 3, 12_000
    params = module.configure(rounds, discount=0.9)
    state = module.init(params, arms, np.uint64(0))
    chance = np.random.default_rng(5)
    past = []
    for t in range(rounds):
        arm, _ = module.select(params, state, t)
        reward = chance.random()
        module.update(params, state, t, arm, reward, 1.0)
        past.append((arm, reward))
    weight = state.weights[indices.WEIGHT]
    assert state.weights[indices.SUM] / weight == pytest.approx(10.0, rel=1e-12)
    recent = [(0.9**k, arm, reward) for k, (arm, reward) in enumerate(reversed(past[-700:]))]
    for a in range(arms):
        assert state.asked[a] / weight == pytest.approx(math.fsum(w for w, arm, _ in recent if arm == a), rel=1e-12)
        total = math.fsum(w * reward for w, arm, reward in recent if arm == a)
        assert state.total[a] / weight == pytest.approx(total, rel=1e-12)


def test_without_discount_and_with_a_window_of_everything_nothing_is_forgotten():
    problem = env("pb2", horizon=3_000)
    runs = simulate(
        ["kl_ucb", policy("sw_kl_ucb", window=3_000), policy("d_kl_ucb", discount=1.0)],
        problem,
        runs=3,
        seed=2,
        progress=False,
    )
    stationary, window, discount = (runs.regret(label)[:, -1] for label in runs.policies)
    # ln t with t the round in kl-UCB, the rounds so far in the others: a few choices differ
    assert window == pytest.approx(discount)
    assert window.mean() == pytest.approx(stationary.mean(), rel=0.25)


# Twins, with parameters


@settings(max_examples=15, deadline=None)
@given(instance=instances(), c=st.sampled_from([0.5, 3.0]))
def test_kl_ucb_with_any_c_equals_its_twin(instance, c):
    plays_alike("kl_ucb", instance, c=c)


@pytest.mark.parametrize("name", ["sw_ucb", "sw_kl_ucb"])
@settings(max_examples=15, deadline=None)
@given(instance=instances(), window=st.sampled_from([1, 2, 9, 40]))
def test_any_window_equals_its_twin(name, instance, window):
    plays_alike(name, instance, window=window)


@pytest.mark.parametrize("name", ["d_ucb", "d_kl_ucb"])
@settings(max_examples=15, deadline=None)
@given(instance=instances(), discount=st.sampled_from([0.6, 0.9, 0.995, 1.0]))
def test_any_discount_equals_its_twin(name, instance, discount):
    plays_alike(name, instance, discount=discount)


@pytest.mark.parametrize("name", ["sw_ucb", "sw_kl_ucb", "d_ucb", "d_kl_ucb", "sw_ucb_sharp", "lm_dsee"])
@settings(max_examples=8, deadline=None)
@given(instance=instances(), changes=st.integers(1, 12))
def test_told_the_changes_they_equal_their_twins(name, instance, changes):
    instance.rounds = max(instance.rounds, changes)
    plays_alike(name, instance, changes=changes)


@settings(max_examples=15, deadline=None)
@given(instance=instances(), alpha=st.sampled_from([0.0, 0.5, 0.75, 1.0]), scale=st.sampled_from([0.5, 1.0, 6.0]))
def test_any_growing_window_equals_its_twin(instance, alpha, scale):
    plays_alike("sw_ucb_sharp", instance, alpha=alpha, scale=scale)


@settings(max_examples=15, deadline=None)
@given(
    instance=instances(),
    gap=st.sampled_from([0.6, 1.0]),
    a=st.sampled_from([0.5, 1.0, 4.0]),
    b=st.sampled_from([0.25, 1.0]),
    rho=st.sampled_from([None, 0.0, 0.5]),
)
def test_epochs_equal_those_of_the_twin(instance, gap, a, b, rho):
    instance.arms = min(instance.arms, 3)  # so that several epochs fit
    plays_alike("lm_dsee", instance, gap=gap, a=a, b=b, rho=rho)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("kl_ucb", {"c": 3.0}),
        ("sw_kl_ucb", {"window": 30}),
        ("d_kl_ucb", {"discount": 0.95}),
        ("sw_ucb_sharp", {"alpha": 0.7, "scale": 3.0}),
        ("lm_dsee", {"gap": 1.0, "changes": 3}),
    ],
)
def test_keeps_the_contract_with_parameters(name, params):
    check_policy(policy(name, **params))


# Bases of other policies

BASES = ("kl_ucb", "ucb1", "moss", "moss_anytime")


def steps(module, params, state, first, coins, forced=False):
    """Play the rounds of these coins; with ``forced`` an outsider makes the same choices and only tells them."""
    choices = []
    for t, row in enumerate(coins, first):
        if forced is not False:
            arm = forced[t - first]
            module.chosen(params, state, t, arm)
        else:
            arm, _ = module.select(params, state, t)
        module.update(params, state, t, arm, row[arm], 1.0)
        choices.append(arm)
    return choices


@pytest.mark.parametrize("name", BASES)
def test_who_forgets_all_arms_begins_anew(name):
    module = definition(name)
    needs = {"arms": 4, "horizon": 500}
    params = policy(name).configure(**needs)
    coins = (np.random.default_rng(4).random((400, 4)) < [0.2, 0.4, 0.6, 0.5]).astype(float)
    used, fresh = (module.init(params, 4, np.uint64(0)) for _ in range(2))
    steps(module, params, used, 0, coins[:250])
    for arm in range(4):
        module.forget(params, used, arm)
    assert steps(module, params, used, 250, coins[250:]) == steps(module, params, fresh, 0, coins[250:])


@pytest.mark.parametrize("name", BASES)
def test_choices_of_another_hand_count_like_its_own(name):
    module = definition(name)
    params = policy(name).configure(arms=4, horizon=500)
    coins = (np.random.default_rng(4).random((400, 4)) < [0.2, 0.4, 0.6, 0.5]).astype(float)
    own, told = (module.init(params, 4, np.uint64(0)) for _ in range(2))
    choices = steps(module, params, own, 0, coins[:200])
    steps(module, params, told, 0, coins[:200], forced=choices)
    assert steps(module, params, own, 200, coins[200:]) == steps(module, params, told, 200, coins[200:])


def test_the_time_of_an_arm_begins_when_it_is_forgotten():
    """Arm 0 has mean 1/2 and 100 decisions, arm 1 mean 1/2 and 40 since it was forgotten: its ln is smaller."""
    module = definition("kl_ucb")
    params = module.configure()
    state = module.init(params, 2, np.uint64(0))
    for t in range(300):
        arm = 0 if t < 100 else 1
        module.chosen(params, state, t, arm)
        module.update(params, state, t, arm, t % 2, 1.0)
        if t == 259:
            module.forget(params, state, 1)
    arm, _ = module.select(params, state, 300)
    assert state.level == pytest.approx([math.log(301), math.log(301 - 260)])
    assert arm == int(indices.kl_upper(0.5, math.log(41) / 40) > indices.kl_upper(0.5, math.log(301) / 100))


# Tunings and refusals


def test_windows_and_discounts_are_those_of_garivier_and_moulines():
    horizon = 20_000
    for name in ("sw_ucb", "sw_kl_ucb"):
        assert policy(name).configure(3, horizon).window == int(2 * math.sqrt(horizon * math.log(horizon)))
        assert policy(name, changes=4).configure(3, horizon).window == int(math.sqrt(horizon * math.log(horizon)))
        assert policy(name, changes=0).configure(3, horizon) == policy(name).configure(3, horizon)
        assert policy(name, window=7).configure(3, horizon).window == 7
    for name in ("d_ucb", "d_kl_ucb"):
        assert policy(name).configure(3, horizon).discount == pytest.approx(1 - math.sqrt(1 / horizon) / 4)
        assert policy(name, changes=5).configure(3, horizon).discount == pytest.approx(1 - math.sqrt(5 / horizon) / 4)
        assert policy(name, changes=10**9).configure(3, horizon).discount == 0.75
        assert policy(name, discount=0.5).configure(3, horizon).discount == 0.5


def test_exponents_are_those_of_wei_and_srivastava():
    horizon = 10_000
    sharp, epochs = (policy(name, changes=10).configure(3, horizon) for name in ("sw_ucb_sharp", "lm_dsee"))
    assert sharp.alpha == pytest.approx((1 - 0.25) / 2)  # 10 = T^(1/4)
    assert sharp.longest == math.ceil(horizon**0.375)
    assert epochs.rho == pytest.approx(0.75 / 1.25)
    assert policy("sw_ucb_sharp").configure(3, horizon).alpha == 0.5
    assert policy("lm_dsee").configure(3, horizon).rho == 1.0
    narrow = policy("lm_dsee", gap=0.1, a=2.0).configure(3, horizon)
    length = narrow.unit / 2
    assert narrow.gamma == pytest.approx(200)
    assert narrow.depth == length / 4
    assert 2 * length >= 3 * math.ceil(200 * math.log(length / 4))
    assert 2 * (length - 1) < 3 * math.ceil(200 * math.log((length - 1) / 4))


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("kl_ucb", {"c": -1}, "c must be a finite number >= 0"),
        ("kl_ucb", {"clock": "wall"}, "clock must be one of 'arm', 'known'"),
        ("moss_anytime", {"alpha": -1}, "alpha must be"),
        ("sw_ucb", {"window": 0}, "window must be a whole number of at least 1"),
        ("sw_ucb", {"changes": -1}, "changes must be a whole number of at least 0"),
        ("sw_ucb", {"exploration": -0.1}, "exploration must be"),
        ("sw_kl_ucb", {"window": 2.5}, "window must be a whole number"),
        ("sw_kl_ucb", {"changes": 1.5}, "changes must be"),
        ("d_ucb", {"discount": 0.0}, "discount must be a finite number >= 0.01 and <= 1"),
        ("d_ucb", {"changes": True}, "changes must be"),
        ("d_kl_ucb", {"discount": 1.1}, "discount must be"),
        ("d_kl_ucb", {"changes": -3}, "changes must be"),
        ("sw_ucb_sharp", {"alpha": 1.5}, "alpha must be"),
        ("sw_ucb_sharp", {"scale": 0}, "scale must be"),
        ("sw_ucb_sharp", {"changes": -1}, "changes must be"),
        ("lm_dsee", {"gap": 0}, "gap must be a finite number"),
        ("lm_dsee", {"a": 0}, "a must be"),
        ("lm_dsee", {"b": 2}, "b must be"),
        ("lm_dsee", {"rho": -0.5}, "rho must be"),
        ("lm_dsee", {"changes": -1}, "changes must be"),
    ],
)
def test_wrong_parameters_are_refused_at_once(name, params, message):
    with pytest.raises(InvalidInput, match=message):
        policy(name, **params)


@pytest.mark.parametrize("name", ["sw_ucb", "sw_kl_ucb", "sw_ucb_sharp"])
def test_a_retired_arm_keeps_its_place_and_is_never_played(name):
    play = Play(policy(name), 4, 500, 0)
    chance = np.random.default_rng(2)

    def go(first, last):
        arms = []
        for t in range(first, last):
            arm, q = play.compiled.ask(play.params, play.state, t)
            play.compiled.tell(play.params, play.state, t, arm, float(chance.random() < 0.2 + 0.2 * arm), q)
            arms.append(int(arm))
        return arms

    go(0, 100)
    assert play.retire_arm(3) is False
    assert 3 not in go(100, 200)
    play.add_arm()
    later = go(200, 400)
    assert 3 not in later
    assert 4 in later


# What they are worth


def test_forgetting_pays_where_arms_change():
    """10 runs of pb1 under one seed: 465, 578 and 988 are the means over 300."""
    named = [policy(name, changes=4) for name in ("sw_kl_ucb", "d_kl_ucb")]
    runs = simulate(["kl_ucb", *named], env("pb1"), runs=10, seed=3, progress=False)
    stationary, window, discount = (runs.regret(label)[:, -1].mean() for label in runs.policies)
    assert window < 0.7 * stationary
    assert discount < 0.8 * stationary


def test_moss_and_kl_ucb_beat_ucb1_where_nothing_changes():
    problem = Environment.piecewise([0], [np.linspace(0.3, 0.7, 10)], 20_000)
    runs = simulate(["ucb1", "kl_ucb", "moss", "moss_anytime"], problem, runs=5, seed=3, progress=False)
    final = {label: runs.regret(label)[:, -1].mean() for label in runs.policies}
    ucb1 = final.pop("ucb1")
    assert all(regret < 0.5 * ucb1 for regret in final.values()), final
    assert final["moss"] < 49 * math.sqrt(10 * 20_000)  # their theorem, by far
