"""The console over real HTTP: its pages, the rights to see them, and changes by authorised users from its own page only."""

import http.client
import json
import uuid

from harness import scenario, step
from local import cluster, processes

TOKENS = {"reader": ("rita", "a token to read with"), "operator": ("otto", "a token to act with")}
PROXY = {"proxy": ("gate", "a token that only the proxy has")}
VIEWS = ("/", "/orders", "/orders/x", "/failures", "/bulk", "/bulk/x", "/waiting", "/waiting/x", "/alerts", "/dead", "/services", "/workflows", "/schedules", "/schedules/x", "/audit", "/post", "/login", "/find?text=Ada")
PARTS = ("/app.css", "/app.js", "/dom.js", "/api.js", "/act.js", "/overview.js", "/orders.js", "/order.js", "/failures.js",
         "/bulk_list.js", "/bulk.js", "/waiting.js", "/alerts.js", "/dead.js", "/services.js", "/charts.js", "/schedules.js", "/schedule.js", "/rounds.js", "/graph.js", "/icons.js",
         "/json_text.js", "/order_acts.js", "/report_text.js", "/audit.js", "/post.js", "/icon.svg")
ROUTES = ("me", "overview", "orders", "orders?state=open", "orders?waits_for=payment", "orders?due_within=10m", "orders?state=error", "orders?state=processed&workflow=pay&since=1h&until=1s",
          "orders?error=http", "failures", "bulk", "choice", "choice?step=charge&service=payment",
          "alerts", "alerts?all=1", "waiting", "waiting?order=x&signal=y&workflow=z&after=1/x/0", "services", "workflows", "workflows/pay", "schedules", "audit",
          "audit?by=otto&subject=x&since=8h&until=1s&after=1", "dead", "dead?queue=orders.rejected")
SOON_S = 20


class Console:
    """A console on a stage's cluster, which ends with it, and a browser that has not logged in."""

    def __init__(self, stage, *words, tokens=TOKENS, env=None):
        self.port = processes.free_port()
        if tokens:
            path = stage.scratch / "tokens"
            cluster.write_tokens(path, [(role, *who) for role, who in tokens.items()])
            words = ("--tokens-file", path, *words)
        argv = [stage.cluster.bin / "makegood", "console", "--listen", f"127.0.0.1:{self.port}", *words]
        name = f"console-{len(stage.others) + 1}"
        self.process = processes.Process(name, argv, stage.scratch / f"{name}.log", http_port=self.port,
                                         env=env or stage.cluster.tool_env)
        stage.others.append(self.process)
        self.process.start().wait_ready()
        self.cookie = self.csrf = None
        self.added = {}  # by a proxy, to each request

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, body) of one request, as this browser sends it; `headers` go before its own, None leaves one out."""
        own = {"Host": f"localhost:{self.port}", "Cookie": self.cookie}
        if method == "POST":
            own |= {"Content-Type": "application/json", "Origin": f"http://localhost:{self.port}", "Sec-Fetch-Site": "same-origin",
                    "X-Makegood-CSRF": self.csrf}
        own |= self.added | (headers or {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON_S)
        try:
            connection.putrequest(method, path, skip_host=True)
            data = None if body is None else json.dumps(body).encode()
            for name, value in own.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(data or b"")))
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def get(self, path, status=200):
        seen, _, text = self.ask("GET", "/api/v1/" + path)
        assert seen == status, (path, seen, text)
        return json.loads(text)

    def post(self, path, body, status=200, **headers):
        seen, _, text = self.ask("POST", "/api/v1/" + path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        assert seen == status, (path, seen, text)
        return json.loads(text)

    def login(self, role):
        status, headers, text = self.ask("POST", "/api/v1/login", {"token": TOKENS[role][1]})
        assert status == 200, text
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie, cookie
        self.cookie, self.csrf = cookie.split(";")[0], json.loads(text)["csrf"]
        return json.loads(text)

    def events(self, path, is_enough):
        """Reads live events until is_enough(name, data) is true of one, and returns that one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON_S)
        try:
            own = {"Host": f"localhost:{self.port}", "Cookie": self.cookie} | self.added
            connection.request("GET", "/api/v1/" + path, headers={name: value for name, value in own.items() if value is not None})
            answer = connection.getresponse()
            assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream"), answer.headers
            assert answer.headers["X-Accel-Buffering"] == "no", answer.headers
            name = None
            for line in answer:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data" and is_enough(name, json.loads(value)):
                    return json.loads(value)
            raise AssertionError("the stream ended")
        finally:
            connection.close()


