"""Many orders that failed for one cause are resumed together: a few first, slowly, each once, even if the runner dies meanwhile."""

import datetime
import json
import signal

from harness import scenario, step
from test_failpoints import PLACES
from test_isolation import held

ORDERS = 60
PAY = {"services": ("payment",)}
BURST_S = 1  # the burst that the rate limiter allows after a delay (MG_BULK_BURST_US)


def fail(s, count=ORDERS, workflow="pay"):
    """Submits `count` orders that the service declines; each then waits for a person."""
    if not s.rows("SELECT 1 FROM workflow WHERE name = %s", workflow):
        s.load_workflow(workflow, [step("charge", "payment")], on_failure="error")
    s.remote("payment").switch("decline")
    orders = [s.client.submit(workflow, {"n": n}) for n in range(count)]
    for order in orders:
        s.wait_state(order, "error")
    return orders


def start(s, *words, verb="resume", **options):
    done = s.cluster.tool("bulk", "start", verb, "--workflow", "pay", "--reason", "the till is mended", "-o", "json", *words, **options)
    return json.loads(done.stdout) if done.returncode == 0 else done


def bulk(s, bulk_id):
    return s.rows("SELECT * FROM bulk WHERE bulk_id = %s", bulk_id)[0]


def results(s, bulk_id):
    """The rows of all orders in their sequence."""
    return s.rows("SELECT * FROM bulk_order WHERE bulk_id = %s ORDER BY n", bulk_id)


def wait_ended(s, bulk_id, state):
    s.wait(lambda: bulk(s, bulk_id)["ended_at"] is not None, f"the bulk action {bulk_id} has ended")
    row = bulk(s, bulk_id)
    assert row["state"] == state, (row, results(s, bulk_id))
    return row


def resumes(s):
    """The orders that were resumed, with the number of resumes of each."""
    rows = s.rows("SELECT order_id, count(*) AS n FROM order_event WHERE cause_kind = 'resume' GROUP BY order_id")
    return {row["order_id"]: row["n"] for row in rows}


def assert_asked_once(s, orders):
    """By the ledger: one request under the declined key, one under the next; a second resume would have made a third."""
    entries = s.remote("payment").entries()
    for order in orders:
        asked = {key.removeprefix(order.order_id): entry["do_requests"] for key, entry in entries.items() if order.order_id in key}
        assert asked == {".charge.do": 1, ".charge.do.1": 1}, (order.order_id, asked)
    assert resumes(s) == {order.order_id: 1 for order in orders}


def assert_gentle(rows, rate):
    """In no ten consecutive spans of the list are there more orders than the rate allows: an upper bound, for a machine of any
    speed."""
    moments = sorted(row["asked_at"] for row in rows if row["asked_at"] is not None)
    for first, begin in enumerate(moments):
        for span_s in (1, 2, 5):
            end = begin + datetime.timedelta(seconds=span_s)
            within = sum(1 for moment in moments[first:] if moment <= end)
            assert within <= rate * (span_s + BURST_S) + 1, (begin, span_s, within)


@scenario(**PAY)
def sixty_failed_orders_go_again_canary_first_each_once(s):
    """Would catch: a second bulk action by a second click; orders resumed before the canary is over, or above the rate; a result
    that belongs to another order; an act without an author on record."""
    orders = fail(s)
    s.remote("payment").switch("order")
    choice = start(s, "--dry-run")
    assert (choice["orders"], choice["not_in_error"]) == (ORDERS, 0), choice
    rate, canary = 20, 4
    first = s.cluster.tool("bulk", "start", "resume", "--workflow", "pay", "--rate", rate, "--canary", canary, "--reason", "it is mended",
                           "--by", "ann", "-o", "json")
    assert "no process drives bulk actions" in first.stderr, first
    bulk_id = json.loads(first.stdout)["bulk_id"]
    again = start(s, "--rate", 1000)
    assert (again["bulk_id"], again["is_new"], again["orders"]) == (bulk_id, False, ORDERS), again
    runner = s.bulk_runner()
    ended = wait_ended(s, bulk_id, "done")
    assert (ended["done"], ended["failed"], ended["skipped"], ended["waiting"]) == (ORDERS, 0, 0, 0), ended
    for order in orders:
        s.wait_state(order, "processed")
    assert_asked_once(s, orders)
    rows = results(s, bulk_id)
    assert [row["result"] for row in rows] == ["done"] * ORDERS
    assert max(row["ended_at"] for row in rows[:canary]) <= min(row["asked_at"] for row in rows[canary:]), rows[:canary + 1]
    assert_gentle(rows, rate)
    story = next(row for row in s.events(orders[7]) if row["cause_kind"] == "resume")
    assert (story["by_whom"], story["reason"]) == ("ann", f"it is mended (bulk action {bulk_id})"), story
    noted = s.rows("SELECT verb, subject, by_whom, reason, detail FROM operator_action")
    assert [(row["verb"], row["subject"], row["by_whom"]) for row in noted] == [("bulk start", bulk_id, "ann")], noted
    assert noted[0]["detail"]["filter"] == {"workflow": "pay"} and noted[0]["detail"]["orders"] == ORDERS, noted
    shown = json.loads(s.cluster.tool("bulk", "show", bulk_id, "--limit", "100", "-o", "json").stdout)
    assert {row["order_id"] for row in shown["orders"] if (row["result"], row["state"]) == ("done", "processed")} == \
        {order.order_id for order in orders}
    assert runner.is_running()
    none = start(s, check=False)
    assert none.returncode == 3 and "no order has such a failure" in none.stderr, none


