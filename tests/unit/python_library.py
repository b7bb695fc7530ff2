#!/usr/bin/python3
"""python_library.py SOURCE: the Python library of proto/clients over a broker that the test plays: outcomes of posts, replies to
right and wrong answers of handlers, the values of JSON, and the end of connections."""

import errno
import gc
import json
import logging
import os
import pathlib
import queue
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import types
import unittest
import unittest.mock as mock
from decimal import Decimal
from fractions import Fraction

import pika
from jsonschema import Draft202012Validator

SOURCE = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "proto" / "clients" / "python"))

from makegood import Absent, Accepted, Agent, Done, NotTaken, Outcome, Permanent, Refused, Request, Transient, Unknown, agent, client, job  # noqa: E402
from makegood.request import boot_s  # noqa: E402
from makegood.link import UNFIT, Link, TooLarge, read_json, read_url, write_json  # noqa: E402

DEADLINE_S = 10
SHORTAGE_S = 1
URL = "amqp://localhost"
SCHEMA = Draft202012Validator(json.loads((SOURCE / "proto" / "reply.schema.json").read_text(encoding="utf-8")))
REQUEST = {"v": 1, "order_id": "o-1", "step": "pay", "service": "bank", "attempt": 1, "kind": "do", "idempotency_key": "o-1.pay.do",
           "do_key": "o-1.pay.do", "complete_by": "2030-01-01T00:00:10Z", "sent_at": "2030-01-01T00:00:00Z",
           "request": {"method": "POST", "path": "/"}}
PAYLOAD = {"n": 1}
TABLE = json.loads((SOURCE / "tests" / "unit" / "library_arguments.json").read_text(encoding="utf-8"))


class Broker:
    """Stands for the link: `answers` are the outcomes of the posts to come. "cut" is a connection that breaks before the confirm."""

    fault = ""

    def __init__(self, _url, _ssl_context, on_up, on_down):
        self.loop = self.channel = self
        self.answers, self.posts = [], []
        self._on_up, self._on_down, self._calls = on_up, on_down, queue.SimpleQueue()

    def run(self):
        self._on_up()
        while self._calls is not None:
            self._calls.get(timeout=DEADLINE_S)()

    def call(self, function):
        self._calls.put(function)

    def stop(self):
        self._calls = None

    def call_later(self, seconds, function):
        if seconds != client.TICK_S:
            self.call(function)

    def queue_declare(self, *_words, callback, **_options):
        callback(types.SimpleNamespace(method=types.SimpleNamespace(queue="q")))

    def basic_consume(self, *_words, **_options):
        pass

    def publish(self, _exchange, _routing_key, body, on_settled, **_properties):
        self.posts.append(body)
        answer = self.answers.pop(0) if self.answers else "silence"
        if answer == "cut":
            self.call(lambda: (on_settled("unknown"), self.reconnect()))
        elif answer != "silence":
            self.call(lambda: on_settled(answer))

    def reconnect(self):
        self._on_down()
        self._on_up()


