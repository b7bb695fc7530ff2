"""Traces from the client's submission to the call at the remote, as a real collector receives them. No order ever waits for a
collector."""

import re
import secrets
import socket
import subprocess

from collector import Collector
from harness import scenario
from local import processes

ORDERS = 60  # of a scenario with a bad collector: more than one batch of spans per process
SLACK_NS = 5_000_000_000  # clocks of two processes; a wrong unit is off by far more
TRACED = ("scheduler", "agent")
NOBODY = {"schedulers": 0, "agents": 0}


def context(flags="01"):
    """A client's own span: (trace, span, traceparent)."""
    trace, span = secrets.token_hex(16), secrets.token_hex(8)
    return trace, span, f"00-{trace}-{span}-{flags}"


def start_traced(s, url, *more):
    """Starts two schedulers and the agents, with the address for their spans."""
    s.cluster.options = {kind: ("--otlp-url", url, *(more if kind == "scheduler" else ())) for kind in TRACED}
    s.cluster.schedulers = [s.cluster.make("scheduler", f"scheduler-{n}") for n in (1, 2)]
    s.cluster.agents = [s.cluster.make_agent(service, 1) for service in s.cluster.services]
    for process in s.cluster.schedulers + s.cluster.agents:
        process.start()
    for process in s.cluster.schedulers + s.cluster.agents:
        process.wait_ready()


def submit(s, traceparent=None, **fields):
    """Like the client's `submit`, with a context."""
    return s.client.submit(headers={"traceparent": traceparent} if traceparent else None, **fields)


def headers_seen(s, order, step_name, service, kind="do"):
    """(trace, span, flags) of each call of a key, as the remote got them."""
    seen = s.effect(order, step_name, service, kind).get("traceparents") or ""
    return [re.fullmatch("00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})", text).groups() for text in seen.split()]


def total(processes_, name):
    return sum(process.metric(name) for process in processes_)


