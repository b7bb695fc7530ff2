"""The HTTP front door: orders posted, read, awaited, listed and cancelled by its clients, over the real broker and database."""

import contextlib
import hashlib
import http.client
import json
import signal
import socket
import threading
import uuid

import yaml

from harness import Order, check_facts, scenario, step
from local import processes
from local.cluster import REPOSITORY
from local.servers import connects
from privileges import OwnAccess
from webhooks import Receiver, new_secret, write_files

SOON_S = 30
CONTRACT = REPOSITORY / "proto" / "openapi.yaml"
TOKENS = {"shop": "a token of the shop", "other": "a token of another client"}
READS_ONLY, UNMADE = "a token that may only read", "a token of a client without an exchange"


def write_tokens(path, tokens):
    path.write_text("".join(f"{rights} {name} {hashlib.sha256(token.encode()).hexdigest()}\n" for rights, name, token in tokens),
                    encoding="ascii")


def logged(gateway, words):
    with open(gateway.process.log_path, encoding="utf-8") as log:
        return [line for line in log if words in line]


class Gateway:
    """A gateway on a stage's cluster, which ends with it."""

    def __init__(self, s, *words, tokens=None, env=None):
        self.port = processes.free_port()
        self.seen = set()  # (method, path of the contract, status)
        self.accepted = {}  # client: ids of its orders
        path = s.scratch / "gateway-tokens"
        write_tokens(path, tokens or [("submit,read,cancel", name, token) for name, token in TOKENS.items()])
        name = f"gateway-{len(s.others) + 1}"
        argv = [s.cluster.bin / "makegood", "gateway", "--listen", f"127.0.0.1:{self.port}", "--tokens-file", path, *words]
        self.process = processes.Process(name, argv, s.scratch / f"{name}.log", http_port=self.port, env=env or s.cluster.tool_env)
        s.others.append(self.process)
        self.process.start()
        processes.wait_until(lambda: connects(self.port), f"{name} listens", alive=self.process)

    def ask(self, method, path, body=None, client="shop", token=None, **headers):
        """(status, headers, bytes) of one request."""
        own = {"Authorization": f"Bearer {token or TOKENS[client]}"} if client else {}
        if path == "/v1/orders:batch":
            headers = {"Content_Type": "application/x-ndjson"} | headers
        if body is not None:
            own["Content-Type"] = "application/json"
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON_S)
        try:
            connection.request(method, path, body, {name: value for name, value in own.items() if value is not None})
            answer = connection.getresponse()
            data = answer.read()
            self.note(method, path, answer.status)
            if answer.status >= 400:
                assert answer.headers["Content-Type"] == "application/problem+json", (path, answer.status, data)
                problem = json.loads(data)
                assert problem["status"] == answer.status and problem["detail"] and problem["title"], problem
            return answer.status, answer.headers, data
        finally:
            connection.close()

    def note(self, method, path, status):
        bare = path.split("?")[0]
        action = next((action for action in ("/cancel", "/events") if bare.endswith(action)), "")
        form = "/v1/orders/{order_id}" + action if bare.startswith("/v1/orders/") else bare
        self.seen.add((method, form, status))

    def post(self, order, status=202, **options):
        """Posts an order, a dictionary or bytes; returns the answer's JSON."""
        seen, headers, data = self.ask("POST", "/v1/orders", order if isinstance(order, bytes) else json.dumps(order), **options)
        assert seen == status, (seen, data)
        if status == 202:
            order_id = json.loads(data)["order_id"]
            assert headers["Location"] == f"/v1/orders/{order_id}", headers
            self.accepted.setdefault(options.get("client", "shop"), set()).add(order_id)
        return json.loads(data)

    def cancel(self, order_id, reason=None, **options):
        """The status of the answer to a cancellation."""
        return self.ask("POST", f"/v1/orders/{order_id}/cancel", reason and json.dumps({"reason": reason}), **options)[0]

    def listed(self, query="", client="shop"):
        """The ids of the orders in a list."""
        seen, _, data = self.ask("GET", "/v1/orders" + query, client=client)
        assert seen == 200, data
        return {row["order_id"] for row in json.loads(data)["orders"]}

    def get(self, order_id, status=200, wait="20s", **options):
        seen, _, data = self.ask("GET", f"/v1/orders/{order_id}" + (f"?wait={wait}" if wait else ""), **options)
        assert seen == status, (seen, data)
        return json.loads(data)