class Posts(unittest.TestCase):
    def setUp(self):
        client.Link = Broker
        self.client = client.Client(URL)
        self.addCleanup(self.client.close)
        self.broker = self.client._link

    def submit(self, *answers, order_id="o-1"):
        self.broker.answers = list(answers)
        return self.client.submit("w", PAYLOAD, order_id=order_id, timeout=DEADLINE_S)

    def status(self, text):
        self.client._on_message(None, None, types.SimpleNamespace(type="status", correlation_id="o-1"), text.encode())

    def turn(self):
        """All that was to be called before has been called."""
        done = threading.Event()
        self.broker.call(done.set)
        self.assertTrue(done.wait(DEADLINE_S))

    def settle(self, *answers):
        self.broker.answers = list(answers)
        self.broker.call(self.broker.reconnect)
        while self.broker.answers:
            self.turn()
        self.turn()

    def test_a_refusal_proves_nothing_of_a_post_without_an_answer(self):
        """Would catch: a submission that is reported as refused while the queue holds it."""
        self.assertEqual(self.submit("cut", "refused", "returned", "confirmed"), "o-1")
        self.assertEqual(len(self.broker.posts), 4)

    def test_a_confirmed_order_is_taken_for_good(self):
        """Would catch: a second submission whose refusal drops the order."""
        self.submit("confirmed")
        self.assertEqual(self.submit("refused"), "o-1")
        self.turn()
        self.assertEqual(len(self.broker.posts), 1)
        self.status('{"seq": 1, "status": "processed"}')
        self.assertEqual(self.client.wait("o-1", DEADLINE_S)["seq"], 1)

    def test_a_post_from_a_new_queue_goes_on_until_it_is_confirmed(self):
        """Would catch: an order whose statuses stay with the lost queue after one refusal."""
        self.submit("confirmed")
        self.settle("refused", "refused", "confirmed")
        self.assertEqual(len(self.broker.posts), 4)
        self.settle("refused")
        self.assertEqual(self.submit(), "o-1")

    def test_names_that_are_equal_as_text_are_refused(self):
        """Would catch: a submission with a name twice, which schedulers refuse."""
        for payload in ({1: "a", "1": "b"}, {"lines": [{None: 1, "null": 2}]}, {True: 1, "true": 2}, {Decimal("1.0"): 1, "1.0": 2}):
            with self.assertRaisesRegex(ValueError, "a name occurs twice"):
                self.client.submit("w", payload)
        self.broker.answers = ["confirmed"]
        self.client.submit("w", {1: {1: "a"}, "2": {1: "я"}})
        self.assertIn('"payload":{"1":{"1":"a"},"2":{"1":"я"}}', self.broker.posts[0])

    def test_an_error_ends_the_statuses_only_if_it_is_the_newest(self):
        """Would catch: later statuses of a repaired order, which no call gives; a wait for the next status at an
        order in error."""
        self.submit("confirmed")
        for seq, seen in ((1, "accepted"), (2, "error")):
            self.status(f'{{"seq": {seq}, "status": "{seen}"}}')
        self.assertEqual([one["seq"] for one in self.client.statuses("o-1", DEADLINE_S)], [1, 2])
        begun = self.client.statuses("o-1", DEADLINE_S)
        self.assertEqual([next(begun)["seq"], next(begun)["seq"]], [1, 2])
        for seq, seen in ((4, "error"), (3, "step_completed"), (5, "processed")):
            self.status(f'{{"seq": {seq}, "status": "{seen}"}}')
        self.assertEqual([one["seq"] for one in begun], [3, 4, 5])
        self.assertEqual([one["seq"] for one in self.client.statuses("o-1", DEADLINE_S)], [1, 2, 3, 4, 5])

    def test_a_time_out_has_the_reason_for_it(self):
        """Would catch: a wrong certificate or password that shows as a time-out only."""
        self.broker.fault = "the certificate is for another host"
        with self.assertRaisesRegex(TimeoutError, "within 0.01 s: the certificate is for another host"):
            self.client.submit("w", PAYLOAD, timeout=0.01)

    def test_a_refusal_of_the_only_post_is_one(self):
        """Would catch: a refused order that is reported as unknown, or that stays in hand."""
        for answer in ("refused", "returned"):
            with self.assertRaisesRegex(Refused, answer):
                self.submit(answer)
            with self.assertRaises(KeyError):
                self.client.wait("o-1", 0)
        self.assertEqual(self.submit("confirmed"), "o-1")

    def test_a_status_has_a_whole_number(self):
        """Would catch: a number that takes seconds to read, or one that is no place in the order of statuses."""
        self.submit("confirmed")
        with self.assertLogs("makegood", logging.WARNING) as logs:
            for number in ("1e400000", "1.0", "true", "-1", str(2**63), '"1"', "null"):
                self.status(f'{{"seq": {number}, "status": "processed"}}')
        self.assertEqual(len(logs.output), 7)
        self.assertEqual(self.client._orders["o-1"].by_seq, {})


