"""Tables of means in files that people have: CSV, NumPy and Parquet, a row per round and a column per arm."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sigshift.checks import InvalidInput

TIME_COLUMNS = ("", "round", "t", "time", "date", "index", "__index_level_0__")
MISSING = ("", "na", "n/a", "null", "none", "nan")
Tell = Callable[[str], None]


def read_means(file: str, tell: Tell) -> tuple[Any, list[str]]:
    """The table [round, arm] in a .csv, .npy or .parquet file, and the names of its arms.

    ``tell`` is given a sentence about a column that is left out.
    """
    path = Path(file).expanduser()
    readers = {".csv": _read_csv, ".npy": _read_npy, ".parquet": _read_parquet}
    if path.suffix.lower() not in readers:
        raise InvalidInput(f"{file}: must be a .csv, .npy or .parquet file. Convert it, or mend the name.")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InvalidInput(f"{file}: {what}. Pass a file with a row per round and a column per arm.")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{file}: is empty. Pass a file with a row per round and a column per arm.")
    return readers[path.suffix.lower()](path, tell)


def _unreadable(path: Path, error: Exception) -> InvalidInput:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return InvalidInput(
        f"{path}: cannot be read as {path.suffix}: {lines[0][:200].rstrip('.')}. Mend it, or write it anew."
    )


def _read_npy(path: Path, tell: Tell) -> tuple[Any, list[str]]:
    import numpy as np

    with path.open("rb") as file:
        if not file.read(6).startswith((b"\x93NUMPY", b"PK")):
            raise InvalidInput(f"{path}: is not a .npy file. Write one with numpy.save.")
    try:
        means = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, SyntaxError) as error:
        raise _unreadable(path, error) from None
    if not isinstance(means, np.ndarray):
        raise InvalidInput(f"{path}: holds several arrays. Write the one of the means with numpy.save.")
    arms = means.shape[1] if means.ndim == 2 else 0
    return means, [str(arm) for arm in range(arms)]


def _read_parquet(path: Path, tell: Tell) -> tuple[Any, list[str]]:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    indices = (table.schema.pandas_metadata or {}).get("index_columns", [])
    for name in table.column_names:
        if name in indices:
            tell(f"{path}: the index, {name!r}, is left out.")
            table = table.drop_columns([name])
    return _numbers(path, tell, list(table.column_names), table.columns, table.num_rows)


def _read_csv(path: Path, tell: Tell) -> tuple[Any, list[str]]:
    import pyarrow
    from pyarrow import csv

    before, mark, header = _csv_form(path, tell)
    try:
        table = csv.read_csv(
            path,
            csv.ReadOptions(use_threads=False, skip_rows=before, autogenerate_column_names=True),
            csv.ParseOptions(delimiter=mark),
        )
    except (pyarrow.ArrowException, OSError) as error:
        if "Empty CSV file" in str(error):
            raise InvalidInput(f"{path}: has no rows of numbers. Write a row per round below the header.") from None
        raise _unreadable(path, error) from None
    names = header or [str(i) for i in range(table.num_columns)]
    if len(names) != table.num_columns:
        raise InvalidInput(
            f"{path}: has {len(names)} names in the header but {table.num_columns} numbers in a row. "
            "Give every column one name."
        )
    return _numbers(path, tell, names, table.columns, table.num_rows)


def _csv_form(path: Path, tell: Tell) -> tuple[int, str, list[str] | None]:
    """How many lines come before the numbers, what separates these, and the header if there is one."""
    import csv

    before = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line in file:
                if line.strip():
                    break
                before += 1
            else:
                raise InvalidInput(f"{path}: has no rows. Pass a file with a row per round and a column per arm.")
            below = file.readline()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: is not UTF-8 text. Save it as a CSV file in UTF-8.") from None
    mark = next((mark for mark in (",", ";", "\t") if mark in line), ",")
    cells, second = ([cell.strip() for cell in next(csv.reader([row], delimiter=mark), [])] for row in (line, below))
    if _is_header(cells):
        return before + 1, mark, cells
    if cells == ["0", "1"] and "fraction" in map(_kind, second):  # as pandas names two columns, or two means
        tell(f"{path}: the first row, 0{mark}1, is taken for the names of the arms.")
        return before + 1, mark, cells
    return before, mark, None


def _is_header(cells: list[str]) -> bool:
    """Whether the first row names the columns: by words, or as pandas does by 0, 1, 2, ..."""
    numbered = cells[1:] if cells[0] == "" else cells
    if numbered == [str(i) for i in range(len(numbered))] and (len(numbered) > 2 or numbered is not cells):
        return True
    kinds = [_kind(cell) for cell in cells]
    return "word" in kinds and "fraction" not in kinds


def _kind(cell: str) -> str:
    if cell.lower() in MISSING:
        return "missing"
    try:
        return "whole" if float(cell).is_integer() else "fraction"
    except ValueError:
        return "word"


def _numbers(path: Path, tell: Tell, names: list[str], columns: Sequence[Any], rows: int) -> tuple[Any, list[str]]:
    """The columns as one table of floats; a first one that counts the rounds is left out."""
    import numpy as np
    import pyarrow

    if len(names) > 1 and names[0].lower() in TIME_COLUMNS:
        tell(f"{path}: the first column, {names[0]!r}, is taken for the time and left out.")
        names, columns = names[1:], columns[1:]
    means = np.empty((rows, len(names)))
    for arm, (name, column) in enumerate(zip(names, columns, strict=True)):
        try:
            means[:, arm] = column.cast(pyarrow.float64()).to_numpy()
        except pyarrow.ArrowException:
            row, cell = next((i, cell) for i, cell in enumerate(column.to_pylist()) if _kind(str(cell)) == "word")
            raise InvalidInput(
                f"{path}: column {name!r} must hold numbers, but has {cell!r} in row {row}. "
                "Pass the means only, a column per arm."
            ) from None
    return means, names
