"""The anatomy of a run: it is the run that is simulated, and what it says of META is what META did."""

import json
import math

import numpy as np
import pytest

import sigshift as ss
from naive import NaiveMeta
from sigshift.play import Play
from sigshift.report.anatomy import EPISODE_OVER, OUT_OF_TIME, STILL_RUNNING, SUPERSEDED
from sigshift.rng import POLICY_DOMAIN, REWARD_DOMAIN, derive

LIVELY = ss.policy("meta", c0=0.02, replay_rate=0.2)
TINY = ss.policy("meta", c0=0.0005, replay_rate=0.5)
REMARK = ss.policy("meta", threshold="remark", c0=0.05, replay_rate=1.0)
DOUBLING = ss.policy("meta", c0=0.01, replay_rate=0.5, horizon="unknown")
SHORTER = ss.policy("meta", c0=0.01, replay_rate=0.5, horizon=700)
CALIBRATED = ss.policy("meta")
RESTLESS = ss.policy(CALIBRATED, replay_rate=0.3, shortest=4, rounds=8_000, excursion=0.1)
NESTED = ss.policy(CALIBRATED, replay_rate=3.0, shortest=2, rounds=3_000)
AUTO = ss.policy("auto", replay_rate=0.1)
TURNS = ss.Environment.piecewise(
    np.arange(8) * 1_000, np.where(np.arange(8)[:, np.newaxis] % 3 == np.arange(3), 0.95, 0.05), 8_000
)

CASES = [
    (LIVELY, ss.env("pb2", horizon=3_000), 0, 0),
    (LIVELY, ss.env("trig", horizon=2_000), 5, 3),
    (TINY, ss.env("pb1", horizon=1_500), 1, 0),
    (REMARK, ss.env("pb3", horizon=2_000), 2, 1),
    (DOUBLING, ss.env("pb2", horizon=2_500), 3, 2),
    (SHORTER, ss.env("drift", horizon=2_500, arms=8), 4, 0),
    (ss.policy("meta", threshold="paper"), ss.env("season", horizon=1_000), 0, 0),
    (LIVELY, ss.env("many-arms", horizon=3_000), 0, 0),
    (CALIBRATED, ss.env("rotate", horizon=8_000), 2, 0),
    (RESTLESS, TURNS, 1, 1),
    (NESTED, ss.env("pb1", horizon=2_000), 4, 0),
    (AUTO, ss.env("rotate", horizon=8_000), 3, 0),
]
NAMES = ["pb2", "trig", "tiny", "remark", "doubling", "past its horizon", "paper", "many arms"]
NAMES += ["calibrated", "calibrated and restless", "calibrated and nested", "auto"]


def calibrated(opened):
    return opened.policy.module in (CALIBRATED.module, AUTO.module)


@pytest.fixture(scope="module", params=CASES, ids=NAMES)
def case(request):
    policy, env, seed, run = request.param
    return ss.anatomy(policy, env, seed=seed, run=run)


def stepped(opened):
    """A play of the same run, round by round: (t, play) before each round is played."""
    env = opened.environment
    play = Play(opened.policy, env.arms, env.horizon, opened.seed, opened.run, env)
    key = derive(opened.seed, REWARD_DOMAIN)
    nothing = np.empty(0)
    for block in env.blocks():
        for t in range(block.first, block.last):
            yield t, play
            play.simulate(t, t + 1, block, env.law_code, env.spread, key, nothing.astype(np.int64), nothing)


def test_it_is_the_run_that_is_simulated(case):
    runs = ss.simulate(case.policy, case.environment, runs=case.run + 1, seed=case.seed, jobs=1, progress=False)
    means = case.environment.means()
    gaps = means.max(axis=1) - means[np.arange(len(means)), case.choices]
    regret = runs.regret(case.policy)[case.run]
    assert np.allclose(np.cumsum(gaps)[runs.checkpoints - 1], regret, rtol=1e-12, atol=1e-9)
    assert runs.restarts[case.policy.label][case.run] == case.restarts.size