class Signals(unittest.TestCase):
    """A broker that answers each signal with `results`, the members of the schedulers' answers to come."""

    def setUp(self):
        test, sent = self, []

        class Answering(Broker):
            def publish(self, exchange, routing_key, body, on_settled, **properties):
                super().publish(exchange, routing_key, body, on_settled, **properties)
                sent.append((exchange, routing_key, json.loads(body), properties))
                if test.results:
                    result = test.results.pop(0)
                    self.call(lambda: test.client._on_message(None, None, types.SimpleNamespace(
                        type="command_result", correlation_id=properties["correlation_id"]), json.dumps(result).encode()))
        client.Link = Answering
        self.sent, self.results = sent, []
        self.client = client.Client(URL, client="shop")
        self.addCleanup(self.client.close)
        self.broker = self.client._link

    def test_a_signal_is_a_command_and_its_outcome_the_schedulers_answer(self):
        for word in ("taken", "kept", "counted", "duplicate"):
            self.results = [{"v": 1, "verdict": "done", "signal": word, "text": ""}]
            self.assertEqual(self.client.signal("paid", {"sum": Decimal("14.00")}, order_id="o-1", signal_id="evt-1"), word)
        exchange, routing_key, command, properties = self.sent[-1]
        self.assertEqual((exchange, routing_key), ("makegood.signals.shop", "paid"))
        self.assertEqual(command, {"v": 1, "command_id": "evt-1", "command": "signal", "order_id": "o-1", "signal": "paid",
                                   "payload": {"sum": 14.0}, "by": "client shop"})
        self.assertIn('"sum":14.00', self.broker.posts[-1])
        self.assertEqual((properties["type"], properties["message_id"], properties["reply_to"]), ("command", "evt-1", "client.shop.statuses"))
        self.results = [{"v": 1, "verdict": "done", "signal": "kept", "text": ""}]
        self.client.signal("paid", key="invoice/17 – Zürich")
        self.assertEqual((self.sent[-1][2]["key"], self.sent[-1][2]["payload"]), ("invoice/17 – Zürich", None))

    def test_a_signal_that_is_not_taken_raises_its_outcome(self):
        for result, outcome in (({"verdict": "conflict", "signal": "late"}, "late"), ({"verdict": "conflict", "signal": "refused"}, "refused"),
                                ({"verdict": "not_found"}, "not_found"), ({"verdict": "invalid"}, "invalid")):
            self.results = [{"v": 1, "text": "why", **result}]
            with self.assertRaisesRegex(NotTaken, f"{outcome}: why") as raised:
                self.client.signal("paid", order_id="o-1")
            self.assertEqual(raised.exception.outcome, outcome)
        self.broker.answers = ["returned"]
        with self.assertRaisesRegex(NotTaken, "returned: client shop may not send signal paid"):
            self.client.signal("paid", order_id="o-1")
        self.assertEqual(self.client._signals, {})

    def test_a_signal_is_sent_again_with_its_id_until_it_is_answered(self):
        """Would catch: a signal that is lost with its connection, or sent as another one."""
        self.broker.answers = ["refused", "cut", "confirmed"]
        with self.assertRaisesRegex(TimeoutError, "no scheduler has answered"):
            self.client.signal("paid", order_id="o-1", signal_id="evt-1", timeout=SHORTAGE_S)
        self.assertEqual([one[3]["message_id"] for one in self.sent], ["evt-1"] * 3)
        self.assertEqual(len({one[3]["correlation_id"] for one in self.sent}), 1)

    def test_a_wrong_argument_sends_nothing(self):
        for given in ({}, {"order_id": "o", "key": "k"}, {"order_id": ""}, {"order_id": 5}, {"key": ""}, {"key": "a\tb"}, {"key": "ü" * 129},
                      {"key": "\ud800"}, {"key": 5}, {"order_id": "o", "name": "Paid"}, {"order_id": "o", "signal_id": "a b"},
                      {"order_id": "o", "signal_id": "x" * 65}, {"order_id": "o", "payload": "x" * 65535}, {"order_id": "o", "payload": {1}},
                      {"order_id": "o", "payload": "\0"}, {"order_id": "o", "timeout": -1}):
            with self.subTest(given), self.assertRaises((ValueError, TypeError)) as raised:
                self.client.signal(**{"name": "paid", **given})
            self.assertLess(len(str(raised.exception)), 400)
        client.Link = Broker
        nameless = client.Client(URL)
        self.addCleanup(nameless.close)
        with self.assertRaisesRegex(ValueError, "a client without a name sends no signals"):
            nameless.signal("paid", order_id="o-1")
        self.assertEqual(self.sent, [])

    def test_an_answer_that_is_none_is_passed_over(self):
        self.results = [{"v": 1}]
        with self.assertLogs("makegood", logging.WARNING), self.assertRaises(TimeoutError):
            self.client.signal("paid", order_id="o-1", timeout=SHORTAGE_S)


