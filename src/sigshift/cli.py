"""The command line: a command reads its arguments, calls one function of the library and prints what it returns.

Whatever costs time to load is loaded by the command that needs it, so that ``sigshift --help`` is instant.
"""

import argparse
import json
import os
import shlex
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sigshift import __version__
from sigshift.checks import Caution, InvalidInput, refuse, whole

if TYPE_CHECKING:
    from sigshift.analysis.phases import Phases
    from sigshift.study.analyse import Results

OUR_FAULT, USERS_FAULT, STOPPED, BROKEN_PIPE = 1, 2, 130, 141
SHOWN_PHASES = 40
WIDEST = 120


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code: 0, 2 if the user has to mend something, 1 if we have, 130 if interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    wanted = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(wanted)
        if sys.stdout is not None:  # as it is where somebody has closed it: `sigshift ... >&-`
            sys.stdout.flush()
    except BrokenPipeError:  # `sigshift ... | head`: nobody reads on, and nobody has to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code


def _run(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    try:
        options = parser().parse_args(arguments)
        with warnings.catch_warnings():
            warnings.showwarning = _shown(warnings.showwarning)
            options.command(options)
    except BrokenPipeError:
        raise
    except SystemExit as end:  # argparse has said what there was to say
        return int(end.code or 0)
    except KeyboardInterrupt:
        return _complain("stopped.", STOPPED, debug)
    except InvalidInput as error:
        return _complain(str(error), USERS_FAULT, debug)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}. Check the name and the rights.", USERS_FAULT, debug)
    except MemoryError as error:
        return _complain(f"not enough memory: {error}. Ask for fewer rounds or arms.", USERS_FAULT, debug)
    except Exception as error:
        hint = "" if debug else " Run it again with --debug and report what it says."
        return _complain(f"this is our bug, not yours: {type(error).__name__}: {error}.{hint}", OUR_FAULT, debug)
    return 0


def _shown(usual: Callable[..., None]) -> Callable[..., None]:
    """How a warning is shown: a caution as one line, like all that the command line says."""

    def show(message: Any, category: type[Warning], *more: Any) -> None:
        if issubclass(category, Caution):
            print(f"sigshift: {message}", file=sys.stderr)
        else:
            usual(message, category, *more)

    return show


