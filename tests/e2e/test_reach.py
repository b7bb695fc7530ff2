"""Services that were not built for Makegood, called without an adapter: forms, tokens, signatures, keys under other names."""

import base64
import hashlib
import hmac
import http.server
import json
import signal
import subprocess
import threading
import time
import urllib.parse

from harness import scenario, step
from local import processes
from test_secrets import Safe, all_messages, log_lines

NAMES = ("card", "wallet", "mail", "shop", "hook")
OWN = {"agents": 0, "services": NAMES}  # the scenario starts the agents


class StandIn:
    """An HTTP server on a thread of its own. `answer(call, body)` returns (status, content type, bytes, more headers),
    or None: the connection ends without an answer."""

    def __init__(self):
        self.retry_after_s = 0  # the answers are 429 with it
        self.calls = []     # (method, path, headers, body), as they came
        self.effects = {}   # by key
        self.lock = threading.Lock()
        self.look_after_s = 0  # from a call's arrival to the look at it
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # the name is the library's
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path != "/token":
                    threading.Event().wait(stand_in.look_after_s)
                with stand_in.lock:
                    stand_in.calls.append((self.command, self.path, dict(self.headers), body))
                    answered = stand_in.answer(self, body) if stand_in.retry_after_s == 0 else as_json(
                        429, {"code": "SLOW_DOWN"}, **{"Retry-After": str(stand_in.retry_after_s)})
                if answered is None:
                    self.close_connection = True
                    return
                status, kind, text, more = answered
                self.send_response(status)
                for name, value in {"Content-Type": kind, "Content-Length": str(len(text)), **more}.items():
                    if value is not None:
                        self.send_header(name, value)
                self.end_headers()
                try:
                    self.wfile.write(text)
                except OSError:
                    pass  # an agent does not read 10 MB to their end
            do_GET = do_POST

            def log_message(self, *_words):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def done(self, key, value):
        """One effect for each key, and always the same answer."""
        entry = self.effects.setdefault(key, {"id": f"id-{len(self.effects) + 1}", "bodies": set(), **value})
        return entry


def as_json(status, value, **more):
    return status, "application/json", json.dumps(value).encode(), more


class Card(StandIn):
    """As Stripe: Basic, forms, an account in a header, refunds."""

    def __init__(self, password):
        super().__init__()
        self.password = password

    def answer(self, call, body):
        if call.headers["Authorization"] != "Basic " + base64.b64encode(f"shop:{self.password}".encode()).decode():
            return as_json(401, {"error": "who are you"})
        if call.headers["Content-Type"] != "application/x-www-form-urlencoded":
            return as_json(415, {"error": call.headers["Content-Type"]})
        form = urllib.parse.parse_qs(body.decode(), strict_parsing=True)
        entry = self.done(call.headers["Idempotency-Key"], {"form": form, "account": call.headers["Stripe-Account"]})
        entry["bodies"].add(body)
        return as_json(200, {"id": entry["id"]})


class Wallet(StandIn):
    """As PayPal: client credentials, a key's header of its own. Its token endpoint is on the same server."""

    def __init__(self, secret):
        super().__init__()
        self.secret, self.tokens, self.told_life_s, self.life_s = secret, {}, 3600, 3600
        self.fetches, self.mood, self.safe = [], "well", None
        self.counts_after_s, self.has_one_token, self.born = 0, False, {}

    def answer(self, call, body):
        if call.path == "/token":
            return self.answer_token(call, body)
        token = call.headers["Authorization"].removeprefix("Bearer ")
        if self.tokens.get(token, 0) < time.monotonic() or time.monotonic() < self.born[token] + self.counts_after_s:
            return as_json(401, {"error": "invalid_token"})
        entry = self.done(call.headers["PayPal-Request-Id"], {"body": json.loads(body)})
        entry["bodies"].add(body)
        return as_json(201, {"id": entry["id"]})

    def answer_token(self, call, body):
        form = urllib.parse.parse_qs(body.decode(), strict_parsing=True)
        self.fetches.append(form)
        if self.mood == "html":
            return 200, "text/html", b"<html>Sign in</html>", {}
        if self.mood == "huge":
            return 200, "application/json", b'{"access_token":"' + b"x" * 10_000_000 + b'"}', {}
        if self.mood == "down":
            return as_json(503, {"error": "temporarily_unavailable"})
        if call.headers["Authorization"] != "Basic " + base64.b64encode(f"client:{self.secret}".encode()).decode():
            return as_json(401, {"error": "invalid_client", "error_description": call.headers["Authorization"]})
        token = self.safe.new()
        self.born[token] = time.monotonic()
        if self.has_one_token:
            self.tokens.clear()
        self.tokens[token] = time.monotonic() + self.life_s
        return as_json(200, {"access_token": token, "token_type": "Bearer", "expires_in": self.told_life_s})


