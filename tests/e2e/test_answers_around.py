"""Every kind of body, as the answer of a token endpoint and of a webhook's receiver: the table of test_answers_matrix.py, continued."""

import http.server
import json
import re
import threading

from harness import scenario, step
from test_answers_matrix import ONCE, READ, bodies
from test_gateway import Gateway, load, order_of
from test_reach import StandIn, as_json
from webhooks import Receiver, new_secret, write_files

TOKENS = bodies('{"access_token":"t-%s","token_type":"Bearer","id":"r1","flag":true}')
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, 2.1
OF_AN_AGENT = 16  # services that one agent takes
STATUSES = bodies('{"id":"r1","flag":true,"note":"%s"}')


class Wallet(StandIn):
    """/token/gzip gives the token with the body "gzip"; other paths are calls, and must bring it."""

    def answer(self, call, _body):
        _, kind, name = call.path.split("/")
        if kind != "token":
            return as_json(200, {"had": call.headers["Authorization"]})
        body, media, more = TOKENS[name.replace("_", " ")][0]
        return 200, media, body, more


def start_agents(s, wallet, services):
    secret = s.scratch / "wallet-secret"
    secret.write_text("secret", encoding="utf-8")
    words = []
    for service, name in services.items():
        path = s.scratch / f"service-{service}.json"
        path.write_text(json.dumps({"service": service, "url": wallet.url, "auth": {"oauth2": {
            "token_url": f"{wallet.url}/token/{name.replace(' ', '_')}", "client_id": "c", "client_secret": {"file": str(secret)}}}}),
            encoding="utf-8")
        words.append(("--service", path))
    s.cluster.tool("broker", "apply", *(word for service in services for word in ("--service", service)), timeout_s=120)
    for at in range(0, len(words), OF_AN_AGENT):
        s.cluster.agents.append(s.cluster.make("agent", f"agent-wallet-{at}", *(word for pair in words[at:at + OF_AN_AGENT] for word in pair)))
        s.cluster.agents[-1].start().wait_ready()


@scenario(agents=0, services=("shop",), long="each answer, right or argument in turn")
def every_body_of_a_token_endpoint_is_a_token_or_none(s):
    """Would catch: a token with a byte that no header may have, a token out of a page, a call without a token, a call that fails for
    an answer of the token endpoint that it does not owe."""
    s.expects_open_orders = True
    wallet = Wallet()
    services = {f"wallet{number}": name for number, name in enumerate(TOKENS)}
    start_agents(s, wallet, services)
    orders = {}
    for service, name in services.items():
        s.load_workflow(service, [step("one", service, retry=ONCE, undo="none", do={"method": "POST", "path": "/call/x", "body": {}})])
        orders[name] = s.client.submit(service)
    s.wait(lambda: len(s.rows("SELECT 1 FROM order_process WHERE process_state = 'processed' OR EXISTS (SELECT 1 FROM order_step t"
                              " WHERE t.order_id = order_process.order_id AND error_code = 'token_unavailable')")) == len(orders),
           "all orders have ended, or wait for a token", 60)
    wrong = {}
    for name, order in orders.items():
        _, meaning, note = TOKENS[name]
        row = s.step(order, "one")
        is_token = meaning == READ and TOKEN.fullmatch("t-" + note)
        had = json.loads(row["result"] or "{}").get("had")
        if (had, row["error_code"]) != ((f"Bearer t-{note}", None) if is_token else (None, "token_unavailable")):
            wrong[name] = (row["state"], had, row["error_code"], row["error_text"])
    assert not wrong, "\n".join(f"{name}: {seen}" for name, seen in wrong.items())
    assert not [path for _, path, headers, _ in wallet.calls if path.startswith("/call") and "Authorization" not in headers]
    print(f"{len(orders)} cells")


class Answering(Receiver):
    """Answers each status by 200, with the body that the end of its order's id names."""

    def begin(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # the name is the library's
                status = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.take(self.path, self.headers, status)
                body, media, more = STATUSES[json.loads(status)["order_id"].removeprefix("hook-").replace("_", " ")][0]
                self.send_response(200)
                for header, value in {"Content-Type": media, "Content-Length": str(len(body)), **more}.items():
                    if value is not None:
                        self.send_header(header, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@scenario()
def no_body_of_a_receiver_has_a_status_posted_again(s):
    """Would catch: a webhook that is repeated for ever, or a connection that is lost, because of a body that nobody wants."""
    load(s)
    shop = Answering(new_secret())
    s.cluster.tool("broker", "apply", "--client", "shop", "--webhook")
    door = Gateway(s, "--webhooks-file", write_files(s.scratch, [("shop", shop.url, [shop.secret])]))
    door.process.wait_ready()
    orders = ["hook-" + name.replace(" ", "_") for name in STATUSES]
    for order_id in orders:
        door.post(order_of(order_id=order_id)[1])
    s.wait(lambda: all(shop.seqs(order_id) for order_id in orders) and len(
        s.rows("SELECT 1 FROM order_process WHERE process_state = 'processed'")) == len(orders), "all orders have ended", 60)
    s.wait(lambda: not s.client.depth("client.shop.webhook"), "all statuses are read")
    failed = door.process.series("makegood_webhook_failed_total", client="shop")
    assert failed == 0, f"{failed} posts failed"
    again = {order_id: shop.seqs(order_id) for order_id in orders if len(shop.seqs(order_id)) != len(set(shop.seqs(order_id)))}
    assert not again and not shop.faults, (again, shop.faults)
    print(f"{len(orders)} cells")
    shop.end()
