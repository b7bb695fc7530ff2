"""Steps that wait for a moment."""

import datetime
import json

from harness import scenario, step


def wait_step(name, after=(), **wait):
    return {"step": name, "after": list(after), "wait": wait}


def at(seconds):
    """RFC 3339, so many seconds from now."""
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def arrivals(s):
    """For each order with a wait that has ended by itself: seconds from its beginning to its end, by the database's clock."""
    return s.rows("""
        SELECT o.order_id, extract(epoch FROM a.at - o.at) AS lasted, count(*) OVER (PARTITION BY o.order_id) AS times
        FROM order_event o
        JOIN order_event a ON a.order_id = o.order_id
        WHERE EXISTS (SELECT FROM json_array_elements(o.transitions) t WHERE t->>'reason' = 'sleeping')
            AND EXISTS (SELECT FROM json_array_elements(a.transitions) t
                        WHERE t->>'from' = 'waiting' AND t->>'to' = 'done' AND t->>'step' = 'hold')""")


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_wait_lasts_its_time_although_everything_is_killed(s):
    """Would catch: a wait that a crash shortens, forgets or ends twice."""
    s.load_workflow("rest", [step("reserve", "inventory"), wait_step("hold", after=["reserve"], **{"for": "6s"}),
                             step("charge", "payment", after=["hold"])])
    orders = [s.client.submit("rest", {}) for _ in range(40)]
    s.wait(lambda: len(s.rows("SELECT FROM order_step WHERE step = 'hold' AND reason = 'sleeping'")) == len(orders), "all wait")
    for process in s.cluster.schedulers + s.cluster.supervisors:
        process.kill()
        process.start()
        s.ends_badly.add(process.name)
    for order in orders:
        s.client.wait_status(order, "processed")
        s.assert_effects(order, {("charge", "payment"): "done"})
    seen = arrivals(s)
    assert len(seen) == len(orders) and all(row["times"] == 1 and row["lasted"] >= 5.999 for row in seen), seen


@scenario()
def a_wait_until_a_moment_ends_then_and_not_before(s):
    """Would catch: a moment that is read wrongly, or one in the past that is never reached."""
    s.load_workflow("until", [wait_step("hold", until="payload.at"), step("charge", "payment", after=["hold"])])
    past, soon = s.client.submit("until", {"at": at(-3600)}), s.client.submit("until", {"at": at(4)})
    wrong, far = s.client.submit("until", {"at": "tomorrow"}), s.client.submit("until", {"at": at(400 * 86400)})
    s.client.wait_status(past, "processed")
    s.wait_step(soon, "hold", "waiting")
    assert s.step_state(soon, "charge") is None or s.step_state(soon, "charge") == "pending"
    s.client.wait_status(soon, "processed")
    assert s.rows("""SELECT a.at >= (o.payload::json->>'at')::timestamptz AS is_late FROM orders o JOIN order_event a USING (order_id)
                     WHERE order_id = %s AND a.step = 'hold' AND a.cause_kind = 'due'""", soon.order_id) == [{"is_late": True}]
    for order, why in ((wrong, '"tomorrow" is no time'), (far, "is more than 365 days away")):
        status = s.client.wait_status(order, "compensated")
        assert why in status["reason"], status
        assert s.effect(order, "charge", "payment")["effects"] == 0


@scenario()
def an_open_wait_is_left_by_a_cancelled_order_and_kept_by_a_resumed_one(s):
    """Would catch: a timer that begins anew with each resume, or one that holds up the undo."""
    s.load_workflow("beside", [wait_step("hold", **{"for": "1h"}), step("charge", "payment", after=[])], on_failure="error",
                    complete_within="2h")
    order, other = (s.client.submit("beside", {"behaviour": "decline"}) for _ in range(2))
    s.wait_state(order, "error")
    before = s.step(order, "hold")
    assert before["state"] == "waiting" and before["reason"] == "sleeping" and before["attempt"] == 1, before
    s.cluster.tool("order", "resume", order.order_id, "--set", '/behaviour="normal"', "--reason", "another card")
    s.wait_step(order, "charge", "done")
    assert s.step(order, "hold")["due_at"] == before["due_at"], (before, s.step(order, "hold"))
    told = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "hold" in told and "waits for a moment" in told, told
    refused = s.cluster.tool("order", "settle", order.order_id, "--step", "hold", "--outcome", "absent", "--reason", "why", check=False)
    assert refused.returncode != 0 and "a wait has nothing to be absent" in refused.stderr, refused
    s.cluster.tool("order", "settle", order.order_id, "--step", "hold", "--outcome", "done", "--reason", "it may go")
    s.client.wait_status(order, "processed")
    s.wait_state(other, "error")
    s.cluster.tool("order", "compensate", other.order_id, "--reason", "not wanted")
    s.client.wait_status(other, "compensated")
    assert s.step_state(other, "hold") == "pending", s.step(other, "hold")
    s.cluster.tool("order", "restart", other.order_id, "--reason", "once more")
    s.wait_step(other, "hold", "waiting")
    assert s.step(other, "hold")["attempt"] == 2, s.step(other, "hold")
    s.cluster.tool("order", "skip", other.order_id, "--step", "hold", "--reason", "no need to wait")
    s.wait_step(other, "hold", "skipped")
    s.cluster.tool("order", "compensate", other.order_id, "--reason", "the end", check=False)


@scenario()
def a_step_that_waits_is_listed_and_drawn_as_such(s):
    """Would catch: a wait that is taken for a call without a service."""
    s.load_workflow("seen", [wait_step("hold", **{"for": "1h"}), step("charge", "payment", after=["hold"])], complete_within="2h")
    order = s.client.submit("seen", {})
    s.wait_step(order, "hold", "waiting")
    shown = json.loads(s.cluster.tool("order", "show", order.order_id, "-o", "json").stdout)
    hold = next(row for row in shown["steps"] if row["step"] == "hold")
    assert hold["reason"] == "sleeping" and hold["due_at"] is not None, hold
    assert "waits for 1h" in s.cluster.tool("workflow", "describe", "seen").stdout
    assert "waits" in s.cluster.tool("workflow", "draw", s.scratch / "workflow-seen.json", "--as", "svg").stdout
    services = s.cluster.tool("service", "list").stdout
    assert all(line.split() for line in services.splitlines()), services
    s.cluster.tool("order", "cancel", order.order_id, "--reason", "seen")
    s.client.wait_status(order, "cancelled")
