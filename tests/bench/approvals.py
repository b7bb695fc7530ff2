"""A million orders that wait for a signal: their cost for all others, and the time until people and senders have an answer.

Two clusters on the same servers, one with the million and one without, run by turns, so that other work of the machine weighs on both.
"""

import http.client
import json
import statistics
import time
import urllib.parse
import uuid

import counters
import parts
import stage
from local import processes

COPIES = (stage.HERE / "approvals.sql").read_text(encoding="utf-8")
AT_ONCE = 50_000       # copies in one transaction
PAIRS = 3
SIGNALS = 20           # signals by key, one after the other
LOOKS = 3              # of each look of a person
ANSWER_S = 30
# Rows that were read by scans of whole tables.
SCANS = """SELECT relname, seq_scan, seq_tup_read FROM pg_stat_user_tables
WHERE relname IN ('orders', 'order_process', 'order_step', 'order_event', 'order_label')"""

WORKFLOW = {
    "workflow": "approval", "version": 1, "complete_within": "365d", "labels": {"customer": "${/payload/customer}"},
    "steps": [{"step": "approve", "done_when": "result.ok",
               "wait": {"signal": "approved", "within": "300d", "key": "payload.key", "title": "An order above 500.00",
                        "choices": {"Approve": {"ok": True}, "Reject": {"ok": False}}}},
              {"step": "call", "after": ["approve"], "service": stage.SERVICE, "complete_within": "60s", "undo": "none",
               "do": {"method": "POST", "path": "/calls", "body": {"order": "${/order_id}"}}}]}


def connect(made):
    import pika  # as in parts.sizes

    return pika, pika.BlockingConnection(pika.URLParameters(made.url))


def fill(on, made, count):
    """One order that the product has made, and its copies. Returns the template's id."""
    parts.load_workflow(made, WORKFLOW)
    template = str(uuid.uuid4())
    pika, connection = connect(made)
    body = {"order_id": template, "workflow": "approval", "payload": {"key": template, "customer": "17", "text": "x" * 200}}
    connection.channel().basic_publish("makegood.intake", "orders.intake", json.dumps(body), pika.BasicProperties(delivery_mode=2))
    connection.close()
    sql = f"SELECT 1 FROM order_step WHERE order_id = '{template}' AND open IS NOT NULL"
    processes.wait_until(lambda: on.postgres.psql(sql, made.place), "the template waits")
    for first in range(1, count + 1, AT_ONCE):
        sql = COPIES.replace(":template", template).replace(":first", str(first)).replace(":last", str(min(count, first + AT_ONCE - 1)))
        on.postgres.psql(sql, made.place)
    on.postgres.psql("VACUUM ANALYZE", made.place)
    on.postgres.psql("CHECKPOINT", "postgres")
    return template


# ---- the daemons ----

def sweeps(made):
    found = counters.metrics(made.supervisors[0])
    return found["makegood_sweep_seconds_sum"], found["makegood_sweep_seconds_count"]


def sweep_mean_ms(made, work):
    """The mean of the sweeps while `work` is done."""
    before = sweeps(made)
    work()
    after = sweeps(made)
    return round(1000 * (after[0] - before[0]) / max(1, after[1] - before[1]), 3)


def scans(on, made):
    return {name: (int(count), int(rows)) for name, count, rows in on.postgres.psql(SCANS, made.place)}


def at_rest(on, plan, made):
    before, counted = scans(on, made), counters.metrics(made.supervisors[0])
    sweep_ms = sweep_mean_ms(made, lambda: parts.let_pass(plan.idle_s))
    cpu = parts.sweeping(on, made, plan.idle_s)
    after, now = scans(on, made), counters.metrics(made.supervisors[0])
    counts = now["makegood_count_seconds_count"] - counted["makegood_count_seconds_count"]
    return {"sweep_mean_ms": sweep_ms, "percent_of_a_core": cpu,
            "count_mean_ms": round(1000 * (now["makegood_count_seconds_sum"] - counted["makegood_count_seconds_sum"]) / max(1, counts), 1),
            "rows_by_whole_scans": {name: after[name][1] - before[name][1] for name in after}}


# ---- signals ----

