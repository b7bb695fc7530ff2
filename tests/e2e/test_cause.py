"""The service's own words: they reach client and operator by name, and words that a service file forbids to keep are found nowhere."""

import http.server
import json
import pathlib
import subprocess
import threading

from collector import Collector
from harness import DEADLINE_S, scenario, step
from test_console import Console

HERE = pathlib.Path(__file__).parent
DECLINED = {"step": "charge", "code": "card_declined", "text": "the card was declined", "status": 422}
KEPT, FORBIDDEN = "marker-kept-4711", "marker-forbidden-4711"


@scenario(services=("inventory", "payment"))
def a_decline_reaches_client_and_operator_by_name(s):
    """Would catch: `card_declined` that the client, explain, the console or the failure groups do not show."""
    s.load_workflow("stops", [step("charge", "payment")], on_failure="error")
    s.load_workflow("turns", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"])])
    s.remote("payment").switch("decline", on="do")
    order = s.client.submit("stops", {"n": 1})
    told = s.client.wait_status(order, "error")
    assert told["cause"] == DECLINED, told
    turned = s.client.submit("turns", {"n": 2})
    ended = s.client.wait_status(turned, "compensated")
    turn = s.client.wait_status(turned, "compensating")
    assert ended["cause"] == turn["cause"] == DECLINED, (turn, ended)

    def told_of(order):
        return [message for message, _ in s.client.messages if message.get("order_id") == order.order_id]

    before = len(told_of(turned))
    s.client.post(turned)
    s.client.wait_message(lambda _body, _: len(told_of(turned)) > before, "the status comes again")
    assert told_of(turned)[-1] == ended, told_of(turned)
    done = subprocess.run(["/usr/bin/python3", HERE / "python_client.py", s.url, "turns", '{"n": 3}'], capture_output=True, text=True,
                          timeout=DEADLINE_S, check=False)
    last = done.stdout.splitlines()[-1]
    assert " compensated " in last and last.endswith("charge card_declined the card was declined 422"), done
    posted = s.scratch / "order.json"
    posted.write_text('{"workflow": "turns", "payload": {"n": 4}}', encoding="ascii")
    done = s.cluster.tool("order", "submit", posted, "--wait", "-o", "json", check=False)
    assert json.loads(done.stdout)[0]["cause"] == DECLINED, done

    def tool(*words):
        return s.cluster.tool(*words).stdout

    for words in (("order", "explain", order.order_id), ("order", "show", order.order_id), ("alert", "list")):
        text = tool(*words)
        assert "code card_declined: the card was declined" in text, (words, text)
    for words in (("order", "explain", order.order_id), ("order", "show", order.order_id)):
        assert '{"error":{"code":"card_declined","message":"the card was declined"}}' in tool(*words), tool(*words)
    assert ": it has ended\n" in tool("order", "explain", turned.order_id)
    assert "(step charge: card_declined, the card was declined, HTTP status 422)\n" in \
        tool("order", "explain", turned.order_id), tool("order", "explain", turned.order_id)
    groups = json.loads(tool("order", "list", "--group-by", "error", "-o", "json"))
    assert [(group["error"], group["count"]) for group in groups] == [("http_422/card_declined", 1)], groups
    for code, count in (("http_422/card_declined", 1), ("http_422", 1), ("card_declined", 1), ("http_4", 0), ("declined", 0)):
        found = json.loads(tool("order", "list", "--error", code, "-o", "json"))
        assert len(found) == count, (code, found)
        chosen = s.cluster.tool("bulk", "start", "resume", "--error", code, "--dry-run", "--reason", "a test", "-o", "json")
        assert json.loads(chosen.stdout)["orders"] == count, (code, chosen)
    console = Console(s)
    console.login("reader")
    seen = console.get(f"orders/{order.order_id}")
    assert seen["dossier"]["order"]["failure"] == DECLINED and "card_declined: the card was declined" in seen["explanation"]["why"], seen
    assert seen["dossier"]["steps"][0]["error_message"] == "the card was declined", seen["dossier"]["steps"]
    assert [group["error"] for group in console.get("failures")["groups"]] == ["http_422/card_declined"]
    s.remote("payment").switch("order")
    s.cluster.tool("order", "resume", order.order_id, "--reason", "another card")
    s.wait_state(order, "processed")
    assert s.process(order)["failure"] is None, s.process(order)


class Refuser:
    """A service that refuses everything, with a marker in the text and in other members of its body."""

    def __init__(self, marker):
        body = json.dumps({"code": "refused", "message": f"no, {marker}", "customer": {"card": marker, "deep": [marker]}}).encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # the name is the library's
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(422)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@scenario(services=("payment", "carrier"), schedulers=0, agents=0)
def text_that_a_service_file_forbids_to_keep_is_found_nowhere(s):
    """Would catch: personal data of a refusing body in a table, message, log, metric or trace. The file of a second service keeps
    its bodies, so the search finds them in the database and in messages, and in no log, metric or trace either."""
    refusers = {"payment": Refuser(KEPT), "carrier": Refuser(FORBIDDEN)}

    def edit(name, definition):
        definition["url"] = refusers[name].url
        if name == "carrier":
            definition["error"] = {"keep": 0}
        return definition

    s.cluster.edit_service = edit
    collector = Collector()
    traced = ("--otlp-url", collector.url, "--log-level", "debug")
    s.cluster.options = {"scheduler": (*traced, "--trace-sample", "1"), "agent": traced}
    s.cluster.schedulers = [s.cluster.make("scheduler", "scheduler-1")]
    s.cluster.agents = [s.cluster.make_agent(service, 1) for service in refusers]
    for process in s.cluster.schedulers + s.cluster.agents:
        process.start()
    for process in s.cluster.schedulers + s.cluster.agents:
        process.wait_ready()
    orders = {}
    for service in refusers:
        s.load_workflow(f"to-{service}", [step("ask", service, undo=False)], on_failure="error")
        orders[service] = s.client.submit(f"to-{service}", {})
    told = {service: s.client.wait_status(order, "error") for service, order in orders.items()}
    assert told["payment"]["cause"] == {"step": "ask", "code": "refused", "text": f"no, {KEPT}", "status": 422}, told
    assert told["carrier"]["cause"] == {"step": "ask", "code": "refused", "status": 422}, told
    s.wait(lambda: sum(span.name == "POST" for span in collector.spans) >= 2, "the spans of both calls")

    texts = {"traces": "\n".join(map(repr, collector.spans))}
    for process in s.cluster.all:
        texts[f"{process.name} metrics"] = process.get("/metrics")[1]
    for path in s.scratch.glob("*.log"):
        texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    texts["alerts"] = "".join(body.decode() for _, _, body in iter(lambda: s.client.channel.basic_get("operator.alerts", True), (None,) * 3))
    texts["statuses"] = "".join(f"{body}" for body, _ in s.client.messages)
    texts["order show"] = s.cluster.tool("order", "show", orders["carrier"].order_id).stdout
    texts["database"] = subprocess.run([s.servers.postgres.bin / "pg_dump", "--dbname", s.dsn], capture_output=True, text=True,
                                       check=True, timeout=60).stdout
    assert texts["alerts"] and "agent-carrier-1.log" in texts and "http_422/refused" in texts["database"], texts.keys()
    found = {marker: sorted(place for place, text in texts.items() if marker in text) for marker in (KEPT, FORBIDDEN)}
    assert found == {KEPT: ["alerts", "database", "statuses"], FORBIDDEN: []}, found
