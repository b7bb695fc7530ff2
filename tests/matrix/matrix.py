#!/usr/bin/python3
"""matrix.py: every boundary × every misbehaviour, against the real servers. tests/matrix/run builds and starts it."""

import argparse
import collections
import itertools
import sys
import time

import ask_rounds
from bench import Bench
import engine
import learn
import series
import table_definitions
import table_processes
import table_queues
import table_readers
import table_statements
from local import processes

# A fixed sample of some minutes, for tests/run --long: each kind of column of each table, none of them left over or unbuilt.
SAMPLE = ("a every statement × 54000", "a insert_orders × 08006 × one", "a update_orders × 08006 × one", "a update_steps × 08006 × one",
          "a beat × 42501 × all", "g report_orders × 42501 × all", "a order_process × row locked", "a order_step × unreadable value",
          "a order_step × done: P0001 names the row", "b broker × memory alarm",
          "b agent.payment.requests × deleted", "b orders.intake × policy expires", "b scheduler.replies × consumer cancelled",
          "c scheduler × frozen", "c agent-payment × SIGKILL", "c gateway × descriptors 0 1 2 closed")


def parse(words):
    parser = argparse.ArgumentParser(prog="tests/matrix/run", description="Tries every boundary × every misbehaviour.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="a table (a, b, c, f, g), a row, a column, or one or all orders; none: all cells")
    parser.add_argument("--sample", action="store_true", help="a fixed sample of some minutes: for tests/run --long")
    parser.add_argument("--alone", action="store_true", help="the cells of a series, each alone, which takes hours")
    parser.add_argument("--back", action="store_true", help="each order turns back: its last step is refused")
    parser.add_argument("--factor", type=float, default=1.0, metavar="N", help="of all bounds, for a machine with other work (1)")
    parser.add_argument("--minutes", type=float, metavar="M", help="ends after these; cells that are left over fail the run")
    parser.add_argument("--list", action="store_true", help="prints the cells of the tables without running them")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    return parser.parse_args(words)


def is_of(cell, pattern):
    """Whether a pattern of SAMPLE, `table row × column`, holds the cell; * is any column."""
    parts = [part.strip() for part in pattern[2:].split("×")]
    return (cell.table == pattern[0] and cell.row == parts[0] and parts[1] in ("*", cell.column)
            and (len(parts) < 3 or parts[2] == cell.whom))


def choose(cells, options):
    if options.sample:
        missing = [pattern for pattern in SAMPLE if not any(is_of(cell, pattern) and not cell.reason for cell in cells)]
        if missing:
            raise processes.Failure(f"SAMPLE names cells that are not built: {missing}")
        cells = [cell for cell in cells if any(is_of(cell, pattern) for pattern in SAMPLE)]
    for kind in (lambda cell: cell.table, lambda cell: cell.row, lambda cell: cell.column, lambda cell: cell.whom):
        asked = set(options.words) & {kind(cell) for cell in cells}
        if asked:
            cells = [cell for cell in cells if kind(cell) in asked]
    return cells


def rounds(cells):
    """Cells that share their time: those of a statement's questions, and those of a column, in rounds of ROUND; each other cell alone."""
    alone = [[cell] for cell in cells if not cell.rule or cell.reason]
    built = [cell for cell in cells if cell.rule and not cell.reason]
    by_row = sorted((cell for cell in built if cell.asks or cell.whom == "all"), key=lambda cell: (cell.table, cell.row, cell.whom))
    alone += [list(group) for _, group in itertools.groupby(by_row, key=lambda cell: (cell.table, cell.row, cell.whom))]
    shared = sorted((cell for cell in built if not cell.asks and cell.whom == "one"), key=lambda cell: cell.column)
    for _, group in itertools.groupby(shared, key=lambda cell: cell.column):
        group = list(group)
        alone += [group[at:at + table_statements.ROUND] for at in range(0, len(group), table_statements.ROUND)]
    return alone


def run_round(bench, cells):
    if cells[0].reason or not cells[0].rule:
        return [engine.run(bench, cells[0])]
    if cells[0].asks:
        return ask_rounds.run_asks(bench, cells)
    return series.run_series(bench, cells) if cells[0].whom == "all" else engine.run_round(bench, cells)


def try_each(bench, cells, options):
    """The verdicts, each with the seconds of its round. A cell that the time does not reach, and one of the sample that is not met, is red."""
    began = time.monotonic()
    for each in rounds(cells):
        at = time.monotonic()
        if options.minutes and at - began > options.minutes * 60:
            yield from ((engine.Verdict(cell, engine.RED, "left over by --minutes: not proved"), 0.0) for cell in each if not cell.reason)
            continue
        verdicts = run_round(bench, each)
        for verdict in verdicts:
            if options.sample and verdict.word == engine.UNBUILT:
                verdict = engine.Verdict(verdict.cell, engine.RED, verdict.text)
            yield verdict, time.monotonic() - at


def run(bench, cells, options):
    began, counts, reds, reasons = time.monotonic(), collections.Counter(), [], collections.Counter()
    for verdict, seconds in try_each(bench, cells, options):
        counts[verdict.word] += 1
        reds += [verdict] if verdict.word == engine.RED else []
        reasons[verdict.text] += verdict.word == engine.UNBUILT
        if verdict.word in (engine.OK, engine.RED):
            print(f"{verdict}  ({seconds:.0f} s)", flush=True)
    for reason, count in sorted(reasons.items()):
        if count:
            print(f"unbuilt: {count} cells: {reason}")
    for verdict in reds:
        print(verdict)
    print(f"{sum(counts.values())} cells: {counts[engine.OK]} ok, {counts[engine.RED]} red, {counts[engine.UNBUILT]} unbuilt, "
          f"in {(time.monotonic() - began) / 60:.1f} minutes")
    return 1 if reds or not counts[engine.OK] else 0


def main(words):
    options = parse(words)
    processes.end_on_signals()
    bench, code = Bench(options.factor, options.back), 1
    try:
        bench.start()
        learn.learn(bench)
        cells = choose(table_statements.cells(bench, options.alone) + table_queues.cells(bench) + table_processes.cells()
                       + table_definitions.cells(bench) + table_readers.cells(bench, table_statements.CODES), options)
        if not cells:
            print("matrix: no table, row or column has this name", file=sys.stderr)
            return 2
        if options.list:
            for cell in cells:
                print(engine.Verdict(cell, engine.UNBUILT if cell.reason else "cell", cell.reason))
            print(f"{len(cells)} cells, {sum(not cell.reason for cell in cells)} of them are run")
            code = 0
        else:
            code = run(bench, cells, options)
    except processes.Failure as failure:
        print(f"matrix: {failure}", file=sys.stderr)
    finally:
        bench.end(options.keep or code == 1)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
