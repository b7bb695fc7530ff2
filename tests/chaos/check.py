"""The invariants after everything has been healed, by the database, the remotes' ledgers, and the statuses that the client
received.

Numbers are those of the invariants of the test plan. The design differs from it in three. 15: no effect is owed for longer than its
bound. 6: a reply counts as long as the row waits for its attempt and kind. 18: statuses have no gaps but may repeat.
"""

import collections
import itertools
import os
import re

import check_waits
from harness import SANITIZER
from local import processes
from nemesis import GIVE_UP_S

ENDS = ("processed", "compensated", "cancelled", "error")
RSS_KIB_MAX = 400 * 1024    # of one process without sanitizers: it is some 30 MiB at rest
DESCRIPTORS_MAX = 400         # of one process: some 60 at rest, a connection for each call under way
PEEK = 5000                   # messages of one queue that are looked at


class Findings:
    def __init__(self):
        self.texts, self.checked = [], 0
        self.lost = self.repeated = 0

    def check(self, is_right, number, text):
        self.checked += 1
        if not is_right:
            self.texts.append(f"I{number}: {text}")


def check_all(findings, stage, load, injections):
    orders = {order.order_id: order for order in load.snapshot()}
    rows = {row["order_id"]: row for row in stage.rows("SELECT * FROM order_process")}
    steps = collections.defaultdict(list)
    for row in stage.rows("SELECT order_id, step, service, state, generation, attempt FROM order_step WHERE service <> '' ORDER BY order_id, position"):
        steps[row["order_id"]].append(row)
    ledgers = {service: remote.entries() for service, remote in stage.cluster.remotes.items()}
    check_orders(findings, stage, orders, rows)
    told_of, stories = set(), collections.defaultdict(list)
    for order_id, events in events_by_order(stage):
        told_of.add(order_id)
        if order_id not in rows:
            findings.check(False, 3, f"{order_id} has {len(events)} events and is not there")
            continue
        check_story(findings, rows[order_id], events)
        check_statuses(findings, orders.get(order_id), rows[order_id], events)
        check_waits.stories_of(stories, order_id, events)
        if order_id in orders:
            check_waits.check_wait(findings, orders[order_id], rows[order_id], events)
        check_effects(findings, rows[order_id], steps[order_id], ledgers, sum(event["cause_kind"] == "settle" for event in events))
    untold = sorted(set(rows) - told_of)
    findings.check(not untold, 7, f"{len(untold)} orders without an event: {untold[:5]}")
    check_ledgers(findings, stage, steps, ledgers)
    check_waits.check_stage(findings, stage, load, orders, rows, steps, ledgers, stories,
                            any("an hour ahead" in injection.fault.name for injection in injections))
    check_database(findings, stage)
    check_queues(findings, stage)
    check_processes(findings, stage)
    if load.strangers:
        findings.check(False, 18, f"the client was told of orders that it never posted: {load.strangers[:3]}")
    for injection in injections:
        findings.check(not injection.has_given_up, 2,
                       f"after {injection.fault.name!r} an order did not move for {GIVE_UP_S:g} s")


def events_by_order(stage):
    """(order id, its events in their order), one order at a time: an hour has a million events."""
    columns = "order_id, version, cause_kind, cause, step, attempt, transitions, statuses"
    events = stage.stream(f"SELECT {columns} FROM order_event ORDER BY order_id, version")
    for order_id, of_order in itertools.groupby(events, key=lambda event: event["order_id"]):
        yield order_id, list(of_order)


def check_orders(findings, stage, orders, rows):
    """Every accepted order is stored, every stored order was posted, and every order has ended as expected."""
    revisions = {row["order_id"]: row for row in stage.rows("SELECT order_id, revision, payload FROM orders")}
    for order_id, order in orders.items():
        row = rows.get(order_id)
        was_accepted = any(status != "rejected" for status, _ in order.statuses.values())
        if row is None:
            if was_accepted or order.confirmed_at is not None:
                findings.lost += 1
                findings.check(False, 3, f"{order_id} was {'accepted' if was_accepted else 'confirmed'} and is not there")
            continue
        is_ended = row["process_state"] in ENDS
        findings.lost += not is_ended
        findings.check(is_ended, 2, f"{order_id} ({order.kind.name}) is still {row['process_state']}, {row['reason']}")
        findings.check(not is_ended or row["process_state"] in order.kind.meant, 23,
                       f"{order_id} ({order.kind.name}) ended as {row['process_state']}, meant was {' or '.join(order.kind.meant)}")
        findings.check(order.ended == row["process_state"], 18,
                       f"{order_id} is {row['process_state']}, its client was told {order.ended}")
        findings.check(not order.contradictions, 18, f"{order_id}: its client was told {order.contradictions[:2]} besides")
        payload = re.search(r'"payload": (\{.*\}), "notify"', order.body).group(1)
        findings.check(revisions[order_id]["payload"] == payload, 3, f"{order_id}: the payload is not the one posted")
    strangers = [order_id for order_id, row in rows.items() if order_id not in orders and row["workflow"] != "ticked"]
    findings.check(not strangers, 3, f"orders that nobody posted: {strangers[:5]}")
    for order_id, row in rows.items():
        if row["workflow"] == "ticked":
            findings.check(row["process_state"] == "processed", 2, f"{order_id} of a schedule is {row['process_state']}, {row['reason']}")
    findings.check(len(revisions) == len(rows), 3, f"{len(revisions)} orders, {len(rows)} processes")


