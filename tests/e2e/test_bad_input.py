"""Bad input gets a clear answer, and changes nothing."""

import json
import ssl
import socket
import subprocess
import threading

import pika

from harness import Order, scenario, step
from local import processes


def nested(depth):
    return "[" * depth + "]" * depth


GOOD = '{"order_id": "good-1", "workflow": "three", "payload": {}}'
BAD = {  # name: (body, a word that the reason must hold)
    "not JSON": ("{", ""),
    "empty": ("", ""),
    "not an object": ("[1]", ""),
    "something after the value": (GOOD + "x", ""),
    "invalid UTF-8": (b'{"workflow": "three", "payload": {"x": "\xff"}}', ""),
    "a NUL byte": (b'{"workflow": "three", "payload": {"x": "\\u0000"}}', ""),
    "a workflow of the wrong type": ('{"order_id": "bad", "workflow": 7, "payload": {}}', "/workflow"),
    "no workflow": ('{"order_id": "bad", "payload": {}}', "workflow"),
    "an unknown workflow": ('{"order_id": "bad", "workflow": "unheard-of", "payload": {}}', "unheard-of"),
    "an unknown version": ('{"order_id": "bad", "workflow": "three", "workflow_version": 99, "payload": {}}', ""),
    "a bad order id": ('{"order_id": "a b/c", "workflow": "three", "payload": {}}', "/order_id"),
    "an order id that is too long": (json.dumps({"order_id": "x" * 300, "workflow": "three"}), "/order_id"),
    "a bad duration": ('{"order_id": "bad", "workflow": "three", "complete_within": "soon"}', "/complete_within"),
    "a bad priority": ('{"order_id": "bad", "workflow": "three", "priority": "top"}', "/priority"),
    "duplicate names": ('{"order_id": "bad", "workflow": "three", "payload": {"a": 1, "a": 2}}', "a"),
    "too deep": ('{"order_id": "bad", "workflow": "three", "payload": ' + nested(40) + "}", ""),
    "too many members": ('{"order_id": "bad", "workflow": "three", "payload": ' + json.dumps([0] * 32769) + "}", ""),
    "a number beyond int64": ('{"order_id": "bad", "workflow": "three", "payload": 99999999999999999999}', ""),
    "a number beyond double": ('{"order_id": "bad", "workflow": "three", "payload": 1e999}', ""),
    "oversized": ('{"order_id": "bad", "workflow": "three", "payload": "' + "x" * 300_000 + '"}', ""),
    "far oversized": ('{"order_id": "bad", "workflow": "three", "payload": "' + "x" * 3_000_000 + '"}', ""),
}


@scenario()
def every_bad_submission_is_rejected_with_its_reason_and_kept(s):
    """Would catch: a crash, a silent loss, or a row made of nonsense."""
    for number, (name, (body, word)) in enumerate(BAD.items()):
        s.client.publish(body, message_id=f"bad-{number}", reply_to=s.client.queue, correlation_id=name)
    for name, (body, word) in BAD.items():
        told, _ = s.client.wait_message(lambda _, properties, name=name: properties.correlation_id == name, f"an answer to {name}")
        assert told["status"] == "rejected" and told["reason"], (name, told)
        assert word in told["reason"], (name, told)
    kept = {}
    while len(kept) < len(BAD):
        properties, body = s.wait(lambda: s.client.get("orders.rejected"), f"{len(BAD)} messages in orders.rejected")
        assert properties.headers["x-makegood-reason"], properties
        kept[properties.correlation_id] = body
    unread = ("oversized", "far oversized")  # a note there, the message itself among the dead
    dead = {}
    while len(dead) < len(unread):
        properties, body = s.wait(lambda: s.client.get("dead.letters"), "a message in dead.letters")
        dead[properties.correlation_id] = body
    for name, (body, _) in BAD.items():
        whole = body if isinstance(body, bytes) else body.encode()
        if name in unread:
            assert json.loads(kept[name]) == {"oversized": True, "original": "in dead.letters"}, kept[name]
            assert dead[name] == whole, name
        else:
            assert kept[name] == whole, name
    assert s.rows("SELECT * FROM orders") == [] and s.rows("SELECT * FROM order_process") == []
    order = s.client.submit(payload={"n": 1})
    s.client.wait_status(order, "processed")