def made(value):
    """An argument of library_arguments.json."""
    if isinstance(value, dict) and "make" not in value:
        return {name: made(member) for name, member in value.items()}
    if not isinstance(value, dict):
        return value
    if value["make"] == "nested":
        nested = []
        for _ in range(value["levels"] - 1):
            nested = [nested]
        return nested
    return {"repeat": lambda: value["of"] * value["times"], "elements": lambda: [0] * value["count"], "half": lambda: "\ud800",
            "nul": lambda: "a\0b", "nan": lambda: float("nan"), "huge": lambda: 10**5000}[value["make"]]()


class Arguments(unittest.TestCase):
    """Would catch: a wrong argument that ends the client of all other orders, or that shows as a time-out only."""

    def setUp(self):
        client.Link = agent.Link = Posting

    def refused_or_taken(self, cases, call, taken):
        for case in TABLE[cases]:
            if "python" not in case.get("in", ["python"]):
                continue
            with self.subTest(case["name"]):
                given, began = {name: made(value) for name, value in case["with"].items()}, time.monotonic()
                if "refused" in case:
                    with self.assertRaisesRegex((ValueError, TypeError, KeyError), "(?i)" + case["refused"]) as raised:
                        call(**given)
                    self.assertNotRegex(str(raised.exception), "[\\0-\\x1f\\x7f-\\x9f\\ud800-\\udfff]")
                    self.assertLess(len(str(raised.exception)), 400)
                else:
                    taken(call(**given))
                self.assertLess(time.monotonic() - began, DEADLINE_S / 2)

    def test_each_wrong_argument_is_refused_at_once_and_harms_no_other_order(self):
        with client.Client(URL) as one:
            def submit(**given):
                before = len(one._link.posts)
                try:
                    return one.submit(**{"workflow": "hello", "payload": PAYLOAD, "timeout": DEADLINE_S, **given})
                except Exception:
                    self.assertEqual(len(one._link.posts), before)
                    self.assertEqual(one.submit("hello", PAYLOAD, timeout=DEADLINE_S, order_id="good"), "good")
                    raise

            self.refused_or_taken("submit", submit, lambda order_id: self.assertIn(order_id, one._orders))
            one.submit("hello", PAYLOAD, order_id="o-1")
            for call in (one.wait, one.statuses):
                self.refused_or_taken("wait", lambda call=call, **given: call(**{"order_id": "o-1", "timeout": 0, **given}), self.fail)

    def test_each_wrong_argument_of_a_client_and_of_an_agent_is_refused_at_once(self):
        threads = threading.active_count()
        self.refused_or_taken("client", lambda **given: client.Client(**{"url": URL, **given}), lambda one: one.close())
        self.refused_or_taken("agent", lambda **given: Agent(**{"service": "bank", "do": Done, "url": URL, **given}), lambda one: one.stop())
        self.assertEqual(threading.active_count(), threads)

    def test_a_client_of_the_parent_is_refused_in_a_child(self):
        """Would catch: a worker that waits for a thread which only its parent has, and repeats that for ever."""
        one, other = client.Client(URL), Agent("bank", Done, url=URL)
        one.submit("hello", PAYLOAD, order_id="o-1")
        child = os.fork()
        if child == 0:
            signal.alarm(DEADLINE_S)
            good = 0
            for call in (lambda: one.submit("hello", PAYLOAD, timeout=1), lambda: one.wait("o-1", 1), lambda: next(one.statuses("o-1", 1)),
                         lambda: one.forget("o-1"), other.run):
                try:
                    call()
                except RuntimeError as error:
                    good += "fork" in str(error)
            one.close()
            os._exit(good)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 5)
        self.assertEqual(one.submit("hello", PAYLOAD, order_id="o-2", timeout=DEADLINE_S), "o-2")
        one.close()


class Posting(Broker):
    """Confirms each post."""

    def __init__(self, url, ssl_context, on_up, on_down):
        read_url(url, ssl_context)
        super().__init__(url, ssl_context, on_up, on_down)

    def publish(self, *words, **properties):
        self.answers = ["confirmed"]
        super().publish(*words, **properties)


