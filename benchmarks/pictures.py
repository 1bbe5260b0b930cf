"""The pictures of the docs, made anew from real runs: those of the tutorial; regret on `trig`, and one META there.

    PYTHONPATH=src python benchmarks/pictures.py

The picture of regret over the horizon has a script of its own, scaling.py.
"""

import contextlib
import doctest
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import sigshift as ss

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
HORIZON = 10_000_000
OPENED_HORIZON = 1_000_000
RUNS = 10
META = ss.policy("meta", threshold="paper")
OURS = ("auto", "meta")
RIVALS = ("uniform", "ucb1", "exp3s")


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    tutorial()
    runs = ss.simulate([*OURS, META, *RIVALS], ss.env("trig", horizon=HORIZON), runs=RUNS, seed=0)
    runs.plot(FOLDER / "trig-regret.png")
    print(runs)
    opened = ss.anatomy(META, ss.env("trig", horizon=OPENED_HORIZON), seed=0)
    opened.plot(FOLDER / "trig-anatomy.png")
    print(opened)
    return 0


def tutorial() -> None:
    """Run the tutorial in a folder of its own, and keep its pictures."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_examples(text.replace("```", ""))
    space: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        for example in examples:
            if example.exc_msg is None:
                exec(compile(example.source, "tutorial.md", "exec"), space)
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, FOLDER / picture.name)


if __name__ == "__main__":
    sys.exit(main())