def start(s, *words, clients=("shop", "other"), **options):
    for name in clients:
        s.cluster.tool("broker", "apply", "--client", name)
    gateway = Gateway(s, *words, **options)
    gateway.process.wait_ready()
    return gateway


def load(s):
    s.load_workflow("priced", [step("charge", "payment", do={"method": "POST", "path": "/charges", "body": "${/payload}"})],
                    output={"price": "${/payload/price}"}, labels={"customer": "${/payload/customer}"},
                    input={"price": "number", "customer": "text"},
                    require=[{"that": "time(order.accepted_at) > time('2020-01-01T00:00:00Z')", "text": "an order is accepted now"}])


def order_of(price="14.00", customer="17", order_id=None):
    order_id = order_id or str(uuid.uuid4())
    return order_id, (f'{{"order_id": "{order_id}", "workflow": "priced",'
                      f' "payload": {{"price": {price}, "customer": "{customer}"}}}}').encode()


@contextlib.contextmanager
def behaving(s, mode):
    """The payment behaves so, and as its orders say afterwards."""
    s.remote("payment").switch(mode)
    try:
        yield
    finally:
        s.remote("payment").switch("order")


@contextlib.contextmanager
def paused(scheduler):
    scheduler.pause()
    try:
        yield
    finally:
        scheduler.resume()


def taken(s, door, **order):
    """An order that its scheduler has taken, at a service that does not answer."""
    order_id = door.post(order_of(**order)[1])["order_id"]
    s.wait(lambda: door.get(order_id, wait=None)["state"] == "processing", "the order is taken")
    return order_id


def the_same_bytes_are_one_order_with_its_output(_, door):
    """Would catch: an answer before the broker's confirm, a second order for the same bytes, digits lost in an output."""
    order_id, body = order_of()
    assert door.post(body)["order_id"] == door.post(body)["order_id"] == order_id
    seen, _, data = door.ask("GET", f"/v1/orders/{order_id}?wait=20s")
    assert seen == 200 and b'"output": {"price": 14.00}' in data.replace(b'{"price":14.00}', b'{"price": 14.00}'), data
    ended = json.loads(data)
    assert ended["state"] == "processed" and ended["labels"] == {"customer": "17"} and ended["cause"] is None, ended
    assert door.post(body) == {"order_id": order_id, "state": "processed"}, "the same again"
    assert door.cancel(order_id) == 409


def an_order_is_of_its_client_and_of_its_bytes(_, door):
    """Would catch: an order shown to another client, or changed by other bytes."""
    order_id, body = order_of()
    door.post(body)
    assert door.get(order_id)["state"] == "processed"
    door.post(order_of("15.00", order_id=order_id)[1], 409)
    door.post(body, 409, client="other")
    door.get(order_id, 404, client="other")


def an_order_that_there_is_not_is_404_with_and_without_a_wait(_, door):
    door.get("never-posted", 404, wait="100ms")
    door.get("never-posted", 404, wait=None)


def a_queued_order_is_known_before_a_scheduler_takes_it(s, door):
    """Would catch: an order in the queue that its client reads as missing, or that other bytes or another client take over."""
    order_id, body = order_of()
    with paused(s.cluster.schedulers[0]):
        door.post(body)
        assert door.get(order_id, wait=None)["state"] == "posted"
        door.post(order_of("15.00", order_id=order_id)[1], 409)
        door.post(order_of('"no price"', order_id=order_id)[1], 409)
        door.post(body, 409, client="other")
        door.get(order_id, 404, client="other", wait=None)
        assert door.cancel(order_id) == 503, "it will be taken"
        assert door.cancel(order_id, client="other") == 404
    assert door.get(order_id)["state"] == "processed"