class Mail(StandIn):
    """As a mail sender: a token from a file, and an answer in plain words."""

    def __init__(self, token):
        super().__init__()
        self.token = token

    def answer(self, call, body):
        if call.headers["Authorization"] != "Bearer " + self.token:
            return 401, "text/plain", b"no", {}
        if call.headers["Accept"] != "text/plain" or not call.headers["Content-Type"].startswith("text/plain"):
            return 406, "text/plain", b"no", {}
        entry = self.done(call.headers["Idempotency-Key"], {"text": body.decode(), "path": call.path})
        return 200, "text/plain; charset=utf-8", f"queued \"{entry['id']}\"\n".encode(), {}


class Shop(StandIn):
    """As a shop with a limit: 429 to the first call of each third key."""

    def __init__(self):
        super().__init__()
        self.seen = []  # keys, in the order of their first calls

    def answer(self, call, body):
        key, is_first = call.headers["Idempotency-Key"], call.headers["Idempotency-Key"] not in self.seen
        if is_first:
            self.seen.append(key)
        if is_first and len(self.seen) % 3 == 0:
            return 429, "application/json", b"{}", {"Retry-After": "0"}
        entry = self.done(key, {"path": call.path, "shop": call.headers["X-Shop"]})
        return as_json(200, {"id": entry["id"]})


