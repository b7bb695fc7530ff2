"""Every kept connection × a name that has moved, a peer gone in silence, idleness past a balancer, a half closed one."""

import http.client
import json
import socket
import threading
import time
import uuid

from collector import Collector
from harness import scenario, step
from local import processes
from test_gateway import SOON_S, TOKENS, Gateway
from test_reach import StandIn, as_json
from test_traces import context, start_traced
from webhooks import Receiver, new_secret, write_files
from wires import Wire

MOVED_S = 60.0    # "within a minute"
SILENT_S = 90.0   # heartbeats, keepalives and time-outs, and the machine may be busy
FORGOTTEN_S = 5.0 # of a balancer before a service; the product keeps an idle connection to one for 4 s
BALANCER_S = 61.0 # nginx and AWS keep theirs for 60 s
NOWHERE = "http://127.0.0.1:1"  # only a proxy reaches it
COLUMNS = ("moved", "silent", "idle", "half closed")
PEER = "the other end's to follow"
KERNEL = "the kernel's probes: unit.http_handler, the_kernel_looks_after_a_silent_client"
AGAIN = "followed at the next connect, as behind a half closed one"
BEATS = "never idle: heartbeats"

# Each cell is a scenario of this file (BUILT, at its end), or the reason why it needs none.
TABLE = {
    "agent → service": ("outward", "outward", "outward", "outward"),
    "gateway → webhook": ("outward", "outward", "outward", "outward"),
    "agent → token endpoint": ("fresh", "fresh", "fresh", "fresh"),
    "process → collector of spans": ("spans", "spans", "spans", "spans"),
    "client → gateway": (PEER, KERNEL, "inward", "inward"),
    "browser → console": (PEER, KERNEL, "inward", "inward"),
    "gateway → broker": (AGAIN, "servers", BEATS, "servers"),
    "gateway → database": (AGAIN, "servers", "servers", "servers"),
}
assert all(len(cells) == len(COLUMNS) and all(cells) for cells in TABLE.values())


def be_idle(seconds):
    """The idleness that a cell is about."""
    threading.Event().wait(seconds)


class Shop(StandIn):
    def answer(self, call, _body):
        return as_json(200, {"id": call.headers["Idempotency-Key"]})


class Outward:
    """A service and a webhook, each behind a wire."""

    def __init__(self, s, by_proxy=False):
        self.s, self.secret = s, new_secret()
        self.shops, self.receivers = [Shop(), Shop()], [Receiver(self.secret), Receiver(self.secret)]
        self.wires = [Wire(self.port_of(self.shops[0])), Wire(self.receivers[0].port)]
        s.cluster.tool("broker", "apply", "--service", "shop", "--client", "shop", "--client", "other", "--webhook")
        s.load_workflow("say", [step("say", "shop", undo=False, do={"method": "POST", "path": "/say", "body": {}}, complete_within="20s", retry={"attempts": 20, "backoff": "100ms"})])
        path = s.scratch / "service-shop.json"
        path.write_text(json.dumps({"service": "shop", "url": NOWHERE if by_proxy else f"http://127.0.0.1:{self.wires[0].port}",
                                    "tries": 1, **({"proxy": f"http://127.0.0.1:{self.wires[0].port}"} if by_proxy else {}), "try_timeout": "3s", "breaker": {"min_calls": 1000000}}), encoding="utf-8")
        s.cluster.agents.append(s.cluster.make("agent", "agent-shop", "--service", path))
        s.cluster.agents[-1].start().wait_ready()
        target = f"http://127.0.0.1:{self.wires[1].port}"
        hooks = write_files(s.scratch, [("shop", f"{NOWHERE if by_proxy else target}/statuses", [self.secret])])
        if by_proxy:
            hooks.write_text(hooks.read_text(encoding="ascii").rstrip() + f" proxy={target}\n", encoding="ascii")
        self.door = Gateway(s, "--webhooks-file", hooks)
        self.door.process.wait_ready()

    @staticmethod
    def port_of(shop):
        return int(shop.url.rsplit(":", 1)[1])

    def is_told(self, order_id):
        return any(status["status"] == "processed" for receiver in self.receivers for _, status in list(receiver.taken_of[order_id]))

    def go(self, within_s=SOON_S):
        """One order, from its post to its last status at the webhook; returns the attempt that did its step."""
        order_id = str(uuid.uuid4())
        self.door.post({"order_id": order_id, "workflow": "say", "payload": {}})
        self.s.wait(lambda: self.is_told(order_id), f"{order_id} is processed, and told", within_s)
        return self.s.rows("SELECT attempt FROM order_step WHERE order_id = %s", order_id)[0]["attempt"]


