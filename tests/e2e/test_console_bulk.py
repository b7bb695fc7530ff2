"""Bulk actions in the console: failed orders are resumed by a page, once for any number of clicks, even if a process dies
meanwhile."""

import concurrent.futures
import json
import uuid

from harness import scenario, step
from test_bulk import ORDERS, PAY, assert_asked_once, assert_gentle, bulk, driver, fail, results, resumes, wait_ended
from test_console import Console

WHY = "the till is mended"


def group_of(console, count=ORDERS):
    """The only group of failures on the page, by the page's own request."""
    groups = console.get("failures")["groups"]
    assert [group["count"] for group in groups] == [count], groups
    return {name: groups[0][name] for name in ("workflow", "step", "service", "error")}


def asking(console, **more):
    return {**group_of(console), "verb": "resume", "reason": WHY, "ticket": uuid.uuid4().hex, "canary": "5", "rate": "100",
            "stop_above": "10", "orders": ORDERS, **more}


@scenario(**PAY, long="other scenarios of the console are quick")
def two_clicks_in_the_console_start_one_bulk_action(s):
    """Would catch: a second bulk action by a second click, or by a lost answer; one that a reader starts, or of more orders than
    were confirmed; a console's bulk actions that no runner drives; a page without their progress."""
    orders = fail(s)
    s.remote("payment").switch("order")
    console = Console(s)
    console.login("reader")
    wanted = asking(console)
    console.post("bulk", wanted, status=403)
    assert console.get("bulk") == {**console.get("bulk"), "bulk": []}
    console.login("operator")
    group = {name: wanted[name] for name in ("workflow", "step", "service", "error")}
    query = "&".join(f"{name}={value}" for name, value in group.items()).replace(" ", "%20").replace("#", "%23")
    choice = console.get("choice?" + query)
    assert (choice["orders"], choice["not_in_error"], choice["in_other_bulk"]) == (ORDERS, 0, 0), choice
    for wrong in ({"ticket": ""}, {"orders": None}, {"verb": "settle"}, {"verb": None}, {"rate": "0"}, {"rate": "fast"}, {"canary": "-1"},
                  {"canary": "10001"}, {"stop_above": "101"}, {"reason": "no"}, {"error": "x" * 300}, {"service": "No Name"},
                  {"workflow": "", "step": "", "service": "", "error": ""}):
        console.post("bulk", {**wanted, **wrong}, status=400)
    few = console.post("bulk", {**wanted, "orders": ORDERS - 1}, status=409)
    assert few["error"] == f"the filter now matches {ORDERS} orders, not {ORDERS - 1}: reload the page", few
    assert not s.rows("SELECT 1 FROM bulk") and not s.rows("SELECT 1 FROM operator_action")

    def click(_):
        while True:  # one start waits for the other, and no longer than for a lock: a refused user clicks again
            status, _, text = console.ask("POST", "/api/v1/bulk", wanted)
            assert status in (200, 503), (status, text)
            if status == 200:
                return json.loads(text)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        clicks = list(pool.map(click, range(4)))
    bulk_id = clicks[0]["bulk_id"]
    assert {click["bulk_id"] for click in clicks} == {bulk_id} and sum(click["is_new"] for click in clicks) == 1, clicks
    assert all(click["orders"] == ORDERS for click in clicks), clicks
    console.events("live", lambda name, data: name == "overview" and any(
        row["bulk_id"] == bulk_id and int(row["done"]) > 0 for row in data["bulk"]))
    ended = wait_ended(s, bulk_id, "done")
    assert (ended["done"], ended["failed"], ended["skipped"]) == (ORDERS, 0, 0), ended
    for order in orders:
        s.wait_state(order, "processed")
    assert_asked_once(s, orders)
    late = console.post("bulk", wanted)
    assert (late["bulk_id"], late["is_new"], late["state"]) == (bulk_id, False, "done"), late
    console.post("bulk", {**wanted, "ticket": uuid.uuid4().hex}, status=409)
    assert [row["bulk_id"] for row in console.get("bulk")["bulk"]] == [bulk_id]

    page = console.get(f"bulk/{bulk_id}")
    assert (page["bulk"]["state"], page["bulk"]["by_whom"], page["bulk"]["reason"], page["next"]) == ("done", "otto", WHY, None), page
    assert {row["order_id"] for row in page["orders"] if (row["result"], row["state"]) == ("done", "processed")} == \
        {order.order_id for order in orders}
    assert console.get(f"bulk/{bulk_id}?result=failed")["orders"] == []
    console.get(f"bulk/{bulk_id}?result=lost", status=400)
    console.get(f"bulk/{uuid.uuid4()}", status=404)
    console.get("bulk/x", status=400)
    noted = s.rows("SELECT verb, subject, by_whom, reason FROM operator_action")
    assert noted == [{"verb": "bulk start", "subject": bulk_id, "by_whom": "otto", "reason": WHY}], noted
    story = next(row for row in s.events(orders[7]) if row["cause_kind"] == "resume")
    assert (story["by_whom"], story["reason"]) == ("otto", f"{WHY} (bulk action {bulk_id})"), story