def check_story(findings, row, events):
    """No gap, one end, attempts that rise, each answered at most once, and no step before its predecessors."""
    order_id = row["order_id"]
    versions = [event["version"] for event in events]
    findings.check(versions == list(range(1, row["version"] + 1)), 7,
                   f"{order_id}: versions {versions}, the row says {row['version']}")
    ends, attempts, answered, done = [], collections.defaultdict(int), collections.Counter(), set()
    for event in events:
        if event["cause_kind"] == "reply":
            answered[(event["step"], event["attempt"])] += 1
        for transition in event["transitions"] or []:
            step = transition.get("step")
            if step is None:
                if transition["to"] in ENDS and transition["from"] != transition["to"]:
                    ends.append(transition["to"])
                continue
            if transition["to"] in ("running", "undo_running", "unknown") and transition.get("attempt", 0) > attempts[step]:
                attempts[step] = transition["attempt"]
            findings.check(transition.get("attempt", attempts[step]) >= attempts[step], 7, f"{order_id} {step}: an attempt fell")
            if transition["to"] == "running" and step == "ship":
                findings.check("charge" in done, 8, f"{order_id}: ship began before charge was done")
            if transition["to"] == "done":
                done.add(step)
    findings.check(len(ends) == (row["process_state"] in ENDS), 1, f"{order_id} ended {len(ends)} times: {ends}")
    twice = {place: count for place, count in answered.items() if count > 1 and row["workflow"] not in ("patient", "called")}
    findings.check(not twice, 5, f"{order_id}: replies of one attempt counted twice: {twice}")


def check_statuses(findings, order, row, events):
    """Statuses are stored without a gap, and the client received the stored ones."""
    stored = {}
    for event in events:
        for status in event["statuses"] or []:
            stored[status["seq"]] = status["status"]
    findings.check(sorted(stored) == list(range(1, row["seq"] + 1)), 18,
                   f"{row['order_id']}: statuses {sorted(stored)}, the row says {row['seq']}")
    if order is not None:
        told = {seq: status for seq, (status, _) in order.statuses.items()}
        wrong = {seq: word for seq, word in told.items() if stored.get(seq) != word}
        findings.check(not wrong, 18, f"{row['order_id']}: its client was told {wrong}, stored is {stored}")


def check_effects(findings, row, steps, ledgers, settled):
    """Processed: each step once and for good. Compensated: nothing is left, and undone in reverse order. A step at most once is sent
    again only if it was settled as absent."""
    undone = []
    for step in steps:
        generation = f".{step['generation']}" if step["generation"] else ""
        key = f"{row['order_id']}.{step['step']}.do{generation}"
        entry = ledgers[step["service"]].get(key, {"state": "none", "effects": 0})
        if row["process_state"] == "processed" and step["state"] == "done":
            findings.check((entry["state"], entry["effects"]) == ("done", 1), 11, f"{key}: processed; the ledger says "
                           f"{entry['state']}, {entry['effects']} effects")
        if row["process_state"] in ("compensated", "cancelled"):
            findings.check(entry["state"] != "done", 11, f"{key}: compensated; the ledger says done")
        if (row["workflow"], step["step"]) == ("watched", "charge"):
            requests = entry.get("do_requests", 0)
            findings.check(requests <= 1 + settled, 4, f"{key}: at most once, {settled} times settled; the ledger says {requests} requests")
        findings.check(step["attempt"] > 0 or entry["effects"] == 0, 9, f"{key}: never dispatched; the ledger says {entry['state']}")
        if entry["state"] == "undone" and entry.get("undone_at_ms"):
            undone.append((step["step"], entry["undone_at_ms"]))
    order_of = {"reserve": 0, "charge": 0 if row["workflow"] == "fan" else 1, "ship": 2}
    for (earlier, at), (later, later_at) in zip(undone, undone[1:]):
        if order_of[earlier] < order_of[later]:
            findings.check(later_at <= at, 10, f"{row['order_id']}: {earlier} was undone before {later}")