@scenario(agents=1, schedulers=1, supervisors=1, long="time-outs and reports pass in real time")
def connections_outward_outlive_a_move_a_loss_a_balancer_and_a_half_close(s):
    """Would catch: calls or webhooks that stay at an old address while it answers; an attempt that is lost on a connection which
    a balancer has forgotten or the peer has closed; an order that stalls behind a silent one."""
    out = Outward(s)
    assert out.go() == 1

    for wire in out.wires:
        wire.half_close()
    assert out.go() == 1, "half closed: an attempt is lost"

    for wire in out.wires:
        wire.forgets_after_s = FORGOTTEN_S
    be_idle(FORGOTTEN_S + 1)
    assert out.go() == 1, "idle: an attempt is lost"
    for wire in out.wires:
        wire.forgets_after_s = None

    for wire in out.wires:
        wire.fall_silent()
    out.go(SILENT_S)

    out.wires[0].target, out.wires[1].target = out.port_of(out.shops[1]), out.receivers[1].port
    moved = time.monotonic()
    while not (out.shops[1].calls and out.receivers[1].tries):
        assert time.monotonic() - moved < MOVED_S, "moved: " + ("the webhook" if out.shops[1].calls else "the service") + " is at its old address"
        out.go()
    for receiver in out.receivers:
        receiver.end()


@scenario(agents=1, schedulers=1, supervisors=1)
def calls_and_webhooks_leave_by_their_proxies(s):
    """Would catch: a proxy of a service file or a line of webhooks that is read and not used."""
    out = Outward(s, by_proxy=True)
    assert out.go() == 1
    assert out.shops[0].calls[0][1] == f"{NOWHERE}/say", out.shops[0].calls
    for receiver in out.receivers:
        receiver.end()


@scenario(agents=1, schedulers=1, supervisors=1, long="time-outs and reports pass in real time")
def connections_to_the_servers_outlive_a_loss_and_a_half_close(s):
    """Would catch: a gateway that waits for ever for a broker or a database which is gone in silence, or does not connect anew."""
    s.cluster.tool("broker", "apply", "--client", "shop", "--client", "other")
    broker, database = Wire(s.servers.rabbit.port), Wire(s.servers.postgres.port)
    env = dict(s.cluster.tool_env)
    for name, port, wire in (("MAKEGOOD_AMQP_URL", s.servers.rabbit.port, broker), ("MAKEGOOD_PG_DSN", s.servers.postgres.port, database)):
        assert f":{port}" in env[name], env[name]
        env[name] = env[name].replace(f":{port}", f":{wire.port}")
    door = Gateway(s, env=env)
    door.process.wait_ready()

    def is_served():
        order_id = str(uuid.uuid4())
        try:
            return (door.ask("POST", "/v1/orders", json.dumps({"order_id": order_id, "workflow": "three", "payload": {}}))[0] == 202
                    and door.ask("GET", f"/v1/orders/{order_id}?wait=20s")[0] == 200 and door.ask("GET", "/v1/orders")[0] == 200)
        except (OSError, http.client.HTTPException):
            return False
    assert is_served() and broker.links and database.links
    for column, act in (("half closed", "half_close"), ("silent", "fall_silent")):
        for wire in (broker, database):
            getattr(wire, act)()
            s.wait(is_served, f"{column}: an order is posted, read and listed", SILENT_S)
    database.forgets_after_s = FORGOTTEN_S
    be_idle(FORGOTTEN_S + 1)  # of the session for lists
    s.wait(is_served, "idle: an order is posted, read and listed", SILENT_S)
    database.forgets_after_s = None


