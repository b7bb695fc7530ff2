"""An operator's work on orders: the tool, its output and its exit codes."""

import json
import urllib.parse

from harness import scenario, step


@scenario()
def an_undo_that_fails_is_alerted_repaired_and_resumed(s):
    """Would catch: a failed compensation without an alert, or one that cannot be finished."""
    s.remote("payment").switch("undo-refuse", on="undo")
    order = s.client.submit(payload={"behaviour": {"carrier": "decline"}})
    s.wait_state(order, "error")
    s.assert_effects(order, {("reserve", "inventory"): "undone", ("charge", "payment"): "done"})
    found = [row for row in s.alerts("undo_failed") if row["order_id"] == order.order_id]
    assert found and found[0]["closed_at"] is None, s.alerts()
    told = s.wait(lambda: s.client.get("operator.alerts"), "operator.alerts has a message")
    assert order.order_id in told[1].decode(), told
    s.remote("payment").switch("order")
    s.wait(lambda: s.cluster.tool("order", "resume", order.order_id, "--reason", "payment is repaired", check=False).returncode == 0,
           "no copy of the refused undo can come any more", 60)
    s.wait_state(order, "compensated")
    s.assert_effects(order, {("reserve", "inventory"): "undone", ("charge", "payment"): "undone"})
    s.wait(lambda: all(row["closed_at"] for row in s.alerts("undo_failed")), "the alert is closed")


@scenario()
def a_payload_is_repaired_and_its_step_resumed_with_a_new_key(s):
    """Would catch: another request under the old key, or a repair that never arrives."""
    s.load_workflow("repair", [step("charge", "payment")], on_failure="error")
    order = s.client.submit("repair", {"behaviour": "decline", "card": "4111"})
    s.wait_state(order, "error")
    s.cluster.tool("order", "resume", order.order_id, "--set", '/behaviour="normal"', "--set", '/card="4242"',
                   "--reason", "new card")
    s.wait_state(order, "processed")
    bodies = {key: json.loads(entry["body"]) for key, entry in s.remote("payment").entries().items() if entry["effects"]}
    assert list(bodies.values()) == [{"behaviour": "normal", "card": "4242"}], bodies
    assert s.rows("SELECT max(revision) AS newest FROM orders WHERE order_id = %s", order.order_id)[0]["newest"] == 2


@scenario(schedulers=2)
def two_operators_or_two_clicks_of_one_cause_one_change(s):
    """Would catch: a verb that acts on a state its operator has not seen."""
    s.load_workflow("stops", [step("charge", "payment")], on_failure="error")
    s.remote("payment").switch("decline")
    order = s.client.submit("stops", {"n": 1})
    s.wait_state(order, "error")
    s.remote("payment").switch("order")
    version = s.process(order)["version"]
    words = ("order", "resume", order.order_id, "--if-version", version, "--reason", "again")
    codes = [s.cluster.tool(*words, check=False).returncode for _ in range(2)]
    assert codes == [0, 4], codes
    s.wait_state(order, "processed")
    assert len([row for row in s.events(order) if row["cause_kind"] == "resume"]) == 1


@scenario()
def a_compensated_order_can_be_restarted_as_a_new_generation(s):
    """Would catch: a second generation under the keys of the first, which the remote would answer from memory."""
    s.remote("carrier").switch("decline")
    order = s.client.submit(payload={"n": 1})
    s.wait_state(order, "compensated")
    s.remote("carrier").switch("order")
    s.cluster.tool("order", "restart", order.order_id, "--reason", "the carrier has room again")
    s.wait_state(order, "processed")
    assert s.effect(order, "charge", "payment")["state"] == "undone"
    assert s.effect(order, "charge", "payment", generation=1)["state"] == "done"


