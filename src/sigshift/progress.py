"""Long work shows how far it is, to people at a terminal."""

import sys
import threading
from typing import Any


class Progress:
    """A bar on the terminal's error stream, and nothing where there is no terminal."""

    def __init__(self, wanted: bool | None, total: int, title: str) -> None:
        self.shown = sys.stderr.isatty() if wanted is None else wanted
        self.total = total
        self.title = title
        self.lock = threading.Lock()
        self.bar: Any = None

    def __enter__(self) -> "Progress":
        if self.shown:
            from rich import progress
            from rich.console import Console

            texts = [progress.TextColumn(text) for text in ("{task.description}", "{task.percentage:3.0f}%")]
            columns = (texts[0], progress.BarColumn(), texts[1], progress.TimeRemainingColumn())
            self.bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task(self.title, total=self.total)
        return self

    def add(self, rounds: int) -> None:
        """Move on by so many rounds."""
        if self.bar is not None:
            with self.lock:
                self.bar.advance(self.task, rounds)

    def __exit__(self, *details: object) -> None:
        if self.bar is not None:
            self.bar.stop()