class Writing(unittest.TestCase):
    """A link whose channel is pika's own, on a connection that the test plays."""

    def test_a_message_that_cannot_be_written_is_settled_alone(self):
        """Would catch: one reply that ends the agent, or a confirm that is taken for another message's."""
        link, settled = Link(URL, None, lambda: None, lambda: None), []

        class Channel:
            is_open = True

            def basic_publish(self, _exchange, _key, body, properties, mandatory):
                assert mandatory
                written.append(body)
                b"".join(properties.encode())

        written = []
        link.channel = Channel()
        with self.assertLogs("makegood", logging.WARNING) as logs:
            for name in ("x" * 300, "o-2", 5):
                link.publish("", "", "{}", lambda outcome, name=name: settled.append((name, outcome)), message_id=name)
        link.loop.turn()
        link._on_confirm(link.channel, types.SimpleNamespace(method=pika.spec.Basic.Ack(1)))
        link.loop.close()
        self.assertEqual(settled, [("x" * 300, "unwritable"), (5, "unwritable"), ("o-2", "confirmed")])
        self.assertLess(len("".join(logs.output)), 900)

    def test_a_fault_in_a_callback_costs_a_connection_and_no_more(self):
        """Would catch: one message that breaks its reader, and all orders of the process with it; a callback that another one's fault
        drops."""
        ends = []
        link = Link(URL, None, lambda: None, lambda: ends.append("down"))

        class Connection:
            is_open, is_closing, is_closed = True, False, False

            def __init__(self, *_words, **_options):
                pass

            def close(self):
                """The broker does not answer, as one with an alarm."""
                ends.append("closed")
                link.stop()

        link.loop.call_later(0, lambda: 1 / 0)
        link.loop.call_later(0, lambda: ends.append("called"))
        link._waiting[1] = time.monotonic(), "o-1", lambda outcome: 1 / 0
        with mock.patch("pika.SelectConnection", Connection), mock.patch("makegood.link.CLOSE_S", SHORTAGE_S):
            link.run()
        self.assertEqual(ends, ["called", "down", "closed"])

    def test_where_no_clock_counts_a_machines_sleep_another_one_serves(self):
        """Would catch: an agent that does not start on macOS or Windows."""
        for missing in (["CLOCK_BOOTTIME"], ["CLOCK_BOOTTIME", "CLOCK_MONOTONIC", "clock_gettime"]):
            program = (f"import sys, time\nsys.path.insert(0, {sys.path[0]!r})\nfor name in {missing}: delattr(time, name)\n"
                       f"from makegood import Agent\nAgent('bank', print, url={URL!r})")
            done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Values(unittest.TestCase):
    def test_values_are_written_as_json_dumps_writes_them(self):
        """Would catch: a name or a value that arrives as another one."""
        for value in (None, True, -1, 1.5, 1e300, "я\n\x7f\u2028\"", ["字", "😀"], (1, (2,)), {}, {None: 1, True: 2, False: 3, "None": 4, "True": 5},
                      {1: 1, -2: 2, 1.5: 3, 1e300: 4, 10**30: 5}, {"я": {None: [None]}}):
            self.assertEqual(write_json(value), json.dumps(value, ensure_ascii=False, separators=(",", ":")))
        for wrong in ({(1, 2): 1}, {float("nan"): 1}, {b"a": 1}, {Decimal("NaN"): 1}, float("inf"), Decimal("Infinity"), b"a", {1}, "\ud800", {"a\0": 1}):
            with self.assertRaises((ValueError, TypeError)):
                write_json(wrong)

    def test_numbers_of_any_size_keep_their_digits(self):
        """Would catch: an exception in place of a done step, by an integer that Python does not print."""
        digits = "1" + "0" * 5000
        for value, text in ((10**5000, digits), (-10**5000, "-" + digits), ({10**5000: Decimal("14.00")}, f'{{"{digits}":14.00}}')):
            self.assertEqual(write_json(value), text)
        self.assertEqual(read_json(digits.encode()), 10**5000)
        self.assertEqual(job.write_result([10**5000]), f"[{digits}]")
        self.assertIsNone(job.write_result(10**70000))  # above 64 KiB
        self.assertIsNone(job.write_result(1 << 2**18))
        with self.assertRaisesRegex(TooLarge, "too many digits"):
            write_json([1 << 2**18])

    def test_the_size_of_a_result_is_that_of_its_utf_8(self):
        """Would catch: a result of another alphabet that is left out below the limit, or sent above it."""
        for letter in "xя字😀":
            most = (64 * 1024 - 2) // len(letter.encode())
            self.assertEqual(job.write_result(letter * most), f'"{letter * most}"')
            self.assertIsNone(job.write_result(letter * (most + 1)))