def an_idempotency_key_names_one_order_of_its_client(s, door):
    plain = {"workflow": "priced", "payload": {"price": 3, "customer": "key"}}
    keyed = door.post(plain, Idempotency_Key='"key-1"')
    assert door.post(plain, Idempotency_Key="key-1")["order_id"] == keyed["order_id"]
    padded = {"Idempotency_Key": '"key-1" \t', "token": TOKENS["shop"] + "  "}
    assert door.post(plain, **padded)["order_id"] == keyed["order_id"], "blanks behind a value are no part of it"
    assert door.post(plain, client="other", Idempotency_Key="key-1") != keyed, "a client's keys are its own"
    door.post({**plain, "payload": {"price": 4}}, 409, Idempotency_Key="key-1")
    assert door.get(keyed["order_id"])["state"] == "processed"
    s.client.publish(json.dumps(plain), exchange="makegood.intake.shop", message_id="key-1", reply_to="client.shop.statuses",
                     correlation_id="again")
    s.wait(lambda: s.client.depth("client.shop.statuses") > 0, "the same message over AMQP is the same order")


def a_declined_order_brings_its_cause(s, door):
    with behaving(s, "decline"):
        declined = door.get(door.post(order_of()[1])["order_id"])
    assert declined["state"] == "compensated" and declined["cause"]["step"] == "charge", declined


def a_wait_ends_by_its_time_or_with_the_order(s, door):
    """Would catch: a wait without end; a cancellation whose reason is lost, or that a waiting call does not get."""
    with behaving(s, "silent"):
        slow = door.post(order_of()[1])["order_id"]
        assert door.get(slow, wait="200ms")["state"] in ("pending", "processing", "posted")
        waiting = []
        waiter = threading.Thread(target=lambda: waiting.append(door.get(slow)))
        waiter.start()
        s.wait(lambda: (door.process.metric("makegood_gateway_waiting_calls") or 0) == 1, "one call waits")
        s.wait(lambda: door.get(slow, wait=None)["state"] == "processing", "the order is taken")
        assert door.cancel(slow, client="other") == 404
        seen, _, data = door.ask("POST", f"/v1/orders/{slow}/cancel", json.dumps({"reason": "it rains"}))
        assert seen == 200 and json.loads(data)["order_id"] == slow, data
    waiter.join()
    assert waiting and waiting[0]["state"] == "cancelled", waiting
    assert door.cancel(slow) == 200, "cancelled is cancelled"
    assert "it rains" in json.dumps(s.rows("SELECT reason FROM order_event WHERE order_id = %s", slow))


def a_list_has_the_orders_of_its_client_by_label_and_state(s, door):
    done = door.post(order_of(customer="list")[1])["order_id"]
    assert door.get(done)["state"] == "processed"
    with behaving(s, "silent"):
        ended = taken(s, door, customer="list")
        assert door.cancel(ended) == 200
    assert door.get(ended)["state"] == "cancelled"
    of_other = door.post(order_of(customer="list")[1], client="other")["order_id"]
    assert door.get(of_other, client="other")["state"] == "processed"
    assert door.listed() == door.accepted["shop"] and door.listed(client="other") == door.accepted["other"]
    assert door.listed("?label=customer=list") == {done, ended}
    assert door.listed("?label=customer=list&state=processed") == {done}
    assert ended in door.listed("?state=cancelled") and done not in door.listed("?state=cancelled")


def the_page_after_the_last_is_empty(s, door):
    for _ in range(50):
        door.post(order_of(customer="many")[1])
    s.wait(lambda: len(door.listed("?label=customer=many")) == 50, "all are there")
    _, _, data = door.ask("GET", "/v1/orders?label=customer=many")
    following = json.loads(door.ask("GET", f"/v1/orders?label=customer=many&cursor={json.loads(data)['next']}")[2])
    assert following == {"orders": [], "next": None}, following


