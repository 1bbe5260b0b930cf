"""The catalogue of environments: a file per family, a function per environment.

To add one, write a function decorated with :func:`sigshift.environments.registry.entry` in any file here.
"""

import importlib
import pkgutil

from sigshift.environments.registry import env, envs

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["env", "envs"]