@scenario(**PAY)
def a_canary_that_fails_stops_its_bulk_action(s):
    """Would catch: three hundred orders that are sent again into a service that is still broken; an alert that is not raised, or
    cannot be closed; orders of a stopped bulk action that the next one cannot take."""
    orders = fail(s)
    while s.client.get("operator.alerts"):
        pass  # of the orders themselves
    canary = 3
    bulk_id = start(s, "--canary", canary, "--rate", 100)["bulk_id"]
    s.bulk_runner()
    ended = wait_ended(s, bulk_id, "stopped")
    assert len(resumes(s)) <= canary and ended["failed"] == len(resumes(s)) >= 1, (ended, resumes(s))
    assert ended["skipped"] == ORDERS - ended["failed"], ended
    failed = [row for row in results(s, bulk_id) if row["result"] == "failed"]
    assert all(row["text"] == "in error again" for row in failed), failed
    alert = s.alerts("bulk_stopped")[0]
    assert alert["subject"] == bulk_id and alert["closed_at"] is None and "failed again" in alert["text"], alert
    told = s.wait(lambda: next((body for _, body in iter(lambda: s.client.get("operator.alerts"), None)
                                if b"bulk_stopped" in body), None), "the alert is told")
    assert bulk_id.encode() in told, told
    stopped = s.rows("SELECT * FROM operator_action WHERE verb = 'bulk stopped'")
    assert len(stopped) == 1 and stopped[0]["reason"] == alert["text"], stopped
    s.cluster.tool("alert", "ack", alert["alert_id"], "--reason", "I know")
    assert s.alerts("bulk_stopped")[0]["closed_at"] is not None
    s.remote("payment").switch("order")
    second = start(s, "--canary", canary, "--rate", 200)
    assert second["is_new"] and second["orders"] == ORDERS, second
    wait_ended(s, second["bulk_id"], "done")
    for order in orders:
        s.wait_state(order, "processed")


@scenario(services=("payment", "carrier"))
def an_order_that_fails_for_another_cause_stops_no_bulk_action(s):
    """Would catch: a bank that is back, and six of seven orders left alone because one of them failed later, at another step."""
    retry = {"attempts": 1, "backoff": "50ms"}
    s.load_workflow("pay", [step("charge", "payment", retry=retry), step("book", "carrier", after=["charge"], retry=retry)], on_failure="error")
    s.remote("payment").switch("decline")
    orders = [s.client.submit("pay", {"n": n}) for n in range(7)]
    for order in orders:
        s.wait_state(order, "error")
    s.remote("payment").switch("order")
    s.remote("carrier").switch("decline", count=1)
    bulk_id = start(s, "--canary", 3, "--rate", 100)["bulk_id"]
    s.bulk_runner()
    ended = wait_ended(s, bulk_id, "done")
    assert (ended["done"], ended["failed"]) == (6, 1), (ended, results(s, bulk_id))
    text, = [row["text"] for row in results(s, bulk_id) if row["result"] == "failed"]
    assert text.startswith("failed otherwise: step book, http_422"), text


@scenario(**PAY, long="graces, elections and patience pass in real time")
def a_runner_killed_in_the_middle_asks_for_no_order_twice(s):
    """Would catch: orders that are lost with the process that had marked them, or that the next one resumes again."""
    places = [name for name, kinds in PLACES if kinds == ["runner"]]
    assert places, PLACES
    orders = fail(s)
    s.remote("payment").switch("order")
    rate = 5  # a late runner makes up for one second: at this rate the kills leave enough of them
    bulk_id = start(s, "--canary", 5, "--rate", rate)["bulk_id"]
    for name in places:
        for nth in (1, 4):
            runner = s.bulk_runner(MAKEGOOD_FAILPOINT=f"{name}:{nth}")
            s.wait(lambda one=runner: not one.is_running(), f"it comes by {name} for the {nth}. time")
            assert runner.popen.returncode == -signal.SIGKILL, runner.tail()
    first, second = s.bulk_runner(), s.bulk_runner()  # of two runners one drives
    s.wait(lambda: bulk(s, bulk_id)["asked"] + bulk(s, bulk_id)["done"] >= 20, "a third is under way")
    victim = s.wait(lambda: next((one for one in (first, second) if f":{one.pid}:" in driver(s)), None), "one of the two drives")
    victim.kill()
    wait_ended(s, bulk_id, "done")
    for order in orders:
        s.wait_state(order, "processed")
    assert_asked_once(s, orders)
    assert [row["result"] for row in results(s, bulk_id)] == ["done"] * ORDERS
    assert_gentle(results(s, bulk_id), rate)