def _complain(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print("sigshift:", " ".join(message.split()), file=sys.stderr)
    return code


# The commands and their arguments.


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(USERS_FAULT, f"sigshift: {message} (see `{self.prog} --help`)\n")


def parser() -> argparse.ArgumentParser:
    """All commands with their options and examples."""
    top = _Parser(
        prog="sigshift",
        description="Bandits that adapt to significant shifts: simulate policies, find what changes matter.",
        epilog="`sigshift COMMAND --help` explains a command with examples. Start with `sigshift demo`.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"sigshift {__version__}")
    top.add_argument("--debug", action="store_true", help="show the traceback of an error")
    top.set_defaults(command=lambda options: top.print_help())
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for add in (_add_demo, _add_phases, _add_policies, _add_envs, _add_new, _add_check, _add_bench):
        add(commands)
    return top


def _command(
    commands: Any, name: str, run: Callable[[Any], None], about: str, more: str, *examples: str
) -> argparse.ArgumentParser:
    """A command with its help: what it is about in a line, more about it, and examples (which the tests run)."""
    made: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=textwrap.fill(f"{about[0].upper()}{about[1:]}. {more}", 78),
        epilog="\n".join(["examples:", *(f"  {example}" for example in examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error")
    made.set_defaults(command=run)
    return made


def _add_demo(commands: Any) -> None:
    about = "play auto, META and their rivals on three problems, with a table and pictures"
    more = (
        "The first time takes up to a minute, because the policies are compiled; later, some ten seconds. The pictures "
        "go into a folder, which is made where it is missing."
    )
    made = _command(commands, "demo", _demo, about, more, "sigshift demo", "sigshift demo --out pictures --runs 2")
    made.add_argument("--out", metavar="FOLDER", default="sigshift-demo", help="for the pictures (%(default)s)")
    made.add_argument("--runs", metavar="N", type=_count, help="runs of each policy (5)")
    made.add_argument("--jobs", metavar="N", type=_count, help="cores to use (all)")
    made.add_argument("--seed", metavar="N", type=_count, default=0, help="another one, other rewards (%(default)s)")


def _add_phases(commands: Any) -> None:
    about = "find the significant phases of a table of means"
    more = (
        "FILE is .csv (with or without a header), .npy or .parquet, with a row per round and a column per arm; means "
        "(or an adversary's rewards) in [0, 1]. A first column without a name, or named round, t, time, date or "
        "index, is left out. Rounds and arms count from 0."
    )
    examples = (
        "sigshift phases means.csv",
        "sigshift phases means.npy --plot phases.pdf",
        "sigshift phases means.parquet --json",
    )
    made = _command(commands, "phases", _phases, about, more, *examples)
    made.add_argument("file", metavar="FILE", help="the means")
    made.add_argument("--plot", metavar="PICTURE", help="a .png, .pdf or .svg (FILE's name with -phases.png, here)")
    made.add_argument("--no-plot", action="store_true", help="draw no picture")
    made.add_argument("--json", action="store_true", help="print JSON, and draw a picture only if --plot names it")


def _add_policies(commands: Any) -> None:
    about = "list the policies: papers, parameters, guarantees"
    more = "Below them, the algorithms that are not given: why, what was tried, and what to use instead."
    made = _command(commands, "policies", _policies, about, more, "sigshift policies", "sigshift policies --json")
    made.add_argument("--absent", action="store_true", help="only the algorithms that are not given")
    made.add_argument("--json", action="store_true", help="print JSON: the policies, or the absent ones alone")


def _add_envs(commands: Any) -> None:
    about = "list the environments: sources, sizes, parameters"
    made = _command(commands, "envs", _envs, about, "", "sigshift envs", "sigshift envs --json")
    made.add_argument("--json", action="store_true", help="print JSON")


def _add_new(commands: Any) -> None:
    about = "write the start of a file of your own"
    made = _command(commands, "new", _new, about, "So far: of a policy.", "sigshift new policy mine.py")
    made.set_defaults(command=lambda options: made.print_help())
    kinds = made.add_subparsers(title="kinds", metavar="KIND", required=True)
    about = "write a policy that works, for you to change"
    more = "The file says what each part is for; `sigshift check` tests it. A file that exists is never overwritten."
    policy = _command(kinds, "policy", _new, about, more, "sigshift new policy mine.py")
    policy.add_argument("path", metavar="PATH", help="the file to write, ending in .py")


def _add_check(commands: Any) -> None:
    about = "run the tests that every policy must pass"
    more = "They are the ones that the built-in policies pass: exact, seeded, compiled like them."
    made = _command(commands, "check", _check, about, more, "sigshift check mine.py", _CHECK_ONE)
    made.add_argument("policy", metavar="PATH_OR_NAME", help="a policy's file or name, or 'name(parameter=value)'")


_CHECK_ONE = "sigshift check \"detect(detector='adwin')\""


def _add_bench(commands: Any) -> None:
    about = "measure the time per round of policies on this machine, or their regret"
    more = f"Alone it is `sigshift bench speed`. {_SPEED}"
    made = _command(commands, "bench", _bench_speed, about, more, "sigshift bench --policies ucb1 exp3s --runs 2")
    _speed_options(made)
    kinds = made.add_subparsers(title="kinds", metavar="KIND")
    _add_bench_speed(kinds)
    _add_bench_regret(kinds)


_POLICIES = "names, files or 'name(parameter=value)' (all built-in ones)"

_SPEED = (
    "On one core, the whole loop: choice, reward, update, exact regret; compiling is not counted. The policies take "
    "turns, and the best of several runs counts, also relative to ucb1's: what else the machine does weighs on all."
)


def _add_bench_speed(kinds: Any) -> None:
    about = "measure the time per round of policies on this machine"
    made = _command(kinds, "speed", _bench_speed, about, _SPEED, "sigshift bench speed --arms 3 --output json")
    _speed_options(made)


def _speed_options(made: argparse.ArgumentParser) -> None:
    made.add_argument("--policies", metavar="POLICY", nargs="+", help=_POLICIES)
    made.add_argument("--horizon", metavar="T", type=_count, default=20_000, help="rounds (%(default)s)")
    made.add_argument("--arms", metavar="K", type=_count, default=10, help="arms (%(default)s)")
    made.add_argument(
        "--runs", metavar="N", type=_count, default=10, help="runs, of which the best counts (%(default)s)"
    )
    made.add_argument("--output", choices=["table", "json"], default="table", help="(%(default)s)")
    made.add_argument("--json", action="store_const", const="json", dest="output", help="the same as --output json")


def _add_bench_regret(kinds: Any) -> None:
    about = "measure the regret of policies on the public suite"
    more = (
        "Every run is stored in a folder, so that it can be stopped at any time and started again, and only what is "
        "new is played: other policies, environments, horizons or seeds, and a policy whose code has changed. A policy "
        "may have parameters, in quotes; one of changes, switches and variation can be told the truth about each "
        "environment. Tune on seeds below 5000, report on those from 5000 to 5099."
    )
    examples = (
        "sigshift bench regret --policies ucb1 exp3s --envs drop blips --horizons 2e4 --seeds 0 2",
        "sigshift bench regret --policies ucb1 'exp3s(switches=truth)' --envs pb1 --horizons 2e4 --json",
    )
    made = _command(kinds, "regret", _bench_regret, about, more, *examples)
    made.add_argument("--policies", metavar="POLICY", nargs="+", help=_POLICIES)
    made.add_argument("--envs", metavar="ENV", nargs="+", help="environments of the suite (all 21)")
    made.add_argument("--horizons", metavar="T", type=_count, nargs="+", help="rounds (2e4 1e5 1e6)")
    made.add_argument(
        "--seeds",
        metavar=("FIRST", "COUNT"),
        type=_count,
        nargs=2,
        help="an instance of each environment per seed (0 20)",
    )
    made.add_argument("--reference", metavar="POLICY", help="compare with this one, too (glr_kl_ucb if it plays)")
    made.add_argument(
        "--out", metavar="FOLDER", default="sigshift-regret", help="for results and pictures (%(default)s)"
    )
    made.add_argument("--jobs", metavar="N", type=_count, help="cores to use (all)")
    made.add_argument(
        "--format", choices=["png", "pdf", "svg"], default="png", help="of the heat maps, one per horizon (%(default)s)"
    )
    made.add_argument("--no-plot", action="store_true", help="draw no heat maps")
    made.add_argument("--json", action="store_true", help="print JSON")


def _count(text: str) -> int:
    """A whole number, also written as 1e6 or 1_000_000."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"must be a whole number such as 1000 or 1e6, but got {text!r}")


# What the commands do.


def _demo(options: Any) -> None:
    from sigshift.demo import RUNS, demo

    runs = RUNS if options.runs is None else options.runs
    print(demo(options.out, runs, options.seed, options.jobs, say=_on_the_side))


def _phases(options: Any) -> None:
    from sigshift.analysis.means_file import read_means

    if options.plot and options.no_plot:
        raise InvalidInput("--plot and --no-plot exclude each other. Leave one of them out.")
    picture = options.plot
    if not (picture or options.no_plot or options.json):
        picture = f"{Path(options.file).stem}-phases.png"
    means, names = read_means(options.file, _on_the_side)
    found = _named_in_errors(options.file, lambda: _found(means))
    if picture:
        from sigshift.environment import Environment
        from sigshift.report.charts import means_and_phases

        means_and_phases(Environment.from_means(means, name=Path(options.file).stem), found, picture)
    if options.json:
        print(json.dumps({"file": options.file, "names": names, "picture": picture, **found.to_dict()}, indent=2))
    else:
        _print_phases(options.file, found, names)
        if picture:
            print(f"\npicture: {picture}")


def _found(means: Any) -> "Phases":
    from sigshift.analysis.phases import phases

    return phases(means)


def _policies(options: Any) -> None:
    from sigshift.policy import policies

    rows = policies(absent=options.absent).reset_index().to_dict("records")
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    if not options.absent:
        _print_cards(rows, "policy", ("paper", "guarantee", "told", "parameters"))
        print("\nNot given:\n")
        rows = policies(absent=True).reset_index().to_dict("records")
    _print_cards(rows, "policy", ("paper", "reason", "tried", "instead"))


def _envs(options: Any) -> None:
    from sigshift.environments import envs

    rows = envs().to_dict("records")
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        row["size"] = f"{row['arms']} arms, {row['horizon']:,} rounds"
    _print_cards(rows, "name", ("shows", "size", "source", "parameters"))


def _new(options: Any) -> None:
    from sigshift.testing import write_skeleton

    write_skeleton(options.path)
    print(f"{options.path}: a policy to start from. Test it with `sigshift check {shlex.quote(options.path)}`.")


def _check(options: Any) -> None:
    from sigshift.testing import PolicyFault, check_policy

    try:
        check_policy(_policy(options.policy))
    except PolicyFault as fault:
        raise InvalidInput(str(fault)) from fault
    print(f"{options.policy}: passes all tests of a policy.")


def _policy(text: str) -> Any:
    """A policy by its name or file, perhaps with parameters: ``sw_ucb(window=500)``."""
    from sigshift.study.spec import entrant

    made = entrant(text)
    if made.truths:
        raise refuse("policy", "must be told numbers here", text, "Only `sigshift bench regret` knows a truth.")
    return made.policy


def _bench_speed(options: Any) -> None:
    from sigshift.environment import MOST_ARMS, Environment
    from sigshift.policy import names, policy
    from sigshift.simulation import distinct_policies, simulate

    arms = whole("arms", options.arms, 2, "Regret needs an arm to compare with.", MOST_ARMS)
    wanted = distinct_policies([_policy(name) for name in options.policies or names()])
    yardstick = policy("ucb1")
    chosen = wanted if yardstick in wanted else [yardstick, *wanted]
    means = [[0.3 + 0.4 * (arms - 1 - arm) / max(arms - 1, 1) for arm in range(arms)]]
    environment = Environment.piecewise([0], means, options.horizon, name="bench")
    times = simulate(chosen, environment, options.runs, jobs=1, checkpoints=1).nanoseconds
    best = {made.label: float(times[made.label].min()) for made in chosen}
    rows: list[dict[str, Any]] = [
        {
            "policy": made.label,
            "ns_per_round": round(best[made.label], 1),
            "over_ucb1": round(best[made.label] / best[yardstick.label], 2),
            "told": made.told,
        }
        for made in sorted(wanted, key=lambda made: best[made.label])
    ]
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if options.output == "json":
        facts = {"version": __version__, "horizon": options.horizon, "arms": arms, "runs": options.runs}
        print(json.dumps({**facts, "load": round(load, 1), "cores": processors, "policies": rows}, indent=2))
        return
    print(f"{arms} arms, {options.horizon:,} rounds, best of {options.runs} runs on one core")
    print(f"load {load:.1f} on {processors} cores, ucb1 {best[yardstick.label]:,.1f} ns per round\n")
    lines = [
        (
            row["policy"],
            f"{row['ns_per_round']:,.1f}",
            f"{row['over_ucb1']:,.2f}",
            f"{1e3 / row['ns_per_round']:,.1f}",
            row["told"],
        )
        for row in rows
    ]
    _print_table(("policy", "ns per round", "over ucb1", "million rounds/s", "told"), lines, "<>>><")


def _bench_regret(options: Any) -> None:
    from sigshift.policy import names
    from sigshift.study import measure
    from sigshift.study.spec import HORIZONS, SEEDS, spec

    chosen = options.policies or names()
    seeds = SEEDS if options.seeds is None else tuple(options.seeds)
    study = spec(chosen, options.envs, options.horizons or HORIZONS, seeds)
    found = measure(study, options.out, options.reference, options.jobs, say=_on_the_side)
    pictures = []
    for one in found:
        if not options.no_plot:
            from sigshift.report.heatmap import regret_heat_map

            pictures.append(str(Path(options.out, f"regret-{one.horizon}.{options.format}")))
            regret_heat_map(one, pictures[-1])
    if options.json:
        facts = {"version": __version__, "pictures": pictures, "horizons": [one.to_dict() for one in found]}
        print(json.dumps(facts, indent=2))
        return
    for one in found:
        _print_regret(one)
    for picture in pictures:
        print(f"picture: {picture}")


# Printing: plain text, so that a pipe gets what a terminal shows.


def _on_the_side(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)


def _print_table(head: Sequence[str], rows: Iterable[Sequence[str]], sides: str) -> None:
    """Columns two spaces apart, aligned to the sides; a last column that is too wide for the terminal is cut."""
    lines = [tuple(head), *map(tuple, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        cells = [f"{cell:{side}{width}}" for cell, side, width in zip(line, sides, widths, strict=True)]
        text = "  ".join(cells).rstrip()
        print(text if len(text) <= _width() else f"{text[: _width() - 3]}...")


def _print_cards(rows: Iterable[Mapping[Any, Any]], title: str, parts: Sequence[str]) -> None:
    """Each row as a heading with its parts below it, wrapped to the terminal."""
    margin = 2 + max(map(len, parts)) + 2
    for i, row in enumerate(rows):
        print(f"\n{row[title]}" if i else row[title])
        for part in parts:
            lead = f"  {part}".ljust(margin)
            print(
                textwrap.fill(
                    str(row[part]) or "-", max(_width(), 40), initial_indent=lead, subsequent_indent=" " * margin
                )
            )


def _print_phases(file: str, found: "Phases", names: Sequence[str]) -> None:
    print(f"{file}: {found.arms} arms, {found.horizon:,} round{'s' * (found.horizon > 1)}")
    if list(names) != [str(arm) for arm in range(len(names))]:  # the picture has the numbers
        listed = ", ".join(f"{arm} {name}" for arm, name in enumerate(names))
        print(textwrap.fill(listed, _width(), initial_indent="arms: ", subsequent_indent="      "))
    print()
    rows = []
    for i, start in enumerate(found.starts[:SHOWN_PHASES]):
        length = int(found.lengths[i])
        safe = int(found.safe_arm[i])
        rows.append(
            (
                f"{i}",
                f"{start:,}",
                f"{start + length - 1:,}",
                f"{length:,}",
                names[safe],
                _before(found.unsafe_at[i], safe, names),
            )
        )
    _print_table(("phase", "from", "to round", "rounds", "last safe arm", "unsafe before"), rows, ">>>><<")
    more = len(found.starts) - len(rows)
    if more > 0:
        print(f"... and {more:,} more phases (--json has them all)")
    counts = (
        ("significant shifts", "L~", f"{found.significant:,}"),
        ("best-arm switches", "S", f"{found.switches:,}"),
        ("changes of means", "L", f"{found.changes:,}"),
        ("total variation", "V", f"{found.variation:,.6g}"),
    )
    print()
    _print_table(("what changes", "", "count"), counts, "<<>")
    print()
    _print_table(("rate of regret", "up to constants and logarithms", ""), _rates(found), "<<>")


def _print_regret(found: "Results") -> None:
    rows = found.summary().to_dict("records")
    named = {row["policy"]: row["policy"] + "*" * (not row["tuning_free"]) for row in rows}
    seeds = f"seed{'s' * (len(found.seeds) > 1)} {found.seeds[0]:,}"
    seeds += f" to {found.seeds[-1]:,}" if len(found.seeds) > 1 else ""
    environments = f"{len(found.environments)} environment{'s' * (len(found.environments) > 1)}"
    print(f"T = {found.horizon:,}: {environments}, {seeds} ({found.purpose})\n")
    head = ["policy", "over best", "90 % interval", "worst", "on", "q95", "restarts", "ns per round"]
    lines = [
        [
            named[row["policy"]],
            f"{row['over_best']:.3f}",
            f"{row['over_best_low']:.3f} to {row['over_best_high']:.3f}",
            f"{row['worst']:.2f}",
            row["worst_on"],
            f"{row['q95']:.2f}",
            f"{row['restarts']:,.1f}",
            f"{row['ns_per_round']:,.1f}",
        ]
        for row in rows
    ]
    _print_parts(head, lines, "<>>><>>>")
    if found.reference is not None:
        head = ["policy", f"over {found.reference}", "90 % interval", "worst", "on"]
        lines = [
            [
                named[row["policy"]],
                f"{row['over_reference']:.3f}",
                f"{row['over_reference_low']:.3f} to {row['over_reference_high']:.3f}",
                f"{row['reference_worst']:.2f}",
                row["reference_worst_on"],
            ]
            for row in rows
        ]
        print()
        _print_parts(head, lines, "<>>><")
    print("\nregret over the best tuning-free policy's:\n")
    ratios = dict(zip(found.policies, found.over_best(), strict=True))
    lines = [
        [name.removeprefix("suite-"), f"{regret:,.0f}", best, *(f"{ratios[policy][i]:.2f}" for policy in named)]
        for i, (name, (best, regret)) in enumerate(zip(found.environments, found.best(), strict=True))
    ]
    _print_parts(["environment", "regret", "of the best", *named.values()], lines, "<><" + ">" * len(named))
    print()
    for row in rows:
        if not row["tuning_free"]:
            told = f"* {row['policy']} is told more than the horizon: {row['told']}"
            print(textwrap.fill(told, _width(), subsequent_indent="  "))
    print()


def _print_parts(head: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> None:
    """A table; what is too wide for the terminal goes below, with the first column again."""
    lines = [head, *rows]
    widths = [2 + max(len(line[i]) for line in lines) for i in range(len(head))]
    first = 1
    while first < len(head):
        last = first + 1
        while last < len(head) and widths[0] - 2 + sum(widths[first : last + 1]) <= _width():
            last += 1
        if first > 1:
            print()
        part = [[line[0], *line[first:last]] for line in lines]
        _print_table(part[0], part[1:], sides[0] + sides[first:last])
        first = last


def _rates(found: "Phases") -> list[tuple[str, str, str]]:
    rates = found.rates()
    forms = {
        "phases": "sum over phases of sqrt(K length)",
        "significant": "sqrt((L~ + 1) K T)",
        "switches": "sqrt((S + 1) K T)",
        "changes": "sqrt((L + 1) K T)",
        "variation": "sqrt(K T) + (K V)^(1/3) T^(2/3)",
    }
    return [(f"by {name}", form, f"{rates[name]:,.1f}") for name, form in forms.items()]


def _before(unsafe_at: Any, safe: int, names: Sequence[str]) -> str:
    """The other arms in the order in which they became unsafe, each with the round."""
    order = sorted((int(t), arm) for arm, t in enumerate(unsafe_at) if t >= 0 and arm != safe)
    return ", ".join(f"{names[arm]} at {t:,}" for t, arm in order) or "none"


# Reading a table of means from a file.


def _named_in_errors(file: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
