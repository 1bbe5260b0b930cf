"""All plain twins: those of every ``naive_*.py`` beside this file that lists some."""

import importlib
from pathlib import Path

MODULES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("naive_*.py"))]
TWINS = {name: twin for module in MODULES for name, twin in getattr(module, "TWINS", {}).items()}

# Policies that draw in another way than a plain twin could: compared in distribution, by tests of their own.
IN_DISTRIBUTION = {name for module in MODULES for name in getattr(module, "IN_DISTRIBUTION", ())}