@scenario()
def a_submission_with_an_x_death_header_is_refused_and_kept(s):
    """Would catch: bytes that are acked unread; a letter that a requeue attributes to another client; orders of a delay queue that
    vanish."""
    s.cluster.tool("broker", "apply", "--client", "shop")
    note = {"queue": "orders.intake", "reason": "rejected", "exchange": "makegood.intake.other", "count": 0, "routing-keys": ["orders.intake"]}
    bodies, kept = {}, {}
    for name, size in (("small", 1), ("large", 300_000), ("huge", 3_000_000)):
        bodies[name] = json.dumps({"order_id": name, "workflow": "three", "payload": {"pad": "x" * size}}).encode()
        s.client.publish(bodies[name], exchange="makegood.intake.shop", message_id=name, reply_to="client.shop.statuses",
                         correlation_id=name, headers={"x-death": [note]})
        properties, body = s.wait(lambda: s.client.get("client.shop.statuses"), f"an answer to {name}")
        assert properties.correlation_id == name and "x-death" in json.loads(body)["reason"], body
        s.wait(lambda: s.client.depth("orders.rejected") == 1, f"{name} in orders.rejected")
        if name == "small":  # belongs to its client, like every refused submission
            s.cluster.tool("dead", "requeue", "--queue", "orders.rejected", "1", "--reason", "it is in order")
            s.wait(lambda: s.rows("SELECT 1 FROM orders WHERE order_id = 'small' AND client = 'shop'"), "the order")
            s.wait_state(Order("small", bodies[name], name), "processed")
            s.wait(lambda: s.client.depth("client.shop.statuses") == 2, "it is accepted and processed")
            s.client.channel.queue_purge("client.shop.statuses")
        else:
            kept[name] = s.client.get("orders.rejected")
    assert kept["large"][1] == bodies["large"]
    assert "x-death" not in kept["large"][0].headers and kept["large"][0].headers["x-makegood-exchange"] == "makegood.intake.shop"
    assert json.loads(kept["huge"][1]) == {"oversized": True, "original": "in dead.letters"}
    s.wait(lambda: s.client.depth("dead.letters") == 1, "huge in dead.letters")
    assert "the maximum that a scheduler takes" in s.cluster.tool("dead", "requeue", "1", "--reason", "try again", check=False).stderr
    assert s.client.get("dead.letters")[1] == bodies["huge"]


FULL_HEADERS = 131_010  # bytes of one header text; the broker's limit of a header frame is 131,072


@scenario()
def headers_that_fill_a_frame_delay_no_other(s):
    """Would catch: a post that the broker takes, and by its own headers makes larger than a consumer reads. Every scheduler lost its
    connection by it again and again, and no dead letter could be listed, requeued or dropped."""
    headers = {"h": "x" * FULL_HEADERS}
    order = Order("full", json.dumps({"order_id": "full", "workflow": "three", "payload": {}}), "c")
    scheduler = s.cluster.schedulers[0]
    s.client.publish(order.body, message_id="full", headers=headers)
    s.wait_state(order, "processed")
    s.client.publish("{" + " " * 300_000 + "}", message_id="dead-full", headers=headers)
    s.client.publish("{" + " " * 300_000 + "}", message_id="dead-small")
    s.wait(lambda: s.client.depth("dead.letters") == 2, "both are dead")
    other = s.client.submit(payload={"n": 1})
    s.client.wait_status(other, "processed")
    with open(scheduler.log_path, encoding="utf-8", errors="replace") as log:
        assert "invalid AMQP data" not in log.read()
    assert len(json.loads(s.cluster.tool("dead", "list", "-o", "json").stdout)) == 2
    requeued = s.cluster.tool("dead", "requeue", "--all", "--reason", "try again", check=False)
    assert "1 message remains in dead.letters" in requeued.stderr and "its headers fill a frame" in requeued.stderr, requeued
    s.wait(lambda: s.client.depth("dead.letters") == 2, "the small one has died again")
    s.cluster.tool("dead", "drop", "--all", "--reason", "seen")
    s.wait(lambda: s.client.depth("dead.letters") == 0, "none is left")


@scenario(long="others of its kind are quick")
def a_bad_submission_without_a_reply_queue_is_kept_all_the_same(s):
    """Would catch: a rejection that depends on a reader of its status."""
    s.client.publish("{", message_id="mute")
    properties, body = s.wait(lambda: s.client.get("orders.rejected"), "a message in orders.rejected")
    assert body == b"{" and properties.headers["x-makegood-reason"]