def driver(s):
    return s.rows("SELECT holder FROM bulk_runner")[0]["holder"]


def seen_at(s):
    return s.rows("SELECT seen_at FROM bulk_runner")[0]["seen_at"]


@scenario(**PAY, long="graces, elections and patience pass in real time")
def a_bulk_action_is_paused_resumed_and_stopped(s):
    """Would catch: a pause without effect; an order that is resumed although an operator has settled it meanwhile; orders that no
    bulk action can take after a stop."""
    orders = fail(s, 30)
    s.remote("payment").switch("order")
    bulk_id = start(s, "--canary", 2, "--rate", 4)["bulk_id"]
    s.bulk_runner()
    s.wait(lambda: bulk(s, bulk_id)["done"] >= 4, "it runs")
    early = s.cluster.tool("bulk", "pause", bulk_id, "--if-version", "99", "--reason", "wait", check=False)
    assert early.returncode == 4, early
    s.cluster.tool("bulk", "pause", bulk_id, "--reason", "wait")
    touched, paused_at = len(resumes(s)) + bulk(s, bulk_id)["asked"], seen_at(s)
    s.wait(lambda: bulk(s, bulk_id)["asked"] == 0, "what was under way has ended")
    s.wait(lambda: seen_at(s) > paused_at + datetime.timedelta(seconds=5), "it has been held for five seconds")
    paused = bulk(s, bulk_id)
    assert paused["state"] == "paused" and len(resumes(s)) <= touched < 30, (paused, touched)
    by_hand = results(s, bulk_id)[-1]["order_id"]
    s.cluster.tool("order", "resume", by_hand, "--reason", "this one at once")
    s.cluster.tool("bulk", "resume", bulk_id, "--reason", "go on")
    ended = wait_ended(s, bulk_id, "done")
    assert (ended["done"], ended["skipped"], ended["failed"]) == (29, 1, 0), ended
    assert results(s, bulk_id)[-1]["result"] == "skipped"
    for order in orders:
        s.wait_state(order, "processed")
    assert_asked_once(s, orders)

    others = fail(s, 10)
    s.remote("payment").switch("order")
    bulk_id = start(s, "--canary", 1, "--rate", 1)["bulk_id"]
    s.wait(lambda: bulk(s, bulk_id)["done"] >= 1, "it has begun")
    s.cluster.tool("bulk", "stop", bulk_id, "--reason", "call them off instead")
    ended = wait_ended(s, bulk_id, "stopped")
    assert ended["skipped"] == 10 - ended["done"] > 0 and not s.alerts("bulk_stopped"), ended
    refused = s.cluster.tool("bulk", "resume", bulk_id, "--reason", "why", check=False)
    assert refused.returncode == 4 and "stopped" in refused.stderr, refused
    assert s.cluster.tool("bulk", "show", "no-such-bulk", check=False).returncode == 3
    last = start(s, "--rate", 100, verb="cancel")
    assert last["orders"] == ended["skipped"], (last, ended)
    wait_ended(s, last["bulk_id"], "done")
    for order in others:
        s.wait(lambda one=order: s.state(one) in ("processed", "cancelled"), "it has ended")
    assert sum(s.state(order) == "cancelled" for order in others) == ended["skipped"]
    listed = json.loads(s.cluster.tool("bulk", "list", "-o", "json").stdout)
    assert [row["state"] for row in listed] == ["done", "stopped", "done"], listed
    said = [row["verb"] for row in s.rows("SELECT verb FROM operator_action ORDER BY action_id")]
    assert said.pop(2) == "order resume", said
    assert said == ["bulk start", "bulk pause", "bulk resume", "bulk start", "bulk stop", "bulk start"], said


@scenario(services=("payment",))
def a_bulk_action_waits_for_a_locked_order_and_stops_for_none(s):
    """Would catch: a bulk action that stops with "failed again" because another session holds a lock on one of its orders."""
    orders = fail(s, 20)
    s.remote("payment").switch("normal")
    s.bulk_runner()
    # A bulk action goes by the age of alerts; were the locked order of the canary, the others would wait for it.
    last = s.rows("SELECT order_id FROM operator_alert ORDER BY opened_at DESC, order_id DESC LIMIT 1")[0]["order_id"]
    locked = next(order for order in orders if order.order_id == last)
    with held(s, "SELECT FROM order_process WHERE order_id = %s FOR UPDATE", last):
        bulk_id = start(s, "--canary", "2", "--rate", "50")["bulk_id"]
        for order in orders:
            if order is not locked:
                s.wait_state(order, "processed")
        assert bulk(s, bulk_id)["state"] == "running" and s.state(locked) == "error", bulk(s, bulk_id)
    row = wait_ended(s, bulk_id, "done")
    assert (row["done"], row["failed"]) == (20, 0), row
    s.wait_state(locked, "processed")
