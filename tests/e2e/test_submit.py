"""The client's view: acceptance, statuses, identity, bytes."""

import json
import subprocess

from harness import DEADLINE_S, scenario, step
from local import cluster, processes

HERE = cluster.REPOSITORY / "tests" / "e2e"


@scenario()
def an_order_is_processed_and_its_client_gets_its_statuses(s):
    """Would catch: any broken link between a client's post and its last status."""
    order = s.client.submit(payload={"order_number": 1, "items": []})
    s.client.wait_status(order, "accepted")
    s.client.wait_status(order, "processed")
    statuses = s.client.statuses(order.order_id)
    assert [message["seq"] for message in statuses] == list(range(1, len(statuses) + 1)), statuses
    for message, properties in s.client.messages:
        assert properties.correlation_id == order.correlation_id
        assert properties.message_id == f"{order.order_id}.{message['seq']}"
    s.wait_state(order, "processed")
    pattern = s.rows("SELECT * FROM pattern_process WHERE OrderID = %s", order.order_id)[0]
    assert pattern["processstate"] == "Processed" and pattern["failurecount"] == 0, pattern
    assert all(row["state"] == "done" for row in s.rows("SELECT state FROM order_step WHERE order_id = %s", order.order_id))


@scenario(services=("greeting",), agents=0)
def a_python_agent_of_forty_lines_serves_a_step(s):
    """Would catch: a protocol that only Makegood's own agent can implement."""
    text = (HERE / "python_agent.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    s.load_workflow("hello", [step("greet", "greeting", do={"method": "POST", "path": "/", "body": {"name": "${/payload/name}"}})])
    agent = processes.Process("python-agent", ["/usr/bin/python3", HERE / "python_agent.py", s.url],
                              s.scratch / "python-agent.log").start()
    s.wait(lambda: s.client.consumers("agent.greeting.requests") == 1, "the agent consumes")
    done = subprocess.run(["/usr/bin/python3", HERE / "python_client.py", s.url, "hello", '{"name": "Ada"}'],
                          capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0 and "accepted" in done.stdout and "processed" in done.stdout, done.stdout + done.stderr
    results = s.rows("SELECT result FROM order_step")
    assert [json.loads(row["result"]) for row in results] == [{"greeting": "Hello, Ada"}], results
    agent.terminate()


@scenario(schedulers=2, supervisors=2, long="graces, elections and patience pass in real time")
def a_client_that_comes_back_is_sent_the_state_of_its_order(s):
    """Would catch: statuses that still go to the queue of a client that is gone."""
    s.load_workflow("slow", [step("reserve", "inventory")])
    gone = s.new_client()
    order = gone.submit("slow", {"behaviour": "slow:2000"})
    gone.wait_status(order, "accepted")
    s.clients.remove(gone)
    gone.close()
    s.client.post(order)
    first = s.client.wait_message(lambda body, _: body["order_id"] == order.order_id, "its current status")[0]
    assert first["status"] == "accepted", first
    s.client.wait_status(order, "processed")
    assert len(s.rows("SELECT * FROM orders WHERE order_id = %s", order.order_id)) == 1


@scenario(schedulers=2)
def the_same_bytes_many_times_are_one_order_and_other_bytes_a_conflict(s):
    """Would catch: an order taken twice, or one that a later message overwrites."""
    order = s.client.submit(payload={"total": 10})
    for _ in range(20):
        s.client.post(order)
    s.client.wait_status(order, "processed")
    s.client.post(order)
    s.wait(lambda: s.client.depth("orders.intake") == 0, "intake is empty")
    other = s.new_client()
    other.publish(order.body.replace('"total": 10', '"total": 11'), message_id=order.order_id, reply_to=other.queue, correlation_id="other")
    body, properties = other.wait_message(lambda body, _: body["status"] == "rejected", "a rejection")
    assert "conflict" in body["reason"] and properties.correlation_id == "other", body
    assert len(s.rows("SELECT * FROM orders WHERE order_id = %s", order.order_id)) == 1
    for service, name in (("inventory", "reserve"), ("payment", "charge"), ("carrier", "ship")):
        assert s.effect(order, name, service)["effects"] == 1
    assert s.state(order) == "processed"


@scenario()
def an_order_without_an_id_gets_one_derived_from_sender_and_message(s):
    """Would catch: an id drawn anew on redelivery, or an order without any identity being taken."""
    body = json.dumps({"workflow": "three", "payload": {"order_number": 2}})
    for _ in range(2):
        s.client.publish(body, message_id="m-1", app_id="shop", reply_to=s.client.queue, correlation_id="c-1")
    first = s.client.wait_message(lambda body, _: body["status"] == "accepted", "accepted")[0]
    s.client.wait_message(lambda body, _: body["status"] == "processed", "processed")
    assert [row["order_id"] for row in s.rows("SELECT order_id FROM order_process")] == [first["order_id"]]
    s.client.publish(body, reply_to=s.client.queue, correlation_id="c-2")
    refused = s.client.wait_message(lambda body, _: body["status"] == "rejected", "rejected")[0]
    assert "order_id" in refused["reason"], refused
    assert len(s.rows("SELECT 1 FROM order_process")) == 1


@scenario()
def each_step_is_reported_if_asked_for(s):
    """Would catch: step_completed sent to clients that did not ask for it, or missing for those that did."""
    asked, quiet = s.client.submit(payload={"n": 1}, notify="steps"), s.client.submit(payload={"n": 2})
    for order in (asked, quiet):
        s.client.wait_status(order, "processed")
    told = [message["step"] for message in s.client.statuses(asked.order_id) if message["status"] == "step_completed"]
    assert sorted(told) == ["charge", "reserve", "ship"], told
    assert [message["status"] for message in s.client.statuses(quiet.order_id)] == ["accepted", "processed"]


@scenario()
def every_value_arrives_digit_for_digit(s):
    """Would catch: a payload that is parsed and printed again on its way (14.00 becoming 14.0)."""
    s.load_workflow("exact", [step("reserve", "inventory")])
    payload = ('{"price" : 14.00, "big":9007199254740993, "tiny": 1e-300,  "text":"\\u00e9 é \\"q\\" \\/", "none":null,'
               ' "list" : [ 1.10,0.0,-0 , {} ]}')
    order_id = "exact-1"
    s.client.publish('{"order_id":"exact-1", "workflow":"exact","payload" : ' + payload + " }", message_id=order_id,
                     reply_to=s.client.queue, correlation_id="x")
    s.client.wait_message(lambda body, _: body["status"] == "processed", "processed")
    entry = s.remote("inventory").entry("exact-1.reserve.do")
    assert entry["body"] == payload, entry["body"]


@scenario()
def high_priority_has_queues_of_its_own_and_normal_orders_go_on(s):
    """Would catch: high orders behind normal ones in a queue, and normal ones that starve."""
    normal = [s.client.submit(payload={"n": n}) for n in range(30)]
    high = [s.client.submit(payload={"n": n}, high=True, priority="high") for n in range(30)]
    for order in high + normal:
        s.client.wait_status(order, "processed")
    rows = s.rows("SELECT order_id FROM order_process WHERE is_high")
    assert {row["order_id"] for row in rows} == {order.order_id for order in high}


@scenario()
def a_status_that_cannot_be_delivered_is_owed_and_its_order_goes_on(s):
    """Would catch: an order, or the queue behind it, held up by a client that is gone; a status lost for good."""
    order = s.client.submit(payload={"n": 1}, reply_to="nobody-listens-here")
    s.wait_state(order, "processed")
    s.wait(lambda: s.rows("SELECT 1 FROM order_event WHERE order_id = %s AND owed", order.order_id), "a status is owed")
    s.client.channel.queue_declare("nobody-listens-here", durable=True)
    s.client.channel.basic_consume("nobody-listens-here", s.client.take, auto_ack=True)
    s.client.wait_status(order, "processed")
    s.wait(lambda: not s.rows("SELECT 1 FROM order_event WHERE order_id = %s AND owed", order.order_id), "nothing is owed")
    assert [message["status"] for message in s.client.statuses(order.order_id)] == ["accepted", "processed"]


@scenario(options={"scheduler": ("--owed-for", "3s")}, long="graces, elections and patience pass in real time")
def statuses_owed_to_a_gone_client_are_given_up_and_kept(s):
    """Would catch: statuses that are tried for ever, an alert for each order, and statuses that are lost when given up."""
    orders = [s.client.submit(payload={"n": n}, reply_to="gone-for-good") for n in range(20)]
    for order in orders:
        s.wait_state(order, "processed")
    s.wait(lambda: len(s.rows("SELECT 1 FROM order_event WHERE given_up_at IS NOT NULL")) == 40, "both statuses of each are given up")
    assert s.rows("SELECT 1 FROM order_event WHERE owed") == []
    alerts = s.wait(lambda: s.alerts("statuses_given_up"), "an alert")
    assert [alert["subject"] for alert in alerts] == ["gone-for-good"], alerts
    s.wait(lambda: s.rows("SELECT 1 FROM reply_queue") == [], "nothing is asked for any more")
    s.wait(lambda: sum(one.metric("makegood_statuses_given_up_total") for one in s.cluster.schedulers) == 40, "each is counted once")
    shown = s.cluster.tool("order", "show", orders[0].order_id, "--utc").stdout
    assert shown.count("given up at") == 2 and "not yet delivered" not in shown, shown
    assert "statuses of 2 events were given up" in s.cluster.tool("order", "explain", orders[0].order_id).stdout
    s.client.post(orders[0])
    assert s.client.wait_status(orders[0], "processed")["seq"] == 2
    s.cluster.tool("alert", "ack", alerts[0]["alert_id"], "--reason", "that client is no more")
    assert s.alerts("statuses_given_up")[0]["closed_at"] is not None


@scenario(schedulers=2, long="others of its kind are quick")
def a_client_that_comes_back_gets_what_it_is_owed_and_wakes_the_rest(s):
    """Would catch: thousands of statuses that each wait separately, and a client that waits out the delay of its old queue."""
    orders = [s.client.submit(payload={"n": n}, reply_to="long-away") for n in range(30)]
    for order in orders:
        s.wait_state(order, "processed")
    s.wait(lambda: len(s.rows("SELECT 1 FROM order_event WHERE owed")) == 60, "all are owed")
    s.rows("UPDATE reply_queue SET since = since - interval '1 day', ask_at = ask_at + interval '4 hours' RETURNING name")
    doctor = s.cluster.tool("doctor", check=False).stdout
    assert "60 are owed" in doctor and "long-away" in doctor, doctor
    assert "has accepted no statuses since" in s.cluster.tool("order", "explain", orders[3].order_id).stdout
    s.client.post(orders[3])  # from another queue: its own status comes at once
    s.client.wait_status(orders[3], "processed")
    s.wait(lambda: [message["seq"] for message in s.client.statuses(orders[3].order_id)] == [1, 2], "what it was owed, too")
    s.client.channel.queue_declare("long-away", durable=True)
    s.client.channel.basic_consume("long-away", s.client.take, auto_ack=True)
    s.client.post(orders[7], reply_to="long-away")  # from the queue that exists again: that wakes the others
    for order in orders:
        s.client.wait_status(order, "processed")
    s.wait(lambda: s.rows("SELECT 1 FROM order_event WHERE owed") == [], "nothing is owed")
    for order in orders:
        assert [message["status"] for message in s.client.statuses(order.order_id)] == ["accepted", "processed"]


@scenario()
def the_tool_submits_a_file_and_waits(s):
    """Would catch: a tool that loses orders of a file, or does not print how each one ended."""
    path = s.scratch / "orders.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for number in range(25):
            order = {"order_id": f"file-{number}", "workflow": "three", "payload": {"order_number": number}}
            if number % 5 == 4:
                order["payload"]["behaviour"] = {"carrier": "decline"}
            file.write(json.dumps(order) + "\n")
    done = s.cluster.tool("order", "submit", path, "--wait", "-o", "jsonl", check=False)
    ended = {entry["order_id"]: entry["status"] for entry in map(json.loads, done.stdout.splitlines())}
    assert ended == {f"file-{n}": "compensated" if n % 5 == 4 else "processed" for n in range(25)}, (ended, done.stderr)
