"""`makegood workflow simulate` against the real thing: the same profile, the same shares of each end."""

import json
import random
import time
import uuid

from harness import scenario, step

REAL, SIMULATED = 2000, 10000
POINTS = 2  # of a share, in percent
# Shares of orders, and of calls of each order, as the simulation has them.
FAIL, REFUSE, LOSE, REFUSE_UNDO, WHEN = 0.40, 0.12, 0.35, 0.25, 0.40
WORK_MS = range(5000, 23001)  # of accepted work, which has 20 s: far above the delays of a busy machine
ORDERS_A_SECOND = 100  # the broker's queues stay short: the time in them is not simulated
ENDS = ("processed", "compensated", "error")
ONE_TRY = {"attempts": 1, "backoff": "20ms", "max_backoff": "100ms"}


def with_patience(_name, definition):
    """A service file whose breaker stays closed while four calls in ten fail."""
    return {**definition, "try_backoff": "10ms", "breaker": {"failure_ratio": 0.9}}


def shuffled(dice, count, shares):
    """Values, each as often as its share of `count` says: chance is only in their order, so 2,000 orders are enough."""
    values, sum_of_shares = [], 0.0
    for value, share in shares:
        sum_of_shares += share
        values += [value] * (round(sum_of_shares * count) - len(values))
    values += [shares[0][0]] * (count - len(values))
    dice.shuffle(values)
    return values


def in_a_row(share):
    """Words for the first N calls of a key, by the chance that N calls in a row go wrong."""
    return [(n, share ** n * (1 - share)) for n in range(8)]


def payloads(dice):
    """One for each order, with the behaviour of the services as words of deploy/sample/README.md."""
    fails, loses = shuffled(dice, REAL, in_a_row(FAIL)), shuffled(dice, REAL, in_a_row(LOSE))
    declines = shuffled(dice, REAL, [(False, 1 - REFUSE), (True, REFUSE)])
    keeps = shuffled(dice, REAL, [(False, 1 - REFUSE_UNDO), (True, REFUSE_UNDO)])
    gifts = shuffled(dice, REAL, [(False, 1 - WHEN), (True, WHEN)])
    works = shuffled(dice, REAL, [(ms, 1 / len(WORK_MS)) for ms in WORK_MS])
    for fail, lose, decline, keep, gift, work in zip(fails, loses, declines, keeps, gifts, works):
        inventory = ([f"unavailable:{fail}"] if fail else []) + (["undo-refuse"] if keep else [])
        yield {"gift": gift, "work": f"accept:{work}", "behaviour": {
            "inventory": ",".join(inventory) or "normal", "payment": "decline" if decline else "normal",
            "carrier": f"drop:{lose}" if lose else "normal"}}


def ends(s):
    rows = s.rows("SELECT process_state, count(*) AS n FROM order_process GROUP BY 1")
    return {row["process_state"]: row["n"] for row in rows if row["process_state"] in ENDS}


def simulated(s, name, settings):
    profile = s.scratch / "profile.json"
    profile.write_text(json.dumps({
        "workflow": name, "orders": SIMULATED, "rate": ORDERS_A_SECOND, "services": [f"service-{name}.json" for name in s.cluster.services],
        **settings}), encoding="utf-8")
    definition = s.scratch / f"workflow-{name}.json"
    return json.loads(s.cluster.tool("workflow", "simulate", definition, "--profile", profile, "-o", "json").stdout)


def honest_settings():
    return {"time": {name: "5ms" for name in ("inventory", "payment", "carrier")}, "fail": {"reserve.do": f"{FAIL:.0%}"},
            "refuse": {"charge": f"{REFUSE:.0%}", "reserve.undo": f"{REFUSE_UNDO:.0%}"}, "lose": {"book.do": f"{LOSE:.0%}"}, "when": {"wrap": f"{WHEN:.0%}"}, "finish": {"deliver": f"{WORK_MS[0]}ms..{WORK_MS[-1]}ms"}}


def compare(title, real, simulation):
    """Both in percent, by the same names."""
    print(f"{title}: real {real}, simulated {simulation}")
    far = {name: (real[name], simulation[name]) for name in real if abs(real[name] - simulation[name]) > POINTS}
    assert not far, f"{title}: more than {POINTS} points apart (real, simulated): {far}"


@scenario(long="2,000 orders take a minute or two", edit_service=with_patience)
def ends_of_simulated_orders_come_in_the_shares_of_real_ones(s):
    """Would catch: a simulation with another core, other agents or other laws than an order's. 10,000 simulated orders against 2,000
    real ones of the same profile: each end, and the state of each step, within two points."""
    s.load_workflow("honest", [
        step("reserve", "inventory", retry=ONE_TRY), step("charge", "payment", after=["reserve"], retry=ONE_TRY),
        step("wrap", "inventory", after=["charge"], when="payload.gift", retry=ONE_TRY,
             do={"method": "POST", "path": "/reservations", "body": {"wrap": True}}),
        step("book", "carrier", after=["wrap"], on_unknown="retry", retry={**ONE_TRY, "attempts": 2}),
        step("deliver", "carrier", after=["book"], verify=True, finish_within="20s", poll="2s", retry=ONE_TRY,
             do={"method": "POST", "path": "/bookings", "body": {"behaviour": "${/payload/work}"}})])
    orders = [s.client.submit("honest", payload) for payload in payloads(random.Random(1))]
    s.wait(lambda: sum(ends(s).values()) == len(orders), "all orders have ended", timeout_s=200)
    simulation = simulated(s, "honest", honest_settings())
    ended = ends(s)
    compare("ends", {end: 100 * ended.get(end, 0) / REAL for end in ENDS},
            {end: sum(found["percent"] for found in simulation["ends"] if found["end"] == end) for end in ENDS})
    steps = {(row["step"], row["state"]): row["n"] for row in s.rows("SELECT step, state, count(*) AS n FROM order_step GROUP BY 1, 2")}
    for word in ("skipped", "undone", "undo_failed"):
        compare(word, {name: 100 * steps.get((name, word), 0) / REAL for name in ("reserve", "charge", "wrap", "book", "deliver")},
                {found["step"]: 100 * found[word] / SIMULATED for found in simulation["steps"]})
    assert all(ended.get(end, 0) > REAL / 100 for end in ENDS), f"each end is there to be compared: {ended}"


