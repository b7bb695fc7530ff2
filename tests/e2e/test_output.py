"""The output of processed orders, and submissions that their first step could not use."""

import json
import os
import uuid

from harness import Order, scenario, step

# As many orders lose their scheduler between the commit and the status. A kill and a start take a second.
KILLS = int(os.environ.get("MAKEGOOD_OUTPUT_KILLS", "3"))
POSTS = 200  # of one order: each is answered with the same bytes
OUTPUT = {"total": "${/payload/total}", "booking": "${/results/ship/id}", "of": "order ${/order_id}"}


def load(s):
    s.load_workflow("giving", [step("ship", "carrier")], output=OUTPUT)


def submit(s):
    order_id = str(uuid.uuid4())
    order = Order(order_id, f'{{"order_id": "{order_id}", "workflow": "giving", "payload": {{"total": 14.00}}}}', "corr-" + order_id)
    s.client.post(order)
    return order


def processed(s, order):
    """The bytes of each status `processed` that has come."""
    return [body for (message, _), body in zip(s.client.messages, s.client.bodies)
            if message["order_id"] == order.order_id and message["status"] == "processed"]


def wait_processed(s, order, number):
    s.wait(lambda: len(processed(s, order)) >= number, f"{number} statuses processed of {order.order_id}")
    return processed(s, order)


@scenario(schedulers=2)
def an_output_has_the_same_bytes_however_often_its_order_is_posted(s):
    """Would catch: 14.00 that arrives as 14.0, or an output that is made anew for each answer."""
    load(s)
    order = submit(s)
    first = wait_processed(s, order, 1)[0]
    assert b'"output":{"total":14.00,"booking":"carrier-' in first and f'"of":"order {order.order_id}"}}}}'.encode() in first, first
    for _ in range(POSTS):
        s.client.post(order)
    assert set(wait_processed(s, order, 1 + POSTS)) == {first}
    output = first[first.index(b'"output":') + 9:-1].decode()
    for verb in ("show", "export"):
        answer = s.cluster.tool("order", verb, order.order_id, *(("-o", "json") if verb == "show" else ())).stdout
        assert json.loads(answer)["output"] == json.loads(output) and output in answer, answer
    assert f"\noutput: {output}\n" in s.cluster.tool("order", "show", order.order_id).stdout
    path = s.scratch / "giving.json"
    path.write_text('{"workflow": "giving", "payload": {"total": 14.00}}', encoding="utf-8")
    assert '"total":14.00' in s.cluster.tool("order", "submit", path, "--wait").stdout
    assert '"total":14.00' in s.cluster.tool("order", "submit", path, "--wait", "-o", "json").stdout


@scenario(long="others of its kind are quick")
def an_output_outlives_the_scheduler_that_made_it(s):
    """Would catch: a status without output, or with another one, because a kill -9 came between the commit and the status."""
    load(s)
    victim, hits = s.cluster.schedulers[0], 0
    environment = dict(victim.env)
    for _ in range(KILLS):
        victim.kill()
        victim.env = {**environment, "MAKEGOOD_FAILPOINT": "scheduler_committed:2"}  # of the submission, then of the reply
        victim.start()
        order = submit(s)
        s.wait(lambda: not victim.is_running(), "the scheduler dies after its second commit")
        hits += s.state(order) == "processed" and not processed(s, order)
        victim.env = environment
        victim.start()
        wait_processed(s, order, 1)
        s.client.post(order)
        assert len(set(wait_processed(s, order, 2))) == 1 and b'"total":14.00' in processed(s, order)[0], processed(s, order)
    assert hits > 0, "no kill came between the commit and the status"
    s.ends_badly.add(victim.name)


@scenario()
def an_output_that_cannot_be_built_is_repaired_and_resumed(s):
    """Would catch: an order that is processed without its output, or an operator without evidence of the missing value."""
    s.load_workflow("giving", [step("ship", "carrier")], output={"to": "${/payload/to/city}"})
    order = s.client.submit("giving", {"from": "Basel"})
    status = s.client.wait_status(order, "error")
    assert "unrenderable" in status["reason"] and "${/payload/to/city}" in status["reason"], status
    assert "${/payload/to/city}" in s.cluster.tool("order", "explain", order.order_id).stdout
    s.cluster.tool("order", "resume", order.order_id, "--set", '/to={"city":"Bern"}', "--reason", "the address is known")
    assert s.client.wait_status(order, "processed")["output"] == {"to": "Bern"}
    assert [message["seq"] for message in s.client.statuses(order.order_id)] == [1, 2, 3]
    assert s.step(order, "ship")["attempt"] == 1, "the step was done again"


@scenario()
def an_order_ends_without_an_output_that_its_answers_do_not_give(s):
    """Would catch: an order that no verb ends, because its pivot is done and its answers lack a value."""
    s.load_workflow("giving", [step("ship", "carrier", pivot=True, undo="none")], output={"to": "${/results/ship/receipt/number}"})
    order, given = s.client.submit("giving", {"from": "Basel"}), s.client.submit("giving", {"from": "Bern"})
    s.client.wait_status(order, "error")
    explain = s.cluster.tool("order", "explain", order.order_id).stdout
    assert explain.rstrip().endswith("it needs an operator: resume --without-output, settle step ship"), explain
    s.client.wait_status(given, "error")
    s.cluster.tool("order", "settle", given.order_id, "--step", "ship", "--outcome", "done", "--result", '{"receipt":{"number":7}}',
                   "--reason", "read out by the carrier")
    assert s.client.wait_status(given, "processed")["output"] == {"to": 7}
    s.cluster.tool("order", "resume", order.order_id, "--without-output", "--reason", "the receipt went by mail")
    assert "output" not in s.client.wait_status(order, "processed")


@scenario()
def a_payload_without_a_needed_value_is_refused(s):
    """Would catch: an order that is accepted, and turned back in the same moment."""
    s.load_workflow("greeting", [step("greet", "carrier", do={"method": "POST", "path": "/bookings",
                                                              "body": {"to": "${/payload/who}"}})])
    order = s.client.submit("greeting", {"whom": "Ada"})
    message = s.client.wait_message(lambda body, _: body.get("order_id") == order.order_id, "an answer")[0]
    reason = 'payload has no member "/who"; step "greet" needs it'
    assert (message["status"], message["reason"]) == ("rejected", reason), message
    kept = s.wait(lambda: s.client.get("orders.rejected"), "the submission is kept")
    assert kept[0].headers["x-makegood-reason"] == reason and kept[1] == order.body.encode(), kept
    assert s.process(order) is None