def signals(on, made):
    """From the publish of a signal with a key to its answer, each to another order of the million."""
    pika, connection = connect(made)
    channel, found, took_ms = connection.channel(), {}, []
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.basic_consume(queue, lambda _c, _m, properties, body: found.update({properties.correlation_id: json.loads(body)}), auto_ack=True)
    keys = on.postgres.psql(f"SELECT order_id FROM order_step TABLESAMPLE SYSTEM (0.1) WHERE open IS NOT NULL LIMIT {SIGNALS}", made.place)
    for (key,) in keys:
        body = {"v": 1, "command_id": f"evt-{key}", "command": "signal", "signal": "approved", "key": key, "payload": {"ok": True}, "by": "bench"}
        began = time.monotonic()
        channel.basic_publish("makegood.commands", "scheduler.commands", json.dumps(body), pika.BasicProperties(
            delivery_mode=2, type="command", message_id=f"evt-{key}", correlation_id=key, reply_to=queue))
        while key not in found and time.monotonic() - began < ANSWER_S:
            connection.process_data_events(time_limit=0.1)
        if found.get(key, {}).get("signal") != "taken":
            raise processes.Failure(f"a signal to {key} was answered by {found.get(key)}")
        took_ms.append(1000 * (time.monotonic() - began))
    connection.close()
    return {"signals": len(took_ms), "median_ms": round(statistics.median(took_ms), 1), "max_ms": round(max(took_ms), 1)}


# ---- people ----

def seconds(look):
    took = []
    for _ in range(LOOKS):
        began = time.monotonic()
        look()
        took.append(time.monotonic() - began)
    return {"median_s": round(statistics.median(took), 3), "max_s": round(max(took), 3)}


def looks(made, template):
    """Each look of a person. Doctor may find something; what it finds is no matter here."""
    console, token, _ = made.start_console()
    browser = Browser(console.http_port, token)
    lists = {"--waiting '*'": ("--waiting", "*"), "--waiting approved": ("--waiting", "approved"),
             "--waiting approved --limit 10000": ("--waiting", "approved", "--limit", "10000"), "--waiting of no order": ("--waiting", "paid"),
             "of all": (), "--label customer=17": ("--label", "customer=17")}
    page = browser.ask("waiting")
    if not page["waiting"]:
        raise processes.Failure("the page Waiting is empty")
    routes = {"waiting": "waiting", "waiting?signal": "waiting?signal=approved", "waiting?workflow": "waiting?workflow=approval",
              "waiting?after": "waiting?after=" + urllib.parse.quote(page["next"]), "waiting?order": f"waiting?order={template}",
              "overview": "overview", "orders": "orders"}
    found = {"top": seconds(lambda: made.tool("top", "-o", "json")), "doctor": seconds(lambda: made.tool("doctor", check=False)),
             "order explain": seconds(lambda: made.tool("order", "explain", template))}
    for name, words in lists.items():
        found["order list " + name] = seconds(lambda words=words: made.tool("order", "list", *words, "-o", "json"))
    for name, route in routes.items():
        found["console " + name] = seconds(lambda route=route: browser.ask(route))
    console.terminate()
    return found


class Browser:
    """One login at the console."""

    def __init__(self, port, token):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("POST", "/api/v1/login", json.dumps({"token": token}), {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        answer.read()
        self.cookie = answer.headers["Set-Cookie"].split(";")[0]

    def ask(self, route):
        self.connection.request("GET", "/api/v1/" + route, headers={"Cookie": self.cookie})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise processes.Failure(f"the console answers {route} with {answer.status}: {body[:300]}")
        return json.loads(body)


# ---- the part ----

def approvals(on, plan):
    """With and without them."""
    without, with_them = on.cluster_at("bare").start(), on.cluster_at("approvals").start()
    for made in (without, with_them):
        made.tool("broker", "apply", "--service", stage.SERVICE, "--service", "silent")
        parts.load_workflow(made, parts.one_step("late", "silent", complete_within="2s", retry={"attempts": 1}))
    began = time.monotonic()
    template = fill(on, with_them, plan.parked)
    found = {"waiting": plan.parked, "fill_s": round(time.monotonic() - began), "pairs": []}
    orders = max(parts.WARM_ORDERS, int(min(parts.warm(on, without), parts.warm(on, with_them)) * plan.saturation_s))
    for pair in range(PAIRS):
        runs = {}
        for name, made in sorted({"without": without, "with": with_them}.items(), reverse=pair % 2 == 0):
            run = {}
            run["sweep_mean_ms"] = sweep_mean_ms(made, lambda made=made, run=run: run.update(parts.saturate(on, made, orders)))
            runs[name] = {key: run[key] for key in ("orders_per_s", "others", "sweep_mean_ms")}
            on.postgres.psql("CHECKPOINT", "postgres")
        runs["ratio"] = round(runs["with"]["orders_per_s"] / runs["without"]["orders_per_s"], 3)
        found["pairs"].append(runs)
    found["ratio"] = statistics.median(pair["ratio"] for pair in found["pairs"])
    found["late"] = {name: parts.lateness(on, made) for name, made in (("without", without), ("with", with_them))}
    found["rest"] = {name: at_rest(on, plan, made) for name, made in (("without", without), ("with", with_them))}
    found["signals"] = signals(on, with_them)
    found["looks"] = looks(with_them, template)
    on.leave(without)
    on.leave(with_them)
    return found