@scenario()
def a_reply_queue_of_our_own_is_refused_and_never_written_to(s):
    """Would catch: a client that makes the scheduler write into the agents' or its own queues."""
    for number, queue in enumerate(("agent.payment.requests", "scheduler.commands", "scheduler.replies", "orders.intake",
                                    "operator.alerts", "dead.letters", "amq.direct")):
        s.client.publish(json.dumps({"order_id": f"confused-{number}", "workflow": "three", "payload": {}}),
                         message_id=str(number), reply_to=queue, correlation_id="c")
        properties, _ = s.wait(lambda: s.client.get("orders.rejected"), f"the order with reply_to {queue} is refused")
        assert "reply_to" in properties.headers["x-makegood-reason"], properties
    assert s.rows("SELECT * FROM order_process") == []
    assert s.client.depth("dead.letters") == 0 and s.client.depth("operator.alerts") == 0


@scenario(long="others of its kind are quick")
def direct_reply_to_is_refused_with_a_reason(s):
    """Would catch: an order that is accepted although the broker cannot report whether its statuses arrive."""
    connection = pika.BlockingConnection(pika.URLParameters(s.url))
    channel, told = connection.channel(), []
    channel.basic_consume("amq.rabbitmq.reply-to", lambda *message: told.append(json.loads(message[3])), auto_ack=True)
    channel.basic_publish("makegood.intake", "orders.intake",
                          json.dumps({"order_id": "direct-1", "workflow": "three", "payload": {}}),
                          pika.BasicProperties(reply_to="amq.rabbitmq.reply-to", message_id="direct-1"))
    s.wait(lambda: connection.process_data_events(time_limit=processes.POLL_S) or told, "the refusal")
    assert told[0]["status"] == "rejected" and "direct reply-to" in told[0]["reason"], told
    properties, _ = s.wait(lambda: s.client.get("orders.rejected"), "the submission is kept")
    assert "direct reply-to" in properties.headers["x-makegood-reason"], properties
    assert s.rows("SELECT * FROM order_process") == []
    connection.close()


@scenario()
def replies_that_fit_nothing_change_nothing(s):
    """Would catch: a row changed by a forged, old or malformed reply."""
    order = s.client.submit(payload={"n": 1})
    s.wait_state(order, "processed")
    before = (s.rows("SELECT * FROM order_process"), s.rows("SELECT * FROM order_step ORDER BY step"), s.events(order))

    def reply(**changes):
        body = {"v": 1, "order_id": order.order_id, "step": "charge", "attempt": 1, "kind": "do", "outcome": "permanent",
                "executed": "no"}
        body.update(changes)
        s.client.publish(json.dumps(body), "scheduler.replies", "makegood.replies", type="reply",
                         correlation_id=f"{body['order_id']}.{body['step']}.{body['attempt']}.{body['kind']}")

    reply()                          # of an attempt that has been answered
    reply(kind="undo")               # of a kind that the row does not wait for
    reply(order_id="no-such-order")
    reply(step="no-such-step")
    for body in (b"{", b"[]", json.dumps({"v": 1, "order_id": order.order_id}).encode()):
        s.client.publish(body, "scheduler.replies", "makegood.replies", type="reply")
    s.wait(lambda: s.client.depth("dead.letters") >= 3, "the malformed ones are dead letters")
    s.wait(lambda: s.client.depth("scheduler.replies") == 0, "all have been read")
    other = s.client.submit(payload={"n": 2})
    s.client.wait_status(other, "processed")
    after = (s.rows("SELECT * FROM order_process WHERE order_id = %s", order.order_id),
             s.rows("SELECT * FROM order_step WHERE order_id = %s ORDER BY step", order.order_id), s.events(order))
    assert after == before, (before, after)


@scenario()
def a_reply_ahead_of_the_database_stops_its_order(s):
    """Would catch: an order that goes on after the database lost the order's newest rows."""
    s.load_workflow("slow", [step("charge", "payment", complete_within="30s")])
    order = s.client.submit("slow", {"behaviour": "slow:3000"})
    s.wait_step(order, "charge", "running")
    s.client.publish(json.dumps({"v": 1, "order_id": order.order_id, "step": "charge", "attempt": 9, "kind": "do",
                                 "outcome": "done", "executed": "yes"}), "scheduler.replies", "makegood.replies",
                     type="reply", correlation_id=f"{order.order_id}.charge.9.do")
    s.wait_state(order, "error")
    s.wait(lambda: [row for row in s.alerts("state_lost") if row["order_id"] == order.order_id], "an alert state_lost")


