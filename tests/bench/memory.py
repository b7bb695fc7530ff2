"""Memory: bursts of the largest messages against processes that have 256 MiB each, like the containers of docker-compose.yml.

The conditions: no process ends, none exceeds 200 MiB, each order ends as processed, and no message reaches the limit of deliveries.
Where control groups can be made, each process is in one of its own, so that too much memory ends it; its default budget comes from
there. Elsewhere --memory-budget sets the same, and only the peaks are judged.
"""

import base64
import contextlib
import datetime
import http.server
import json
import os
import pathlib
import random
import threading
import time

import pika
import stage  # finds the tools of deploy/local
from local import processes

LIMIT = 256 << 20
PEAK_MAX = 200 << 20
ORDER_BYTES = 250_000
REFUSED_BYTES = 1 << 20
REQUEST_BYTES = 4 * 1000 * 1000
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")  # version 1
GROUPS_2 = pathlib.Path("/sys/fs/cgroup")
DEADLINE_S = 3600
ENDED = "SELECT count(*) FROM order_process WHERE process_state = 'processed'"


class Remote(http.server.BaseHTTPRequestHandler):
    """A service that accepts every request and answers with success."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=invalid-name  # the library's
        left = int(self.headers.get("Content-Length", 0))
        while left > 0:
            left -= len(self.rfile.read(min(left, 65536)))
        answer = b'{"id": 1}'
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_words):  # pylint: disable=arguments-differ
        pass


@contextlib.contextmanager
def remote():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Remote)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


class Groups:
    """A control group of 256 MiB for each process. Without the right to make them: none."""

    def __init__(self):
        self.made = []
        self.home, self.limit_name = None, None
        own = {line.split(":")[1]: line.strip().split(":")[2] for line in open("/proc/self/cgroup", encoding="ascii")}
        if "memory" in own:
            self.home, self.limit_name = GROUPS / own["memory"].lstrip("/"), "memory.limit_in_bytes"
        elif "memory" in (GROUPS_2 / "cgroup.subtree_control").read_text(encoding="ascii").split():
            self.home, self.limit_name = GROUPS_2, "memory.max"
        if self.home is not None and not os.access(self.home, os.W_OK):
            self.home = None

    @contextlib.contextmanager
    def one(self, name):
        """Starts the process in a group of its own."""
        if self.home is None:
            yield
            return
        group = self.home / f"makegood-bench-{os.getpid()}-{name}"
        group.mkdir(exist_ok=True)
        self.made.append(group)
        (group / self.limit_name).write_text(str(LIMIT), encoding="ascii")
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        try:
            yield
        finally:
            (self.home / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    def remove(self):
        for group in self.made:
            with contextlib.suppress(OSError):
                group.rmdir()


def peak(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


def peaks(made):
    return {each.name: peak(each) >> 20 for each in made}


def noise(size):
    """Text that does not compress."""
    return base64.b64encode(random.randbytes(size * 3 // 4)).decode()


def start(readers):
    for reader in readers:
        reader.start()


class Client:
    def __init__(self, url):
        parameters = pika.URLParameters(url)
        parameters.heartbeat = 0  # idle for minutes while others work
        self.connection = pika.BlockingConnection(parameters)
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()

    def publish(self, exchange, queue, body, **properties):
        """False: the queue is full."""
        try:
            self.channel.basic_publish(exchange, queue, body, pika.BasicProperties(delivery_mode=2, **properties), mandatory=True)
            return True
        except pika.exceptions.NackError:
            return False

    def burst(self, readers, messages):
        """Posts messages while their readers are away: as many as the queue takes, then the rest. At its start a reader then gets
        as much at once as it may ever have."""
        for reader in readers:
            reader.terminate()
        is_away = True
        for message in messages:
            while not self.publish(*message[:3], **message[3]):
                if is_away:
                    start(readers)
                is_away = False
                self.connection.sleep(0.2)
        if is_away:
            start(readers)

    def depth(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.message_count

    def dead(self):
        """Takes all dead letters; returns the reason of each."""
        reasons = []
        while True:
            method, properties, _body = self.channel.basic_get("dead.letters", auto_ack=True)
            if method is None:
                return reasons
            reasons.append((properties.headers or {}).get("x-death", [{}])[0].get("reason"))


def order(number, payload):
    return json.dumps({"order_id": f"m{number}", "workflow": "bench", "payload": {"text": payload}})


def request(number, body):
    now = datetime.datetime.now(datetime.timezone.utc)
    by = now + datetime.timedelta(minutes=10)
    key = f"r{number}.reserve.do"
    return json.dumps({"v": 1, "order_id": f"r{number}", "step": "reserve", "service": "bench", "attempt": 1, "kind": "do",
                       "idempotency_key": key, "do_key": key, "complete_by": by.isoformat().replace("+00:00", "Z"),
                       "sent_at": now.isoformat().replace("+00:00", "Z"),
                       "request": {"method": "POST", "path": "/reservations", "body": {"text": body}}})


def group(made, groups):
    """Makes each process start in a group of its own."""
    plain = made.make

    def make(kind, name, *words):
        process = plain(kind, name, *words)
        begin = process.start

        def start():
            with groups.one(name):
                return begin()
        process.start = start
        return process
    made.make = make


def wait(made, condition, what):
    """Waits for the condition; ends at once when a process has ended."""
    def look():
        ended = [process.name for process in made.all if not process.is_running()]
        if ended:
            raise processes.Failure(f"ended in the burst: {', '.join(ended)}")
        return condition()
    processes.wait_until(look, what, DEADLINE_S)


def memory(on, plan):
    groups = Groups()
    orders, refused, requests = plan.large_orders, plan.refused, plan.large_requests
    options = [] if groups.home is not None else ["--memory-budget", str(LIMIT // 2)]
    found = {"limit_mb": LIMIT >> 20, "is_enforced": groups.home is not None, "orders": orders, "refused": refused,
             "requests": requests}
    with remote() as url:
        made = on.cluster_at("memory", schedulers=2, agents=2, options={"scheduler": options, "agent": options})
        made.remote_url = url
        try:
            group(made, groups)
            made.start()
            client, payload = Client(made.url), noise(ORDER_BYTES)
            began = time.monotonic()
            client.burst(made.schedulers, (("makegood.intake", "orders.intake", order(number, payload), {"message_id": f"m{number}"})
                                           for number in range(orders)))
            wait(made, lambda: int(on.postgres.psql(ENDED, made.place)[0][0]) >= orders, f"{orders} orders are processed")
            found["orders_s"] = round(time.monotonic() - began, 1)
            found["peak_orders_mb"] = peaks(made.all)
            body = noise(REFUSED_BYTES)
            client.burst(made.schedulers, (("makegood.intake", "orders.intake", body, {"message_id": f"x{number}"})
                                           for number in range(refused)))
            wait(made, lambda: client.depth("orders.rejected") >= refused, f"{refused} submissions are refused")
            found["peak_refused_mb"] = peaks(made.all)
            text = noise(REQUEST_BYTES)
            dead = client.depth("dead.letters")  # replies about no order become dead letters, too
            client.burst(made.agents, (("makegood.requests", "agent.bench.requests", request(number, text), {"type": "request"})
                                       for number in range(requests)))
            wait(made, lambda: client.depth("agent.bench.requests") == 0 and client.depth("dead.letters") >= dead + requests,
                 f"{requests} requests are answered")
            found["peak_requests_mb"] = peaks(made.all)
            reasons = client.dead()
            found["dead"] = {reason: reasons.count(reason) for reason in sorted(set(reasons), key=str)}
            found["passed"] = sum(process.series("makegood_passed_total") or 0 for process in made.all)
        finally:
            on.leave(made)
            groups.remove()
    bursts = [found[f"peak_{burst}_mb"] for burst in ("orders", "refused", "requests")]
    found["peak_mb"] = {name: max(burst[name] for burst in bursts) for name in bursts[0]}
    above = {name: mb for name, mb in found["peak_mb"].items() if mb > PEAK_MAX >> 20}
    if above or "delivery_limit" in found["dead"]:
        raise processes.Failure(f"memory: above {PEAK_MAX >> 20} MiB: {above}; dead letters: {found['dead']}")
    return found