@scenario(**PAY, long="other scenarios of the console are quick")
def a_canary_that_fails_stops_the_bulk_action_of_a_console(s):
    """Would catch: failed orders that are sent again into a service that is still broken; a page that does not show why its bulk
    action stopped, or that can continue it. test_bulk.py tests that the next one takes its orders."""
    fail(s)
    console = Console(s)
    console.login("operator")
    canary = 3
    bulk_id = console.post("bulk", asking(console, canary=str(canary)))["bulk_id"]
    ended = wait_ended(s, bulk_id, "stopped")
    assert len(resumes(s)) <= canary and ended["failed"] == len(resumes(s)) >= 1, (ended, resumes(s))
    page = console.get(f"bulk/{bulk_id}?result=failed")
    assert page["bulk"]["state"] == "stopped" and "failed again" in page["bulk"]["why"], page["bulk"]
    assert page["orders"] and all(row["text"] == "in error again" for row in page["orders"]), page["orders"]
    alerts = [row for row in console.get("alerts")["alerts"] if row["code"] == "bulk_stopped"]
    assert [row["subject"] for row in alerts] == [bulk_id], alerts
    console.post(f"bulk/{bulk_id}/resume", {"reason": WHY, "version": int(page["bulk"]["version"])}, status=409)


@scenario(**PAY, long="graces, elections and patience pass in real time")
def a_console_killed_in_the_middle_of_a_bulk_action_goes_on(s):
    """Would catch: orders that are lost with the console that had resumed them, or that the next one resumes again; two consoles
    that both drive; a pause that the console's runner ignores."""
    orders = fail(s)
    s.remote("payment").switch("order")
    console = Console(s)
    console.login("operator")
    rate = 5
    bulk_id = console.post("bulk", asking(console, rate=str(rate)))["bulk_id"]
    s.wait(lambda: bulk(s, bulk_id)["done"] >= 8, "it is under way")
    console.process.kill()
    before = len(resumes(s))
    assert before < ORDERS, before

    console = Console(s)
    console.login("operator")
    s.wait(lambda: bulk(s, bulk_id)["done"] > before, "the next console goes on")
    shown = console.get(f"bulk/{bulk_id}")["bulk"]
    console.post(f"bulk/{bulk_id}/pause", {"reason": "slowly", "version": int(shown["version"]) + 7}, status=409)
    console.post(f"bulk/{bulk_id}/pause", {"reason": "slowly", "version": int(shown["version"])})
    assert bulk(s, bulk_id)["state"] == "paused"
    s.wait(lambda: bulk(s, bulk_id)["asked"] == 0, "what was under way has ended")
    paused = console.get(f"bulk/{bulk_id}")
    assert paused["runner"][0]["holder"] == driver(s) and paused["bulk"]["state"] == "paused", paused
    assert 0 < int(paused["bulk"]["waiting"]) == sum(row["result"] == "waiting" for row in paused["orders"]), paused
    other = Console(s)
    console.post(f"bulk/{bulk_id}/resume", {"reason": "go on", "version": paused["bulk"]["version"]})
    victim = console if f":{console.process.pid}:" in driver(s) else other
    left = other if victim is console else console
    victim.process.kill()
    wait_ended(s, bulk_id, "done")
    for order in orders:
        s.wait_state(order, "processed")
    assert_asked_once(s, orders)
    assert [row["result"] for row in results(s, bulk_id)] == ["done"] * ORDERS
    assert_gentle(results(s, bulk_id), rate)
    said = [row["verb"] for row in s.rows("SELECT verb FROM operator_action ORDER BY action_id")]
    assert said == ["bulk start", "bulk pause", "bulk resume"], said
    s.wait(lambda: f":{left.process.pid}:" in driver(s), "the one that is left drives")


@scenario(services=("payment",))
def failures_without_a_step_are_chosen_alone(s):
    """Would catch: a bulk action of failures of the orders themselves that takes those of their steps, too; an empty part of a filter
    that chooses all; a verb for several orders that changes the first, although the second is unknown."""
    s.load_workflow("pay", [step("charge", "payment")], on_failure="error", output={"to": "${/payload/to}"})
    own = s.client.submit("pay", {"n": 1})
    s.wait_state(own, "error")
    at_step, = fail(s, 1)
    console = Console(s)
    console.login("operator")
    assert [console.get("choice?workflow=pay" + more)["orders"] for more in ("", "&step=-", "&step=charge", "&service=-")] == [2, 1, 1, 1]
    for query in ("choice?workflow=pay&step=", "choice?workflow=&step=-", "choice?workflow=pay&since=1h"):
        assert console.ask("GET", "/api/v1/" + query)[0] == 400, query
    wanted = {"workflow": "pay", "step": "-", "verb": "compensate", "reason": WHY, "ticket": uuid.uuid4().hex, "canary": "0", "rate": "100",
              "stop_above": "10", "orders": 1}
    console.post("bulk", {**wanted, "step": ""}, status=400)
    empty = s.cluster.tool("bulk", "start", "compensate", "--workflow", "pay", "--step", "", "--reason", WHY, check=False)
    assert empty.returncode == 2 and "--step is empty" in empty.stderr, empty
    bulk_id = console.post("bulk", wanted)["bulk_id"]
    wait_ended(s, bulk_id, "done")
    s.wait_state(own, "compensated")
    unknown = s.cluster.tool("order", "compensate", at_step.order_id, "unknown-1", "--reason", WHY, check=False)
    assert unknown.returncode != 0 and s.state(at_step) == "error", unknown