@scenario(**NOBODY)
def a_trace_reaches_from_the_client_to_the_remotes_and_a_strict_collector_takes_it(s):
    """Would catch: a span that is missing, under another parent, or refused by a collector; a remote that gets the context of
    another call than its own; payload in a span."""
    collector = Collector()
    start_traced(s, collector.url, "--trace-sample", "0")
    trace, client_span, traceparent = context()
    order = submit(s, traceparent, payload={"secret": "4711-geheim", "behaviour": {"payment": "unavailable:1"}})
    other = submit(s, context("00")[2])     # its client wants none
    plain = submit(s)                       # and none is sampled
    turned_back_trace, _, turned_back_context = context()
    turned_back = submit(s, turned_back_context, payload={"behaviour": {"carrier": "decline"}})
    for one in (order, other, plain):
        s.client.wait_status(one, "processed")
    s.client.wait_status(turned_back, "compensated")

    def spans(trace_, name):
        return [span for span in collector.of(trace_).values() if span.name == name]

    s.wait(lambda: spans(trace, "order three") and spans(turned_back_trace, "order three") and len(collector.of(trace)) >= 8
           and len(collector.of(turned_back_trace)) >= 11, "all spans have come")
    collector.check()

    root, = spans(trace, "order three")
    assert root.parent == client_span and root.attributes["makegood.outcome"] == "processed" and not root.is_error
    assert root.attributes["makegood.order_id"] == order.order_id and root.resource["service.name"] == "makegood-scheduler"
    attempts = [span for span in collector.of(trace).values() if span.parent == root.id]
    assert {span.name for span in attempts} == {"do reserve", "do charge", "do ship"}, attempts
    calls = [span for span in collector.of(trace).values() if span.name == "POST"]
    for span in attempts + calls:
        assert span.attributes["makegood.order_id"] == order.order_id
        assert root.begin - SLACK_NS <= span.begin and span.end <= root.end + SLACK_NS, (root.begin, span.begin, span.end, root.end)
    for step_name, service in (("reserve", "inventory"), ("charge", "payment"), ("ship", "carrier")):
        made = [span for span in calls if span.attributes["makegood.step"] == step_name]
        above = {span.id: span for span in attempts if span.name == f"do {step_name}"}
        assert made and all(span.parent in above for span in made), (made, above)
        assert all(span.kind == 3 and span.resource["service.name"] == "makegood-agent" for span in made)
        assert all(span.attributes["server.port"] == s.remote(service).port for span in made)
        # The remote received exactly these calls, in this trace.
        seen = headers_seen(s, order, step_name, service)
        assert {found[1] for found in seen} == {span.id for span in made}, (seen, made)
        assert {(found[0], found[2]) for found in seen} == {(trace, "01")}
    charged = [span for span in calls if span.attributes["makegood.step"] == "charge"]
    assert sorted(span.attributes["http.response.status_code"] for span in charged) == [201, 503], charged
    assert [span.is_error for span in sorted(charged, key=lambda span: span.begin)] == [True, False]

    back, = spans(turned_back_trace, "order three")
    assert back.attributes["makegood.outcome"] == "compensated"
    under = {span.name for span in collector.of(turned_back_trace).values() if span.parent == back.id}
    assert under == {"do reserve", "do charge", "do ship", "undo charge", "undo reserve"}, under
    shipped, = [span for span in collector.of(turned_back_trace).values() if span.name == "do ship"]
    assert shipped.is_error and shipped.attributes["makegood.outcome"] == "permanent"
    assert headers_seen(s, turned_back, "charge", "payment", "do")[-1][0] == turned_back_trace

    # Unsampled orders sent no span, and the client's context was passed on unchanged.
    told = {span.attributes["makegood.order_id"] for span in collector.spans}
    assert told == {order.order_id, turned_back.order_id}, told
    assert headers_seen(s, plain, "reserve", "inventory") == []
    assert {found[2] for found in headers_seen(s, other, "reserve", "inventory")} == {"00"}
    assert "geheim" not in repr([(span.name, span.attributes) for span in collector.spans])
    assert total(s.cluster.all, "makegood_spans_dropped_total") == 0
    collector.close()


@scenario(**NOBODY, long="other scenarios of traces are quick")
def orders_without_a_context_are_sampled_and_what_waits_goes_out_at_the_end(s):
    """Would catch: a share that is not kept, schedulers that choose different orders, or spans lost with a process that was stopped
    regularly."""
    collector = Collector()
    start_traced(s, collector.url, "--trace-sample", "0.5")
    orders = [submit(s) for _ in range(40)]
    for order in orders:
        s.client.wait_status(order, "processed")
    codes = {process.name: process.terminate() for process in s.cluster.schedulers + s.cluster.agents}
    assert set(codes.values()) == {0}, codes
    collector.check()
    told = {}
    for span in collector.spans:
        told.setdefault(span.attributes["makegood.order_id"], {})[span.id] = span
    assert 5 <= len(told) <= 35, len(told)  # 20, five times the deviation
    for order_id, spans in told.items():  # each whole: the order, three attempts, three calls
        assert sorted(span.name for span in spans.values()) == sorted(
            ["order three", "do reserve", "do charge", "do ship", "POST", "POST", "POST"]), (order_id, spans)
        root, = [span for span in spans.values() if span.parent is None]
        assert root.name == "order three"
    collector.close()


def bad(s, url, change=None):
    """Checks that all orders end as expected with this collector; returns the processes that send spans, and the orders."""
    start_traced(s, url, "--trace-sample", "1")
    orders = []
    for number in range(ORDERS):
        orders.append(submit(s))
        if change is not None:
            change(number)
    for order in orders:
        s.client.wait_status(order, "processed")
    traced = s.cluster.schedulers + s.cluster.agents
    s.wait(lambda: all(process.is_ready() for process in traced), "all are ready")
    return traced, orders