@scenario()
def failures_are_counted_by_cause_and_found_by_it(s):
    """Would catch: failures that are not grouped, so that an operator must read three hundred orders to find two reasons."""
    s.load_workflow("stops", [step("charge", "payment"), step("ship", "carrier", after=["charge"])], on_failure="error")
    declined = [s.client.submit("stops", {"behaviour": {"payment": "decline"}, "n": n}) for n in range(3)]
    refused = s.client.submit("stops", {"behaviour": {"carrier": "decline"}})
    for order in [*declined, refused]:
        s.wait_state(order, "error")

    def listed(*words):
        return json.loads(s.cluster.tool("order", "list", *words, "-o", "json").stdout)

    groups = listed("--group-by", "error")
    assert [(row["workflow"], row["step"], row["service"], row["count"]) for row in groups] == \
        [("stops", "charge", "payment", 3), ("stops", "ship", "carrier", 1)], groups
    error, example = groups[0]["error"], groups[0]["example"]
    assert example in [order.order_id for order in declined], groups
    assert s.step(declined[0], "charge")["error_code"] == error == "http_422/card_declined", groups
    found = listed("--step", "charge", "--error", error)
    assert {(row["order_id"], row["state"]) for row in found} == {(order.order_id, "error") for order in declined}, found
    assert [row["order_id"] for row in listed("--step", "ship", "--since", "1h")] == [refused.order_id]
    assert [row["order_id"] for row in listed("--service", "carrier")] == [refused.order_id]
    assert len(listed("--service", "carrier", "--service", "payment", "--workflow", "stops")) == 4
    assert listed("--service", "inventory") == []
    assert [row["service"] for row in listed("--group-by", "error", "--service", "payment")] == ["payment"]
    wrong = s.cluster.tool("order", "list", "--service", "no such", check=False)
    assert wrong.returncode == 2 and "invalid name" in wrong.stderr, wrong
    s.cluster.tool("order", "compensate", declined[0].order_id, "--reason", "declined for good")
    s.wait_state(declined[0], "compensated")
    assert [row["count"] for row in listed("--group-by", "error", "--step", "charge")] == [2]
    for order in (*declined[1:], refused):
        s.cluster.tool("order", "compensate", order.order_id, "--reason", "declined for good")
        s.wait_state(order, "compensated")
    assert listed("--group-by", "error") == []


@scenario()
def a_step_is_skipped_and_an_order_compensated_by_hand(s):
    """Would catch: verbs that are missing in the table of states."""
    s.load_workflow("manual", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])],
                    on_failure="error")
    skipped, undone = (s.client.submit("manual", {"behaviour": {"payment": "decline"}, "n": n}) for n in range(2))
    for order in (skipped, undone):
        s.wait_state(order, "error")
    s.cluster.tool("order", "skip", skipped.order_id, "--step", "charge", "--reason", "paid in cash")
    s.cluster.tool("order", "compensate", undone.order_id, "--reason", "out of business")
    s.wait_state(skipped, "processed")
    s.wait_state(undone, "compensated")
    s.assert_effects(skipped, {("reserve", "inventory"): "done", ("charge", "payment"): "none"})
    s.assert_effects(undone, {("reserve", "inventory"): "undone", ("charge", "payment"): "none"})


@scenario()
def the_tool_shows_an_orders_story_and_why_it_does_not_move(s):
    """Would catch: an order with a past that can only be found by reading tables."""
    for agent in s.cluster.agents_of("carrier"):
        agent.terminate()
    order = s.client.submit(payload={"n": 1})
    s.wait(lambda: s.step_state(order, "ship") == "waiting", "the last step waits")
    why = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "agent.carrier.requests" in why or "carrier" in why, why
    for agent in s.cluster.agents_of("carrier"):
        agent.start()
    s.wait_state(order, "processed")
    shown = s.cluster.tool("order", "show", order.order_id).stdout
    for word in ("reserve", "charge", "ship", "processed"):
        assert word in shown, shown
    whole = json.loads(s.cluster.tool("order", "show", order.order_id, "-o", "json").stdout)
    assert (whole["order_id"], whole["order"]["state"], whole["steps"][0]["attempt"]) == (order.order_id, "processed", 1), whole
    assert order.order_id in [row["order_id"] for row in json.loads(s.cluster.tool("order", "list", "-o", "json").stdout)]
    missing = s.cluster.tool("order", "show", "no-such-order", check=False)
    assert missing.returncode == 3 and missing.stderr.strip(), missing
    assert s.cluster.tool("order", "shw", check=False).returncode == 2
    s.cluster.tool("doctor")