def pay(s, on_failure="error"):
    s.load_workflow("pay", [step("charge", "payment", retry={"attempts": 1, "backoff": "50ms"})], on_failure=on_failure)


def failed_order(s):
    """An order in error, and the console as an operator sees it."""
    pay(s)
    s.remote("payment").switch("decline")
    order = s.client.submit("pay", {"amount": 14.00})
    s.client.wait_status(order, "error")
    console = Console(s)
    console.login("operator")
    return order, console


def kept(s):
    """All rows that a change would change."""
    return s.rows("""SELECT (SELECT json_agg(p ORDER BY order_id) FROM order_process p)::text, (SELECT json_agg(a ORDER BY alert_id)
                     FROM operator_alert a)::text, (SELECT json_agg(c) FROM service_control c)::text,
                     (SELECT json_agg(o ORDER BY action_id) FROM operator_action o)::text""")


@scenario(services=("payment",))
def the_console_shows_all_and_a_get_changes_nothing(s):
    """Would catch: a page, or a part of one, that is missing; a protective header that is not sent; a change by GET; orders shown
    without a log-in."""
    pay(s)
    s.remote("payment").switch("decline")
    orders = [s.client.submit("pay", {"n": n}) for n in range(3)]
    for order in orders:
        s.client.wait_status(order, "error")
    console = Console(s)
    for path in VIEWS + PARTS:
        status, headers, text = console.ask("GET", path)
        assert status == 200 and text, path
        assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff", (path, headers)
        again, _, nothing = console.ask("GET", path, headers={"If-None-Match": headers["ETag"]})
        assert (again, nothing) == (304, ""), path
        assert "innerHTML" not in text.replace("these files never use innerHTML", ""), path
    for path in ("/nowhere", "/orders.html", "/finder?text=Ada"):
        status, headers, text = console.ask("GET", path, headers={"If-None-Match": headers["ETag"]})
        assert status == 404 and headers["Content-Type"].startswith("text/html") and text == console.ask("GET", "/")[2], (path, status)
    assert console.get("me") == {**console.get("me"), "role": "none", "needs_login": True}
    routes = [*ROUTES, f"orders/{orders[0].order_id}"]
    for route in routes[1:] + ["live"]:
        console.get(route, status=401)

    console.login("reader")
    before = kept(s)
    for route in routes[1:] + ["live"]:
        for more in ("no_such_filtre=1", "state=open&state=open"):
            answer = console.get(f"{route}{'&' if '?' in route else '?'}{more}", status=400)
            assert answer["error"].startswith(more.split("=")[0]), (route, answer)
    for route in routes:
        console.get(route)
        status, _, text = console.ask("HEAD", "/api/v1/" + route)
        assert (status, text) == (200, ""), route
    for verb in ("resume", "cancel"):
        console.get(f"orders/{orders[0].order_id}/{verb}", status=404)
    for bad in ("orders?state=lost", "orders?since=yesterday", "orders?after=x", "orders/a%20b", "dead?queue=orders.intake"):
        console.get(bad, status=400)
    console.get("orders/nobody", status=404)
    status, _, _ = console.ask("DELETE", f"/api/v1/orders/{orders[0].order_id}")
    assert status == 405, status
    assert kept(s) == before

    seen = console.get(f"orders/{orders[0].order_id}")
    assert seen["dossier"]["order"]["state"] == "error" and "http_422" in json.dumps(seen["dossier"]), seen
    assert "charge has failed" in seen["explanation"]["what"], seen["explanation"]
    graph = seen["graph"]
    assert [node["step"] for node in graph["nodes"]] == ["charge"] and graph["edges"] == [], graph
    groups = console.get("failures")["groups"]
    assert [(group["step"], group["count"]) for group in groups] == [("charge", 3)], groups
    listed = [row["order_id"] for row in console.get("orders")["orders"]]
    assert sorted(listed) == sorted(order.order_id for order in orders), listed


@scenario(services=("payment",), long="other scenarios of the console are quick")
def the_overview_has_each_service_of_a_loaded_workflow(s):
    """Would catch: a page that reports "all is well" while every order of a workflow waits for a queue that does not exist."""
    s.load_workflow("trip", [{**step("flight", "payment"), "service": "travle"}])
    console = Console(s)
    console.login("reader")

    def state(page, service="travle"):
        return [row["state"] for row in console.get(page)["services"] if row["service"] == service]
    for page in ("overview", "services"):
        s.wait(lambda: state(page) == ["no queue"], f"{page} says that there is no queue")
    s.cluster.tool("broker", "apply")  # which finds the service in the workflow
    s.wait(lambda: state("overview") == ["no agent"], "the overview says that nothing serves it")
    s.client.channel.basic_consume("agent.travle.requests", lambda *_: None)
    s.client.channel.basic_consume("agent.travle.requests.high", lambda *_: None)
    s.wait(lambda: state("overview") == ["serving"], "the overview counts a consumer that reports nothing")
    assert state("overview", "payment") == ["serving"]