def ask_and_close_half(port, head):
    """The status of the whole answer to a request behind which the client has closed its half. The server may keep its own half
    for as long as an idle connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=SOON_S) as end:
        end.sendall(head.encode())
        end.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(end)
        answer.begin()
        answer.read()
        return answer.status


@scenario(agents=1, schedulers=1, supervisors=1, long="time-outs and reports pass in real time")
def connections_inward_outlive_a_balancer_and_a_half_close(s):
    """Would catch: a connection that a balancer keeps and the gateway or the console has closed; a client without an answer, since
    it has closed its half after the request."""
    s.cluster.tool("broker", "apply", "--client", "shop", "--client", "other")
    door = Gateway(s)
    door.process.wait_ready()
    console, _, _ = s.cluster.start_console()
    s.others.append(console)
    own = {"Authorization": f"Bearer {TOKENS['shop']}"}
    kept = []
    for port, path, status in ((door.port, "/v1/orders/none", 404), (console.http_port, "/", 200)):
        head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        answer = ask_and_close_half(port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{head}\r\n")
        assert answer == status, (path, answer)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SOON_S)
        kept.append((connection, path, status))
    for is_again in (False, True):
        sockets = [connection.sock for connection, _, _ in kept]
        for connection, path, status in kept:
            connection.request("GET", path, headers=own)
            answer = connection.getresponse()
            answer.read()
            assert (answer.status, answer.headers["Keep-Alive"]) == (status, "timeout=75"), (path, answer.status, dict(answer.headers))
        if is_again:
            assert sockets == [connection.sock for connection, _, _ in kept]
        else:
            be_idle(BALANCER_S)
    for connection, _, _ in kept:
        connection.close()


class Issuer(StandIn):
    """Of tokens that last for two seconds."""

    def answer(self, _call, _body):
        return as_json(200, {"access_token": "a-token", "token_type": "Bearer", "expires_in": 2})


@scenario(agents=0, schedulers=1, supervisors=1, long="connections die by their time-outs")
def each_token_is_fetched_by_a_connection_of_its_own(s):
    """Would catch: a kept connection to a token endpoint, which can be moved, lost, forgotten or half closed before the next fetch."""
    shop, issuer, secret, path = Shop(), Issuer(), s.scratch / "token-secret", s.scratch / "service-shop.json"
    wire = Wire(Outward.port_of(issuer))
    secret.write_text("secret", encoding="utf-8")
    path.write_text(json.dumps({"service": "shop", "url": shop.url, "auth": {"oauth2": {
        "token_url": f"http://127.0.0.1:{wire.port}/token", "client_id": "c", "client_secret": {"file": str(secret)}}}}), encoding="utf-8")
    s.cluster.tool("broker", "apply", "--service", "shop")
    s.load_workflow("say", [step("say", "shop", undo=False, do={"method": "POST", "path": "/say", "body": {}})])
    s.cluster.agents.append(s.cluster.make("agent", "agent-shop", "--service", path))
    s.cluster.agents[-1].start().wait_ready()
    for fetches in (1, 2, 3):
        s.client.wait_status(s.client.submit("say"), "processed")
        s.wait(lambda fetches=fetches: len(issuer.calls) >= fetches, "a token is fetched")
        be_idle(3)
    assert len(wire.links) == len(issuer.calls), (len(wire.links), len(issuer.calls))


@scenario(agents=0, schedulers=0, long="connections die by their time-outs")
def spans_outlive_a_move_a_loss_a_balancer_and_a_half_close(s):
    """Would catch: spans that go to an old address while it answers, or are lost for good behind a connection that is."""
    collectors = [Collector(), Collector()]
    wire = Wire(collectors[0].port)
    start_traced(s, f"http://127.0.0.1:{wire.port}")

    def come(what, within_s=SOON_S, to=None):
        began = time.monotonic()
        while True:
            trace, _, traceparent = context()
            s.client.wait_status(s.client.submit(headers={"traceparent": traceparent}), "processed")
            try:
                s.wait(lambda trace=trace: any(one.of(trace) for one in (to or collectors)), f"{what}: the spans come", 10)
                return
            except processes.Failure:
                assert time.monotonic() - began < within_s, f"{what}: no span within {within_s} s"
    come("at first")
    wire.half_close()
    come("half closed")
    wire.forgets_after_s = FORGOTTEN_S
    be_idle(FORGOTTEN_S + 1)
    come("idle")
    wire.forgets_after_s = None
    wire.fall_silent()
    come("silent", SILENT_S)
    wire.target = collectors[1].port
    come("moved", MOVED_S, collectors[1:])
    for collector in collectors:
        collector.check()
        collector.close()


BUILT = {"fresh": each_token_is_fetched_by_a_connection_of_its_own,
         "spans": spans_outlive_a_move_a_loss_a_balancer_and_a_half_close,
         "outward": connections_outward_outlive_a_move_a_loss_a_balancer_and_a_half_close,
         "servers": connections_to_the_servers_outlive_a_loss_and_a_half_close,
         "inward": connections_inward_outlive_a_balancer_and_a_half_close}
assert {cell for cells in TABLE.values() for cell in cells if " " not in cell} == set(BUILT)
