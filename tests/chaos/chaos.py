#!/usr/bin/python3
"""chaos.py: faults by seed against the whole system, then the verdict. tests/chaos/run builds and starts it."""

import argparse
import collections
import contextlib
import ctypes
import json
import os
import pathlib
import random
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy"), str(HERE.parent / "e2e")]

import stage as stages  # noqa: E402  # before the others: it sets the path to them
from local import cluster, processes  # noqa: E402

import check  # noqa: E402
import faults_broker  # noqa: E402,F401
import faults_client  # noqa: E402,F401
import faults_database  # noqa: E402,F401
import faults_net  # noqa: E402,F401
import faults_process  # noqa: E402,F401
import faults_whole  # noqa: E402,F401
import mend  # noqa: E402
import rows  # noqa: E402
from by_hand import Operator  # noqa: E402
from load import Load  # noqa: E402
from nemesis import BOUND_S, FAULTS, Nemesis  # noqa: E402
from sender import Sender  # noqa: E402

WARM_UP_S = 5.0
BOUND_AFTER_HEAL_S = 180.0  # attempts of 30 s, some of them one after the other, the sweep, a breaker's rest
ALERTS_S = 90.0             # until alerts are closed whose cause is gone
REPOST_S = 20.0             # then the client posts again the orders without an end status
SHORT = ["scheduler: kill -9 between commit and answer", "agent: kill -9 between confirm and ack", "leading supervisor: kill -9",
         "after COMMIT was forwarded", "kill -9 of one backend", "all connections closed", "acks of agents lost",
         "something else under a known id", "replies forged", "an exchange of signals", "gateway: kill -9"]
PRINTED = ("fault", "recovered", "death", "failed", "mending", "calm", "not calm", "noticed")
ENDED_BY_PARENT = (1, 15)   # PR_SET_PDEATHSIG, SIGTERM
OWN_NETWORK = "MAKEGOOD_CHAOS_NETWORK"


