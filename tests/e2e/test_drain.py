"""The end of gateway and console at SIGTERM: requests in hand are answered, none is lost over a rolling restart, and it is bounded."""

import http.client
import json
import signal
import socket
import threading
import time
import uuid

from harness import scenario
from test_console import Console
from test_gateway import SOON_S, TOKENS, Gateway, load, logged, order_of, start
from test_gateway_events import Stream, words
from test_gateway_memory import begin
from wires import Wire

ENDS_S = 5.0     # far below the default of --drain-timeout
CLIENTS = 12
ROUNDS = 2       # restarts of each gateway
HEADERS = {"Authorization": f"Bearer {TOKENS['shop']}", "Content-Type": "application/json"}


class Poster(threading.Thread):
    """Posts one order after another on a kept connection, at the first gateway that does not refuse the connection."""

    def __init__(self, doors, beginning, flood):
        super().__init__(daemon=True)
        self.doors, self.beginning, self.flood = list(doors), beginning, flood
        self.taken, self.faults, self.reconnects = [], [], 0
        self.start()

    def connect(self):
        while self.flood.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.doors[0].port, timeout=SOON_S)
            try:
                connection.connect()
                return connection
            except ConnectionRefusedError:
                self.doors.append(self.doors.pop(0))
        return None

    def run(self):
        while self.flood.is_set() and (connection := self.connect()):
            self.reconnects += 1
            try:
                while self.flood.is_set():
                    order_id, body = order_of()
                    begins = self.doors[0] in self.beginning
                    connection.request("POST", "/v1/orders", body, HEADERS)
                    answer = connection.getresponse()
                    data = answer.read()
                    if answer.status == 503 and begins:  # no readiness is asked here: the other one takes the order
                        self.doors.append(self.doors.pop(0))
                        break
                    if answer.status != 202:
                        self.faults.append((answer.status, data))
                    else:
                        self.taken.append(order_id)
                    if answer.will_close:
                        break
            except (OSError, http.client.HTTPException) as fault:
                self.faults.append((repr(fault), f"request {len(self.taken)}"))
            connection.close()


@scenario(agents=2)
def a_rolling_restart_of_two_gateways_leaves_no_request_without_an_answer(s):
    """Would catch: a post that is cut between the broker's confirm and its answer; a connection that is reset in the queue of the
    listening socket; an idle connection that is closed as its next request comes; an accepted order that is lost."""
    load(s)
    doors = [start(s), Gateway(s)]
    doors[1].process.wait_ready()
    flood = threading.Event()
    flood.set()
    beginning = set()  # gateways that are not ready yet
    posters = [Poster(doors if i % 2 else reversed(doors), beginning, flood) for i in range(CLIENTS)]
    for _ in range(ROUNDS):
        for door in doors:
            before = sum(len(poster.taken) for poster in posters)
            s.wait(lambda before=before: sum(len(poster.taken) for poster in posters) > before + 2 * CLIENTS, "posts are taken")
            began = time.monotonic()
            assert door.process.terminate() == 0, door.process.tail()
            assert time.monotonic() - began < ENDS_S, "the drain waits for nothing but the requests in hand"
            beginning.add(door)
            door.process.start().wait_ready()
            beginning.discard(door)
    flood.clear()
    for poster in posters:
        poster.join()
    faults = [fault for poster in posters for fault in poster.faults]
    assert not faults, (len(faults), faults[:5])
    assert sum(poster.reconnects for poster in posters) > CLIENTS, "nobody has met a gateway that ended"
    taken = {order_id for poster in posters for order_id in poster.taken}
    s.wait(lambda: s.rows("SELECT count(*) AS n FROM order_process WHERE process_state = 'processed'")[0]["n"] >= len(taken), "each order ends", 120)
    assert taken <= {row["order_id"] for row in s.rows("SELECT order_id FROM order_process")}


