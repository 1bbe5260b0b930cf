"""check_policy finds what is broken, one bad policy per rule; the skeleton is a policy with all the rights."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from sigshift.bandit import Bandit
from sigshift.checks import InvalidInput
from sigshift.environments import env
from sigshift.kernel import kernel
from sigshift.policy import Policy, policy
from sigshift.rng import uniform, uniforms
from sigshift.simulation import simulate
from sigshift.testing import PolicyFault, check_policy, skeleton, uncompiled, write_skeleton


class Params(NamedTuple):
    epsilon: float = 0.25


class State(NamedTuple):
    key: np.uint64
    count: np.ndarray
    total: np.ndarray


def init(p, arms, key):
    return State(key, np.zeros(arms), np.zeros(arms))


@kernel
def greedy(s):
    best = 0
    for a in range(s.count.size):
        if s.total[a] * (s.count[best] + 1.0) > s.total[best] * (s.count[a] + 1.0):
            best = a
    return best


@kernel
def select(p, s, t):
    arms = s.count.size
    coin, which = uniforms(s.key, t, 0, 0)
    best = greedy(s)
    arm = int(which * arms) if coin < p.epsilon else best
    return arm, p.epsilon / arms + (1.0 - p.epsilon if arm == best else 0.0)


@kernel
def update(p, s, t, a, y, q):
    s.count[a] += 1.0
    s.total[a] += y


def made(**changes):
    """A small policy that keeps every rule, but for these changes."""
    parts = {"Params": Params, "State": State, "init": init, "select": select, "update": update}
    return SimpleNamespace(__name__="small", **{**parts, **changes})


def test_the_small_policy_keeps_the_rules():
    check_policy(made())


# Faults that show before anything is compiled


SHARED = np.zeros(50)


def init_lists(p, arms, key):
    return State(key, [0.0] * arms, np.zeros(arms))


def init_of_small_numbers(p, arms, key):
    return State(key, np.zeros(arms, np.float32), np.zeros(arms))


def init_shared(p, arms, key):
    return State(key, SHARED[:arms], np.zeros(arms))


def init_of_changing_type(p, arms, key):
    return State(key, np.zeros(arms) if arms == 2 else np.zeros(arms, np.int64), np.zeros(arms))


def init_of_no_tuple(p, arms, key):
    return [key, np.zeros(arms), np.zeros(arms)]


@kernel
def select_arm_only(p, s, t):
    return greedy(s)


@kernel
def select_one_too_many(p, s, t):
    return s.count.size - t % 2 * 2 + 1, 1.0


@kernel
def select_float(p, s, t):
    return 1.0 * greedy(s), 1.0


@kernel
def select_never(p, s, t):
    return greedy(s), 0.0


@kernel
def update_out_of_range(p, s, t, a, y, q):
    s.count[a + 1] += 1.0


@kernel
def update_nan(p, s, t, a, y, q):
    s.total[a] = s.total[a] / s.count[a]


def configure_long(horizon, *, epsilon: float = 0.1):
    if horizon < 50:
        raise ValueError("too short")
    return Params(epsilon)


# Faults that show when it is compiled and played


@kernel
def update_allocates(p, s, t, a, y, q):
    s.total[:] = s.total + y * np.ones(s.total.size)


def select_bare(p, s, t):
    return 0, 1.0


@kernel
def select_unseeded(p, s, t):
    return int(np.random.random() * s.count.size), 1.0 / s.count.size  # noqa: NPY002


@kernel
def select_overflow(p, s, t):
    return ((t + 1) * 1_099_511_627_776 * 1_099_511_627_776 >> 80) % s.count.size, 1.0


@kernel
def select_boast(p, s, t):
    arm, _ = select(p, s, t)
    return arm, 1.0


@kernel
def select_forgets_the_best(p, s, t):
    arm, _ = select(p, s, t)
    return arm, p.epsilon / s.count.size


@kernel
def select_swapped(p, s, t):
    arms = s.count.size
    return int(uniform(s.key, t, 0) ** 2 * arms), 1.0 / arms


@kernel
def select_keyless(p, s, t):
    return greedy(s), 0.5


@kernel
def select_first(p, s, t):
    return 0, 1.0


@kernel
def update_nothing(p, s, t, a, y, q):
    pass


@kernel
def always(p, s):
    return True


@kernel
def never(p, s):
    return False


def grow_nothing(p, s):
    return s


def grow_small(p, s):
    return s._replace(count=s.count.astype(np.int64))


def grow_forgets(p, s):
    return s._replace(count=np.zeros_like(s.count), total=-1.0 - np.arange(s.total.size))


HIDDEN = {}


def grow_hidden(p, s):
    """The sum of the rewards at every call is kept elsewhere, by the place of the state in memory."""
    past = HIDDEN.setdefault(id(s.total), (s.total, []))[1]
    past.append(s.total.sum())
    s.count[0] = len(past)
    return s


def configure_turning(arms, *, epsilon: float = 0.25):
    return Params(epsilon if arms == 2 else 1)


def retire_nothing(p, s, a):
    return s


def inspect_array(p, s, origin, names):
    return {"count": s.count}


def restarts_backwards(p, s):
    return [5, 3]


BROKEN = {
    "a list in the state": ({"init": init_lists}, "plain numbers in its state, but `count` is list"),
    "a small float in the state": ({"init": init_of_small_numbers}, "`count` is an array of float32"),
    "one array for all runs": ({"init": init_shared}, "init handed the same array `count` to two runs"),
    "a type that follows K": ({"init": init_of_changing_type}, "change with the number of arms"),
    "no NamedTuple": ({"init": init_of_no_tuple}, "NamedTuple for its state, but init returned list"),
    "no propensity": ({"select": select_arm_only}, r"return \(arm, propensity\) from select"),
    "an arm too many": ({"select": select_one_too_many}, "from 0 to K - 1, but with 2 arms it chose 3"),
    "an arm that is no whole number": ({"select": select_float}, "it chose 0.0"),
    "a propensity of zero": ({"select": select_never}, r"propensity within \(0, 1\], or nan, but it returned 0.0"),
    "an index out of range": ({"update": update_out_of_range}, "it raised IndexError"),
    "nan in the state": ({"update": update_nan}, "`total` holds nan"),
    "no short horizons": ({"configure": configure_long}, "every horizon.*it raised ValueError: too short"),
    "arrays made in a kernel": ({"update": update_allocates}, "must compile.*make arrays in init"),
    "no kernel": ({"select": select_bare}, "must compile.*Decorate select"),
    "draws of its own": ({"select": select_unseeded}, "same run for the same key.*never with np.random"),
    "whole numbers that overflow": ({"select": select_overflow}, "decide alike compiled and not.*part in round"),
    "1.0 for a random choice": ({"select": select_boast}, "true propensities, but those it reports .* add up to 3"),
    "too small for the best arm": ({"select": select_forgets_the_best}, "true propensities, but over 4000 keys"),
    "1/K for a choice that is not uniform": ({"select": select_swapped}, "frequency 0.5"),
    "1/2 without a coin": ({"select": select_keyless}, "true propensities.*frequency 1[. ]"),
    "crowded without grow": ({"crowded": never}, r"define grow\(p, s\)"),
    "grow that does not help": ({"crowded": always, "grow": grow_nothing}, "crowded is still true"),
    "grow that changes types": ({"crowded": never, "grow": grow_small}, "keep the type of its state when it grows"),
    "grow that forgets": ({"crowded": never, "grow": grow_forgets}, "a grown state goes on differently"),
    "a memory elsewhere": ({"crowded": always, "grow": grow_hidden}, "a copy of the state goes on differently"),
    "a parameter that changes type": ({"configure": configure_turning}, "be compiled once"),
    "an arm that will not go": ({"retire_arm": retire_nothing}, "never choose a retired arm"),
    "arrays in inspect": ({"inspect": inspect_array}, "inspect as plain data"),
    "restarts in disorder": ({"restarts": restarts_backwards}, r"restarts returned \[5, 3\]"),
    "no learning": ({"select": select_first, "update": update_nothing}, "must learn.*LEARNS = False"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_finds_a_broken_policy(what):
    changes, message = BROKEN[what]
    with pytest.raises(PolicyFault, match=message) as caught:
        check_policy(made(**changes))
    assert str(caught.value).startswith("policy '<small>' must ")
    assert str(caught.value).endswith(".")


def test_a_policy_that_is_not_to_learn_may_say_so():
    check_policy(made(select=select_first, update=update_nothing, LEARNS=False))


def test_an_unknown_policy_is_refused():
    with pytest.raises(InvalidInput, match="Did you mean 'ucb1'"):
        check_policy("ucb11")


def test_a_fault_is_an_assertion_error():
    with pytest.raises(AssertionError):
        check_policy(made(select=select_never))


def test_uncompiled_kernels_call_uncompiled_kernels():
    plain = uncompiled(select)
    assert not hasattr(plain, "py_func")
    assert not hasattr(plain.__globals__["greedy"], "py_func")
    assert hasattr(select, "py_func") == hasattr(greedy, "py_func")


# The skeleton


def test_the_skeleton_is_a_policy_with_all_the_rights(tmp_path):
    path = write_skeleton(tmp_path / "mine.py")
    assert path.read_text() == skeleton()
    check_policy(path)
    mine = policy(path, epsilon=0.02)
    assert Policy.from_dict(mine.to_dict()) == mine
    runs = simulate([mine, policy(path), "uniform"], env("pb1"), runs=4, seed=2, progress=False)
    assert runs.policies == ("mine(epsilon=0.02)", "mine", "uniform")
    final = {label: runs.regret(label)[:, -1].mean() for label in runs.policies}
    assert max(final["mine"], final["mine(epsilon=0.02)"]) < 0.5 * final["uniform"]


@pytest.mark.parametrize(("params", "message"), [({"epsilon": 2}, "epsilon"), ({"memory": 0}, "memory")])
def test_the_skeleton_refuses_wrong_parameters(tmp_path, params, message):
    path = write_skeleton(tmp_path / "mine.py")
    with pytest.raises(InvalidInput, match=message):
        policy(path, **params)


def test_the_skeleton_never_overwrites(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("precious")
    with pytest.raises(InvalidInput, match="path must be new"):
        write_skeleton(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize(
    ("name", "message"),
    [("mine", r"must end in \.py"), ("mine.txt", r"for example mine\.py"), ("no/mine.py", "folder")],
)
def test_the_skeleton_needs_a_good_path(tmp_path, name, message):
    with pytest.raises(InvalidInput, match=message):
        write_skeleton(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["my policy", "my-policy", "2nd", "größe"])
def test_any_file_name_will_do(tmp_path, name):
    path = write_skeleton(tmp_path / f"{name}.py")
    runs = simulate([path, "uniform"], env("pb1", horizon=100), runs=1, progress=False)
    assert runs.policies == (name, "uniform")


@pytest.mark.parametrize("wrong", ["arms", "-1"])
@pytest.mark.parametrize("world", ["pb1", "rotting"])
def test_an_arm_that_there_is_not_ends_the_run_and_touches_nothing(tmp_path, wrong, world):
    path = tmp_path / "wild.py"
    path.write_text(skeleton().replace("return arm, chance", f"return {wrong} if t > 5 else arm, chance"))
    with pytest.raises(InvalidInput, match="policy 'wild' must choose one of its"):
        simulate(path, env(world, horizon=100), runs=1, progress=False)
    bandit = Bandit(path, arms=3, seed=1)
    for _ in range(6):
        bandit.tell(bandit.ask(), 1.0)
    with pytest.raises(InvalidInput, match="policy 'wild' must choose one of its"):
        bandit.ask()