class History:
    """All events in the order of their detection: a line of JSON each."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "w", encoding="utf-8", buffering=1)  # pylint: disable=consider-using-with
        self.began = time.monotonic()

    def note(self, what, **fields):
        self.file.write(json.dumps({"at": round(time.monotonic() - self.began, 3), "what": what, **fields}) + "\n")
        if what in PRINTED:
            print(f"{time.monotonic() - self.began:8.1f} s  {what}  "
                  + "  ".join(f"{value}" for name, value in fields.items() if name != "trace"), file=sys.stderr, flush=True)


def parse(words):
    parser = argparse.ArgumentParser(prog="tests/chaos/run", description="Breaks things by seed and checks that nothing was lost.")
    parser.add_argument("--seed", type=int, metavar="N", help="the order of the faults and of the orders (drawn, and printed)")
    parser.add_argument("--minutes", type=float, default=10.0, metavar="M", help="how long faults are injected (10)")
    parser.add_argument("--rate", type=float, default=25.0, metavar="N", help="orders a second (25)")
    parser.add_argument("--cluster", action="store_true", help="a broker of three nodes")
    parser.add_argument("--row", type=int, action="append", metavar="N", help="only the faults of this row of the catalogue")
    parser.add_argument("--fault", action="append", metavar="WORDS", help="only faults whose names hold these words")
    parser.add_argument("--times", type=int, default=2, metavar="N", help="with --row or --fault: how often each (2)")
    parser.add_argument("--short", action="store_true", help="a minute of a few faults in a fixed order: for tests/run")
    parser.add_argument("--list", action="store_true", help="every row of the catalogue, and what covers it")
    parser.add_argument("--break", dest="sabotage", action="append", default=[], choices=("row", "ledger", "status"),
                        help="falsify the evidence at the end: the verdict must be red")
    parser.add_argument("--keep", action="store_true", help="keep the logs also of a run that found nothing")
    options = parser.parse_args(words)
    if options.short:
        options.seed, options.rate, options.times, options.fault = 1, 10.0, 1, SHORT
    return options


def enter_own_network(words):
    """As root: runs the program again in network and mount namespaces of its own, where cut wires affect only this run."""
    if os.geteuid() != 0 or OWN_NETWORK in os.environ or shutil.which("unshare") is None or shutil.which("iptables") is None:
        return OWN_NETWORK in os.environ
    begin = ["unshare", "--net", "--mount", "--"]
    test = subprocess.run(begin + ["sh", "-c", "ip link set lo up && iptables -w -L"], capture_output=True, check=False)
    if test.returncode != 0:
        return False
    os.environ[OWN_NETWORK] = "1"
    os.execvp("unshare", begin + ["sh", "-c", 'ip link set lo up && exec "$@"', "chaos", sys.executable, __file__] + words)
    return True


def settle(stage, load):
    """All faults are healed; all orders must end within the bound. The client posts once more the orders without an end status."""
    load.pause()
    stage.tell_schedules("pause")
    began = time.monotonic()
    asked_at = 0.0

    def has_ended():
        nonlocal asked_at
        if not load.unposted and not load.open and not load.sender.unanswered() and not stage.open_slots():
            return True
        if time.monotonic() - max(began, asked_at) > REPOST_S:
            asked_at = time.monotonic()
            load.post_again(load.open_orders())
        return False

    stage.wait(has_ended, BOUND_AFTER_HEAL_S)
    stage.wait(lambda: all(process.is_running() and process.is_ready() for process in stage.cluster.all), 60)
    stage.wait(lambda: not stage.rows("SELECT 1 FROM order_event WHERE owed LIMIT 1"), 60)
    took_s = time.monotonic() - began
    stage.wait(lambda: not check.unexpected_alerts(stage), ALERTS_S)
    return took_s


def falsify(stage, what):
    """Plants evidence of an error, to show that the check finds it."""
    if what == "row":
        changed = len(stage.rows("DELETE FROM order_process WHERE order_id = (SELECT order_id FROM order_process LIMIT 1) RETURNING 1"))
    elif what == "ledger":
        with contextlib.closing(sqlite3.connect(stage.cluster.remotes["payment"].ledger, timeout=10)) as ledger:
            changed = ledger.execute("UPDATE entry SET executions = 2 WHERE id = "
                                     "(SELECT min(id) FROM entry WHERE executions = 1)").rowcount
            ledger.commit()
    else:
        changed = len(stage.rows("UPDATE order_process SET process_state = 'processed' WHERE order_id = "
                                 "(SELECT order_id FROM order_process WHERE process_state = 'compensated' LIMIT 1) RETURNING 1"))
    if changed != 1:
        raise processes.Failure(f"--break {what}: nothing in this run can be falsified so; take a longer one")


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def print_table(nemesis):
    """Prints recovery by fault and by kind of measure. Only faults that came alone count: of two at once the cause of a silence is
    unclear. Returns those that were late."""
    done = [each for each in nemesis.injections if each.recovery_s is not None]
    names = sorted({each.fault.name for each in done}, key=lambda name: (list(BOUND_S).index(FAULTS[name].measure), name))
    width = max((len(name) for name in names), default=10)
    print(f"\n{'fault':<{width}}  times  alone  recovery p50     p99     max  bound  rows")
    late = []

    def line(name, injections, bound, of_rows):
        waits = [each.recovery_s for each in injections if each.is_alone]
        figures = (f"{statistics.median(waits):>12.2f}  {quantile(waits, 0.99):>6.2f}  {max(waits):>6.2f}" if waits
                   else f"{'-':>12}  {'-':>6}  {'-':>6}")
        is_late = bound is not None and waits and quantile(waits, 0.99) > bound
        print(f"{name:<{width}}  {len(injections):>5}  {len(waits):>5}  {figures}  {f'{bound:g}' if bound else '-':>5}  "
              f"{of_rows}{'  <-- late' if is_late else ''}")
        return is_late

    for name in names:
        each = FAULTS[name]
        line(name, [one for one in done if one.fault is each], BOUND_S[each.measure], " ".join(str(row) for row in each.rows))
    for measure, bound in BOUND_S.items():
        injections = [each for each in done if each.fault.measure == measure]
        if injections and line(f"ALL: {measure}", injections, bound, ""):
            late.append(f"ALL: {measure}")
    return late


def chosen_faults(options):
    """The names of the requested faults (None: all), and the requests that match no fault."""
    asked = {f"row {row}": {each.name for each in FAULTS.values() if row in each.rows} for row in options.row or ()}
    asked |= {words: {name for name in FAULTS if words in name} for words in options.fault or ()}
    return set().union(*asked.values()) or None, [what for what, names in asked.items() if not names]


def run_faults(nemesis, options):
    """Returns the error that ended the injections early, if any; the faults up to then are judged all the same."""
    try:
        if options.row or options.fault:
            for each in nemesis.faults * options.times:
                nemesis.inject([each])
                nemesis.stage.wait_s(1.0)
        else:
            nemesis.run(time.monotonic() + options.minutes * 60)
    except Exception as error:  # pylint: disable=broad-except  # its tools fail each in its own way
        nemesis.history.note("failed", name="the nemesis", text=str(error), trace=traceback.format_exc())
        return [f"the nemesis broke off: {error}"]
    return []


def run(options):
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    names, unknown = chosen_faults(options)
    if unknown:
        print(f"chaos: no fault does that: {', '.join(unknown)}; see --list")
        return 2
    processes.end_on_signals()
    ctypes.CDLL(None).prctl(*ENDED_BY_PARENT)
    build = cluster.build_folder()
    has_own_network = OWN_NETWORK in os.environ
    history_path = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"makegood-chaos-{seed}-{os.getpid()}.jsonl"
    history = History(history_path)
    stage, wrong = None, ["the run did not come to its end"]
    print(f"seed {seed}; {'a network of its own: silence by iptables' if has_own_network else 'silence by the proxy'}")
    try:
        stage = stages.Stage(build, options.cluster, has_own_network, history)
        stage.start()
        sender = Sender(lambda: stage.proxy.ports["client.broker"], lambda: [each.http_port for each in stage.cluster.gateways],
                        stage.has_called, seed, history)
        load = stage.load = Load(lambda: stage.proxy.ports["client.broker"], seed, options.rate, history, sender)
        nemesis = Nemesis(stage, load, seed, history, mend.mend, names)
        if names is not None and not nemesis.faults:
            print(f"chaos: skipped: {', '.join(nemesis.skipped)}: this machine or run has not what that needs")
            return 0
        operator = Operator(stage, history)
        load.start()
        sender.start()
        operator.start()
        stage.wait_s(WARM_UP_S)
        findings = check.Findings()
        findings.texts += run_faults(nemesis, options)
        late = print_table(nemesis)
        stage.wait_s(2.0)
        took_s = settle(stage, load)
        load.end()
        sender.end()
        operator.end()
        for what in options.sabotage:
            falsify(stage, what)
        findings.check(operator.failure is None, 2, f"the operator gave up: {operator.failure}")
        check.check_all(findings, stage, load, nemesis.injections)
        check.check_ends(findings, stage)
        wrong = findings.texts + ([] if options.short else late)
        tell(options, load, nemesis, findings, late, took_s, seed)
        print(f"steps in doubt that the operator settled: {operator.settled}")
    finally:
        if stage is not None:
            keep = bool(wrong) or options.keep
            if keep:
                print(f"history: {history_path}\nlogs: {stage.scratch}")
            else:
                history_path.unlink()
            stage.end(keep)
    return 1 if wrong else 0


def tell(options, load, nemesis, findings, late, took_s, seed):
    orders = load.snapshot()
    ended = collections.Counter(order.ended for order in orders)
    words = ", ".join(f"{count} {word}" for word, count in sorted(ended.items(), key=str))
    print(f"\norders: {len(orders)} posted in {load.posts} posts, {words}; the last ended {took_s:.1f} s after the last fault was healed")
    tell_signals(load.sender)
    print("the client's connections broke: " + (", ".join(f"{name} {count}" for name, count in load.errors.items()) or "never"))
    print(f"orders lost: {findings.lost}; effects repeated: {findings.repeated}; {findings.checked} checks")
    if nemesis.skipped:
        print("not possible here: " + ", ".join(nemesis.skipped))
    injected = {each.fault for each in nemesis.injections if each.recovery_s is not None}
    missing = [each.name for each in nemesis.faults if each not in injected]
    if missing:
        print("not come to in this time: " + ", ".join(missing))
    for each in nemesis.injections:
        if each.failure is not None:
            print(f"not injected or not healed as it should be: {each.fault.name}: {each.failure}")
    if options.row is None and options.fault is None:
        rows.tell_others(nemesis.faults)
    for name in late:
        print(f"later than its bound: {name}")
    for text in findings.texts[:30]:
        print(f"wrong: {text}")
    if len(findings.texts) > 30:
        print(f"wrong: and {len(findings.texts) - 30} more")
    of_seed = () if options.seed is not None else ("--seed", str(seed))
    again = shlex.join(["tests/chaos/run", *sys.argv[1:], *of_seed])
    if findings.texts:
        print(f"{len(findings.texts)} things are wrong; again by: {again}")
    else:
        print("all is as it should be" if not late else f"nothing is wrong but that some came back too late; again by: {again}")


def tell_signals(sender):
    words = collections.Counter(word for sent in sender.all for word in sent.words)
    print(f"signals: {len(sender.all)} in {sum(sent.tries for sent in sender.all)} posts, answers: "
          + (", ".join(f"{count} {word}" for word, count in sorted(words.items())) or "none"))


def main(words):
    options = parse(words)
    if options.list:
        return rows.show(FAULTS)
    enter_own_network(words)
    return run(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