def kept(port, path):
    """A kept connection that has had its first answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SOON_S)
    connection.request("GET", path, headers=HEADERS)
    answer = connection.getresponse()
    data = answer.read()
    assert not answer.will_close, (answer.status, data, answer.headers.items())
    return connection


def refuses(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=SOON_S).close()
    except ConnectionRefusedError:
        return True
    return False


def readiness(connection):
    """At a kept connection, while its process drains."""
    connection.request("GET", "/readyz")
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Connection"]) == (503, "close") and b"stopping" in answer.read()


def at_once(function, *args):
    """Runs it on a thread; its result is in the list."""
    result = []
    thread = threading.Thread(target=lambda: result.append(function(*args)), daemon=True)
    thread.start()
    return thread, result


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_gateway_that_ends_answers_what_it_has_in_hand(s):
    """Would catch: a wait, a stream, a batch or a post that is cut; a readiness of one that ends; an idle connection that keeps it."""
    load(s)
    s.cluster.tool("broker", "apply", "--client", "shop", "--client", "other")
    broker = Wire(s.servers.rabbit.port)
    env = dict(s.cluster.tool_env)
    env["MAKEGOOD_AMQP_URL"] = env["MAKEGOOD_AMQP_URL"].replace(f":{s.servers.rabbit.port}", f":{broker.port}")
    door = Gateway(s, env=env)
    door.process.wait_ready()
    s.remote("payment").switch("silent")
    order_id, body = order_of()
    door.post(body)
    stream = Stream(door, order_id)
    events = iter(stream)
    assert next(events)[1] == "accepted"
    probe, unused = (kept(door.port, "/v1/orders/none") for _ in range(2))
    waits = at_once(lambda: door.get(order_id, wait="60s"))
    slow_id, slow = order_of()
    slow_post = begin(door.port, "/v1/orders", TOKENS["shop"], size=len(slow))
    batch_ids = [str(uuid.uuid4()) for _ in range(200)]
    lines = b"".join(order_of(order_id=id)[1] + b"\n" for id in batch_ids)
    batch = socket.create_connection(("127.0.0.1", door.port), timeout=SOON_S)
    batch.sendall(f"POST /v1/orders:batch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKENS['shop']}\r\nContent-Type: application/x-ndjson\r\n"
                  f"Content-Length: {len(lines)}\r\n\r\n".encode() + lines[:1000])
    s.wait(lambda: door.process.metric("makegood_gateway_waiting_calls") == 1, "the wait waits")
    broker.hold()
    late_id, late = order_of()
    posts = at_once(lambda: door.ask("POST", "/v1/orders", late))
    s.wait(lambda: door.process.page().count("\n") and broker.held(), "a post waits for its confirm")

    began = time.monotonic()
    door.process.ask_to_end()
    s.wait(lambda: logged(door, "stopping"), "it drains")
    readiness(probe)
    s.wait(lambda: refuses(door.port), "no connection is taken any more")
    waits[0].join(SOON_S)
    assert waits[1] and waits[1][0]["state"] in ("pending", "processing"), "a wait gets the present state"
    assert "processed" not in words(events) and stream.answer.isclosed(), "the stream has a proper end"
    assert posts[1] == []
    broker.release()
    posts[0].join(SOON_S)
    assert posts[1] and posts[1][0][0] == 202 and posts[1][0][1]["Connection"] == "close", posts[1]
    for line, rest, expected in ((slow_post, slow, b"202"), (batch, lines[1000:], b"200")):
        line.sendall(rest)
        answer = line.makefile("rb").read()
        assert answer.split()[1] == expected and b"\r\nConnection: close\r\n" in answer, answer[:300]
    assert answer.count(b'"status": 202') == len(batch_ids), answer[-300:]
    assert unused.sock.recv(1) == b"", "an idle connection is closed"
    assert door.process.wait_end(ENDS_S) == 0, door.process.tail()
    assert time.monotonic() - began < 2 * ENDS_S
    s.remote("payment").switch("order")
    ids = {order_id, slow_id, late_id, *batch_ids}
    s.wait(lambda: len(s.rows("SELECT 1 FROM order_process WHERE order_id = ANY(%s) AND process_state = 'processed'", list(ids))) == len(ids), "each is processed", 90)


@scenario(agents=0, schedulers=0, supervisors=0, long="alerts, pauses and time-outs pass in real time")
def the_end_of_a_gateway_is_bounded_and_a_second_signal_ends_it_at_once(s):
    """Would catch: a client without an end that keeps a gateway or a console; a second SIGTERM or SIGINT without effect."""
    load(s)
    door = start(s, "--drain-timeout", "2s")
    with begin(door.port, "/v1/orders", TOKENS["shop"], sent=10):
        began = time.monotonic()
        assert door.process.terminate() == 0
        assert 1.5 < time.monotonic() - began < 2 + ENDS_S
    assert logged(door, "drain timeout"), door.process.tail()
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM)):
        door = start(s, "--drain-timeout", "1m")
        with begin(door.port, "/v1/orders", TOKENS["shop"], sent=10):
            door.process.signal(first)
            s.wait(lambda: refuses(door.port), "it drains")
            door.process.signal(second)
            assert door.process.wait_end(ENDS_S) == 0, door.process.tail()


@scenario(agents=0, supervisors=0)
def a_console_that_ends_answers_what_it_has_in_hand(s):
    """Would catch: an operator's action that is cut after its effect; a live page that is cut instead of ended."""
    load(s)
    console = Console(s, tokens=None)
    probe = kept(console.port, "/")
    live = http.client.HTTPConnection("127.0.0.1", console.port, timeout=SOON_S)
    live.request("GET", "/api/v1/live", headers={"Host": f"localhost:{console.port}"})
    events = live.getresponse()
    assert events.status == 200 and events.readline() == b"retry: 2000\n"
    page = socket.create_connection(("127.0.0.1", console.port), timeout=SOON_S)
    page.sendall(f"GET /api/v1/overview HTTP/1.1\r\nHost: localhost:{console.port}\r\n".encode())
    began = time.monotonic()
    console.process.ask_to_end()
    s.wait(lambda: logged(console, "stopping"), "it drains")
    readiness(probe)
    s.wait(lambda: refuses(console.port), "no connection is taken any more")
    events.read()
    assert events.isclosed(), "the live page has a proper end"
    page.sendall(b"\r\n")
    answer = page.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200 ") and b"\r\nConnection: close\r\n" in answer and json.loads(answer.split(b"\r\n\r\n", 1)[1]), answer[:300]
    assert console.process.wait_end(ENDS_S) == 0 and time.monotonic() - began < ENDS_S, console.process.tail()