@scenario(long="each answer, right or argument in turn")
def an_order_over_http_is_its_client_s_and_brings_its_output_or_cause(s):
    load(s)
    check_facts(s, [the_same_bytes_are_one_order_with_its_output, an_order_is_of_its_client_and_of_its_bytes,
                    an_order_that_there_is_not_is_404_with_and_without_a_wait, a_queued_order_is_known_before_a_scheduler_takes_it,
                    an_idempotency_key_names_one_order_of_its_client, a_declined_order_brings_its_cause,
                    a_wait_ends_by_its_time_or_with_the_order, a_list_has_the_orders_of_its_client_by_label_and_state,
                    the_page_after_the_last_is_empty], start(s))


def cut_body(door, size):
    """The first line of the answer to a body without a length, of that many bytes; "" if there is none."""
    with socket.create_connection(("127.0.0.1", door.port), timeout=SOON_S) as line:
        head = f"POST /v1/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS['shop']}\r\nConnection: close\r\n"
        try:
            line.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n".encode())
            line.sendall(b"x" * size + b"\r\n0\r\n\r\n")
            return line.makefile("rb").readline().decode()
        except OSError:
            return ""


def head_too_long(door):
    """The status of a request with a header of 32 KiB; the HTTP library makes the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=SOON_S)
    try:
        connection.request("GET", "/v1/orders", headers={"X-Long": "x" * 32768})
        return connection.getresponse().status
    finally:
        connection.close()


@scenario(agents=1, long="each order of post and cancellation")
def a_cancellation_right_behind_its_post_is_one_at_any_gateway(s):
    """Would catch: an order that is cancelled with 404, as one that there is not, and then done."""
    load(s)
    doors = [start(s), Gateway(s)]
    doors[1].process.wait_ready()
    s.remote("payment").switch("silent")
    for i in range(20):
        order_id, body = order_of()
        doors[0].post(body)
        status, _, data = doors[i % 2].ask("POST", f"/v1/orders/{order_id}/cancel")
        assert status == 200, (i, status, data)
    scheduler = s.cluster.schedulers[0]
    scheduler.pause()
    order_id, body = order_of()
    doors[0].post(body)
    answers = []
    threads = [threading.Thread(target=lambda door=door: answers.append(door.ask("POST", f"/v1/orders/{order_id}/cancel")[0])) for door in doors]
    for thread in threads:
        thread.start()
    s.wait(lambda: all(door.process.metric("makegood_gateway_waiting_calls") == 1 for door in doors), "both wait for the order")
    scheduler.resume()
    for thread in threads:
        thread.join()
    assert answers == [200, 200], answers
    s.remote("payment").switch("order")
    s.wait(lambda: s.rows("SELECT count(*) AS n FROM order_process WHERE process_state = 'cancelled'")[0]["n"] == 21, "all are cancelled", 60)


EVENTS, BATCH = "/v1/orders/{}/events", "/v1/orders:batch"


def places(order_id):
    """(method, path) of each operation; those of an order are about this one."""
    return [("POST", "/v1/orders"), ("POST", BATCH), ("GET", "/v1/orders"), ("GET", f"/v1/orders/{order_id}"),
            ("GET", EVENTS.format(order_id)), ("POST", f"/v1/orders/{order_id}/cancel")]


def processed(door):
    order_id, body = order_of()
    door.post(body)
    door.get(order_id)
    return order_id


def an_order_that_ended_conflicts_with_changes(_, door):
    order_id = processed(door)
    door.post(order_of("15.00", order_id=order_id)[1], 409)
    assert door.cancel(order_id) == 409


def a_cancellation_is_read_before_it_is_obeyed(s, door):
    with behaving(s, "silent"):
        slow = taken(s, door)
        for bad in ("{", json.dumps({"reason": "ü" * 251})):
            assert door.ask("POST", f"/v1/orders/{slow}/cancel", bad)[0] == 400, bad
        assert door.cancel(slow) == 200
    assert door.get("unknown", 404, wait=None) and door.cancel("unknown") == 404
    assert door.get(slow)["state"] == "cancelled"


def a_query_that_cannot_be_read_is_400(_, door):
    order_id = processed(door)
    assert door.get(order_id, 400, wait="2h") and door.get(order_id, 400, wait="soon")
    for query in ("?state=open", "?cursor=x", "?label=x", "?label=" + "x" * 300, "?label=a=b&label=c=d", "?state=error&state=error"):
        assert door.ask("GET", "/v1/orders" + query)[0] == 400, query
    assert door.ask("GET", f"/v1/orders/{order_id}?wait=1s&wait=2s")[0] == 400
    assert door.ask("GET", "/v1/orders")[0] == 200
    assert head_too_long(door) == 431


def events_begin_after_a_number(_, door):
    events = EVENTS.format(processed(door))
    assert door.ask("GET", events)[0] == 200 and door.ask("GET", events + "?after=9")[0] == 204
    assert door.ask("GET", events + "?after=x")[0] == 400 and door.ask("GET", EVENTS.format("unknown"))[0] == 404


def a_batch_has_at_least_one_line(_, door):
    assert door.ask("POST", BATCH, order_of()[1])[0] == 200 and door.ask("POST", BATCH, b" \n\n")[0] == 400


def each_operation_demands_its_token_its_right_and_its_types(_, door):
    body = order_of()[1]
    for method, path in places(processed(door)):
        data = body if method == "POST" else None
        assert door.ask(method, path, data, client=None)[0] == 401, path
        assert door.ask(method, path, data, token="no token of anyone")[0] == 401, path
        assert door.ask(method, path, data, Accept="text/html, application/xml;q=0.9")[0] == 406, path
        if method == "POST":
            assert door.ask(method, path, data, token=READS_ONLY)[0] == 403, path
            assert door.ask(method, path, data, Content_Type="text/plain")[0] == 415, path
            if path != BATCH:
                assert door.ask(method, path, b"x" * 300000)[0] == 413, path
    assert door.ask("PUT", "/v1/orders", body)[0] == 405 and door.ask("GET", "/v1/nothing")[0] == 404
    assert door.ask("GET", "/v1/orders/%01%2f..")[0] == 404


def a_hostile_body_is_refused(_, door):
    """Would catch: a body that ends the gateway, or is accepted."""
    hostile = sorted((REPOSITORY / "tests" / "fuzz" / "corpus").glob("json/*"))
    assert hostile, "the kept inputs of the fuzz tests"
    for path in hostile:
        status = door.ask("POST", "/v1/orders", path.read_bytes())[0]
        assert status in (400, 413, 422), (path, status)
    assert "413" in cut_body(door, 300000) and cut_body(door, 4 * 1024 * 1024) == ""


def an_order_that_cannot_be_is_400_or_422(_, door):
    for name, bad in {"not JSON": b"{", "empty": b"", "no id": b'{"workflow": "priced"}'}.items():
        assert door.ask("POST", "/v1/orders", bad)[0] == 400, name
    for name, bad in {"no workflow": {"workflow": "nothing"}, "no price": {"workflow": "priced", "payload": {}},
                      "a misspelt member": {"workflow": "priced", "paylod": {}}}.items():
        door.post({"order_id": "bad", **bad}, 422)
        assert door.get("bad", 404, wait=None), name
    for order_id in (".", ".."):
        door.post({"order_id": order_id, "workflow": "priced", "payload": {"price": 5}}, 400)
    for key in ("", "with blank", "ü", "x" * 256):
        assert door.ask("POST", "/v1/orders", b'{"workflow": "priced"}', Idempotency_Key=key.encode())[0] == 400, key


def a_page_of_the_named_origin_alone_may_ask(_, door):
    page = {"Origin": "https://shop.example.org"}
    seen, headers, _ = door.ask("OPTIONS", "/v1/orders", client=None, **page)
    assert seen == 204 and headers["Access-Control-Allow-Origin"] == page["Origin"], headers
    assert door.ask("GET", "/v1/orders", **page)[1]["Access-Control-Allow-Origin"] == page["Origin"]
    assert door.ask("OPTIONS", "/v1/orders", client=None, Origin="https://evil.example.org")[0] == 405
    assert "Access-Control-Allow-Origin" not in door.ask("GET", "/v1/orders", Origin="https://evil.example.org")[1]


def a_post_that_no_queue_takes_is_503(s, door):
    way = ("orders.intake", "makegood.intake.shop", "orders.intake")
    s.client.channel.queue_unbind(*way)
    assert door.ask("POST", "/v1/orders", order_of()[1])[0] == 503, "the broker returns it"
    s.client.channel.queue_bind(*way)


def idle_connections_hold_up_no_post(_, door):
    idle = [socket.create_connection(("127.0.0.1", door.port), timeout=SOON_S) for _ in range(300)]
    for line in idle:
        line.sendall(b"POST /v1/orders HTTP/1.1\r\nHost: x\r\n")  # a head without an end
    assert door.post(order_of()[1])
    for line in idle:
        line.close()


def each_client_has_its_rate_and_its_rights(s, door):
    narrow = Gateway(s, "--client-rate", "1", tokens=[("submit", "shop", TOKENS["shop"]), ("submit,read,cancel", "other", TOKENS["other"]),
                                                      ("submit,read,cancel", "nobody", UNMADE)])
    narrow.seen = door.seen
    text = s.wait(lambda: ready_text(narrow, 200, "no exchange"), "it is ready, and names the client that it cannot serve")
    assert text.startswith("ready") and "client nobody has no exchange" in text, text
    body = order_of()[1]
    for method, path in places("any"):
        data = body if method == "POST" else None
        s.wait(lambda: narrow.ask(method, path, data, client="other")[0] == 429, f"too many of {path}")
        if method == "GET":
            s.wait(lambda: narrow.ask(method, path, data)[0] == 403, f"no right to {path}")
    s.wait(lambda: narrow.ask("POST", "/v1/orders", order_of()[1], token=UNMADE)[0] == 503, "a client without an exchange")
    nobody = Gateway(s, tokens=[("submit", "nobody", UNMADE)])
    s.wait(lambda: ready_text(nobody, 503, "client nobody has no exchange"), "without any client's exchange it is not ready")


def a_gateway_without_its_database_is_503(s, door):
    apart = Gateway(s, env={**s.cluster.tool_env, "MAKEGOOD_PG_DSN": "host=127.0.0.1 port=1 dbname=none"})
    apart.seen = door.seen
    for method, path in places("any"):
        assert apart.ask(method, path, order_of()[1] if method == "POST" else None)[0] == 503, path


def contract_faults(door, is_ours):
    """The statuses of these paths that the contract declares and the gateway never gave, and those that it does not declare."""
    contract = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))
    declared = {(method.upper(), path, int(status)) for path, item in contract["paths"].items() for method, operation in item.items()
                if isinstance(operation, dict) and is_ours(path) for status in operation["responses"]}
    given = {place for place in door.seen if place[0] in ("GET", "POST") and place[2] not in (404, 405)} | (door.seen & declared)
    return sorted(declared ^ given)


def the_contract_declares_the_given_statuses_and_no_others(_, door):
    """Would catch: a status that the contract declares and the gateway never gives, or the other way round."""
    faults = contract_faults(door, lambda path: "/signals/" not in path and "/callbacks/" not in path)  # these: test_gateway_signals.py
    assert not faults, faults


@scenario()
def each_status_of_the_contract_is_given(s):
    """An error is a problem document, in each of them."""
    load(s)
    door = start(s, "--client-rate", "1000", "--cors-origin", "https://shop.example.org",
                 tokens=[("submit,read,cancel", name, token) for name, token in TOKENS.items()] + [("read", "shop", READS_ONLY)])
    check_facts(s, [an_order_that_ended_conflicts_with_changes, a_cancellation_is_read_before_it_is_obeyed,
                    a_query_that_cannot_be_read_is_400, events_begin_after_a_number, a_batch_has_at_least_one_line,
                    each_operation_demands_its_token_its_right_and_its_types, a_hostile_body_is_refused,
                    an_order_that_cannot_be_is_400_or_422, a_page_of_the_named_origin_alone_may_ask, a_post_that_no_queue_takes_is_503,
                    idle_connections_hold_up_no_post, each_client_has_its_rate_and_its_rights, a_gateway_without_its_database_is_503,
                    the_contract_declares_the_given_statuses_and_no_others], door)


def ready_text(door, code, part):
    """The text of /readyz, if it comes with this code and has that part."""
    connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=SOON_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        text = answer.read().decode()
        return text if answer.status == code and part in text else None
    finally:
        connection.close()


@scenario()
def a_gateway_killed_at_any_moment_leaves_one_order_for_each_post(s):
    """Would catch: an order that is lost with the gateway that accepted it, or made twice by the client's repetition."""
    load(s)
    door = start(s)
    bodies = [order_of() for _ in range(60)]
    accepted = set()

    def post(order_id, body):
        def is_accepted():
            try:
                return door.ask("POST", "/v1/orders", body)[0] == 202
            except (OSError, http.client.HTTPException):
                return False  # it was killed; the next one begins soon
        processes.wait_until(is_accepted, f"{order_id} is accepted", SOON_S)
        accepted.add(order_id)
    posters = [threading.Thread(target=lambda part=part: [post(*one) for one in bodies[part::6]]) for part in range(6)]
    for poster in posters:
        poster.start()
    for share in (5, 20, 40):
        s.wait(lambda share=share: len(accepted) >= share, "some are accepted")
        door.process.kill()
        door.process.start()
    for poster in posters:
        poster.join()
    assert accepted == {order_id for order_id, _ in bodies}
    door.process.wait_ready()
    for order_id, _ in bodies:
        assert door.get(order_id)["state"] == "processed"
    assert len(s.remote("payment").entries()) == len(bodies)
    assert not s.client.get("orders.rejected")