class Ends(unittest.TestCase):
    """A listening socket stands for the broker, and is silent. Without the garbage collector, each file that is left open shows."""

    def setUp(self):
        client.Link = agent.Link = Link
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        self.files = os.listdir("/proc/self/fd")

    def meet(self, begin, end):
        """Calls `begin` with the URL of a broker, and `end` when the handshake of AMQP has begun."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(DEADLINE_S)
            begin(f"amqp://127.0.0.1:{server.getsockname()[1]}")
            with server.accept()[0] as accepted:
                accepted.settimeout(DEADLINE_S)
                self.assertEqual(accepted.recv(8, socket.MSG_WAITALL)[:4], b"AMQP")
                end()
                self.assertEqual(accepted.recv(1), b"")

    def test_a_closed_client_has_no_open_file(self):
        """Would catch: a process that reaches its limit of open files; a second close that fails."""
        clients = []
        self.meet(lambda url: clients.append(client.Client(url)), lambda: clients[0].close())
        self.assertEqual(os.listdir("/proc/self/fd"), self.files)
        clients[0].close()
        with self.assertRaisesRegex(RuntimeError, "the client is closed"):
            clients[0].submit("w", PAYLOAD)

    def test_an_agent_that_has_ended_has_no_open_file(self):
        """Would catch: as above, and a call that ends after its agent."""
        agents, threads = [], []

        def begin(url):
            agents.append(Agent("bank", Done, url=url))
            threads.append(threading.Thread(target=agents[0].run, daemon=True))
            threads[0].start()

        self.meet(begin, lambda: agents[0].stop())
        threads[0].join(DEADLINE_S)
        self.assertFalse(threads[0].is_alive())
        self.assertEqual(os.listdir("/proc/self/fd"), self.files)
        agents[0]._link.call(self.fail)


class Shortages(unittest.TestCase):
    """A listening socket stands for the broker, and ends each connection as soon as the handshake of AMQP has begun."""

    def setUp(self):
        client.Link = agent.Link = Link

    def live_through(self, shortage):
        """Begins the shortage, cuts the connection, and ends the shortage: a new connection comes."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(DEADLINE_S)
            links = [Link(f"amqp://127.0.0.1:{server.getsockname()[1]}", None, lambda: None, lambda: shortage.on_down())]  # pylint: disable=unnecessary-lambda
            thread = threading.Thread(target=links[0].run, daemon=True)
            thread.start()
            accepted = self.meet(server)
            with self.assertLogs("makegood", logging.WARNING) as logs, shortage:
                accepted.close()
                used = time.process_time()
                threading.Event().wait(SHORTAGE_S)
                used = time.process_time() - used
                until = time.monotonic() + DEADLINE_S  # on a busy machine the next try comes later
                while shortage.reason not in "\n".join(logs.output) and time.monotonic() < until:
                    threading.Event().wait(SHORTAGE_S / 10)
            self.meet(server).close()
            links[0].call(links[0].stop)
            thread.join(DEADLINE_S)
            self.assertFalse(thread.is_alive())
        self.assertLess(used, SHORTAGE_S / 2)
        self.assertLess(len(logs.output), 8, logs.output)
        self.assertIn(shortage.reason, "\n".join(logs.output))

    def meet(self, server):
        """A connection that is no left-over of the shortage."""
        while True:
            accepted = server.accept()[0]
            accepted.settimeout(DEADLINE_S)
            try:
                if accepted.recv(8, socket.MSG_WAITALL)[:4] == b"AMQP":
                    return accepted
            except OSError:
                pass
            accepted.close()

    def test_a_link_outlives_each_shortage_and_fault(self):
        """Would catch: an agent or a client that is off the broker for ever, silent or in a loop without a pause."""
        class Patch:
            """In place of something of the library or under it, which raises."""

            def __init__(self, target, error):
                self.patch, self.reason = mock.patch(target, side_effect=error), str(error)

            def on_down(self):
                pass

            def __enter__(self):
                self.raising = self.patch.start()

            def __exit__(self, *_):
                self.patch.stop()
                assert self.raising.call_count < 20, self.raising.call_count

        class Files(Patch):
            def __init__(self):
                self.reason = "Too many open files"

            def __enter__(self):
                self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (1, self.limits[1]))

            def __exit__(self, *_):
                resource.setrlimit(resource.RLIMIT_NOFILE, self.limits)

        class Down(Patch):
            """The callback of the link's user raises."""

            def __init__(self):
                self.reason, self.is_on = "", False  # that of the loss comes first

            def on_down(self):
                if self.is_on:
                    raise KeyError("o-1")

            def __enter__(self):
                self.is_on = True

            def __exit__(self, *_):
                self.is_on = False

        full = OSError(errno.EMFILE, "Too many open files")
        for shortage in (Patch("threading.Thread.start", RuntimeError("can't start new thread")), Files(), Down(),
                         Patch("pika.SelectConnection", MemoryError("no memory")), Patch("socket.getaddrinfo", full),
                         Patch("pika.adapters.utils.connection_workflow.AMQPConnector.start", full),
                         Patch("pika.adapters.utils.io_services_utils._AsyncPlaintextTransport.__init__", full),
                         Patch("pika.connection.Connection._on_stream_connected", ValueError("no frame")),
                         Patch("pika.adapters.select_connection.IOLoop.poll", OSError())):
            with self.subTest(shortage.reason):
                self.live_through(shortage)

    def test_a_call_without_a_thread_waits_for_one(self):
        """Would catch: a call that counts for ever although it never began, and a request that comes again and joins it."""
        agent.Link = Broker
        one = Agent("bank", lambda _request: Done(), url=URL)
        given = []

        def come():
            channel = types.SimpleNamespace(is_open=True, basic_ack=given.append)
            work = job.Job(Request(json.dumps(REQUEST).encode(), "bank"), job.Delivery(channel, 1, one._lines[False]), boot_s(), True, False, "")
            with mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start new thread")):
                one._admit(work)
                one._look_again(False)

        with self.assertLogs("makegood", logging.WARNING) as logs:
            come()
        self.assertEqual((one._running, len(one._jobs), len(logs.output)), (0, 1, 1))
        one._on_down()
        self.assertEqual(one._jobs, set())
        come()
        one._link.answers = ["confirmed"]
        until = time.monotonic() + DEADLINE_S
        while one._jobs and time.monotonic() < until:
            one._look_again(False)
            try:
                one._link._calls.get(timeout=0.01)()
            except queue.Empty:
                pass
        self.assertEqual((one._running, len(one._link.posts), given), (0, 2, [1]))  # a report is the other post