@scenario(long="others of its kind are quick")
def the_newest_of_a_story_too_long_to_be_shown_is_shown(s):
    """Would catch: an order that is polled for days, of which only the first hours are shown."""
    order = s.client.submit(payload={"n": 1})
    s.wait_state(order, "processed")
    last = s.process(order)["version"]
    s.rows("""INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, transitions, owed)
              SELECT %s, n, 'nudge', 'n' || n, 'test', 0, '[]', false FROM generate_series(%s + 1, 10100) AS n RETURNING 1""",
           order.order_id, last)
    whole = json.loads(s.cluster.tool("order", "show", order.order_id, "-o", "json").stdout)
    versions = [event["version"] for event in whole["events"]]
    assert versions == list(range(101, 10101)), (versions[0], versions[-1])
    assert "before version 101 are left out" in s.cluster.tool("order", "show", order.order_id).stdout
    watched = s.cluster.tool("order", "watch", order.order_id, "-o", "jsonl").stdout
    assert json.loads(watched.splitlines()[-2])["version"] == 10100, watched[-1000:]
    s.rows("DELETE FROM order_event WHERE order_id = %s AND version > %s RETURNING 1", order.order_id, last)


@scenario()
def an_order_whose_request_lies_in_a_queue_without_agents_is_explained(s):
    """Would catch: a step that is shown as running while no agent has its request."""
    s.remote("carrier").switch("silent")
    order = s.client.submit(payload={"n": 1})
    s.wait(lambda: s.step_state(order, "ship") == "running", "the last step runs")
    for agent in s.cluster.agents_of("carrier"):
        agent.kill()
    s.remote("carrier").switch("order")
    s.wait(lambda: "no agent consumes queue agent.carrier.requests" in
           s.cluster.tool("order", "explain", order.order_id).stdout, "the tool says that nobody consumes the queue")
    for agent in s.cluster.agents_of("carrier"):
        agent.start()
    s.wait_state(order, "processed")


@scenario(services=("payment",), long="graces, elections and patience pass in real time")
def an_alert_that_no_order_needs_any_more_is_closed(s):
    """Would catch: an operator's screen that shows "not well" for ever, because of an order that was cancelled long ago."""
    s.load_workflow("trip", [{**step("flight", "payment"), "service": "travle"}])

    def alerts():
        return [(row["subject"], row["closed_at"] is None) for row in s.alerts("unpublishable")]
    order = s.client.submit("trip", {})
    s.wait(lambda: alerts() == [("travle", True)], "an alert is open")
    assert "run: makegood broker apply --service travle" in s.cluster.tool("alert", "list").stdout
    s.wait(lambda: "run: makegood broker apply --service travle" in s.cluster.tool("order", "explain", order.order_id).stdout,
           "the order's line says what to run")
    assert s.cluster.tool("doctor", check=False).returncode == 1
    s.cluster.tool("order", "cancel", order.order_id, "--reason", "a test")
    s.client.wait_status(order, "cancelled")
    s.wait(lambda: alerts() == [("travle", False)], "the alert is closed")
    s.client.submit("trip", {}, order_id="again")
    s.wait(lambda: ("travle", True) in alerts(), "the next order that needs it opens it again")
    s.cluster.tool("broker", "apply")
    s.wait(lambda: ("travle", True) not in alerts(), "the queue is there")
    s.cluster.tool("order", "cancel", "again", "--reason", "a test")
    s.wait(lambda: s.rows("SELECT 1 FROM order_process WHERE process_state = 'cancelled' AND order_id = 'again'"), "it has ended")


@scenario(services=("payment",), long="others of its kind are quick")
def a_step_shows_the_answer_to_its_do_and_not_to_its_verify(s):
    """Would catch: a step whose shown failure is the verify's "absent", which sends an operator to look for a wrong path."""
    s.load_workflow("told", [step("charge", "payment", verify=True, on_unknown="verify", retry={"attempts": 2, "backoff": "50ms"})],
                    on_failure="error")
    s.remote("payment").switch("unavailable", on="do")
    order = s.client.submit("told", {})
    s.client.wait_status(order, "error")
    verified = [event for event in s.events(order) if "404" in (event["reason"] or "")]
    assert verified and s.step(order, "charge")["error_code"] == "http_503/unavailable", s.story(order)
    groups = json.loads(s.cluster.tool("order", "list", "--group-by", "error", "-o", "json").stdout)
    assert [group["error"] for group in groups] == ["http_503/unavailable"], groups