@scenario(own_servers=True, access=OwnAccess, long="servers start anew with the least rights", portable=True)
def a_gateway_has_the_rights_that_it_needs_and_no_others(s):
    """Would catch: a right that the gateway lacks, or one by which it could read a payload or give an operator's command."""
    from test_privileges import channel_of, depth, execute, publish, refusals  # pylint: disable=import-outside-toplevel
    s.cluster.tool("broker", "apply", "--webhook", "--client", "shop", "--client", "other", env=s.cluster.env_of("deployer", None))
    load(s)
    receiver = Receiver(new_secret())
    webhooks = write_files(s.scratch, [("shop", receiver.url, [receiver.secret])])
    door = Gateway(s, "--webhooks-file", webhooks, env=s.cluster.env_of("gateway", "gateway"))
    door.process.wait_ready()
    order_id, body = order_of()
    door.post(body)
    assert door.get(order_id)["state"] == "processed"
    s.wait(lambda: receiver.seqs(order_id) == [1, 2], "its webhook has its statuses")
    for queue in ("client.shop.statuses", "client.shop.webhook"):  # the second answer is the last status alone
        publish(s, "client-shop", "makegood.intake.shop", "orders.intake", order_of(order_id="moved")[1], message_id="moved", reply_to=queue)
        s.wait_state(Order("moved", "", ""), "processed")
    s.wait(lambda: receiver.seqs("moved") == [1, 2], "the gateway reads the earlier one from the history")
    receiver.end()
    s.remote("payment").switch("silent")
    slow = door.post(order_of(customer="18")[1])["order_id"]
    s.wait(lambda: door.get(slow, wait=None)["state"] == "processing", "the order is taken")
    assert door.ask("POST", f"/v1/orders/{slow}/cancel")[0] == 200
    s.remote("payment").switch("order")
    assert door.get(slow)["state"] == "cancelled"
    assert door.ask("GET", "/v1/orders?label=customer=18")[0] == door.ask("GET", "/v1/orders")[0] == 200
    assert not refusals(s), refusals(s)
    for sql in ("SELECT payload FROM orders", "SELECT * FROM order_step", "UPDATE order_process SET reason = 'none'",
                "SELECT by_whom FROM order_event", "SELECT reason FROM order_event", "SELECT result FROM order_step", "SELECT * FROM order_archive", "SELECT makegood_dossier('x')",
                "SELECT * FROM makegood_archived_of_client('shop', 'x')"):
        try:
            execute(s, "gateway", sql)
        except Exception as error:  # pylint: disable=broad-exception-caught
            assert "permission denied" in str(error) or "read-only transaction" in str(error), (sql, error)
        else:
            raise AssertionError(f"the gateway may: {sql}")
    forged = {"v": 1, "command_id": "forged", "command": "compensate", "order_id": order_id, "by": "ann", "reason": "because"}
    publish(s, "gateway", "makegood.commands.gateway", "scheduler.commands", json.dumps(forged).encode(), type="command")
    s.wait(lambda: depth(s, "dead.letters") == 1, "a command that no client may give is a dead letter")
    assert channel_of(s, "gateway").is_open
    assert s.state(Order(order_id, "", "")) == "processed"


