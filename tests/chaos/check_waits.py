"""The invariants of signals, waits, lines and slots, over plain rows: check.py reads them, test_check_waits.py makes wrong ones.

26: a signal has an answer, counts at most once, and only where its answer says. 27: a wait ends once, by a signal or by its time-out, and
a kept signal ends it. 28: orders of one key run one at a time, in the order of acceptance. 29: a slot is one order, and a slot without
one has a reason.
"""

import collections
import json

from kinds import CATCH_UP_S, CLIENT, SCHEDULES, WITHIN_S

WAITS = {"approve": "approve", "paid": "paid"}  # workflow → its step that waits for a signal
OVER = ("done", "failed", "skipped")
COUNTS = ("taken", "counted", "duplicate")      # answers after which the signal is in an order's story
LAPSES = ("due", "overdue")                     # causes by which a time-out is judged
EARLY_S = 0.5        # of a time-out, by the clocks of two machines
REST_S = 60          # after the last slot, until its schedule must have a newer one


# --- signals ---------------------------------------------------------------------------------------------------------------


def check_signals(findings, sent, stories, kept):
    """sent: all copies. stories: identity → the orders in whose stories it is, once for each event. kept: id → row of signal_by_key."""
    copies = collections.defaultdict(list)
    for one in sent:
        findings.check(one.is_answered, 26, f"signal {one.signal_id} ({one.way}) has no answer after {one.tries} posts")
        findings.check(one.is_invalid is None, 26, f"signal {one.signal_id} ({one.way}): {one.is_invalid}")
        copies[one.order_id, one.identity].append(one)
    for (order_id, identity), those in copies.items():
        is_callback = identity.startswith("callback.")
        places = [place for place in stories.get(identity, ()) if not is_callback or place == order_id]
        words = {word for one in those for word in one.words}
        findings.check(len(places) <= 1, 26, f"signal {identity} of {order_id} counts {len(places)} times: {places}")
        findings.check(set(places) <= {order_id}, 26, f"signal {identity} is meant for {order_id} and counts for {places}")
        if those[0].key is None:
            findings.check(not words & {*COUNTS, "kept"} or places, 26, f"signal {identity} of {order_id} was {words}, and no order has it")
        else:
            check_kept(findings, those[0], words, places, kept.get(those[0].signal_id))
        if words and words <= {"late", "refused"}:
            findings.check(not places, 26, f"signal {identity} of {order_id} was {words}, and counts")


def check_kept(findings, sent, words, places, row):
    """A signal with a key is kept in a row of its own until an order takes it."""
    findings.check(row is not None or not words - {"late", "refused"}, 26, f"signal {sent.signal_id} was {words}, and its row is not there")
    if row is not None and row["taken_by"]:
        findings.check(places == [row["taken_by"]], 26, f"signal {sent.signal_id} is taken by {row['taken_by']}, and counts for {places}")
    findings.check("taken" not in words or places, 26, f"signal {sent.signal_id} was taken, and no order has it")
    if row is not None and row["taken_by"] is None:
        findings.check(not places, 26, f"signal {sent.signal_id} counts for {places}, and its row is free")


# --- waits -----------------------------------------------------------------------------------------------------------------


def ends_of_wait(events, step):
    """(cause, state, reason) of each end of this step's wait. An order that turns back leaves its steps, which is none."""
    return [(event["cause_kind"], transition["to"], transition["reason"]) for event in events for transition in event["transitions"] or ()
            if transition.get("step") == step and transition["to"] in OVER and transition["from"] != transition["to"]]


def check_wait(findings, order, row, events):
    """order: the client's, with the times of its post and end."""
    step = WAITS.get(row["workflow"])
    if step is None:
        return
    order_id, ends = row["order_id"], ends_of_wait(events, step)
    findings.check(len(ends) == 1, 27, f"{order_id}: the wait of {step} ended {len(ends)} times: {ends}")
    has_signal = any(event["cause_kind"] == "signal" for event in events)
    if not ends:
        return
    cause, state, reason = ends[0]
    is_lapsed = reason == "timed_out"
    findings.check(is_lapsed == (cause in LAPSES), 27, f"{order_id}: the wait of {step} ended as {state}, {reason}, by {cause}")
    findings.check(is_lapsed != has_signal, 27, f"{order_id}: the wait of {step} ended as {reason}, and it has "
                   f"{'a' if has_signal else 'no'} signal")
    if row["workflow"] == "approve":
        findings.check((state == "done") == (row["process_state"] == "processed"), 27,
                       f"{order_id}: {step} is {state}, and the order is {row['process_state']}")
    if is_lapsed:
        took_s = order.ended_at - order.tried_at if order.ended_at is not None else WITHIN_S
        findings.check(took_s > WITHIN_S - EARLY_S, 27, f"{order_id}: a wait of {WITHIN_S} s timed out, and the order ended after {took_s:.1f} s")


def check_no_wait_is_left(findings, open_waits, places, keys):
    findings.check(not open_waits, 27, f"steps of ended orders that wait: {open_waits[:5]}")
    findings.check(not places and not keys, 28, f"places in lines of no order: {places[:5]} {keys[:5]}")


# --- lines -----------------------------------------------------------------------------------------------------------------

# An order of a line: the client's times of its first post and of its `accepted` (None: not heard), and the services' times of the first
# request and of the last effect.
Ran = collections.namedtuple("Ran", "order_id key posted_at accepted_at began_ms ended_ms")