DEFINITIONS = {  # name: (change to a good definition, the path that the message must name)
    "an unknown name": (lambda d: d.update(colour="red"), "/colour"),
    "an unknown name in a step": (lambda d: d["steps"][0].update(sevrice="x"), "/steps/0/sevrice"),
    "a cycle": (lambda d: d["steps"][0].update(after=["charge"]), "/steps/"),
    "a step after nothing known": (lambda d: d["steps"][1].update(after=["nowhere"]), "/steps/1/after"),
    "a forward reference": (lambda d: d["steps"][0]["do"].update(body="${/results/charge/id}"), "/steps/0/do/body"),
    "a bad duration": (lambda d: d["steps"][0].update(complete_within="5 minutes"), "/steps/0/complete_within"),
    "a deadline above the broker's": (lambda d: d["steps"][0].update(complete_within="2h"), "/steps/0/complete_within"),
    "a bad path": (lambda d: d["steps"][0]["do"].update(path="reservations"), "/steps/0/do/path"),
    "no word about undo": (lambda d: d["steps"][0].pop("undo"), "/steps/0"),
    "verify asked for and missing": (lambda d: d["steps"][0].update(on_unknown="verify"), "/steps/0"),
    "two steps of one name": (lambda d: d["steps"][1].update(step="reserve"), "/steps/1/step"),
    "an open reference": (lambda d: d["steps"][0]["do"].update(path="/x/${/order_id"), "/steps/0/do/path"),
}


@scenario(schedulers=0, agents=0, supervisors=0)
def a_mistake_in_a_definition_is_refused_with_file_and_pointer(s):
    """Would catch: a mistake that is found when the first order fails."""
    for name, (spoil, pointer) in DEFINITIONS.items():
        definition = {"workflow": "bad", "version": 1, "complete_within": "5m",
                      "steps": [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])]}
        spoil(definition)
        path = s.scratch / "bad.json"
        path.write_text(json.dumps(definition), encoding="utf-8")
        for verb in ("check", "load"):
            done = s.cluster.tool("workflow", verb, path, check=False)
            assert done.returncode == 2, (name, verb, done)
            assert "bad.json" in done.stderr and pointer in done.stderr, (name, verb, done.stderr)
    assert s.rows("SELECT 1 FROM workflow WHERE name = 'bad'") == []
    path.write_text("{", encoding="utf-8")
    assert s.cluster.tool("workflow", "load", path, check=False).returncode == 2
    s.load_workflow("fixed", [step("charge", "payment")])
    s.load_workflow("fixed", [step("charge", "payment")])
    changed = s.scratch / "changed.json"
    changed.write_text(json.dumps({"workflow": "fixed", "version": 1, "complete_within": "9m",
                                   "steps": [step("charge", "payment")]}), encoding="utf-8")
    done = s.cluster.tool("workflow", "load", changed, check=False)
    assert done.returncode != 0 and "version" in done.stderr, done