@scenario(schedulers=0, supervisors=0, agents=0)
def clients_come_and_go_with_the_file_of_tokens(s):
    """Would catch: clients that left and count for the limit, so that a token that was taken away stays valid; a file above the limit
    that is taken in part."""
    path = s.scratch / "gateway-tokens"
    door = Gateway(s)

    def reload(clients):
        count = len(logged(door, "tokens-file"))
        write_tokens(path, [("read", name, f"token of {name}") for name in clients])
        door.process.signal(signal.SIGHUP)
        s.wait(lambda: len(logged(door, "tokens-file")) > count, "the file is read again")

    def is_known(name):
        return door.ask("GET", "/v1/orders/none", token=f"token of {name}")[0] != 401

    sets = [[f"{letter}{number}" for number in range(128)] for letter in "abc"]
    for clients in sets:
        reload(clients)
        assert is_known(clients[0]) and is_known(clients[127])
    assert door.ask("GET", "/v1/orders/none")[0] == 401 and not is_known("a0") and not is_known("b127")
    reload(sets[0] + ["shop"])
    assert "names 129 clients, more than 128" in logged(door, "tokens-file")[-1]
    assert is_known("c0") and not is_known("a0")


@scenario(schedulers=0, supervisors=0, agents=0)
def an_order_is_refused_for_the_reason_that_the_scheduler_gives(s):
    """Would catch: a refusal of the gateway with other words than the scheduler's (unit.scheduler_admission reads the same table)."""
    table = json.loads((REPOSITORY / "tests/unit/refusals.json").read_text(encoding="utf-8"))
    versions = {name: number for number, name in enumerate(table["definitions"], 1)}
    for name, definition in table["definitions"].items():
        fields = {**definition, "version": versions[name]}
        s.load_workflow(fields.pop("workflow"), fields.pop("steps"), **fields)
    door = start(s, clients=("shop",))
    for case in table["cases"]:
        order = {"order_id": "o-1", "workflow": "two", "workflow_version": versions[case["definition"]], "payload": case["payload"]}
        refused = door.post(order, 422)
        assert refused["detail"] == case["reason"], refused
    for version, named in ((None, ""), (3, " of version 3")):
        order = {"order_id": "o-1", "workflow": "none", "payload": {}, **({"workflow_version": version} if version else {})}
        assert door.post(order, 422)["detail"] == f'/workflow: no workflow "none"{named} has been loaded', order
