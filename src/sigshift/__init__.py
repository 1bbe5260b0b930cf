"""sigshift: repeated choices in a changing world.

Non-stationary bandits after "Tracking Most Significant Arm Switches in Bandits" (Suk and Kpotufe, COLT 2022).
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sigshift.analysis.phases import Phases, phases
    from sigshift.bandit import Bandit, Choice
    from sigshift.checks import Caution, InvalidInput
    from sigshift.environment import Environment
    from sigshift.environments import env, envs
    from sigshift.policy import Policy, policies, policy
    from sigshift.report.anatomy import Anatomy, anatomy
    from sigshift.simulation import Runs, simulate
    from sigshift.testing import check_policy

__version__ = "0.1.0"

# Loaded when first used: `import sigshift` and `sigshift --help` must cost next to nothing.
_PLACES = {
    "Anatomy": "report.anatomy",
    "Bandit": "bandit",
    "Caution": "checks",
    "Choice": "bandit",
    "Environment": "environment",
    "InvalidInput": "checks",
    "Phases": "analysis.phases",
    "Policy": "policy",
    "Runs": "simulation",
    "anatomy": "report.anatomy",
    "check_policy": "testing",
    "env": "environments",
    "envs": "environments",
    "phases": "analysis.phases",
    "policies": "policy",
    "policy": "policy",
    "simulate": "simulation",
}

__all__ = [
    "Anatomy",
    "Bandit",
    "Caution",
    "Choice",
    "Environment",
    "InvalidInput",
    "Phases",
    "Policy",
    "Runs",
    "__version__",
    "anatomy",
    "check_policy",
    "env",
    "envs",
    "phases",
    "policies",
    "policy",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'sigshift' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sigshift.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Importing ``sigshift.policy`` must not hide the function of that name behind the module."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
