"""The names and codes of the reward laws, apart from their compiled code: an environment needs only these."""

from typing import Final

BERNOULLI: Final = 0
DETERMINISTIC: Final = 1
BETA: Final = 2
NORMAL: Final = 3

LAWS: Final[dict[str, int]] = {
    "bernoulli": BERNOULLI,
    "deterministic": DETERMINISTIC,
    "beta": BETA,
    "normal": NORMAL,
}