@scenario(schedulers=0, agents=0, supervisors=0)
def a_bad_service_file_or_option_ends_with_one_clear_line(s):
    """Would catch: a service that starts on a configuration it did not understand."""
    bad = s.scratch / "bad-service.json"
    cases = []
    for definition in ({"service": "payment", "url": "ftp://x"}, {"service": "payment", "url": "http://u:p@x/"},
                       {"service": "Pay ment", "url": "http://x"}, {"service": "payment"},
                       {"service": "payment", "url": "http://x", "tires": 3}):
        cases.append(("agent", ("--service", bad), definition))
    cases += [("agent", ("--service", s.scratch / "missing.json"), None), ("agent", (), None),
              ("scheduler", ("--no-such-option",), None), ("scheduler", ("--amqp-url", "http://x"), None),
              ("supervisor", ("--sweep-period", "often"), None), ("scheduler", ("--config", s.scratch / "missing"), None)]
    environment = processes.plain_environment()
    environment.update(s.cluster.tool_env)
    for kind, words, definition in cases:
        if definition is not None:
            bad.write_text(json.dumps(definition), encoding="utf-8")
        for more in ((), ("--check-config",)):
            done = subprocess.run([str(word) for word in (s.cluster.bin / f"makegood-{kind}", *words, *more)],
                                  env=environment, capture_output=True, text=True, timeout=30, check=False)
            assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, (kind, words, definition, done)
    bad.write_text(json.dumps({"service": "Pay ment", "url": "ftp://x", "tires": 3}), encoding="utf-8")
    flows = s.scratch / "flows"
    flows.mkdir()
    for name in ("one", "two"):
        (flows / f"{name}.json").write_text(json.dumps({"workflow": "W 1", "version": 0, "steps": []}), encoding="utf-8")
    for kind, words, mistakes in (("agent", ("--service", bad), ("/service:", "/url:", "tires")),
                                  ("scheduler", ("--workflows", flows), ("one.json: line 1, column 14: /workflow:", "one.json:1:32: /version:",
                                                                         "two.json: line 1, column 14: /workflow:", "two.json:1:32: /version:"))):
        done = subprocess.run([str(word) for word in (s.cluster.bin / f"makegood-{kind}", *words, "--check-config")],
                              env=environment, capture_output=True, text=True, timeout=30, check=False)
        told = [done.stderr.count(mistake) for mistake in mistakes]
        assert done.returncode == 2 and set(told) == {1}, (kind, told, done)
    good = subprocess.run([str(s.cluster.bin / "makegood-scheduler"), "--check-config"], env=environment, timeout=30,
                          capture_output=True, text=True, check=False)
    assert good.returncode == 0, good


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@scenario(long="others of its kind are quick")
def a_remote_that_answers_nonsense_is_classified_and_memory_stays_flat(s):
    """Would catch: a redirect followed, an endless body kept, garbage taken for success or for proof of absence."""
    s.load_workflow("wild", [step("charge", "payment", complete_within="3s", retry={"attempts": 2, "backoff": "50ms"})])
    agent = s.cluster.agents_of("payment")[0]
    first = s.client.submit("wild", {"n": 0})
    s.client.wait_status(first, "processed")
    before = resident_kib(agent.pid)
    wild = {mode: s.client.submit("wild", {"behaviour": mode}) for mode in ("redirect", "garbage", "huge", "truncate", "silent")}
    for mode, order in wild.items():
        s.wait(lambda order=order: s.state(order) in ("processed", "compensated", "error"), f"the order of {mode} has ended")
    for mode in ("garbage", "huge", "truncate"):
        entry = s.effect(wild[mode], "charge", "payment")
        state = s.state(wild[mode])
        assert entry["state"] == ("done" if state == "processed" else "undone"), (mode, state, entry)
    assert s.effect(wild["redirect"], "charge", "payment")["effects"] == 0
    assert resident_kib(agent.pid) - before < 64 * 1024, "the agent grew with what the remote sent"


class TlsPeer:
    """Listens, and fails every TLS handshake."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # without a certificate no handshake succeeds
        while True:
            peer, _ = self.listener.accept()
            try:
                context.wrap_socket(peer, server_side=True)
            except OSError:
                peer.close()


def unreachable(name, service):
    """Payment has no address; the carrier offers TLS with a certificate that no client could trust."""
    service["tries"] = 1
    if name == "payment":
        service["url"] = "https://no-such-host.invalid"
    if name == "carrier":
        service["url"] = f"https://127.0.0.1:{TlsPeer().port}"
    return service


@scenario(edit_service=unreachable)
def a_remote_that_cannot_be_reached_has_executed_nothing(s):
    """Would catch: a name or certificate failure taken for a maybe, which would be undone or verified in vain."""
    s.load_workflow("nameless", [step("charge", "payment")], complete_within="4s")
    s.load_workflow("untrusted", [step("ship", "carrier")], complete_within="4s")
    orders = [(s.client.submit("nameless", {}), "charge"), (s.client.submit("untrusted", {}), "ship")]
    for order, name in orders:
        s.wait(lambda order=order: s.state(order) in ("compensated", "error"), "the order has ended")
        assert s.state(order) == "compensated" and s.step(order, name)["maybe"] is False, s.story(order)


@scenario(own_servers=True, long="graces, elections and patience pass in real time")
def services_without_a_server_log_it_once_and_recover(s):
    """Would catch: a service that exits, floods its log or never connects when it started before its servers."""
    for process in s.cluster.all:
        process.terminate()
    s.servers.rabbit.stop()  # its queues are a second old: killed, it could lose them
    s.servers.postgres.kill()
    marks = {process.name: len(process.tail(100000).splitlines()) for process in s.cluster.all}
    for process in s.cluster.all:
        process.start()
    for process in s.cluster.all:
        s.wait(lambda process=process: process.get("/readyz")[0] == 503, f"{process.name} says that it is not ready")
        assert process.get("/healthz")[0] == 200
    s.servers.postgres.restart()
    s.servers.rabbit.restart()
    for process in s.cluster.all:
        process.wait_ready()
        lines = process.tail(100000).splitlines()[marks[process.name]:]
        assert len(lines) < 40, f"{process.name} wrote {len(lines)} lines"
    client = s.new_client()
    order = client.submit(payload={"n": 1})
    client.wait_status(order, "processed")
