"""One form for every refusal: the argument, the rule, the value received, the cure."""

import math
import operator
from collections.abc import Sequence
from typing import Any

COUNTABLE = 2**62


class InvalidInput(ValueError):
    """An argument broke a rule; nothing has changed."""


class Caution(UserWarning):
    """A warning: the policy runs, but cannot do here what its name promises.

    ``warnings.simplefilter("ignore", ss.Caution)`` silences it.
    """


def refuse(argument: str, rule: str, value: object, cure: str) -> InvalidInput:
    """The exception to raise: ``raise refuse("horizon", "must be at least 1", 0, "pass the number of rounds")``."""
    try:
        shown = repr(value)
    except Exception:  # an int of too many digits, an object of somebody's that cannot show itself
        shown = f"a {type(value).__name__}"
    if len(shown) > 120:
        shown = shown[:117] + "..."
    return InvalidInput(f"{argument} {rule}, but got {shown}. {cure}")


def whole(argument: str, value: Any, least: int, cure: str, most: int | None = None) -> int:
    """``value`` as an int of at least ``least`` (and at most ``most``, or what a computer counts to)."""
    rule = f"must be a whole number of at least {least}"
    if most is not None:
        rule += f" and at most {most}"
    try:
        number = operator.index(value)
    except TypeError:
        raise refuse(argument, rule, value, cure) from None
    if isinstance(value, bool):
        raise refuse(argument, rule, value, cure)
    if most is None and number > COUNTABLE:
        raise refuse(argument, f"{rule} and at most 2 ** 62", value, cure)
    if number < least or (most is not None and number > most):
        raise refuse(argument, rule, value, cure)
    return number


def real(
    argument: str,
    value: Any,
    cure: str,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
) -> float:
    """``value`` as a finite float within [least, most] and strictly between above and below."""
    parts = [f">= {least:g}"] * (least > -math.inf) + [f"> {above:g}"] * (above > -math.inf)
    parts += [f"<= {most:g}"] * (most < math.inf) + [f"< {below:g}"] * (below < math.inf)
    rule = "must be a finite number" + (" " + " and ".join(parts) if parts else "")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise refuse(argument, rule, value, cure) from None
    if isinstance(value, bool | str) or not math.isfinite(number):
        raise refuse(argument, rule, value, cure)
    if not (least <= number <= most and above < number < below):
        raise refuse(argument, rule, value, cure)
    return number


def not_both(**given: Any) -> None:
    """Refuse two of the user's values where one of them would do nothing."""
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) > 1:
        names, values = " and ".join(said), " and ".join(repr(value) for value in said.values())
        raise InvalidInput(f"{names} must not both be given, but got {values}. Leave out one.")


def choice(argument: str, value: Any, allowed: Sequence[str]) -> str:
    """``value`` if it is one of the names allowed."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(name) for name in allowed)
        raise refuse(argument, f"must be one of {names}", value, "Pick a name from the list.")
    return value