def ran(order, key, entries):
    """None: no service was called."""
    entries = [entry for entry in entries if entry.get("first_seen_at_ms")]
    if not entries:
        return None
    accepted = order.heard[0] if 1 in order.statuses and order.heard else None
    ended_ms = max(entry.get(name) or 0 for entry in entries for name in ("first_seen_at_ms", "done_at_ms", "undone_at_ms"))
    return Ran(order.order_id, key, order.tried_at, accepted, min(entry["first_seen_at_ms"] for entry in entries), ended_ms)


def check_lines(findings, those):
    lines = collections.defaultdict(list)
    for one in those:
        lines[one.key].append(one)
    for key, line in lines.items():
        line.sort(key=lambda one: one.began_ms)
        for before, after in zip(line, line[1:]):
            findings.check(before.ended_ms <= after.began_ms, 28, f"line {key}: {after.order_id} began at {after.began_ms}, and "
                           f"{before.order_id} ended at {before.ended_ms}")
        latest = None  # of those that ran, the one that was posted last
        for one in line:
            findings.check(latest is None or one.accepted_at is None or one.accepted_at > latest.posted_at, 28,
                           f"line {key}: {one.order_id} was accepted before {latest and latest.order_id} was posted, and ran after it")
            if latest is None or one.posted_at > latest.posted_at:
                latest = one


# --- slots -----------------------------------------------------------------------------------------------------------------


def check_slots(findings, orders, runs, now_s, was_clock_ahead):
    """orders: (schedule, slot in seconds) of each order. runs: rows of schedule_run that made no order, with slot_s. now_s: when the
    schedules were paused."""
    for name, schedule in SCHEDULES.items():
        every_s = schedule["every_s"]
        slots = sorted(slot for of, slot in orders if of == name)
        findings.check(len(set(slots)) == len(slots), 29, f"{name}: slots with several orders: "
                       f"{[slot for slot, count in collections.Counter(slots).items() if count > 1][:5]}")
        excused = set()
        for run in runs:
            if run["name"] == name:
                excused.update(range(run["slot_s"], run["slot_s"] + run["slots"] * every_s, every_s))
                findings.check(run["what"] != "missed" or was_clock_ahead, 29,
                               f"{name}: {run['slots']} slots from {run['slot_s']} on are missed, and nothing lasted {CATCH_UP_S} s: {run['text']}")
                findings.check(run["what"] != "refused", 29, f"{name}: slot {run['slot_s']} is refused: {run['text']}")
                findings.check(run["what"] != "overlap" or schedule["overlap"] == "skip", 29, f"{name}: slot {run['slot_s']}: {run['text']}")
        findings.check(bool(slots), 29, f"{name} made no order")
        if slots:
            gone = set(range(slots[0], min(slots[-1], now_s) + 1, every_s)) - set(slots) - excused
            findings.check(not gone, 29, f"{name}: {len(gone)} slots have no order and no reason: {sorted(gone)[:5]}")
            newest = max(slots[-1], max(excused, default=0))
            findings.check(newest > now_s - every_s - REST_S, 29, f"{name}: the newest slot is {now_s - newest} s old")


# --- of a stage ------------------------------------------------------------------------------------------------------------


def stories_of(stories, order_id, events):
    """Adds the signals of one order's story. A callback after the undo is in the story, and does not count."""
    for event in events:
        if event["cause_kind"] == "signal" and not event["cause"].endswith("/late"):
            cause = event["cause"]
            stories[cause.split("/")[0] + "/" if cause.startswith("callback.") else cause].append(order_id)


def check_stage(findings, stage, load, orders, rows, steps, ledgers, stories, was_clock_ahead):
    kept = {row["signal_id"].removesuffix(f"/{CLIENT}"): row for row in stage.rows("SELECT signal_id, taken_by FROM signal_by_key")}
    check_signals(findings, load.sender.all, stories, kept)
    check_no_wait_is_left(
        findings, stage.rows("SELECT order_id, step FROM order_step JOIN order_process USING (order_id) WHERE state = 'waiting' "
                             "AND process_state IN ('processed', 'compensated', 'cancelled')"),
        stage.rows("SELECT order_id FROM sequence_place"), stage.rows("SELECT key FROM sequence_key"))
    of_lines = []
    for order_id, row in rows.items():
        if row["workflow"] == "line" and order_id in orders:
            order = orders[order_id]
            entries = [ledgers[step["service"]].get(f"{order_id}.{step['step']}.do", {}) for step in steps[order_id]]
            of_lines.append(ran(order, json.loads(order.body)["payload"]["line"], entries))
    check_lines(findings, [one for one in of_lines if one is not None])
    slots = [(row["schedule"], row["slot_s"]) for row in stage.rows(
        "SELECT (payload::json)->>'schedule' AS schedule, extract(epoch FROM ((payload::json)->>'slot')::timestamptz)::bigint AS slot_s "
        "FROM orders WHERE workflow = 'ticked' AND revision = 1")]
    runs = stage.rows("SELECT name, what, slots, text, extract(epoch FROM slot)::bigint AS slot_s FROM schedule_run WHERE what <> 'order'")
    paused_s = stage.rows("SELECT extract(epoch FROM min(changed_at))::bigint AS paused FROM schedule")[0]["paused"]
    check_slots(findings, slots, runs, paused_s, was_clock_ahead)