@scenario(services=("payment",))
def the_console_lets_only_its_own_page_and_who_may_act(s):
    """Would catch: a reader that can change something; a page of another site that does so with an operator's cookie; a name that
    an attacker makes resolve to this machine."""
    pay(s)
    s.remote("payment").switch("decline")
    order = s.client.submit("pay", {})
    s.client.wait_status(order, "error")
    version = s.process(order)["version"]
    change = {"reason": "the test wants it", "version": version}
    path = f"orders/{order.order_id}/resume"
    console = Console(s)
    before = kept(s)

    console.post(path, change, status=401)
    console.post("login", {"token": "a guess"}, status=403)
    console.login("reader")
    reader = console.cookie
    console.post(path, change, status=403)
    operator = console.login("operator")
    assert (operator["name"], operator["role"]) == ("otto", "operator"), operator
    console.post(path, change, status=403, X_Makegood_CSRF=None)
    console.post(path, change, status=403, X_Makegood_CSRF="0" * 64)
    console.post(path, change, status=403, Origin="http://evil.example", Sec_Fetch_Site=None)
    console.post(path, change, status=403, Sec_Fetch_Site="cross-site")
    console.post(path, change, status=403, Content_Type="text/plain")
    for wrong in ({"version": version}, {**change, "reason": "no"}, {"reason": "without a version"}, {**change, "reason": "x" * 5000}):
        console.post(path, wrong, status=400)
    too_long = console.post(path, {**change, "reason": "\u0436" * 260}, status=400)
    assert "too long" in too_long["error"], too_long
    console.post("orders/a b/resume".replace(" ", "%20"), change, status=400)
    console.post(f"orders/{order.order_id}/delete", change, status=400)
    for host in ("evil.example", f"evil.example:{console.port}", f"localhost.evil.example:{console.port}"):
        for asked in ("/", "/api/v1/me", "/api/v1/overview"):
            status, _, _ = console.ask("GET", asked, headers={"Host": host})
            assert status == 421, (host, asked, status)
    assert kept(s) == before

    first = console.cookie
    for _ in range(8):
        for _ in range(6):  # an attacker's guesses lock out no user
            status, _, _ = console.ask("POST", "/api/v1/login", {"token": "a guess"})
            assert status in (403, 429), status
        console.login("operator")
    assert console.get("me")["role"] == "operator"
    status, _, text = console.ask("GET", "/api/v1/me", headers={"Cookie": first})
    assert (status, json.loads(text)["role"]) == (200, "none"), text  # one token has eight sessions at most
    status, _, text = console.ask("GET", "/api/v1/me", headers={"Cookie": reader})
    assert (status, json.loads(text)["role"]) == (200, "reader"), text
    console.post("logout", {}, status=403, Origin="http://evil.example", Sec_Fetch_Site=None)
    console.get("overview")
    console.post("logout", {}, X_Makegood_CSRF="0" * 64)
    console.get("overview", status=401)
    console.post("logout", {})

    open_to_read = Console(s, tokens=None)
    assert open_to_read.get("me")["role"] == "reader"
    open_to_read.get("overview")
    open_to_read.post(path, change, status=403)
    refused = s.cluster.tool("console", "--listen", "0.0.0.0:0", "--allow-plaintext", check=False)
    assert refused.returncode == 2 and "--tokens-file" in refused.stderr, refused
    tokens = s.scratch / "bad-tokens"
    tokens.write_text(f"reader rita {'0' * 64}\nadmin anna {'1' * 64}\n", encoding="utf-8")
    refused = s.cluster.tool("console", "--tokens-file", tokens, "--check-config", check=False)
    assert refused.returncode == 2 and "line 2" in refused.stderr, refused