class Addresses(unittest.TestCase):
    def test_tls_checks_the_brokers_certificate_and_host(self):
        """Would catch: pika's own ways to TLS, which check nothing, and a context that is silently left out."""
        for url in ("amqps://localhost/?ssl_options=%7B%27ca_certs%27%3A%27ca.pem%27%7D", "amqp://localhost/?heartbeat=5&ssl_options=None"):
            with self.assertRaisesRegex(ValueError, "give an ssl_context"):
                read_url(url, None)
        context = ssl.create_default_context()
        with self.assertRaisesRegex(ValueError, "amqps://"):
            read_url(URL, context)
        self.assertIs(read_url("amqps://localhost", context).ssl_options.context, context)
        default = read_url("amqps://localhost", None).ssl_options.context
        self.assertEqual((default.verify_mode, default.check_hostname), (ssl.CERT_REQUIRED, True))
        self.assertIsNone(read_url(URL, None).ssl_options)

    def test_a_failed_connect_has_its_cause(self):
        """Would catch: a line "no connection to the broker" without a reason."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"amqp://127.0.0.1:{server.getsockname()[1]}"
        one = Link(url, None, lambda: None, lambda: one.stop())  # pylint: disable=unnecessary-lambda
        one.run()
        self.assertRegex(one.fault, "Connection refused")


class Replies(unittest.TestCase):
    def setUp(self):
        agent.Link = Broker
        logging.getLogger("makegood").setLevel(logging.CRITICAL)

    def tearDown(self):
        logging.getLogger("makegood").setLevel(logging.NOTSET)

    def reply(self, handler):
        """What the broker gets."""
        one = Agent("bank", handler, url=URL)
        request = Request(json.dumps(REQUEST).encode(), "bank")
        work = job.Job(request, None, 0, True, False, "")
        one._jobs.add(work)
        one._call(work)
        one._link._calls.get_nowait()()
        (body,) = one._link.posts
        reply = json.loads(body)
        SCHEMA.validate(reply)
        self.assertIsNone(UNFIT.search("".join(reply.get("error", {}).values())))
        return reply

    def test_an_answer_arrives_as_it_was_given(self):
        """Would catch: a check that refuses right answers."""
        for answer, outcome, executed in ((Done({"a": [1]}), "done", "yes"), (Accepted(), "accepted", "yes"),
                                          (Transient(30, executed="no"), "transient", "no"), (Permanent("sold_out"), "permanent", "no"),
                                          (Unknown("why"), "unknown", "maybe")):
            reply = self.reply(lambda _request, answer=answer: answer)
            self.assertEqual((reply["outcome"], reply["executed"]), (outcome, executed))
        self.assertEqual(self.reply(lambda _request: Done({"a": [1]}))["result"], {"a": [1]})
        for pause in (1.5, Decimal("1.5000"), Fraction(3, 2)):
            self.assertEqual(self.reply(lambda _request, pause=pause: Transient(pause))["retry_after_ms"], 1500)

    def test_a_wrong_answer_proves_nothing(self):
        """Would catch: an agent that a wrong answer of a handler ends; a reply that no scheduler can read."""
        def changed():
            answer = Done()
            answer.executed = "perhaps"
            return answer

        class Silent(Exception):
            def __str__(self):
                raise ValueError

        def failing():
            raise Silent

        for wrong in (lambda: None, lambda: "done", Absent, changed, failing, lambda: Done({"a": "a\0b"}), lambda: Done({"\ud800": 1}),
                      lambda: Done([{1: "a", "1": "b"}]),
                      lambda: Done(float("nan")), lambda: Done(object()), lambda: Permanent("x", executed=True),
                      lambda: Transient(retry_after="30"), lambda: Transient(retry_after=-1), lambda: Transient(float("nan")), lambda: Transient(Decimal("sNaN")),
                      lambda: Outcome("good", "yes")):
            reply = self.reply(lambda _request, wrong=wrong: wrong())
            self.assertEqual((reply["outcome"], reply["executed"], reply["error"]["code"]), ("transient", "maybe", "exception"))

    def test_words_for_people_are_cleaned(self):
        """Would catch: a refusal that is lost by its text."""
        for code, text, error in (("x", None, {"code": "x", "text": ""}), (402, ValueError("v"), {"code": "402", "text": "v"}),
                                  ("a\0" + "x" * 99, "b\0\ud800" + "y" * 300, {"code": "a\ufffd" + "x" * 61, "text": "b\ufffd\ufffd" + "y" * 252})):
            reply = self.reply(lambda _request, code=code, text=text: Permanent(code, text))
            self.assertEqual((reply["outcome"], reply["error"]), ("permanent", error))

    def test_a_result_too_large_is_left_out(self):
        """Would catch: a step that is done and that is undone, since its reply is dead-lettered."""
        deep = [1]
        for _ in range(31):
            deep = [deep]
        for result in (deep, [1] * 9901, [[]] * 5000 + [{"a": 1}] * 2500, "x" * 65535):
            reply = self.reply(lambda _request, result=result: Done(result))
            self.assertEqual((reply["outcome"], reply.get("result"), reply["truncated"]), ("done", None, True))
        self.assertNotIn("truncated", self.reply(lambda _request: Done([1] * 9900)))

    def test_a_pause_is_a_year_at_most(self):
        """Would catch: a pause that the scheduler refuses with its reply, or that costs the connection of all calls."""
        for pause in (1e12, float("inf"), Decimal("1e999999"), Decimal("Infinity"), 10**400):
            self.assertEqual(self.reply(lambda _request, pause=pause: Transient(pause))["retry_after_ms"], 365 * 86400000)

    def test_each_agent_of_a_process_is_an_instance(self):
        """Would catch: two agents that both take the share of one."""
        agents = [Agent("bank", Done, url=URL) for _ in range(3)]
        self.assertEqual(len({one._instance for one in agents}), 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