class Hook(StandIn):
    """A receiver of webhooks, which verifies each signature."""

    def __init__(self, secret):
        super().__init__()
        self.secret = secret

    def answer(self, call, body):
        stamp = call.headers["X-Timestamp"]
        right = hmac.new(self.secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
        if call.headers["X-Signature"] != "sha256=" + right or abs(int(stamp) - time.time()) > 60:
            return as_json(401, {"error": "bad signature"})
        self.done(call.headers["Idempotency-Key"], {"body": json.loads(body)})
        return as_json(200, {})


class Street:
    """The five services, each with its agent and its secrets in files."""

    def __init__(self, s):
        self.s, self.safe = s, Safe()
        self.card, self.wallet, self.mail = Card(self.safe.new()), Wallet(self.safe.new()), Mail(self.safe.new())
        self.shop, self.hook = Shop(), Hook(self.safe.new())
        self.wallet.safe = self.safe
        self.files = {name: s.scratch / f"secret-{name}" for name in NAMES}
        self.write()
        self.definitions = {
            "card": {"url": self.card.url, "auth": {"basic": {"user": "shop", "password": self.file("card")}}},
            "wallet": {"url": self.wallet.url, "key": {"header": "PayPal-Request-Id", "prefix": "mg-"},
                       "breaker": {"open_for": "200ms"},
                       "auth": {"oauth2": {"token_url": self.wallet.url + "/token", "client_id": "client",
                                           "client_secret": self.file("wallet"), "scope": "pay refund"}}},
            "mail": {"url": self.mail.url, "response": "text", "auth": {"bearer": self.file("mail")}},
            "shop": {"url": self.shop.url},
            "hook": {"url": self.hook.url, "auth": {"hmac": {"header": "X-Signature", "prefix": "sha256=",
                                                             "timestamp_header": "X-Timestamp", "secret": self.file("hook")}}},
        }

    def file(self, name):
        return {"file": str(self.files[name])}

    def write(self):
        for name, text in (("card", self.card.password), ("wallet", self.wallet.secret), ("mail", self.mail.token),
                           ("hook", self.hook.secret), ("shop", "none")):
            self.files[name].write_text(text + "\n", encoding="ascii")

    def start(self, *names):
        agents = []
        for name in names:
            path = self.s.scratch / f"service-{name}.json"
            path.write_text(json.dumps({"service": name, "try_backoff": "10ms", **self.definitions[name]}), encoding="utf-8")
            agent = self.s.cluster.make("agent", f"agent-{name}-1", "--service", path)
            agent.env["MAKEGOOD_LOG_LEVEL"] = "debug"
            self.s.cluster.agents.append(agent)
            agents.append(agent.start())
        for agent in agents:
            agent.wait_ready()

    def load(self):
        self.s.load_workflow("street", [
            call("charge", "card", "/v1/charges", headers={"Stripe-Account": "acct-${/payload/n}"}, encode="form",
                 body={"amount": "${/payload/amount}", "note": "order ${/order_id} & more", "capture": True}),
            call("reward", "wallet", "/v2/points", body={"charge": "${/results/charge/id}", "sum": "${/payload/amount}"}),
            call("tell", "mail", "/send", query={"to": "${/payload/to}"}, encode="text", accept="text/plain",
                 body="charged ${/payload/amount}"),
            call("stock", "shop", "/stock?unit=piece", query={"sku": "a/b c"}, headers={"X-Shop": "${/payload/n}"}, body={}),
            call("notify", "hook", "/hooks", body={"mail": "${/results/tell}", "order": "${/order_id}"})])


BEFORE = {"charge": [], "reward": ["charge"], "tell": ["reward"], "stock": ["tell"], "notify": ["stock"]}


def call(name, service, path, **more):
    return step(name, service, BEFORE[name], undo=False, do={"method": "POST", "path": path, **more})


def post(s, n, workflow="street"):
    """Submits with the payload's digits as they are."""
    order_id = f"reach-{workflow}-{n}"
    body = '{"order_id": "%s", "workflow": "%s", "payload": {"n": %d, "amount": 14.00, "to": "a+%d@b.example"}}' % (
        order_id, workflow, n, n)
    s.client.publish(body, message_id=order_id, correlation_id=order_id, reply_to=s.client.queue)
    return Posted(order_id)


class Posted:
    def __init__(self, order_id):
        self.order_id = order_id


def failures(s):
    """What the tables counted: failures of orders, and of their steps."""
    return s.rows("""SELECT (SELECT coalesce(sum(failure_count), 0) FROM order_process) AS orders,
                            (SELECT coalesce(sum(failure_count), 0) FROM order_step) AS steps""")[0]


def assert_nothing_failed(s):
    assert failures(s) == {"orders": 0, "steps": 0}, failures(s)


@scenario(**OWN, long="graces, elections and patience pass in real time")
def five_services_are_called_without_an_adapter(s):
    """Would catch: a form, header, key, token or signature that its service does not take; a secret that comes out; a renewed one
    that needs a restart."""
    street = Street(s)
    street.start(*NAMES)
    street.load()
    orders = [post(s, n) for n in range(20)]
    for order in orders:
        s.client.wait_status(order, "processed")
    for n, order in enumerate(orders):
        key = order.order_id
        charge = street.card.effects[f"{key}.charge.do"]
        assert charge["form"] == {"amount": ["14.00"], "note": [f"order {key} & more"], "capture": ["true"]}, charge
        assert charge["account"] == f"acct-{n}" and len(charge["bodies"]) == 1, charge
        reward = street.wallet.effects[f"mg-{key}.reward.do"]
        assert reward["bodies"] == {b'{"charge":"%s","sum":14.00}' % charge["id"].encode()}, reward
        mail = street.mail.effects[f"{key}.tell.do"]
        assert mail["text"] == "charged 14.00" and mail["path"] == f"/send?to=a%2B{n}%40b.example", mail
        stock = street.shop.effects[f"{key}.stock.do"]
        assert stock["path"] == "/stock?unit=piece&sku=a%2Fb%20c" and stock["shop"] == str(n), stock
        hook = street.hook.effects[f"{key}.notify.do"]
        assert hook["body"] == {"mail": f"queued \"{mail['id']}\"\n", "order": key}, hook
    assert all(len(each.effects) == 20 for each in (street.card, street.wallet, street.mail, street.shop, street.hook))
    assert street.wallet.fetches == [{"grant_type": ["client_credentials"], "scope": ["pay refund"]}], street.wallet.fetches
    assert len(street.shop.calls) == 26  # each third key was put off once, within its attempt

    street.card.password, street.wallet.secret, street.mail.token, street.hook.secret = (street.safe.new() for _ in range(4))
    street.wallet.tokens.clear()  # the provider revokes what it gave out under the old secret
    street.write()
    for agent in s.cluster.agents:
        agent.signal(signal.SIGHUP)
    for agent in s.cluster.agents:
        s.wait(lambda agent=agent: any(line["message"].startswith("SIGHUP") for line in log_lines(agent)), "it has read again")
    s.client.wait_status(post(s, 99), "processed")
    assert_nothing_failed(s)
    no_secret_is_out(s, street)


def no_secret_is_out(s, street):
    texts = {path.name: path.read_text(encoding="utf-8", errors="replace") for path in s.scratch.glob("*.log")}
    texts.update({f"{agent.name} metrics": agent.get("/metrics")[1] for agent in s.cluster.agents})
    texts.update({f"queue {name}": text for name, text in all_messages(s).items()})
    texts["database"] = subprocess.run([s.servers.postgres.bin / "pg_dump", "--dbname", s.dsn], capture_output=True, text=True,
                                       check=True, timeout=60).stdout
    order_id = s.rows("SELECT order_id FROM orders LIMIT 1")[0]["order_id"]
    for verb in ("show", "explain", "export"):
        texts[f"order {verb}"] = s.cluster.tool("order", verb, order_id).stdout
    assert "reach-street" in texts["database"] and "access token fetched" in texts["agent-wallet-1.log"]
    coded = {base64.b64encode(f"{user}:{value}".encode()).decode() for user in ("shop", "client") for value in street.safe.values}
    leaks = {place: street.safe.found_in(text) + sorted(value for value in coded if value in text)
             for place, text in texts.items()}
    assert not any(leaks.values()), leaks
    named = [place for place, text in texts.items() if "Bearer" in text or "Basic " in text]
    assert not named, named


def without_tokens(s, rounds, least):
    """Orders while the token endpoint fails in every known way, for `least` as the database's interval."""
    street = Street(s)
    street.wallet.mood = "down"
    street.start("wallet")
    s.load_workflow("points", [step("reward", "wallet", undo=False, complete_within="2s",
                                    retry={"attempts": 1}, do={"method": "POST", "path": "/v2/points", "body": "${/payload}"})])
    since = s.rows("SELECT clock_timestamp() AS at")[0]["at"]
    orders = []
    for mood, words in rounds:
        street.wallet.mood = mood
        orders += [post(s, len(orders) + n, "points") for n in range(20)]
        newest = orders[-1]
        s.wait(lambda words=words: any(words in (row["error_text"] or "") for row in s.rows(
            "SELECT error_text FROM order_step WHERE error_code = 'token_unavailable'")), f"a step waits because {words}")
        s.wait(lambda words=words: any(words in (row["reason"] or "") for row in s.rows("SELECT reason FROM service_state")),
               "its agent reports the cause")
        s.wait(lambda newest=newest: s.step_state(newest, "reward") == "waiting", "the newest order's step waits")
    s.wait(lambda: s.rows("SELECT clock_timestamp() > %s + %s::interval AS past", since, least)[0]["past"], f"{least} have passed",
           timeout_s=120)
    assert not s.rows("SELECT 1 FROM order_step WHERE state NOT IN ('waiting', 'running')")
    assert_nothing_failed(s)
    assert not street.wallet.effects
    fetches = len(street.wallet.fetches)
    street.wallet.mood = "well"
    for order in orders:
        s.client.wait_status(order, "processed")
    assert len(street.wallet.fetches) < fetches + 5, "requests share a token"
    assert len(street.wallet.effects) == len(orders) and all(len(each["bodies"]) == 1 for each in street.wallet.effects.values())
    assert_nothing_failed(s)  # with one attempt each: none was used up
    shown = s.cluster.tool("order", "show", orders[0].order_id).stdout
    assert "no access token" in shown, shown


MOODS = (("down", "answered 503 temporarily_unavailable"), ("html", "answered 200 with text/html, not with JSON"),
         ("huge", "above 65536 bytes"))


@scenario(**OWN, long="alerts, pauses and time-outs pass in real time")
def a_service_that_asks_to_wait_is_left_alone_and_the_order_ends_in_its_time(s):
    """Would catch: attempts that are used up, or an order that waits beyond its time, since its service asks to wait for 20 minutes."""
    street = Street(s)
    street.shop.retry_after_s = 1200
    street.start("shop")
    s.load_workflow("points", [step("stock", "shop", undo=False, retry={"attempts": 2},
                                    do={"method": "POST", "path": "/stock", "body": "${/payload}"})], complete_within="8s")
    order = post(s, 1, "points")
    s.wait(lambda: s.step_state(order, "stock") == "waiting", "the step waits")
    told = s.cluster.tool("order", "explain", order.order_id).stdout
    assert "the service asked to wait until" in told, told
    s.client.wait_status(order, "compensated")
    assert len(street.shop.calls) <= 3, street.shop.calls  # the tries of one attempt at most
    assert s.rows("SELECT reason FROM order_process WHERE order_id = %s", order.order_id)[0]["reason"] == "order_expired"


def pump_for(s, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        s.client.pump(max(0, until - time.monotonic()))


@scenario(**OWN, long="alerts, pauses and time-outs pass in real time")
def a_token_endpoint_that_fails_costs_no_attempt(s):
    """Would catch: an attempt or an order that the token endpoint's outage uses up; an answer of any size in memory."""
    without_tokens(s, MOODS, "3 s")


@scenario(**OWN, long="graces, elections and patience pass in real time")
def a_token_endpoint_that_is_down_for_a_minute_costs_no_attempt(s):
    """Would catch: the same after more time than any attempt and any request has."""
    without_tokens(s, MOODS * 3, "60 s")


@scenario(**OWN, long="graces, elections and patience pass in real time")
def a_token_that_ends_in_a_load_refuses_no_order(s):
    """Would catch: a 401 that ends in an order: of a token revoked before its time, and of one that ends as announced."""
    street = Street(s)
    street.definitions["wallet"]["concurrency"] = 8
    street.start("wallet")
    s.load_workflow("points", [step("reward", "wallet", undo=False, retry={"attempts": 1},
                                    do={"method": "POST", "path": "/v2/points", "body": "${/payload}"})])
    street.wallet.life_s = 0.7  # and said to be an hour
    orders = []
    while len(street.wallet.fetches) < 4:
        orders.append(post(s, len(orders), "points"))
        pump_for(s, 0.1)
    street.wallet.told_life_s = street.wallet.life_s = 2
    fetches = len(street.wallet.fetches)
    while len(street.wallet.fetches) < fetches + 3:
        orders.append(post(s, len(orders), "points"))
        pump_for(s, 0.1)
    for order in orders:
        s.client.wait_status(order, "processed")
    refused = sum(line["message"] == "the service refused the access token before its end; a new one is fetched"
                  for line in log_lines(s.cluster.agents[0]))
    assert refused >= 2, "no token ended before its time"
    assert len(street.wallet.effects) == len(orders)
    assert_nothing_failed(s)


def post_for(s, seconds):
    """Orders at a steady pace, each with one attempt; returns them when all are processed."""
    s.load_workflow("points", [step("reward", "wallet", undo=False, retry={"attempts": 1},
                                    do={"method": "POST", "path": "/v2/points", "body": "${/payload}"})])
    orders, since = [], time.monotonic()
    while time.monotonic() - since < seconds:
        orders.append(post(s, len(orders), "points"))
        pump_for(s, 0.1)
    for order in orders:
        s.client.wait_status(order, "processed")
    return orders


@scenario(**OWN)
def a_token_that_counts_only_after_a_moment_refuses_no_order(s):
    """Would catch: orders that end, and a token for each of them, since the service's clock is behind the issuer's."""
    street = Street(s)
    street.wallet.counts_after_s = 0.5
    street.start("wallet")
    orders = post_for(s, 4)
    assert len(street.wallet.effects) == len(orders)
    assert len(street.wallet.fetches) == 1, street.wallet.fetches
    assert_nothing_failed(s)


@scenario(**OWN, long="time-outs and reports pass in real time")
def agents_that_end_each_others_tokens_take_turns(s):
    """Would catch: orders that end, and a storm of tokens, where a client has one token at a time and the service looks late."""
    street = Street(s)
    street.wallet.has_one_token, street.wallet.look_after_s = True, 0.3
    street.start("wallet")
    second = s.cluster.make("agent", "agent-wallet-2", "--service", s.scratch / "service-wallet.json")
    s.cluster.agents.append(second)
    second.start()
    second.wait_ready()
    orders = post_for(s, 20)
    assert len(street.wallet.effects) == len(orders)
    assert 2 <= len(street.wallet.fetches) < 40, len(street.wallet.fetches)  # less than one a second for each
    assert_nothing_failed(s)


@scenario(**OWN)
def a_bad_definition_of_reach_is_refused_with_its_place(s):
    """Would catch: a mistake that shows only in an order."""
    street = Street(s)
    good = {"workflow": "w", "version": 1, "steps": [{"step": "a", "service": "card", "undo": "none",
                                                      "do": {"method": "POST", "path": "/"}}]}
    path = s.scratch / "bad-workflow.json"
    for more, said in (({"headers": {"X-A:": "1"}}, "/steps/0/do/headers/X-A:: not a header's name"),
                       ({"encode": "form", "body": {"a": {"b": 1}}}, "/steps/0/do/body/a: an object")):
        definition = json.loads(json.dumps(good))
        definition["steps"][0]["do"].update(more)
        path.write_text(json.dumps(definition), encoding="utf-8")
        done = subprocess.run([s.cluster.bin / "makegood", "workflow", "check", path], capture_output=True, text=True, timeout=60,
                              check=False, env=processes.plain_environment())
        assert done.returncode == 2 and f": {said}" in done.stderr and done.stderr.startswith(f"{path}:1:"), done
    service = s.scratch / "bad-service.json"
    for auth, said in (({"bearer": {"file": "/no/such"}}, "/auth/bearer/file: could not read \"/no/such\": No such file"),
                       ({"oauth2": {"token_url": "http://192.0.2.1/t", "client_id": "c", "client_secret": street.file("wallet")}},
                        "/auth/oauth2/token_url: http://192.0.2.1/t would send the client's secret in plaintext")):
        service.write_text(json.dumps({"service": "card", "url": "http://127.0.0.1:1", "auth": auth}), encoding="utf-8")
        done = subprocess.run([s.cluster.bin / "makegood-agent", "--service", service, "--check-config"], capture_output=True,
                              text=True, timeout=60, check=False,
                              env={**processes.plain_environment(), "MAKEGOOD_AMQP_URL": "amqp://127.0.0.1"})
        assert done.returncode == 2 and str(service) in done.stderr and said in done.stderr, done
    s.load_workflow("card", [call("charge", "card", "/", headers={"X-A": "${/payload/a}"}),
                             step("b", "card", undo=False, do={"method": "POST", "path": "/", "encode": "form", "body": {
                                 "a": "${/payload/a}"}})])
    street.start("card")
    order = s.client.submit("card", {"a": "x\r\nHost: evil"})
    s.client.wait_status(order, "compensated")
    row = s.step(order, "charge")
    assert row["error_code"] == "unrenderable" and "header \"X-A\"" in row["error_text"], row
    assert "evil" not in row["error_text"] and not any(body == b"" for _, _, _, body in street.card.calls)
    order = s.client.submit("card", {"a": {"nested": 1}})
    s.client.wait_status(order, "compensated")
    row = s.step(order, "b")
    assert row["error_code"] == "unrenderable" and "body \"a\": its value is an object" in row["error_text"], row