@scenario(services=("payment",))
def a_failed_order_is_resumed_in_the_console(s):
    """Would catch: a resume that does not reach the schedulers; a second click that makes a second change; a change without its
    author and reason on record; a page that gets no event about it."""
    order, console = failed_order(s)
    failed = console.get("orders?state=error")["failures"]
    assert [row["order_id"] for row in failed] == [order.order_id], failed
    shown = console.get(f"orders/{order.order_id}")
    version = shown["dossier"]["order"]["version"]
    assert json.loads(shown["payload"]) == {"amount": 14.00}

    s.remote("payment").switch("order")
    path, command_id = f"orders/{order.order_id}/resume", str(uuid.uuid4())
    console.post(path, {"reason": "of another day", "version": version + 7}, status=409)
    done = console.post(path, {"reason": "the card is good again", "version": version, "command_id": command_id})
    assert "processing" in done["text"] or "processed" in done["text"], done
    s.client.wait_status(order, "processed")
    console.events(f"live?order={order.order_id}", lambda name, data: name == "order" and data["version"] > version)
    console.events("live", lambda name, data: name == "overview" and data["leader"])
    status, _, text = console.ask("POST", "/api/v1/" + path, {"reason": "the card is good again", "version": version, "command_id": command_id})
    assert status in (200, 409), text
    resumes = [row for row in s.events(order) if row["cause_kind"] == "resume"]
    assert [(row["by_whom"], row["reason"]) for row in resumes] == [("otto", "the card is good again")], resumes
    noted = s.rows("SELECT by_whom, verb, subject, reason FROM operator_action ORDER BY action_id")
    assert noted[-1] == {"by_whom": "otto", "verb": "order resume", "subject": order.order_id, "reason": "the card is good again"}, noted
    assert console.get(f"audit?by=otto&subject={order.order_id}")["actions"][0]["detail"]["via"] == "console"
    again = console.post(path, {"reason": "the same id, another version", "version": version + 7, "command_id": command_id}, status=409)
    assert "conflict" in again["error"], again
    story = console.get(f"orders/{order.order_id}")["dossier"]
    assert story["order"]["state"] == "processed" and any(event["cause_kind"] == "resume" for event in story["events"]), story


@scenario(services=("payment",))
def a_step_is_settled_skipped_and_repaired_in_the_console(s):
    """Would catch: an operator without a shell that the order's page cannot help; a repair with changed digits, or for another
    step; an act without a record."""
    s.load_workflow("pay", [step("charge", "payment", retry={"attempts": 1, "backoff": "50ms"})], on_failure="error")
    console, path = Console(s), "orders/{}/{}".format
    console.login("operator")
    s.remote("payment").switch("decline")
    orders = [s.client.submit("pay", {"amount": n}) for n in range(3)]
    for order in orders:
        s.client.wait_status(order, "error")

    def ask(order, verb, status=200, **more):
        shown = console.get(f"orders/{order.order_id}")
        body = {"reason": "the bank has told us", "version": shown["dossier"]["order"]["version"], **more}
        return console.post(path(order.order_id, verb), body, status=status)

    verbs = console.get(f"orders/{orders[0].order_id}")["verbs"]
    assert (verbs["settle"], verbs["skip"]) == (["charge"], ["charge"]), verbs
    ask(orders[0], "settle", status=400, step="charge", outcome="perhaps")
    ask(orders[0], "settle", status=400, step="charge", outcome="absent", result="1")
    ask(orders[0], "settle", step="charge", outcome="done", result='{"id": 1.50}')
    s.client.wait_status(orders[0], "processed")
    assert '"id": 1.50' in console.get(f"orders/{orders[0].order_id}")["steps"][0]["result"]
    ask(orders[1], "skip", step="charge")
    s.client.wait_status(orders[1], "processed")
    s.remote("payment").switch("order")
    for bad in ("[]", "{", '{"amount": 1}', json.dumps({f"/m{n}": n for n in range(17)})):
        ask(orders[2], "resume", status=400, set=bad)
    ask(orders[2], "resume", set='{"/amount": 14.00, "/note": "by hand"}')
    s.client.wait_status(orders[2], "processed")
    assert "14.00" in console.get(f"orders/{orders[2].order_id}")["payload"]
    acts = [(row["verb"], row["detail"].get("step"), row["subject"]) for row in console.get("audit?by=otto")["actions"]]
    assert acts[-2:] == [("order skip", "charge", orders[1].order_id), ("order settle", "charge", orders[0].order_id)], acts
    posted = console.post("orders", {"reason": "by telephone", "workflow": "pay", "payload": '{"amount": 2.50}', "command_id": str(uuid.uuid4())})
    s.wait(lambda: s.rows("SELECT 1 FROM order_process WHERE order_id = %s AND process_state = 'processed'", posted["order_id"]), "the posted order is processed")
    console.post("orders", {"reason": "by telephone", "workflow": "none", "payload": "{}"}, status=404)
    listed = json.loads(s.cluster.tool("audit", "--by", "otto", "--since", "1h", "-o", "json").stdout)
    assert [row["verb"] for row in listed][:2] == ["order submit", "order resume"], listed
    s.cluster.tool("order", "compensate", orders[0].order_id, "--by", "rita", "--reason", "it was a mistake")
    ours = console.get("audit?by=rita")["actions"]
    assert [(row["verb"], row["subject"], row["reason"], row["outcome"], row["detail"]["via"]) for row in ours] == \
        [("order compensate", orders[0].order_id, "it was a mistake", "done", "tool")], ours


