"""Every refusal names the argument, the rule, the value and the cure, whatever the value is."""

import numpy as np
import pytest

from sigshift.checks import InvalidInput, choice, real, refuse, whole


def test_the_four_parts_are_there():
    assert str(refuse("c0", "must be > 0", -1, "Take 0.2.")) == "c0 must be > 0, but got -1. Take 0.2."


def test_a_long_value_is_cut():
    assert len(str(refuse("means", "must be short", list(range(10_000)), "Cut it."))) < 200


class Shy:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [Shy(), 10**5000], ids=["shy", "huge"])
def test_a_value_that_cannot_be_shown_is_named_by_its_type(value):
    assert f"but got a {type(value).__name__}" in str(refuse("seed", "must be shown", value, "Try another."))


@pytest.mark.parametrize("value", [True, 2.0, "3", None, np.array([1, 2]), np.float64(2), [1]])
def test_what_is_no_whole_number(value):
    with pytest.raises(InvalidInput, match="runs must be a whole number of at least 1, but got"):
        whole("runs", value, 1, "Pass 10.")


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint64(3), np.array(3)])
def test_what_is_a_whole_number(value):
    assert whole("runs", value, 1, "Pass 10.") == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", True, None, 0.0, 2.0, 10**400])
def test_what_is_no_number_in_range(value):
    with pytest.raises(InvalidInput, match="c0 must be a finite number > 0 and <= 1, but got"):
        real("c0", value, "Take 0.2.", above=0.0, most=1.0)


def test_what_is_a_number_in_range():
    assert real("c0", np.float32(0.5), "Take 0.2.", above=0.0, most=1.0) == 0.5
    assert real("c0", 1, "Take 0.2.", above=0.0, most=1.0) == 1.0


def test_a_name_must_be_on_the_list():
    assert choice("law", "beta", ["beta", "normal"]) == "beta"
    with pytest.raises(InvalidInput, match="law must be one of 'beta', 'normal', but got 'gamma'"):
        choice("law", "gamma", ["beta", "normal"])