@scenario(**NOBODY, long="graces, elections and patience pass in real time")
def a_collector_that_is_not_there_costs_no_order(s):
    """Would catch: orders that wait for, or fail with, a collector; drops that no metric shows."""
    traced, orders = bad(s, f"http://127.0.0.1:{processes.free_port()}")
    s.wait(lambda: total(traced, "makegood_spans_dropped_total") >= 7 * len(orders), "every span is counted as dropped")
    assert total(traced, "makegood_spans_sent_total") == 0


@scenario(**NOBODY, long="graces, elections and patience pass in real time")
def a_collector_that_answers_503_costs_no_order(s):
    """Would catch: retries without end, or a recovered collector that gets nothing more."""
    collector = Collector()
    collector.mode = "503"
    traced, orders = bad(s, collector.url)
    s.wait(lambda: total(traced, "makegood_spans_dropped_total") >= 7 * len(orders), "every span is counted as dropped")
    collector.mode = "good"
    s.client.wait_status(submit(s), "processed")
    s.wait(lambda: len(collector.spans) >= 7, "it gets spans again")
    collector.check()
    collector.close()


@scenario(**NOBODY, long="graces, elections and patience pass in real time")
def a_collector_that_is_slow_or_falls_silent_costs_no_order(s):
    """Would catch: a process that waits for an answer, while orders run or during its stop."""
    collector = Collector()
    collector.mode = "slow"

    def change(number):
        if number == ORDERS // 2:
            collector.mode = "silent"

    traced, orders = bad(s, collector.url, change)
    codes = {process.name: process.terminate() for process in traced}  # 20 s at most
    assert set(codes.values()) == {0}, codes
    collector.check()
    assert len(collector.spans) < 7 * len(orders)
    collector.close()


@scenario(**NOBODY, long="graces, elections and patience pass in real time")
def a_half_open_collector_costs_no_order(s):
    """Would catch: the same with a peer that accepts the connection and never reads."""
    with socket.create_server(("127.0.0.1", processes.free_port()), backlog=16) as listener:
        traced, orders = bad(s, f"http://127.0.0.1:{listener.getsockname()[1]}")
        s.wait(lambda: total(traced, "makegood_spans_dropped_total") > 0, "what it does not take is dropped and counted")
        codes = {process.name: process.terminate() for process in traced}
        assert set(codes.values()) == {0}, codes
        assert all(s.state(order) == "processed" for order in orders)


@scenario(long="other scenarios of traces are quick")
def without_a_collector_the_context_goes_through_as_it_came(s):
    """Would catch: contexts changed, or series shown, although spans are off; an address accepted that must be refused."""
    trace, span, traceparent = context()
    order = submit(s, traceparent)
    s.client.wait_status(order, "processed")
    assert headers_seen(s, order, "charge", "payment") == [(trace, span, "01")]
    assert "makegood_spans" not in s.cluster.schedulers[0].get("/metrics")[1]

    def refused(*words, program="makegood-scheduler"):
        done = subprocess.run([s.cluster.bin / program, *words, "--check-config"], capture_output=True, text=True, timeout=30,
                              env={**processes.plain_environment(), **s.cluster.tool_env}, check=False)
        assert done.returncode == 2, (words, done)
        return done.stderr

    assert "plaintext over a network" in refused("--otlp-url", "http://collector.example:4318")
    assert "no user or password" in refused("--otlp-url", "https://user:word@collector.example")
    assert "not a URL" in refused("--otlp-url", "collector:4318")
    assert "plaintext over a network" in refused("--service", s.cluster.service_file("payment"), "--otlp-url",
                                                 "http://collector.example:4318", program="makegood-agent")
    assert "0 to 1" in refused("--trace-sample", "2")
    assert "otlp-ca-file" in refused("--otlp-url", "https://collector.example", "--otlp-ca-file", "/nowhere.pem")