@scenario(services=("payment",))
def one_acknowledgement_makes_a_cause_known(s):
    """Would catch: 200 alerts of one cause that are acknowledged one by one; a known cause that still counts as not well; a new
    cause that hides among the known ones."""
    pay(s)
    s.remote("payment").switch("decline")
    for n in range(3):
        s.client.wait_status(s.client.submit("pay", {"n": n}), "error")
    console = Console(s)
    console.login("operator")
    cause, = console.get("alerts")["causes"]
    assert (cause["count"], cause["step"], cause["acked_at"]) == (3, "charge", None), cause
    assert "NOT WELL" in s.cluster.tool("top").stdout
    done = console.post(f"alerts/{cause['alert_id']}/ack", {"reason": "the bank is called"})
    assert done["text"] == "3 alerts acknowledged", done
    s.client.wait_status(s.client.submit("pay", {"n": 4}), "error")  # of the same cause
    cause, = s.wait(lambda: [row for row in console.get("alerts")["causes"] if row["count"] == 4], "the later alert is of the cause")
    assert cause["acked_by"] == "otto: the bank is called", cause
    assert "1 cause known (otto)" in s.cluster.tool("top").stdout.splitlines()[0]
    found = s.cluster.tool("doctor", check=False).stdout
    assert any(line.startswith("ok") and "4 open, 1 cause known (otto)" in line for line in found.splitlines()), found
    audit = json.loads(s.cluster.tool("audit", "--by", "otto", "-o", "json").stdout)
    assert [(row["verb"], row["detail"]["alerts"]) for row in audit] == [("alert ack", 3)], audit
    again = s.cluster.tool("alert", "ack", cause["alert_id"], "--by", "rita", "--reason", "mine, too", check=False)
    assert again.returncode == 3 and "no open and unacknowledged alert" in again.stderr, again


@scenario(services=("payment",), long="other scenarios of the console are quick")
def services_alerts_and_dead_letters_are_acted_on_in_the_console(s):
    """Would catch: a verb of the page that differs from its namesake of the tool; an act on another dead letter than the one shown.
    """
    pay(s)
    console = Console(s)
    console.login("operator")
    why = {"reason": "the test wants it"}

    console.post("services/payment/pause", {**why, "version": 0, "for": "10m"})
    row = next(row for row in console.get("services")["services"] if row["service"] == "payment")
    assert row["state"] == "paused" and row["by_whom"] == "otto" and row["paused_until"], row
    console.post("services/payment/resume", {**why, "version": 0}, status=409)
    console.post("services/payment/resume", {**why, "version": row["version"]})
    console.post("services/payment/limit", {**why, "version": row["version"] + 1, "concurrency": "many"}, status=400)
    console.post("services/payment/limit", {**why, "version": row["version"] + 1, "concurrency": "2", "rate": "none"})
    assert s.rows("SELECT is_paused, concurrency, rate_per_s FROM service_control") == [{"is_paused": False, "concurrency": 2, "rate_per_s": None}]
    console.post("services/nobody/pause", {**why, "version": 0}, status=404)

    s.remote("payment").switch("decline")
    order = s.client.submit("pay", {})
    s.client.wait_status(order, "error")
    alert = next(row for row in console.get("alerts")["alerts"] if row["order_id"] == order.order_id)
    console.post(f"alerts/{alert['alert_id']}/ack", why)
    console.post(f"alerts/{alert['alert_id']}/ack", why, status=409)
    assert s.alerts("order_error")[0]["acked_by"] == "otto: the test wants it"

    for n in range(2):
        s.client.publish(f"no submission {n} \u2603", message_id=f"bad-{n}")
    s.wait(lambda: s.client.depth("orders.rejected") == 2, "both are refused")
    letters = console.get("dead?queue=orders.rejected")["letters"]
    assert [letter["body"] for letter in letters] == ["no submission 0 \u2603", "no submission 1 \u2603"], letters
    console.post("dead/drop", {**why, "queue": "orders.rejected", "mark": letters[1]["mark"]})
    s.wait(lambda: s.client.depth("orders.rejected") == 1, "one is dropped")
    console.post("dead/drop", {**why, "queue": "orders.rejected", "mark": letters[1]["mark"]}, status=404)
    assert console.get("dead?queue=orders.rejected")["letters"][0]["mark"] == letters[0]["mark"]
    console.post("dead/drop", {**why, "queue": "orders.intake", "mark": letters[0]["mark"]}, status=400)
    noted = s.rows("SELECT by_whom, reason, subject, detail->>'queue' AS queue FROM operator_action WHERE verb = 'dead drop'")
    assert noted == [{"by_whom": "otto", "reason": "the test wants it", "subject": letters[1]["mark"],
                      "queue": "orders.rejected"}] * 2, noted
    with open(console.process.log_path, encoding="utf-8") as log:
        told = [json.loads(line) for line in log if "drop of a dead letter requested" in line]
    assert [(line["by"], line["reason"], line["queue"], line["message_id"], line["outcome"]) for line in told[:1]] == [
        ("otto", "the test wants it", "orders.rejected", "bad-1", "done")], told
    verbs = [row["verb"] for row in s.rows("SELECT verb FROM operator_action ORDER BY action_id")]
    assert {"service pause", "service resume", "service limit", "alert ack", "dead drop"} <= set(verbs), verbs