def check_ledgers(findings, stage, steps, ledgers):
    known = set()
    for order_id, of_order in steps.items():
        for step in of_order:
            for generation in range(step["generation"] + 1):
                known.add(f"{order_id}.{step['step']}.do" + (f".{generation}" if generation else ""))
    for service, entries in ledgers.items():
        for key, entry in entries.items():
            if entry["effects"] > 1:
                findings.repeated += entry["effects"] - 1
            findings.check(entry["effects"] <= 1, 4, f"{service}: {key} had {entry['effects']} effects")
            findings.check(entry["conflicts"] == 0, 4, f"{service}: {key} came with other bytes")
            findings.check(key in known, 16, f"{service}: {key} belongs to no step")
    findings.check(bool(ledgers), 16, "there are no ledgers")
    findings.check(not stage.epoch_falls, 12, f"the leader's epoch fell or had two holders: {stage.epoch_falls[:3]}")


def check_database(findings, stage):
    owed = stage.rows("SELECT order_id, version FROM order_event WHERE owed")
    findings.check(not owed, 15, f"statuses are still owed: {owed[:5]}")
    asleep = stage.rows("SELECT order_id FROM order_process WHERE wake_at IS NOT NULL AND process_state IN %s", ENDS)
    findings.check(not asleep, 2, f"orders that ended are still looked after: {asleep[:5]}")
    maybe = stage.rows("SELECT order_id, step, state FROM order_step JOIN order_process USING (order_id) WHERE maybe AND state <> 'done' "
                       "AND process_state IN ('processed', 'compensated', 'cancelled')")
    findings.check(not maybe, 25, f"steps of ended orders that nobody knows about: {maybe[:5]}")
    errors = stage.rows("SELECT order_id FROM order_process p WHERE process_state = 'error' AND (SELECT count(*) FROM "
                        "operator_alert a WHERE a.order_id = p.order_id AND closed_at IS NULL) <> 1")
    findings.check(not errors, 19, f"orders in error without exactly one open alert: {errors[:5]}")
    wrong = unexpected_alerts(stage)
    findings.check(not wrong, 19, f"open alerts: {wrong[:5]}")


def unexpected_alerts(stage):
    """Those of a standstill or a missing queue close by themselves, half a minute after the cause."""
    return stage.rows("SELECT code, subject, text FROM operator_alert WHERE closed_at IS NULL AND code NOT IN "
                      "('dead_letter', 'mass_expiry', 'newer_version', 'slow_sweep', 'unpublishable', 'poisoned', 'order_passed_by')")


def check_queues(findings, stage):
    """Only messages that the nemesis sent to be refused are refused or set aside."""
    connection = stage.amqp()
    channel = connection.channel()
    for queue in ("orders.rejected", "dead.letters"):
        innocent = []
        for _ in range(PEEK):
            method, properties, body = channel.basic_get(queue, auto_ack=True)
            if method is None:
                break
            identity = properties.message_id or properties.correlation_id or ""
            if not identity.startswith("bad-") and b"bad-" not in body[:200]:
                innocent.append((identity, properties.headers, body[:100]))
        findings.check(not innocent, 20, f"{queue} holds {len(innocent)} messages that are not the nemesis's: {innocent[:3]}")
    for queue in ("orders.intake", "orders.signals", "scheduler.replies", "scheduler.commands"):
        depth = channel.queue_declare(queue, passive=True).method.message_count
        findings.check(depth == 0, 15, f"{queue} still holds {depth} messages")
    connection.close()


def check_processes(findings, stage):
    findings.check(not stage.deaths, 22, f"processes ended by themselves: {stage.deaths}")
    for process in stage.cluster.all:
        findings.check(process.is_running() and process.is_ready(), 2, f"{process.name} is not ready: {process.get('/readyz')}")
        if not process.is_running():
            continue
        if stage.clock_library is not None:
            rss = processes.status_field(process.pid, "VmRSS")
            findings.check(rss < RSS_KIB_MAX, 22, f"{process.name} holds {rss} KiB of memory")
        count = len(os.listdir(f"/proc/{process.pid}/fd"))
        findings.check(count < DESCRIPTORS_MAX, 22, f"{process.name} holds {count} file descriptors")
    findings.check(not stage.burnt, 2, f"attempts that were burnt by a clock that was set: {stage.burnt[:5]}")
    findings.check(not stage.unjudged, 2, f"deadlines that were not judged while sweeps were slow: {stage.unjudged[:5]}")
    for supervisor in stage.cluster.supervisors:
        findings.check("\nmakegood_invariant_violations_found_total 0\n" in supervisor.page(), 2,
                       f"{supervisor.name} found open orders that nothing would move, or does not say")
    for process in stage.cluster.all:
        with open(process.log_path, encoding="utf-8", errors="replace") as log:
            for line in log:
                findings.check(not SANITIZER.search(line) and "Assertion" not in line, 22, f"{process.name}: {line.strip()[:300]}")


def check_ends(findings, stage):
    """On SIGTERM every process ends with 0. One that LeakSanitizer holds up is not judged: see is_in_leak_check."""
    codes = stage.cluster.stop()
    held_up = {process.name for process in stage.cluster.all if process.was_in_leak_check}
    for name, code in codes.items():
        findings.check(code == 0 or name in held_up, 22, f"{name} ended with {code}")