def test_the_choices_and_restarts_are_those_of_one_long_play(case):
    env = case.environment
    play = Play(case.policy, env.arms, env.horizon, case.seed, case.run, env)
    choices, rewards = np.empty(env.horizon, np.int64), np.empty(env.horizon)
    for block in env.blocks():
        rows = slice(block.first, block.last)
        key = derive(case.seed, REWARD_DOMAIN)
        play.simulate(block.first, block.last, block, env.law_code, env.spread, key, choices[rows], rewards[rows])
    assert np.array_equal(choices, case.choices)
    assert play.restarts() == case.restarts.tolist()


def test_it_agrees_with_what_inspect_says(case):
    """``inspect`` before a round says what that round will use."""
    bases = case.bases
    looked = {*range(0, case.rounds, 13), *case.changes.round[:: 1 + case.changes.round.size // 300].tolist()}
    for t, play in stepped(case):
        if t not in looked:
            continue
        facts = play.inspect(t, range(case.arms))
        live = np.flatnonzero((bases.start <= t) & (bases.end > t))
        expected = list(zip(bases.start[live].tolist(), bases.length[live].tolist(), strict=True))
        assert [(base["start"], base["length"]) for base in facts["bases"]] == expected
        assert live[-1] == case.active_base[t]
        assert facts["bases"][-1]["candidates"] == case.candidates(t)
        assert facts["master"] == case.master(t)
        assert facts["restarts"] == case.restarts[case.restarts <= t].tolist()
        assert facts["episode_start"] == case.episodes[case.episodes <= t][-1]
        for arm in facts.get("arms", ()):
            rounds = case.forgotten.round[(case.forgotten.arm == arm["arm"]) & (case.forgotten.round <= t)]
            assert arm["since"] == max(rounds, default=0)
        assert set(facts.get("forgotten", ())) == set(case.forgotten.round[case.forgotten.round <= t].tolist())


def test_the_naive_twin_has_the_same_anatomy():
    env = ss.env("pb2", horizon=400)
    policy = ss.policy("meta", c0=0.004, replay_rate=0.5)
    opened = ss.anatomy(policy, env, seed=6)
    rewards = env.rewards(0, 400, run=0, seed=6)
    twin = NaiveMeta(3, 400, derive(6, POLICY_DOMAIN), c0=0.004, replay_rate=0.5)
    for t in range(400):
        arm, chance = twin.select(t)
        assert arm == opened.choices[t]
        assert twin.live()[-1]["start"] == opened.bases.start[opened.active_base[t]]
        assert twin.live()[-1]["candidates"] == opened.candidates(t)
        assert sorted(twin.master) == opened.master(t)
        twin.update(t, arm, rewards[t, arm], chance)
    assert twin.restarts == opened.restarts.tolist()
    assert opened.restarts.size > 3


def test_replays_nest_in_their_parents(case):
    bases = case.bases
    assert bases.start.size == len(bases.ended) > 0
    for i in range(bases.start.size):
        parent = bases.parent[i]
        assert bases.start[i] < bases.end[i] <= bases.start[i] + bases.length[i] + 1
        if parent < 0:
            assert bases.depth[i] == 0
            continue
        assert parent < i
        assert bases.depth[i] == bases.depth[parent] + 1
        assert bases.episode[i] == bases.episode[parent]
        assert bases.start[parent] < bases.start[i]
        assert bases.end[i] <= bases.end[parent]
        if bases.depth[parent] > 0:
            assert bases.start[i] + bases.length[i] < bases.start[parent] + bases.length[parent]
            assert bases.length[i] < bases.length[parent]
    assert bases.depth.max() <= math.ceil(math.log2(max(case.rounds, 2))) + 1


def test_bases_of_one_depth_do_not_overlap(case):
    for depth in range(case.bases.depth.max() + 1):
        rows = case.bases.depth == depth
        assert (case.bases.end[rows][:-1] <= case.bases.start[rows][1:]).all()


def test_how_bases_end(case):
    bases = case.bases
    for i, how in enumerate(bases.ended):
        scheduled = bases.start[i] + bases.length[i] + 1
        if how == OUT_OF_TIME:
            assert bases.end[i] == scheduled
        elif how == SUPERSEDED:
            begun = int(np.flatnonzero(bases.start == bases.end[i])[0])
            assert bases.start[begun] + bases.length[begun] >= scheduled - 1
        elif how == EPISODE_OVER:
            assert bases.end[i] in case.episodes
        else:
            assert (how, bases.end[i]) == (STILL_RUNNING, case.rounds)


def test_episodes_tile_the_run_and_begin_with_restarts(case):
    bases = case.bases
    roots = bases.depth == 0
    assert np.array_equal(bases.start[roots], case.episodes)
    assert np.array_equal(bases.end[roots], np.append(case.episodes[1:], case.rounds))
    assert np.array_equal(bases.episode[roots], np.arange(roots.sum()))
    doublings = {2**i - 1 for i in range(40)} if case.policy is DOUBLING else {0, 700, 2_100}
    assert set(case.restarts.tolist()) <= set(case.episodes.tolist())
    assert set(case.episodes.tolist()) - set(case.restarts.tolist()) <= doublings


def test_the_evictions_explain_every_candidate_set(case):
    """Starting full and losing what the evictions say gives the sets that were recorded."""
    bases, lost = case.bases, case.evictions
    sets = {i: set(range(case.arms)) for i in range(bases.start.size)}
    episodes = set(case.episodes.tolist())
    master, row = set(range(case.arms)), 0
    for i, t in enumerate(case.changes.round.tolist()):
        while row < lost.round.size and lost.round[row] <= t:
            assert lost.round[row] == t
            if lost.base[row] >= 0:
                sets[lost.base[row]].remove(lost.arm[row])
            if lost.master[row]:
                master.remove(lost.arm[row])
            row += 1
        if t in episodes:
            assert not master or t not in case.restarts or t in case.soft_restarts
            master = set(range(case.arms))
        assert sets[case.changes.base[i]] == set(case.candidates(t))
        assert master == set(case.master(t))
        assert master <= sets[case.changes.base[i]]
    assert row == lost.round.size


def test_the_rounds_of_all_bases_add_up(case):
    table = case.table()
    assert table["rounds"].sum() == case.rounds
    assert (table["rounds"] <= table["end"] - table["start"]).all()
    assert table["evicted"].sum() == (case.evictions.base >= 0).sum()
    assert np.array_equal(np.bincount(case.active_base, minlength=len(table)), table["rounds"])
    assert list(table.columns)[:4] == ["base", "start", "length", "end"]


def test_only_candidates_are_played(case):
    """The calibrated form draws from them in its replays only."""
    assert case.active_size.size == case.active_base.size == case.rounds
    rows = np.repeat(np.arange(case.changes.round.size), np.diff(case.changes.round, append=case.rounds))
    drawn = np.ones(case.rounds, np.bool_)
    if calibrated(case):
        drawn = (case.bases.depth[case.active_base] > 0) & (case.active_size > 1)
    assert case.changes.candidates[rows, case.choices][drawn].all()
    assert np.array_equal(case.changes.candidates[rows].sum(axis=1), case.active_size)


def test_everything_is_ready_for_json(case):
    facts = json.loads(json.dumps(case.to_dict()))
    assert facts["choices"] == case.choices.tolist()
    assert facts["bases"]["ended"] == list(case.bases.ended)
    assert facts["changes"]["candidates"][0] == case.candidates(0)
    assert facts["restarts"] == case.restarts.tolist()
    assert facts["soft_restarts"] == case.soft_restarts.tolist()
    assert facts["forgotten"]["round"] == case.forgotten.round.tolist()
    assert facts["forgotten"]["arm"] == case.forgotten.arm.tolist()


def test_what_only_the_calibrated_form_has():
    """All of it happens in this run: arms forgotten, soft restarts, hard ones, and evicted arms found again."""
    policy, env, seed, run = CASES[NAMES.index("calibrated and restless")]
    opened = ss.anatomy(policy, env, seed=seed, run=run)
    soft = set(opened.soft_restarts.tolist())
    assert 0 < len(soft) < opened.restarts.size
    assert soft < set(opened.restarts.tolist())
    emptied = set(opened.evictions.round[opened.evictions.master].tolist())
    assert all((t in emptied) != (t in soft) for t in opened.restarts.tolist())
    alone = ~np.isin(opened.forgotten.round, opened.restarts)
    assert 0 < alone.sum() < opened.forgotten.round.size
    hard = np.array(sorted(set(opened.restarts.tolist()) - soft))
    for t in hard.tolist():
        assert set(opened.forgotten.arm[opened.forgotten.round == t].tolist()) == set(range(opened.arms))
    assert f"{opened.restarts.size} restarts ({len(soft)} soft)" in str(opened)
    assert f"forgot an arm {opened.forgotten.round.size} times" in str(opened)
    paper = ss.anatomy(LIVELY, "pb2", horizon=500)
    assert paper.forgotten.round.size == paper.soft_restarts.size == 0


def test_rested_arms_pay_by_their_own_pulls():
    env = ss.env("rotting", horizon=3_000)
    opened = ss.anatomy(NESTED, env, seed=1, run=2)
    play = Play(NESTED, env.arms, env.horizon, 1, 2, env)
    choices, rewards = np.empty(3_000, np.int64), np.empty(3_000)
    key = derive(1, REWARD_DOMAIN)
    play.simulate(0, 3_000, next(env.blocks()), env.law_code, env.spread, key, choices, rewards)
    assert opened.has_bases
    assert np.array_equal(choices, opened.choices)


def test_the_text(case):
    text = str(case)
    assert text.startswith(f"{case.policy.label} on {case.environment.name}, seed {case.seed}, run {case.run}:")
    assert f"{case.episodes.size} episode" in text
    assert f"{case.evictions.round.size:,} eviction" in text
    assert case.policy.label in repr(case)


def test_the_beginning_of_a_run_is_the_same_however_far_it_is_played():
    whole = ss.anatomy(LIVELY, "pb2", seed=3, horizon=4_000)
    part = ss.anatomy(LIVELY, "pb2", seed=3, horizon=1_500)
    assert part.rounds == 1_500
    assert np.array_equal(part.choices, whole.choices[:1_500])
    assert np.array_equal(part.active_base, whole.active_base[:1_500])
    assert part.bases.end[0] <= 1_500


def test_choices_are_small():
    assert ss.anatomy("meta", "pb2", horizon=50).choices.dtype == np.uint8
    assert ss.anatomy("uniform", ss.Environment.piecewise([0], [[0.5] * 300], 50)).choices.dtype == np.uint16


def test_a_policy_without_bases_gives_its_choices_only():
    env = ss.env("pb1", horizon=3_000)
    opened = ss.anatomy("ucb1", env, seed=2)
    play = Play(ss.policy("ucb1"), 3, 3_000, 2, 0, env)
    choices, rewards = np.empty(3_000, np.int64), np.empty(3_000)
    play.simulate(0, 3_000, next(env.blocks()), env.law_code, env.spread, derive(2, REWARD_DOMAIN), choices, rewards)
    assert np.array_equal(opened.choices, choices)
    assert not opened.has_bases
    assert opened.episodes.tolist() == [0]
    assert len(opened.table()) == 0
    assert "has no bases" in str(opened)
    json.dumps(opened.to_dict())
    for ask in (lambda: opened.active_base, lambda: opened.active_size, lambda: opened.master(0)):
        with pytest.raises(ss.InvalidInput, match=r"'ucb1' has no bases.*Ask for the anatomy of \"meta\""):
            ask()


def test_a_function_of_several_blocks_is_the_same_run():
    env = ss.env("trig", horizon=70_000)
    assert len(list(env.blocks())) == 2
    for policy in (ss.policy("meta"), ss.policy("meta", threshold="paper"), "ucb1"):
        by_function = ss.anatomy(policy, env, seed=1)
        by_table = ss.anatomy(policy, ss.Environment.from_means(env.means()), seed=1)
        assert np.array_equal(by_function.choices, by_table.choices)
        assert np.array_equal(by_function.changes.round, by_table.changes.round)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"run": 0.5}, "run must be a whole number"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"horizon": 20_001}, "at most 20000"),
        ({"policy": "mota"}, "Did you mean 'meta'"),
        ({"env": 3}, "env must be an Environment"),
    ],
)
def test_bad_arguments(given, message):
    with pytest.raises(ss.InvalidInput, match=message):
        ss.anatomy(**given)


def test_a_round_outside_the_run_is_refused():
    opened = ss.anatomy("meta", "pb2", horizon=50)
    with pytest.raises(ss.InvalidInput, match=r"t must be .* at most 49"):
        opened.candidates(50)