@scenario(services=("payment",), long="other scenarios of the console are quick")
def a_user_named_by_a_proxy_acts_in_the_console_under_that_name(s):
    """Would catch: a change, or a page, for a client that sends a proxy's headers without being one; a change recorded under a name other
    than that of the proxy's user, or under none; options that are not read."""
    pay(s)
    s.remote("payment").switch("decline")
    orders = [s.client.submit("pay", {"n": n}) for n in range(2)]
    for order in orders:
        s.client.wait_status(order, "error")
    s.remote("payment").switch("order")
    options = {"MAKEGOOD_PROXY_USER_HEADER": "Remote-User", "MAKEGOOD_PROXY_GROUPS_HEADER": "Remote-Groups",
               "MAKEGOOD_PROXY_OPERATOR_GROUP": "admins, ops"}
    console = Console(s, tokens=TOKENS | PROXY, env=s.cluster.tool_env | options)

    def resume(order, status=200):
        change = {"reason": "the test wants it", "version": s.process(order)["version"]}
        return console.post(f"orders/{order.order_id}/resume", change, status=status)

    def named(user, groups):
        console.added = {"X-Makegood-Proxy-Token": PROXY["proxy"][1], "Remote-User": user, "Remote-Groups": groups}
        console.csrf = console.get("me")["csrf"]

    before = kept(s)
    named("otto", "dev,ops")
    console.added["X-Makegood-Proxy-Token"] = "a guess"
    for route in ROUTES + ("live",):
        console.get(route, status=403)
    resume(orders[0], status=403)
    named("rita", "dev")
    console.events("live", lambda name, data: name == "overview")
    for route in ROUTES:
        console.get(route)
    resume(orders[0], status=403)
    stolen = console.csrf
    named("otto", "dev,ops")
    console.csrf = stolen
    resume(orders[0], status=403)
    assert kept(s) == before

    named("otto", "dev,ops")
    resume(orders[0])
    s.client.wait_status(orders[0], "processed")
    console.added = {}
    console.login("operator")
    resume(orders[1])
    s.client.wait_status(orders[1], "processed")
    for order, name in zip(orders, ("otto via gate", "otto")):
        assert [row["by_whom"] for row in s.events(order) if row["cause_kind"] == "resume"] == [name]
    noted = s.rows("SELECT by_whom, verb FROM operator_action ORDER BY action_id")
    assert noted == [{"by_whom": name, "verb": "order resume"} for name in ("otto via gate", "otto")], noted
    with open(console.process.log_path, encoding="utf-8") as log:
        logged = log.read()
    assert '"by":"otto via gate"' in logged and "its token in X-Makegood-Proxy-Token" in logged, logged
    assert PROXY["proxy"][1] not in logged, "a secret is logged"

    refused = s.cluster.tool("console", "--proxy-user-header", "Remote-User", "--check-config", check=False)
    assert refused.returncode == 2 and "any client can send it" in refused.stderr, refused