@scenario(long="graces, elections and patience pass in real time")
def a_dead_letter_raises_an_alert_and_can_be_requeued_or_dropped(s):
    """Would catch: messages that vanish, or that raise no alert."""
    s.client.publish(b"not a reply", "scheduler.replies", "makegood.replies", type="reply")
    s.wait(lambda: s.client.depth("dead.letters") == 1, "the malformed reply is a dead letter")
    s.wait(lambda: [row for row in s.alerts("dead_letter") if row["closed_at"] is None], "an alert is open")
    assert "scheduler.replies" in s.cluster.tool("dead", "list").stdout
    s.cluster.tool("dead", "requeue", "--all", "--reason", "try again", check=False)
    s.wait(lambda: s.client.depth("dead.letters") == 1, "it died again")
    s.cluster.tool("dead", "drop", "--all", "--reason", "nonsense", check=False)
    s.wait(lambda: s.client.depth("dead.letters") == 0, "it is gone")
    s.wait(lambda: all(row["closed_at"] for row in s.alerts("dead_letter")), "the alert is closed")


@scenario(long="others of its kind are quick")
def all_that_is_requeued_is_requeued_once(s):
    """Would catch: a walk that meets again the letters that it has requeued, and sends the client thousands of rejections."""
    for number in range(8):
        s.client.publish("{", message_id=str(number), correlation_id=str(number), reply_to=s.client.queue)
    s.wait(lambda: s.client.depth("orders.rejected") == 8, "all are refused")
    done = s.cluster.tool("dead", "requeue", "--all", "--queue", "orders.rejected", "--reason", "try again")
    assert done.stdout == "8 requeued\n", done
    s.wait(lambda: s.client.depth("orders.rejected") == 8, "all are refused again")
    s.wait(lambda: len(s.client.messages) == 16, "each was told twice")


@scenario(long="others of its kind are quick")
def a_requeued_order_without_an_id_is_the_order_that_it_was(s):
    """Would catch: a refused order that can never be accepted, because the source of its id is gone; or one that becomes two."""
    names = {"app": {"app_id": "shop"}, "user": {"user_id": urllib.parse.urlsplit(s.url).username}}
    for message_id, sender in names.items():
        s.client.publish('{"workflow": "later", "payload": {}}', message_id=message_id, **sender)
    s.wait(lambda: s.client.depth("orders.rejected") == 2, "both are refused: there is no such workflow yet")
    s.load_workflow("later", [step("charge", "payment")])
    s.cluster.tool("dead", "requeue", "--all", "--queue", "orders.rejected", "--reason", "the workflow is loaded")
    s.wait(lambda: len(s.rows("SELECT 1 FROM order_process WHERE process_state = 'processed'")) == 2, "both are processed")
    for message_id, sender in names.items():
        s.client.publish('{"workflow": "later", "payload": {}}', message_id=message_id, **sender)
    s.client.wait_status(s.client.submit(payload={"n": 1}), "processed")
    assert len(s.rows("SELECT 1 FROM orders WHERE order_id IN (SELECT order_id FROM order_process WHERE workflow = 'later')")) == 2
    assert s.client.depth("orders.rejected") == 0


@scenario()
def a_requeued_letter_goes_where_it_came_from_and_nowhere_else(s):
    """Would catch: a sender that reaches other queues by the operator's rights."""
    other = s.client.channel.queue_declare("", exclusive=True).method.queue
    s.client.publish(b"not a reply", "dead.letters", "makegood.dead", type="reply", headers={
        "CC": [other], "x-death": [{"queue": "scheduler.replies", "reason": "rejected", "count": 1}]})
    s.wait(lambda: s.client.depth("dead.letters") == 1, "a dead letter with a copy for another queue")
    s.cluster.tool("dead", "requeue", "--all", "--reason", "try again")
    s.wait(lambda: s.client.depth("dead.letters") == 1, "it died again")
    assert s.client.depth(other) == 0


@scenario()
def an_alert_is_acknowledged_once(s):
    """Would catch: alerts that look the same whether or not an operator has taken them on."""
    s.load_workflow("stops", [step("charge", "payment")], on_failure="error")
    order = s.client.submit("stops", {"behaviour": "decline"})
    s.wait_state(order, "error")
    alert = s.alerts("order_error")[0]
    assert order.order_id in s.cluster.tool("alert", "list").stdout
    s.cluster.tool("alert", "ack", alert["alert_id"], "--reason", "I look after it, " + "ö" * 100)  # cut inside a character
    assert s.alerts("order_error")[0]["acked_at"] is not None