# Orders with signals. One comes after 1 s to 81 s: before its step begins, during its wait of 40 s, or after it. The time until a
# step begins is a little longer than a simulated one; of 80 s it is little.
ASKED = 600
SENT, REJECT, BEGIN_S, WITHIN_S, SIGNAL_S = 0.85, 0.10, 16, 40, (1.0, 81.0)


def signals_plan(dice):
    """For each order: the time of its signal and what it says, or None."""
    width = SIGNAL_S[1] - SIGNAL_S[0]
    after = shuffled(dice, ASKED, [(SIGNAL_S[0] + width * (i + 0.5) / ASKED, 1 / ASKED) for i in range(ASKED)])
    comes = shuffled(dice, ASKED, [(True, SENT), (False, 1 - SENT)])
    ok = shuffled(dice, ASKED, [(True, 1 - REJECT), (False, REJECT)])
    return [(at, yes) if is_sent else None for at, is_sent, yes in zip(after, comes, ok)]


def ask(s, plan):
    """Submits the orders, and sends the signal of each at its time after the submission. Returns the outcomes of the signals."""
    due, name = [], "ask"
    for signal in plan:
        order = s.client.submit(name)
        if signal is not None:
            due.append((time.monotonic() + signal[0], order.order_id, signal[1]))
    for at, order_id, yes in sorted(due):
        while time.monotonic() < at:
            s.client.pump(max(0, min(at - time.monotonic(), 0.05)))
        signal_id = str(uuid.uuid4())
        s.client.publish(json.dumps({"v": 1, "command_id": signal_id, "command": "signal", "signal": "approved", "payload": {"ok": yes}, "by": "ann",
                                     "reason": "a test", "order_id": order_id}), "scheduler.commands", exchange="makegood.commands",
                         type="command", message_id=signal_id, reply_to=s.client.queue, correlation_id=signal_id)
    s.wait(lambda: (s.client.pump(), sum(ends(s).values()) == len(plan))[1], "all orders have ended", timeout_s=60)
    answers = [message["signal"] for message, _ in s.client.messages if "signal" in message]
    return {word: answers.count(word) for word in ("taken", "kept", "late")}


@scenario(long="600 orders wait for up to 81 s")
def signals_of_simulated_orders_end_their_waits_in_the_shares_of_real_ones(s):
    """Would catch: a simulated signal that is kept, taken or late where a real one is not. Each end, each end of a wait, and the signals
    that come early or late, within two points."""
    s.load_workflow("ask", [
        step("reserve", "inventory", retry=ONE_TRY), {"step": "cool_off", "after": ["reserve"], "wait": {"for": f"{BEGIN_S}s"}},
        {"step": "approve", "after": ["cool_off"], "wait": {"signal": "approved", "within": f"{WITHIN_S}s", "on_timeout": "fail",
                                                            "choices": {"Yes": {"ok": True}, "No": {"ok": False}}},
         "done_when": "result.ok", "refused_when": "!result.ok"},
        step("charge", "payment", after=["approve"], retry=ONE_TRY)], complete_within="1h")
    outcomes = ask(s, signals_plan(random.Random(1)))
    simulation = simulated(s, "ask", {"time": {"inventory": "5ms", "payment": "5ms"},
                                      "signal": {"approved": f"{SENT:.0%} at {SIGNAL_S[0]:.0f}s..{SIGNAL_S[1]:.0f}s"},
                                      "choice": {"approve": [f"{1 - REJECT:.0%} Yes", f"{REJECT:.0%} No"]}})
    ended, signal = ends(s), simulation["signals"][0]
    compare("ends", {end: 100 * ended.get(end, 0) / ASKED for end in ENDS},
            {end: sum(found["percent"] for found in simulation["ends"] if found["end"] == end) for end in ENDS})
    reasons = {row["reason"]: row["n"] for row in s.rows("SELECT reason, count(*) AS n FROM order_step WHERE step = 'approve' GROUP BY 1")}
    real = {"refused": reasons["signal_refused"], "timed_out": reasons["timed_out"], "early": outcomes["kept"], "late": outcomes["late"]}
    compare("signals", {word: 100 * count / ASKED for word, count in real.items()}, {word: 100 * signal[word] / SIMULATED for word in real})
    assert all(count > ASKED / 100 for count in real.values()), f"each is there to be compared: {real}"
