#!/usr/bin/python3
"""cli.py MAKEGOOD SOURCE: the tool `makegood` against a real PostgreSQL and a real RabbitMQ.

Covers wrong input, absent servers, exit codes, and `-o json` as JSON for every verb. The test plays the schedulers' part (answers
to commands, statuses of orders), so that each answer comes when a test wants it. The database and the virtual host are made for
this run; the database is dropped, and the virtual host ends with the server.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import uuid
import xml.etree.ElementTree

import pika
import psycopg2
import psycopg2.extensions

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[up] / folder) for up, folder in ((1, "e2e"), (2, "deploy"))]
import answers  # noqa: E402
from local import servers  # noqa: E402
from refusing import Refusing  # noqa: E402

TOOL = pathlib.Path(sys.argv[1])
SOURCE = pathlib.Path(sys.argv[2])
SERVERS = os.environ.get("MAKEGOOD_TEST_SERVERS", "")
SERVICE = "cli-test"
NOBODY_AMQP = "amqp://guest:guest@127.0.0.1:1/"
NOBODY_PG = "postgresql://nobody:nothing@127.0.0.1:1/nowhere"
REASON = ("--reason", "a test")
DONE, ERROR, USAGE, NOT_FOUND, CONFLICT, TIMED_OUT, UNAVAILABLE = range(7)
READER_GONE = 141

VERBS = [
    "order submit", "order list", "order find", "order show", "order watch", "order explain", "order calls", "order export", "order resume", "order restart",
    "order settle", "order skip", "order compensate", "order cancel", "order signal", "signal send", "order set-aside",
    "order readmit", "workflow check", "workflow load", "workflow list",
    "workflow show", "workflow draw", "workflow test", "workflow simulate", "workflow describe", "workflow diff", "workflow states", "alert list", "alert ack", "dead list", "dead show", "dead requeue", "dead drop", "broker apply",
    "broker check", "service list", "service show", "service pause", "service resume", "service limit", "service forget", "service test", "agent test", "client test", "bulk start", "bulk list", "bulk show",
    "bulk pause", "bulk resume", "bulk stop", "bulk run", "db migrate", "db status", "doctor", "top",
    "console", "init", "completion",
]
AT_ONCE = 8  # most of these tools wait for a time-out; the working ones need the whole machine


class World:
    """The database and the virtual host of this run."""

    name = "makegood_cli_" + uuid.uuid4().hex[:12]
    dsn = url = ""
    session = None  # of sql()

    @classmethod
    def make(cls):
        both = servers.attach(SERVERS)
        both.rabbit.create_vhost(cls.name)
        cls.url = both.rabbit.url_of(cls.name)
        both.postgres.create_database(cls.name)
        cls.dsn = psycopg2.extensions.make_dsn(both.postgres.dsn, dbname=cls.name)

    @classmethod
    def drop(cls):
        servers.attach(SERVERS).postgres.psql(f'DROP DATABASE IF EXISTS "{cls.name}" WITH (FORCE)', "postgres")

    @classmethod
    def sql(cls, text, params=()):
        if cls.session is None:
            cls.session = psycopg2.connect(cls.dsn)
            cls.session.autocommit = True
        with cls.session.cursor() as cursor:
            cursor.execute(text, params)
            return cursor.fetchall() if cursor.description else []

    @classmethod
    @contextlib.contextmanager
    def channel(cls):
        connection = pika.BlockingConnection(pika.URLParameters(World.url))
        try:
            yield connection.channel()
        finally:
            connection.close()


def environment(more=None):
    """The tool's environment: no variable of the caller configures it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
    return {**own, "MAKEGOOD_AMQP_URL": World.url, "MAKEGOOD_PG_DSN": World.dsn, "USER": "tester", **(more or {})}


def run(*words, code=None, env=None, stdin="", stdout=subprocess.PIPE, timeout_s=30):
    done = subprocess.run([TOOL, *[str(word) for word in words]], env=environment(env), input=stdin, stdout=stdout,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", timeout=timeout_s, check=False)
    if code is not None and done.returncode != code:
        raise AssertionError(f"makegood {words}: exit code {done.returncode} instead of {code}\n{done.stdout}{done.stderr}")
    if done.stdout and "-o" in words and (form := words[words.index("-o") + 1]) in ("json", "jsonl"):
        verb = next(verb for verb in (" ".join(words[:2]), words[0]) if verb in answers.verbs_with_schema())
        if faults := answers.faults(verb, done.stdout, form == "jsonl"):
            raise AssertionError(f"makegood {words}: {faults}\n{done.stdout}")
    return done


def one_line(done):
    """The error, in one line that names the tool."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("makegood: "), done.stderr
    return lines[0]


def json_list(done):
    """Standard output of -o json as a list; no output is no answer."""
    values = json.loads(done.stdout or "[]")
    assert isinstance(values, list), done.stdout
    return values


def as_printed(*values):
    """These values in the tool's own form, which scripts may read by its bytes: one a line, blanks behind commas and colons."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def as_listed(values):
    """The same of a list with -o json: each element begins a line."""
    return "[" + ",\n ".join(json.dumps(value, ensure_ascii=False) for value in values) + "]\n"


def insert_order(order_id, state="processing", step_state="running"):
    World.sql("INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high) VALUES"
              " (%s, 1, 'w', 1, '{\"price\": 14.00,\n \"text\": \"\\u00e9\"}', decode(repeat('00', 32), 'hex'), false)",
              (order_id,))
    World.sql("INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
              " locked_by, wake_at, workflow, workflow_version, revision, is_high, wants_step_status) VALUES"
              " (%s, %s, 'processed', %s, 3, 1, 0, 0, 'me', clock_timestamp() + interval '1 hour', 'w', 1, 1, false,"
              " false)", (order_id, state, "step_failed" if state == "error" else "none"))
    World.sql("INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe, is_undo_dispatched,"
              " is_refused, is_accepted, attempt, failure_count, cool_down_count, generation, complete_by, result) VALUES"
              " (%s, 'charge', 0, 'payment', %s, 'do', 'none', true, false, false, false, 1, 0, 0, 0,"
              " clock_timestamp() + interval '1 hour', '{\"id\": 7.50}')", (order_id, step_state))
    World.sql("INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, reason, transitions,"
              " statuses, owed) VALUES (%s, 1, 'submitted', 'c', 'me \"and\" I', 0, %s, %s, %s, false)",
              (order_id, "line one\nline two\t\"quoted\"",
               '[{"from": "pending", "to": "processing"}]', '[{"seq": 1, "status": "accepted"}]'))


def insert_workflow(name):
    """So that lists take the name for no typing mistake."""
    World.sql("INSERT INTO workflow (name, version, definition) VALUES (%s, 1, '{}') ON CONFLICT DO NOTHING", (name,))


def insert_failure(order_id, workflow="w", step="charge", service="payment", error="http_422/no_card", age="0 s", code="order_error"):
    World.sql("INSERT INTO operator_alert (code, subject, order_id, text, workflow, step, service, error_code, signature, opened_at)"
              " VALUES (%s, %s, %s, 'words', %s, %s, %s, %s, 'words of an earlier version', clock_timestamp() - %s::interval)",
              (code, order_id, order_id, workflow, step, service, error, age))


class FakeScheduler(threading.Thread):
    """Consumes one queue and answers each message by `answer(channel, properties, body)`."""

    def __init__(self, queue, answer):
        super().__init__(daemon=True)
        self.queue, self.answer, self.seen = queue, answer, []
        self.ready, self.over, self.came = threading.Event(), threading.Event(), threading.Condition()

    def run(self):
        with World.channel() as channel:
            channel.queue_purge(self.queue)  # unread messages of another test
            channel.basic_consume(self.queue, self.take)
            self.ready.set()
            while not self.over.is_set():
                channel.connection.process_data_events(time_limit=0.1)

    def take(self, channel, method, properties, body):
        with self.came:
            self.seen.append((properties, json.loads(body)))
            self.came.notify_all()
        self.answer(channel, properties, json.loads(body))
        channel.basic_ack(method.delivery_tag)

    def wait_seen(self, count):
        with self.came:
            assert self.came.wait_for(lambda: len(self.seen) >= count, 10), f"{len(self.seen)} of {count} messages came"

    def __enter__(self):
        self.start()
        assert self.ready.wait(10), "the fake scheduler does not consume"
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(10)


def answer_command(verdict, text="as the test says"):
    def answer(channel, properties, body):
        result = {"v": 1, "command_id": body["command_id"], "order_id": body["order_id"], "verdict": verdict, "text": text,
                  "version": 4, "state": "processing"}
        if verdict in ("not_found", "invalid"):
            del result["version"], result["state"]
        channel.basic_publish("", properties.reply_to, json.dumps(result),
                              pika.BasicProperties(correlation_id=properties.correlation_id, type="command_result"))
    return answer


def answer_order(*statuses):
    def answer(channel, properties, body):
        if properties.reply_to is None:
            return
        for seq, status in enumerate(statuses, 1):
            message = {"v": 1, "order_id": body["order_id"], "seq": seq, "status": status, "at": "2026-01-31T12:34:56.789Z"}
            if status == "error":
                message["reason"] = 'it said "no"'
            channel.basic_publish("", properties.reply_to, json.dumps(message), pika.BasicProperties(
                correlation_id=properties.correlation_id, type="status"))
    return answer


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def each(self, items, work):
        """work(item) for all of them, in parallel: a tool mostly waits, some of it for a time-out. Each failure is reported."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for item, done in [(item, pool.submit(work, item)) for item in items]:
                with self.subTest(item=item):
                    done.result()

    def file(self, text, name="orders.jsonl"):
        path = pathlib.Path(self.folder.name) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


class WrongInput(Case):
    def test_unknown_verbs(self):
        self.assertIn("usage:", run(code=USAGE).stderr)
        for words in (["frob"], ["order", "frob"], ["frob", "list"], ["-o", "json", "order", "list"], [""]):
            self.assertIn("there is no verb", one_line(run(*words, code=USAGE)))

    def test_a_noun_alone_names_its_verbs(self):
        for noun in {verb.split()[0] for verb in VERBS} - {"doctor", "top", "console", "init", "completion"}:
            done = run(noun, code=USAGE)
            for verb in VERBS:
                if verb.startswith(noun + " "):
                    self.assertIn("  " + verb.split()[1], done.stderr)
            self.assertIn("its verbs", run(noun, "--help", code=DONE).stdout)

    def test_every_verb_has_help_and_no_verb_is_missing_in_it(self):
        everything = run("--help", code=DONE).stdout

        def look(verb):
            self.assertIn(f"  {verb} ", everything)
            done = run(*verb.split(), "--help", code=DONE)
            self.assertIn(f"usage: makegood {verb}", done.stdout)
            self.assertEqual("--timeout" in done.stdout, verb not in ("completion", "init", "workflow draw"))  # which wait for no server
            self.assertEqual(done.stderr, "")
            own, *connections = done.stdout.split("\nconnection options:\n")
            # These use no server.
            self.assertEqual(verb in ("probe", "completion", "init", "workflow draw", "workflow test", "workflow simulate", "service test"),
                             not connections)
            self.assertNotIn("--amqp", own)
        self.each(VERBS, look)

    def test_words_that_are_missing_or_too_many(self):
        for verb in VERBS:
            if verb.split()[-1] in ("show", "watch", "explain", "export", "submit", "check", "load", "ack", "cancel", "resume") \
                    and verb != "broker check":
                self.assertIn("usage:", one_line(run(*verb.split(), *(REASON if verb.split()[-1] in (
                    "ack", "cancel", "resume") else ()), code=USAGE)))
        for verb in ("order list", "order show x", "doctor", "top", "db status", "workflow list"):
            self.assertIn("usage:", one_line(run(*verb.split(), "one", "two", code=USAGE)))

    def test_refusals_name_the_right_form(self):
        self.assertIn("pending, processing, processed, compensating, compensated, cancelled, error",
                      one_line(run("order", "list", "--state", "nope", code=USAGE)))
        self.assertIn("service limit SERVICE [options]", one_line(run("service", "limit", "payment", "3", *REASON, code=USAGE)))

    def test_a_refusal_shows_whole_characters(self):
        text = "x" * 79 + "ä" * 60
        for words in (["order", "find", text], ["order", "list", "--label", text]):
            self.assertIn("x" * 79 + ": expected", one_line(run(*words, code=USAGE)))

    def test_option_values(self):
        self.each([
            ["order", "list", "--state", "nope"], ["order", "list", "-o", "xml"], ["order", "list", "--limit", "0"],
            ["order", "list", "--limit", "10001"], ["order", "list", "--limit", "x"], ["order", "list", "--limit"],
            ["order", "list", "--group-by", "state"], ["order", "list", "--since", "yesterday"],
            ["order", "list", "--until", "2026-13-01"], ["order", "list", "--state", "error", "--step", "charge"],
            ["order", "list", "--group-by", "error", "--after", "1"],
            ["order", "list", "--step", "charge", "--after", "o-1"], ["order", "list", "--step", "charge", "--after", "9" * 20],
            ["order", "list", "--since", "2026-02-31"], ["order", "list", "--since", "2026-01-31T12:00:61Z"],
            ["order", "list", "--since", " 2026-01-31"], ["order", "list", "--since", "2026-01-31T12:00:00.Z"],
            ["order", "list", "--since", "2026-01-31Z"], ["order", "list", "--timeout", "5"],
            ["order", "list", "--timeout", "0s"], ["order", "list", "--frob"],
            ["order", "list", "--config", "/nonexistent"], ["order", "list", "--amqp-url-file", "/nonexistent"],
            ["dead", "list", "--queue", "orders.intake"], ["dead", "show", "0"], ["dead", "show", "1x"],
            ["dead", "drop", *REASON], ["dead", "drop", "1", "--reason", "x" * 512],
            ["alert", "ack", "x", *REASON], ["alert", "ack", "-1", *REASON],
            ["broker", "apply", "--amqp-url", "http://x/"], ["broker", "check", "--amqp-url", "amqp://h:x/"],
            ["workflow", "states"], ["workflow", "states", "--csv", "--mermaid"],
            ["workflow", "draw", "x.json", "--as", "png"], ["workflow", "show", "w", "0"], ["workflow", "show", "w", "1.5"],
            ["workflow", "states", "--csv", "-o", "json"], ["db", "migrate", "--migrations", "/nonexistent"],
            ["service", "pause", "payment"], ["service", "pause", "no service", *REASON],
            ["service", "pause", "payment", "--for", "tomorrow", *REASON],
            ["service", "pause", "payment", "--for", "0s", *REASON],
            ["service", "pause", "payment", "--until", "2h", *REASON],
            ["service", "pause", "payment", "--concurrency", "3", *REASON],
            ["service", "limit", "payment", *REASON], ["service", "limit", "payment", "--rate", "0", *REASON],
            ["service", "limit", "payment", "--rate", "1e3", *REASON],
            ["service", "limit", "payment", "--rate", "1.2.3", *REASON],
            ["service", "limit", "payment", "--concurrency", "2.5", *REASON],
            ["service", "limit", "payment", "--concurrency", "4097", *REASON],
            ["service", "limit", "payment", "--concurrency", "-1", *REASON],
            ["service", "pause", "payment", "--reason", "x" * 512],
            ["bulk", "start", "resume", *REASON], ["bulk", "start", "resume", "--all"],
            ["bulk", "start", "settle", "--all", *REASON], ["bulk", "start", "resume", "--all", "--rate", "0", *REASON],
            ["bulk", "start", "resume", "--all", "--rate", "1001", *REASON],
            ["bulk", "start", "resume", "--all", "--rate", "none", *REASON],
            ["bulk", "start", "resume", "--all", "--rate", "1e2", *REASON],
            ["bulk", "start", "resume", "--all", "--stop-above", "101", *REASON],
            ["bulk", "start", "resume", "--all", "--canary", "-1", *REASON],
            ["bulk", "start", "resume", "--service", "No Name", *REASON],
            ["bulk", "start", "resume", "--since", "yesterday", *REASON],
            ["bulk", "start", "resume", "--error", "x" * 256, *REASON],
            ["bulk", "start", "resume", "--all", "--reason", "x" * 512],
            ["bulk", "start", "resume", "--all", "--state", "error", *REASON], ["bulk", "start", *REASON],
            ["bulk", "show", "x", "--result", "nope"], ["bulk", "show", "x", "--after", "x"],
            ["bulk", "show", "x", "--after", "9" * 20], ["bulk", "pause", "x"],
            ["bulk", "run", "x"],
            ["order", "list", "--pg-dsn", "postgresql://[h/x"],
        ], lambda words: one_line(run(*words, code=USAGE)))

    def test_a_probe_minds_no_configuration_of_the_rest(self):
        config = self.file("amqp-url = amqp://127.0.0.1/\n")
        self.assertIn("no answer", one_line(run("probe", "http://127.0.0.1:1/", env={"MAKEGOOD_CONFIG": config}, code=UNAVAILABLE)))
        done = run("probe", "http://127.0.0.1:1/", "-o", "json", code=UNAVAILABLE)
        self.assertEqual(done.stdout, as_printed({"url": "http://127.0.0.1:1/", "status": 0, "text": json.loads(done.stdout)["text"]}))

    def test_a_probe_takes_only_a_whole_answer(self):
        """Would catch: a health check that is green for an answer that was cut off, hangs, or has half a head."""
        answers_of = {b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nready\n": DONE,
                      b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nready\n": UNAVAILABLE,
                      b"HTTP/1.1 200 OK\r\nContent-Le": UNAVAILABLE,
                      b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + b"x" * 20000: UNAVAILABLE,
                      b"HTTP/1.1 503 no\r\nContent-Length: 3\r\n\r\nno\n": UNAVAILABLE}
        for answer, code in answers_of.items():
            with socket.create_server(("127.0.0.1", 0)) as server:
                def serve(listener=server, text=answer):
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(text)
                thread = threading.Thread(target=serve)
                thread.start()
                run("probe", f"http://127.0.0.1:{server.getsockname()[1]}/readyz", code=code)
                thread.join()

    def test_closed_standard_descriptors_end_nothing(self):
        """Would catch: an abort of the event loop, whose descriptors have the numbers of the closed ones."""
        for closed, code in ((0, DONE), (1, ERROR), (2, DONE)):
            done = subprocess.run([TOOL, "workflow", "states", "--csv"], preexec_fn=lambda fd=closed: os.close(fd), timeout=60, check=False)
            self.assertEqual(done.returncode, code, closed)
            done = subprocess.run([TOOL, "probe", "http://127.0.0.1:1/"], preexec_fn=lambda fd=closed: os.close(fd), timeout=60, check=False)
            self.assertEqual(done.returncode, UNAVAILABLE, closed)

    def test_changes_require_a_reason(self):
        for verb in ("resume", "restart", "settle", "skip", "compensate", "cancel"):
            self.assertIn("--reason", one_line(run("order", verb, "o-1", code=USAGE)))
            self.assertIn("--if-version", one_line(run("order", verb, "o-1", *REASON, "--version", "3", code=USAGE)))
        for words in (["settle", "o-1"], ["skip", "o-1"], ["settle", "o-1", "--step", "s"],
                      ["settle", "o-1", "--step", "s", "--outcome", "perhaps"], ["skip", "o-1", "--step", "s" * 64],
                      ["resume", "o-1", "--set", "card"], ["resume", "o-1", "--set", "/card"],
                      ["resume", "o-1", "--set", "/card=x"], ["resume", "o-1", "--set", "card=1"],
                      ["resume", "o-1", *[word for i in range(17) for word in ("--set", f"/a{i}=1")]],
                      ["cancel", "o-1", "--if-version", "-1"], ["cancel", "o" * 65], ["cancel", "not an id"], ["cancel", ""]):
            with self.subTest(words=words):
                one_line(run("order", *words, *REASON, code=USAGE))
        one_line(run("order", "cancel", "o-1", "--reason", "x" * 512, code=USAGE))
        for verb in ("set-aside", "readmit"):
            self.assertIn("--reason", one_line(run("order", verb, "o-1", code=USAGE)))
            one_line(run("order", verb, "not an id", *REASON, code=USAGE))
            one_line(run("order", verb, "o-1", "--reason", "x" * 512, code=USAGE))

    def test_files_of_orders(self):
        good = '{"order_id": "cli-1", "workflow": "w", "payload": {}}'
        for what, text in (("no order", ""), ("no order", " \n\n"), ("line 1", '{"a":'), ("line 2", good + "\n{bad\n"),
                           ("two orders of the file have the order_id cli-1", good + "\n" + good + "\n"),
                           ("line 1", "[]"), ("line 1", '{"order_id": "no id", "workflow": "w", "payload": {}}'),
                           ("line 1", '{"payload": {}}'), ("line 1", '{"workflow": "w", "payload": {}, "payload": {}}'),
                           ("line 1", b'{"workflow": "w", "payload": {"a": "\xff"}}'),
                           ("line 3", good + "\n\n" + "\0\n")):
            with self.subTest(text=text):
                self.assertIn(what, one_line(run("order", "submit", self.file(text), code=USAGE)))
        for path in ("/nonexistent", self.folder.name):
            self.assertIn("could not read", one_line(run("order", "submit", path, code=USAGE)))
            self.assertIn("could not read", one_line(run("workflow", "check", path, code=USAGE)))
        self.assertIn("no order", one_line(run("order", "submit", "-", code=USAGE)))

    def test_definitions(self):
        path = self.file('{"workflow": "w", "version": 1, "frob": 1, "steps": []}', "w.json")
        done = run("workflow", "check", path, code=USAGE)
        self.assertTrue(all(re.match(re.escape(f"{path}") + r":\d+:\d+: /", line) for line in done.stderr.splitlines()), done.stderr)
        self.assertIn("/frob", done.stderr)
        text = (SOURCE / "deploy/sample/workflows/fulfilment.json").read_text(encoding="utf-8")
        good = self.file(text.replace('"fulfilment"', '"cli-none"'), "good.json")
        run("workflow", "check", good, code=DONE)
        run("workflow", "load", good, path, code=USAGE)  # a mistake in one file stores none
        self.assertNotIn("cli-none", run("workflow", "list", code=DONE).stdout)

    def test_a_definition_is_shown_as_it_was_loaded_and_drawn(self):
        text = (SOURCE / "deploy/sample/workflows/fulfilment.json").read_text(encoding="utf-8")
        name = f"cli-{uuid.uuid4().hex[:8]}"
        older = text.replace('"fulfilment"', f'"{name}"')
        newer = re.sub(r'"version": *\d+', '"version": 90', older)
        for definition in (newer, older):
            run("workflow", "load", self.file(definition, f"{uuid.uuid4()}.json"), code=DONE)
        self.addCleanup(World.sql, "DELETE FROM workflow WHERE name = %s", (name,))
        version = re.search(r'"version": *(\d+)', older).group(1)
        self.assertEqual(run("workflow", "show", name, code=DONE).stdout.rstrip("\n"), newer.rstrip("\n"))
        self.assertEqual(run("workflow", "show", name, version, code=DONE).stdout.rstrip("\n"), older.rstrip("\n"))
        self.assertIn(f"no workflow {name}, version 91 is stored", one_line(run("workflow", "show", name, "91", code=NOT_FOUND)))
        path = self.file(older, "drawn.json")
        self.assertIn(f"Workflow {name}, version 90, has ", run("workflow", "describe", name, code=DONE).stdout)
        self.assertEqual(run("workflow", "describe", name, version, code=DONE).stdout, run("workflow", "describe", path, code=DONE).stdout)
        self.assertEqual(run("workflow", "diff", name, version, "90", code=DONE).stdout, "no difference in meaning\n")
        self.assertEqual(json.loads(run("workflow", "diff", path, name, "-o", "json", code=DONE).stdout)["to_version"], 90)
        steps = [step["step"] for step in json.loads(older)["steps"]]
        for form, start in (("mermaid", "flowchart TD\n"), ("svg", "<svg ")):
            drawn = run("workflow", "draw", path, "--as", form, code=DONE).stdout
            self.assertTrue(drawn.startswith(start), drawn)
            for step in steps:
                self.assertIn(step, drawn)
        xml.etree.ElementTree.fromstring(drawn)
        self.assertEqual(run("workflow", "draw", path, code=DONE).stdout, run("workflow", "draw", path, "--as", "mermaid", code=DONE).stdout)
        self.assertIn("undo", run("workflow", "draw", path, "--undo", code=DONE).stdout)


class Away(Case):
    """Absent servers: one line, and exit code 6."""

    DATABASE = ["order list", "order find x", "order show x", "order watch x", "order explain x", "order calls x y", "order export x", "alert list",
                "alert ack 1 --reason why", "workflow list", "db status", "db migrate", "order cancel x --reason why",
                "order set-aside x --reason why", "order readmit x --reason why",
                "workflow show x", "workflow describe x", "workflow diff x 1 2", "service list", "service show x", "service pause x --reason why", "service forget x --reason why", "workflow load {good}", "bulk list", "bulk show x",
                "bulk start resume --all --reason why", "bulk start resume --all --dry-run", "bulk stop x --reason why",
                "dead requeue 1 --reason why", "dead drop --all --reason why"]
    BROKER = ["dead list", "dead show 1", "dead requeue 1 --reason why", "dead drop --all --reason why", "broker apply",
              "broker check", "order submit {order}", "order submit {order} --wait",
              "order cancel x --reason why --if-version 3"]

    def away(self, command, **env):
        """The tool's error line. A tool without --timeout is ended by run()'s own."""
        order = self.file('{"order_id": "cli-1", "workflow": "w", "payload": {}}', f"{uuid.uuid4()}.jsonl")
        words = command.format(good=SOURCE / "deploy/sample/workflows/fulfilment.json", order=order).split()
        if words[:2] == ["db", "migrate"]:
            words += ["--migrations", str(SOURCE / "deploy/postgres")]
        return one_line(run(*words, "--timeout", "1s", code=UNAVAILABLE, env=env))

    def test_the_database_refuses(self):
        self.each(self.DATABASE, lambda command: self.assertIn("could not", self.away(command, MAKEGOOD_PG_DSN=NOBODY_PG)))

    def test_the_broker_refuses(self):
        self.each(self.BROKER, lambda command: self.assertIn("could not", self.away(command, MAKEGOOD_AMQP_URL=NOBODY_AMQP)))

    def at_once(self, command, **env):
        """The tool's error output, at the default --timeout, which leaves time for retries."""
        done = run(*command.split(), code=UNAVAILABLE, env=env)
        self.assertIn("holds the address", one_line(done))  # one line: a second one would report the retry
        return done.stderr

    def test_an_unusable_address_is_reported_at_once_with_its_source(self):
        def dsn(**other):
            return psycopg2.extensions.make_dsn(World.dsn, **other)

        def url(**other):
            at = urllib.parse.urlsplit(World.url)
            user, password, vhost = (other.get(name, it) for name, it in
                                     (("user", at.username), ("password", at.password), ("vhost", at.path)))
            return f"{at.scheme}://{user}:{password}@{at.hostname}:{at.port}{vhost}"
        for bad in (NOBODY_PG, dsn(password="wrong"), dsn(user="nobody-here"), dsn(dbname="nowhere"),
                    dsn(host="/nonexistent"), dsn(sslmode="verify-full", sslrootcert="/nonexistent/ca.pem")):
            with self.subTest(dsn=bad):
                self.assertIn("MAKEGOOD_PG_DSN", self.at_once("order list", MAKEGOOD_PG_DSN=bad))
        for bad in (NOBODY_AMQP, url(password="wrong"), url(user="nobody-here"), url(vhost="/nowhere"),
                    url().replace("127.0.0.1", "nowhere.invalid")):
            with self.subTest(url=bad):
                said = self.at_once("order cancel x --reason why --if-version 3 --allow-plaintext", MAKEGOOD_AMQP_URL=bad)
                self.assertIn("MAKEGOOD_AMQP_URL", said)

    def test_a_missing_address_is_reported_with_the_ways_to_give_one(self):
        env = {"MAKEGOOD_PG_DSN": "", "PGHOST": "127.0.0.1", "PGPORT": "1"}
        self.assertIn("neither --pg-dsn nor MAKEGOOD_PG_DSN is set", one_line(run("order", "list", code=UNAVAILABLE, env=env)))

    def test_a_refusal_is_known_by_its_code_in_any_language(self):
        with Refusing("28P01") as server:
            self.assertIn("28P01", self.at_once("order list", MAKEGOOD_PG_DSN=server.dsn))
            self.assertEqual(server.asked, 2)  # once more for the code

    def test_a_server_that_begins_is_waited_for(self):
        with Refusing("57P03", "57P03", "57P03", "57P03", "3D000") as server:
            self.assertIn("3D000", self.at_once("order list", MAKEGOOD_PG_DSN=server.dsn))
            self.assertGreaterEqual(server.asked, 5)

    def test_a_silent_server(self):
        # The libraries give up a connect after 5 s; a shorter --timeout cannot cut that off.
        with socket.create_server(("127.0.0.1", 0)) as mute:
            place = f"u:p@127.0.0.1:{mute.getsockname()[1]}"
            self.each([("order list", {"MAKEGOOD_PG_DSN": f"postgresql://{place}/x"}),
                       ("dead list", {"MAKEGOOD_AMQP_URL": f"amqp://{place}/"}),
                       ("order cancel x --reason why --if-version 3", {"MAKEGOOD_AMQP_URL": f"amqp://{place}/"})],
                      lambda item: self.away(item[0], **item[1]))

    def test_doctor_finds_both_away(self):
        done = run("doctor", "--timeout", "1s", code=ERROR,
                   env={"MAKEGOOD_AMQP_URL": NOBODY_AMQP, "MAKEGOOD_PG_DSN": NOBODY_PG})
        self.assertIn("WRONG database", done.stdout)
        self.assertIn("WRONG broker", done.stdout)

    def test_a_database_without_schema_names_the_command_to_run(self):
        name = World.name + "_bare"
        World.sql(f'CREATE DATABASE "{name}" TEMPLATE template0 ENCODING UTF8')
        try:
            dsn = psycopg2.extensions.make_dsn(World.dsn, dbname=name)
            self.assertIn("makegood db migrate", one_line(run("order", "list", code=ERROR, env={"MAKEGOOD_PG_DSN": dsn})))
            run("db", "status", code=DONE, env={"MAKEGOOD_PG_DSN": dsn})
        finally:
            World.sql(f'DROP DATABASE "{name}" WITH (FORCE)')

    def test_the_wrong_password_does_not_show_the_right_one(self):
        dsn = psycopg2.extensions.make_dsn(World.dsn, password="tell-nobody")
        done = run("order", "list", "--timeout", "2s", env={"MAKEGOOD_PG_DSN": dsn})
        self.assertIn(done.returncode, (ERROR, UNAVAILABLE))
        self.assertNotIn("tell-nobody", done.stderr + done.stdout)


class Answers(Case):
    def setUp(self):
        super().setUp()
        self.order_id = "cli-" + uuid.uuid4().hex[:8]
        insert_order(self.order_id)

    def has_no_queues(self, service):
        with World.channel() as channel:
            for queue in (f"agent.{service}.requests", f"agent.{service}.requests.high"):
                channel.queue_delete(queue)
            for exchange in (f"makegood.replies.{service}", f"makegood.control.{service}"):
                channel.exchange_delete(exchange)

    def has_queues(self, service):
        """From now until the end of the test."""
        self.addCleanup(self.has_no_queues, service)
        run("broker", "apply", "--service", service, code=DONE)

    def test_unknown_objects(self):
        for words in (["show"], ["watch"], ["explain"], ["export"], ["cancel", *REASON]):
            self.assertIn("there is no order", one_line(run("order", words[0], "cli-none", *words[1:], code=NOT_FOUND)))
        one_line(run("alert", "ack", "999999", *REASON, code=NOT_FOUND))
        one_line(run("dead", "show", "9999", code=NOT_FOUND))
        one_line(run("dead", "drop", "9999", *REASON, code=NOT_FOUND))

    def test_a_list_reads_on_behind_a_page_without_a_match(self):
        self.addCleanup(World.sql, "DELETE FROM order_label; DELETE FROM order_process WHERE order_id LIKE 'labelled-%%';"
                        " DELETE FROM orders WHERE order_id LIKE 'labelled-%%'")
        World.sql("INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
                  " locked_by, workflow, workflow_version, revision, is_high, wants_step_status, created_at)"
                  " SELECT 'labelled-' || n, CASE n WHEN 20001 THEN 'cancelled' ELSE 'processed' END, 'processed',"
                  " CASE n WHEN 20001 THEN 'operator' ELSE 'none' END, 1, 1,"
                  " 0, 0, 'me', CASE n WHEN 20001 THEN 'rare' ELSE 'w' END, 1, 1, false, false, '2026-01-01T00:00:00Z'::timestamptz - n * interval '1 second'"
                  " FROM generate_series(1, 20001) n;"
                  "INSERT INTO order_label SELECT order_id, 'country', 'XK', created_at FROM order_process"
                  " WHERE order_id LIKE 'labelled-%%';"
                  "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, received_at)"
                  " SELECT order_id, 1, workflow, 1, '{}', sha256(''), false, created_at FROM order_process"
                  " WHERE order_id LIKE 'labelled-%%'; ANALYZE orders, order_process, order_label")
        insert_workflow("rare")
        behind = f"{1767225600_000_000 - 20_000_000_000}/labelled-20000"

        def ids(*words):
            return [row["order_id"] for row in json.loads(run("order", "list", "-o", "json", "--timeout", "1h", *words).stdout)]

        for wanted in (("--label", "country=XK"), ()):
            self.assertEqual(ids(*wanted, "--workflow", "rare"), ["labelled-20001"])
            self.assertEqual(ids(*wanted, "--workflow", "rare", "--state", "processed"), [])
            self.assertEqual(ids(*wanted, "--state", "cancelled"), ["labelled-20001"])
            self.assertEqual(ids(*wanted, "--state", "compensated"), [])
            self.assertEqual(len(ids(*wanted, "--state", "processed", "--limit", "10000")), 10000)
            self.assertEqual(ids(*wanted, "--workflow", "rare", "--after", behind), ["labelled-20001"])
            run("order", "list", *wanted, "--after", "12/no blanks", code=NOT_FOUND)

    def test_verdicts_become_exit_codes(self):
        for verdict, code in (("done", DONE), ("conflict", CONFLICT), ("not_found", NOT_FOUND), ("invalid", USAGE)):
            with FakeScheduler("scheduler.commands", answer_command(verdict)) as scheduler:
                done = run("order", "cancel", self.order_id, "--reason", 'it is "over" – é\n', "--by", "ann", code=code)
            properties, command = scheduler.seen[0]
            self.assertEqual(properties.message_id, command["command_id"])
            self.assertEqual((command["command"], command["by"]), ("cancel", "ann"))
            self.assertEqual(command["reason"], 'it is "over" – é\n')
            if code != DONE:
                self.assertIn("as the test says", one_line(done))

    def test_a_signal_is_a_command_whose_outcome_is_printed(self):
        def answer(verdict, word, has_order=True):
            def answer(channel, properties, body):
                result = {"v": 1, "command_id": body["command_id"], "verdict": verdict, "signal": word, "text": "as the test says"}
                if has_order:
                    result |= {"order_id": self.order_id, "version": 4, "state": "processing"}
                channel.basic_publish("", properties.reply_to, json.dumps(result), pika.BasicProperties(
                    correlation_id=properties.correlation_id, type="command_result"))
            return answer
        of_order = {"order_id": self.order_id, "state": "processing", "version": 4}
        with FakeScheduler("scheduler.commands", answer("done", "taken")) as scheduler:
            done = run("order", "signal", self.order_id, "approved", "--payload", '{"limit": 14.00}', "--id", "evt_17", "--by", "ann",
                       *REASON, "-o", "json", code=DONE)
        self.assertEqual(done.stdout, as_printed({"id": "evt_17", "signal": "taken", **of_order}))
        properties, command = scheduler.seen[0]
        self.assertEqual(properties.message_id, "evt_17")
        self.assertEqual(command, {"v": 1, "command_id": "evt_17", "command": "signal", "order_id": self.order_id, "signal": "approved",
                                   "payload": {"limit": 14.00}, "by": "ann", "reason": "a test"})
        with FakeScheduler("scheduler.commands", answer("done", "kept", has_order=False)) as scheduler:
            done = run("signal", "send", "paid", "--key", "invoice/17 – Zürich", "--payload", "17", *REASON, code=DONE)
        self.assertEqual((done.stdout, scheduler.seen[0][1]["key"], scheduler.seen[0][1]["payload"]),
                         ("signal paid: kept\n", "invoice/17 – Zürich", 17))
        for word in ("late", "refused"):
            with FakeScheduler("scheduler.commands", answer("conflict", word)):
                done = run("order", "signal", self.order_id, "approved", *REASON, code=CONFLICT)
            self.assertIn(f"signal approved: {word}: as the test says", one_line(done))

    def test_a_signal_that_cannot_be_is_refused_at_once(self):
        for words in (["order", "signal", "o-1"], ["order", "signal", "o-1", "Paid"], ["order", "signal", "not an id", "paid"],
                      ["order", "signal", "o-1", "paid", "--id", "a/b"], ["order", "signal", "o-1", "paid", "--step", "No Step"], ["order", "signal", "o-1", "paid", "--id", "x" * 65],
                      ["order", "signal", "o-1", "paid", "--payload", "{"], ["order", "signal", "o-1", "paid", "--payload", '"' + "x" * 65535 + '"'],
                      ["signal", "send", "paid"], ["signal", "send", "paid", "--key", ""], ["signal", "send", "paid", "--key", "a\tb"],
                      ["signal", "send", "paid", "--key", "x" * 257]):
            one_line(run(*words, *REASON, code=USAGE))
        for words in (["order", "signal", "o-1", "paid"], ["signal", "send", "paid", "--key", "k"]):
            self.assertIn("--reason", one_line(run(*words, code=USAGE)))

    def test_only_a_change_of_the_goal_holds_at_any_version(self):
        for verb, version in (("cancel", None), ("compensate", None), ("resume", 3), ("restart", 3)):
            with FakeScheduler("scheduler.commands", answer_command("done")) as scheduler:
                run("order", verb, self.order_id, *REASON, code=DONE)
            self.assertEqual(scheduler.seen[0][1].get("version"), version, verb)

    def test_every_change_sends_its_command(self):
        for words, wanted in (
                (["resume", "--set", "/card/number=\"4242\"", "--set", "/n=14.00"],
                 {"set": [{"pointer": "/card/number", "value": "4242"}, {"pointer": "/n", "value": 14.00}]}),
                (["restart"], {}), (["compensate"], {}), (["skip", "--step", "charge"], {"step": "charge"}),
                (["settle", "--step", "charge", "--outcome", "absent"], {"step": "charge", "outcome": "absent"})):
            with FakeScheduler("scheduler.commands", answer_command("done")) as scheduler:
                done = run("order", words[0], self.order_id, *words[1:], *REASON, "--if-version", "9", "-o", "json", code=DONE)
            self.assertEqual(done.stdout, as_printed({"order_id": self.order_id, "state": "processing", "version": 4}))
            command = scheduler.seen[0][1]
            self.assertEqual((command["command"], command["version"]), (words[0], 9))
            self.assertEqual({name: command[name] for name in wanted}, wanted)

    def test_a_bulk_action_is_started_once_shown_and_stopped(self):
        name, orders = "cli-" + uuid.uuid4().hex[:8], [f"cli-{uuid.uuid4().hex[:8]}" for _ in range(4)]
        for order_id in orders:
            insert_order(order_id, "error" if order_id != orders[0] else "processing", "failed")
            insert_failure(order_id, workflow=name)
        words = ("bulk", "start", "compensate", "--workflow", name, "--error", "no_card", "--service", "payment", "--since", "1h")
        self.assertIn("no order has such a failure", one_line(run(*words[:-4], "--service", "carrier", *REASON, code=NOT_FOUND)))
        dry = json.loads(run(*words, "--dry-run", "-o", "json", code=DONE).stdout)
        self.assertEqual((dry["orders"], dry["not_in_error"], dry["in_other_bulk"]), (3, 1, 0))
        started = run(*words, "--reason", 'it is "over"', "--by", "ann", "-o", "json", code=DONE)
        bulk = json.loads(started.stdout)
        self.assertEqual(started.stdout,
                         as_printed({"bulk_id": bulk["bulk_id"], "is_new": True, "state": "canary", "orders": 3}))
        self.assertIn("no process drives bulk actions", one_line(started))
        again = run(*words, "--rate", "7", *REASON, code=DONE)
        self.assertIn("exists already: canary, 3 orders", again.stdout)
        self.assertIn("3 are in other bulk actions", one_line(run("bulk", "start", "resume", "--workflow", name, *REASON, code=NOT_FOUND)))
        self.assertIn("no process drives them", run("doctor", code=ERROR).stdout)

        printed = run("bulk", "show", bulk["bulk_id"], "-o", "json", code=DONE).stdout
        shown = json.loads(printed)
        rows = ",\n ".join(json.dumps(row) for row in shown["orders"])
        self.assertEqual(printed, '{"bulk": ' + json.dumps(shown["bulk"]) + ',\n"orders": [' + rows + "]\n}\n")
        self.assertEqual((shown["bulk"]["by_whom"], shown["bulk"]["reason"]), ("ann", 'it is "over"'))
        self.assertEqual(shown["bulk"]["filter"], {"workflow": name, "service": "payment", "error": "no_card", "since": "1h"})
        self.assertEqual([(row["n"], row["result"]) for row in shown["orders"]], [(1, "waiting"), (2, "waiting"), (3, "waiting")])
        page = run("bulk", "show", bulk["bulk_id"], "--limit", "2", code=DONE)
        self.assertIn("3: 0 done, 0 failed, 0 skipped, 0 under way, 3 waiting", page.stdout)
        self.assertIn("no process drives bulk actions", page.stdout)
        self.assertIn("--after 2", one_line(page))
        rest = json.loads(run("bulk", "show", bulk["bulk_id"], "--after", "2", "--result", "waiting", "-o", "json", code=DONE).stdout)
        self.assertEqual([row["n"] for row in rest["orders"]], [3])

        self.assertIn("there is no bulk action", one_line(run("bulk", "show", "none", code=NOT_FOUND)))
        self.assertIn("there is no bulk action", one_line(run("bulk", "stop", "none", *REASON, code=NOT_FOUND)))

        def change(verb, *more, code=DONE):
            return run("bulk", verb, bulk["bulk_id"], *REASON, *more, code=code)

        self.assertIn("is canary, which does not allow this change", one_line(change("resume", code=CONFLICT)))
        self.assertIn("version 2", change("pause").stdout)
        self.assertIn("version 1", one_line(change("resume", "--if-version", "1", code=CONFLICT)))
        self.assertEqual(change("resume", "-o", "json").stdout, as_printed({"bulk_id": bulk["bulk_id"], "version": 3}))
        change("stop")
        self.assertIn("stopped  a test", run("bulk", "show", bulk["bulk_id"], code=DONE).stdout)
        listed = json.loads(run("bulk", "list", "-o", "json", code=DONE).stdout)
        self.assertEqual((listed[0]["bulk_id"], listed[0]["state"], listed[0]["skipped"]), (bulk["bulk_id"], "stopped", 3))

    def test_a_command_without_an_answer(self):
        begin = time.monotonic()
        done = run("order", "cancel", self.order_id, *REASON, "--timeout", "1s", code=TIMED_OUT)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertIn("may still be carried out", one_line(done))

    def test_wanted_states_of_a_service(self):
        service = "cli-" + uuid.uuid4().hex[:8]

        def row():
            rows = json.loads(run("service", "list", "-o", "json", code=DONE).stdout)
            return next((row for row in rows if row["service"] == service), None)

        self.assertIn("there is no service", one_line(run("service", "pause", service, *REASON, code=NOT_FOUND)))
        World.sql("INSERT INTO workflow (name, version, definition) VALUES (%s, 1, %s)",
                  (service, json.dumps({"steps": [{"service": service}]})))
        done = run("service", "pause", service, "--reason", "it is down", "--by", "ann", "--for", "2h", "-o", "json", code=DONE)
        self.assertEqual(done.stdout, as_printed({"service": service, "version": 1}))
        self.assertEqual((row()["state"], row()["version"], row()["by_whom"], row()["agents"]), ("paused", 1, "ann", 0))
        self.assertIsNotNone(row()["paused_until"])
        run("service", "limit", service, "--concurrency", "6", "--rate", "0.5", *REASON, code=DONE)
        self.assertEqual((row()["state"], row()["concurrency"], row()["rate_per_s"]), ("paused", 6, 0.5))
        self.assertIn("is paused by tester", run("doctor").stdout)
        self.assertIn("version 1", one_line(run("service", "resume", service, "--if-version", "1", *REASON, code=CONFLICT)))
        self.assertIn("no longer paused", run("service", "resume", service, "--if-version", "2", *REASON, code=DONE).stdout)
        self.assertEqual((row()["state"], row()["concurrency"]), ("no queue", 6))
        self.has_queues(service)
        self.assertEqual((row()["state"], row()["concurrency"]), ("no agent", 6))
        World.sql("INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency, control_version)"
                  " VALUES (%s, 'a', 'closed', true, 2, 3, 3), (%s, 'b', 'closed', true, 1, 3, 2)", (service, service))
        self.assertEqual((row()["state"], row()["agents"], row()["obeying"], row()["in_flight"]), ("serving", 2, 1, 3))
        self.has_no_queues(service)
        self.assertEqual(row()["state"], "no queue")  # without regard to the agents' reports
        done = run("service", "limit", service, "--concurrency", "1", *REASON, code=DONE)
        self.assertIn("2 agents of it report", done.stderr)
        run("service", "limit", service, "--concurrency", "none", *REASON, code=DONE)
        self.assertEqual((row()["concurrency"], row()["rate_per_s"]), (None, 0.5))
        self.assertEqual(World.sql("SELECT verb, by_whom FROM operator_action WHERE subject = %s ORDER BY action_id", (service,)), [
            ("service pause", "ann"), ("service limit", "tester"), ("service resume", "tester"), ("service limit", "tester"),
            ("service limit", "tester")])

    def test_a_service_that_is_gone_is_forgotten(self):
        service = "cli-" + uuid.uuid4().hex[:8]

        def is_listed():
            return any(row["service"] == service for row in json.loads(run("service", "list", "-o", "json", code=DONE).stdout))

        def refused(*why):
            said = one_line(run("service", "forget", service, *REASON, code=CONFLICT))
            self.assertTrue(all(word in said for word in ("not forgotten", *why)), said)

        def report(age_s):
            World.sql("INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency, reported_at)"
                      " VALUES (%s, 'agent-7', 'closed', true, 0, 1, clock_timestamp() - %s * interval '1 second')"
                      " ON CONFLICT (service, instance) DO UPDATE SET reported_at = excluded.reported_at", (service, age_s))

        def load(version, *services):
            World.sql("INSERT INTO workflow (name, version, definition) VALUES (%s, %s, %s)",
                      (service, version, json.dumps({"steps": [{"service": name} for name in services]})))

        self.addCleanup(World.sql, "DELETE FROM workflow WHERE name = %s", (service,))
        self.assertIn("nothing to delete", one_line(run("service", "forget", service, *REASON, code=NOT_FOUND)))
        load(1, service)
        run("service", "pause", service, *REASON, code=DONE)
        World.sql("INSERT INTO operator_alert (code, subject, text) VALUES ('unpublishable', %s, 'x'), ('dead_letter', %s, 'x')",
                  (service, service))
        refused("loaded workflow", service, "version 1")
        load(2)
        World.sql("UPDATE order_process SET workflow = %s WHERE order_id = %s", (service, self.order_id))
        refused("open order " + self.order_id)
        World.sql("UPDATE order_process SET wake_at = NULL, process_state = 'error' WHERE order_id = %s", (self.order_id,))
        World.sql("INSERT INTO operator_alert (code, subject, order_id, text, service) VALUES ('order_error', %s, %s, 'x', %s)",
                  (self.order_id, self.order_id, service))
        refused("order " + self.order_id, "failed at it")
        World.sql("UPDATE operator_alert SET closed_at = clock_timestamp() WHERE order_id = %s", (self.order_id,))
        report(1)
        refused("agent agent-7")
        report(60)
        self.assertTrue(is_listed())
        done = run("service", "forget", service, "--reason", "it is gone", "--by", "ann", "-o", "json", code=DONE)
        self.assertEqual(done.stdout, as_printed({"service": service, "is_forgotten": True}))
        self.assertFalse(is_listed())
        for table in ("service_control", "service_state"):
            self.assertEqual(World.sql(f"SELECT 1 FROM {table} WHERE service = %s", (service,)), [])
        self.assertEqual(World.sql("SELECT code::text FROM operator_alert WHERE subject = %s AND closed_at IS NULL", (service,)),
                         [("dead_letter",)])
        told = World.sql("SELECT by_whom, reason, detail FROM operator_action WHERE verb = 'service forget' AND subject = %s", (service,))
        self.assertEqual([(by, why, detail["control"]["is_paused"], detail["reports"], detail["alerts"]) for by, why, detail in told],
                         [("ann", "it is gone", True, 1, 1)])
        run("service", "forget", service, *REASON, code=NOT_FOUND)
        World.sql("DELETE FROM operator_alert WHERE subject = %s", (service,))
        report(0)
        self.assertTrue(is_listed())

    def test_doctor_sees_each_service_of_a_loaded_workflow(self):
        service = "cli-" + uuid.uuid4().hex[:8]

        def says(check, name):
            done = run("doctor", "-o", "json", code=ERROR)  # no supervisor leads here
            lines = json_list(done)
            self.assertEqual(done.stdout, as_listed(lines))
            self.assertEqual(list(lines[0]), ["check", "ok", "detail"])
            return [(line["ok"], line["detail"]) for line in lines if line["check"] == check and line["detail"].startswith(name)]

        self.addCleanup(World.sql, "DELETE FROM workflow WHERE name = %s", (service,))
        World.sql("INSERT INTO workflow (name, version, definition) VALUES (%s, 1, %s)",
                  (service, json.dumps({"steps": [{"service": service}]})))
        apply = f"makegood broker apply --service {service}"
        no_queue = [(False, f"{service} has no agent and no queue agent.{service}.requests; run: {apply}; "
                            "then start an agent: makegood-agent --service FILE")]
        self.assertEqual(says("service", service), no_queue)
        World.sql("INSERT INTO workflow (name, version, definition) VALUES (%s, 2, '{\"steps\": []}')", (service,))
        self.assertEqual(says("service", service), [])
        World.sql("UPDATE order_process SET workflow = %s WHERE order_id = %s", (service, self.order_id))
        self.assertEqual(says("service", service), no_queue)  # which an open order keeps
        World.sql("DELETE FROM workflow WHERE name = %s AND version = 2", (service,))
        self.has_queues(service)
        self.assertEqual(says("service", service), [
            (False, f"{service} has no agent at queue agent.{service}.requests; start one: makegood-agent --service FILE")])
        with FakeScheduler(f"agent.{service}.requests", None), FakeScheduler(f"agent.{service}.requests.high", None):
            [(is_good, text)] = says("service", service)
            self.assertTrue(is_good and "report nothing" in text, text)
            rows = json.loads(run("service", "list", "-o", "json", code=DONE).stdout)
            self.assertEqual([row["state"] for row in rows if row["service"] == service], ["serving"])
            printed = run("top", "-o", "json").stdout
            why = json.loads(printed)["why"]
            self.assertEqual(printed, as_printed(json.loads(printed)))
            self.assertNotIn(service, why)
        self.assertIn(f"{service}: no agent", json.loads(run("top", "-o", "json").stdout)["why"])

    def test_doctor_reports_that_no_supervisor_has_led(self):
        self.assertIn("WRONG supervisor   none has ever led; start makegood-supervisor", run("doctor", code=ERROR).stdout)

    def test_doctor_reports_that_an_alert_is_open(self):
        subject = "cli-" + uuid.uuid4().hex[:8]
        self.addCleanup(World.sql, "DELETE FROM operator_alert WHERE subject = %s", (subject,))
        World.sql("INSERT INTO operator_alert (code, subject, text) VALUES ('dead_letter', %s, 'words')", (subject,))
        self.assertRegex(run("doctor", code=ERROR).stdout, r"(?m)^WRONG alerts +\d+ open of \d+ unknown causes?, the first \w+ about .+; see makegood alert causes$")

    def definition(self, name, *services):
        good = json.loads((SOURCE / "deploy/sample/workflows/fulfilment.json").read_text(encoding="utf-8"))
        del good["output"]  # of steps that these do not have
        steps = [{**good["steps"][0], "step": f"s{n}", "service": service} for n, service in enumerate(services)]
        return self.file(json.dumps({**good, "workflow": name, "steps": steps}), f"{name}.json")

    def test_a_service_without_a_queue_is_warned_of(self):
        mark = uuid.uuid4().hex[:8]
        there, wrong = f"travel-{mark}", f"travle-{mark}"
        self.has_queues(there)
        path = self.definition("trip-" + mark, there, wrong, wrong)
        self.addCleanup(World.sql, "DELETE FROM workflow WHERE name = %s", ("trip-" + mark,))
        apply = f"run: makegood broker apply --service {wrong}"
        done = run("workflow", "check", path, code=DONE)
        column = 1 + pathlib.Path(path).read_text(encoding="utf-8").index(f'"{wrong}"')
        self.assertEqual(done.stderr, f'{path}:1:{column}: /steps/1/service: service "{wrong}" has no queue; did you mean "{there}"? If not, {apply}\n')
        self.assertIn(": good", done.stdout)
        self.assertEqual(run("workflow", "check", path, "--strict", code=USAGE).stderr, done.stderr)
        self.assertEqual(run("workflow", "load", path, "--strict", code=USAGE).stderr, done.stderr)
        self.assertNotIn("trip-" + mark, run("workflow", "list", code=DONE).stdout)
        loaded = run("workflow", "load", path, "-o", "json", code=DONE)
        self.assertEqual(loaded.stderr, done.stderr)
        [warning] = json_list(loaded)[0]["warnings"]
        self.assertEqual(loaded.stdout, as_listed([{"file": str(path), "workflow": "trip-" + mark, "version": 2, "verdict": "stored",
                                                    "warnings": [warning]}]))
        self.assertIn(apply, warning)
        far = self.definition("far-" + mark, "x" + uuid.uuid4().hex)
        self.assertRegex(run("workflow", "check", far, code=DONE).stderr, r'has no queue; run: makegood broker apply --service x\w+\n$')
        away = {"MAKEGOOD_AMQP_URL": NOBODY_AMQP}
        self.assertIn("was not looked at", one_line(run("workflow", "check", path, code=DONE, env=away)))
        self.assertIn("is not known", one_line(run("workflow", "check", path, "--strict", code=UNAVAILABLE, env=away)))

    def test_broker_apply_knows_the_services_of_loaded_workflows(self):
        service = "cli-" + uuid.uuid4().hex[:8]
        World.sql("INSERT INTO workflow (name, version, definition) VALUES (%s, 1, %s)",
                  (service, json.dumps({"steps": [{"service": service}]})))
        self.addCleanup(World.sql, "DELETE FROM workflow WHERE name = %s", (service,))
        self.addCleanup(self.has_no_queues, service)
        missing = run("broker", "check", code=ERROR)
        self.assertIn(f"queue agent.{service}.requests: missing; run: makegood broker apply --service {service}", missing.stdout)
        self.assertNotIn(service, run("broker", "apply", "--service", SERVICE, code=DONE).stdout)
        self.assertIn(f"queue agent.{service}.requests: made", run("broker", "apply", code=DONE).stdout)
        done = run("broker", "apply", code=DONE, env={"MAKEGOOD_PG_DSN": NOBODY_PG})
        self.assertIn("name them with --service", one_line(done))
        self.assertIn("queue orders.intake: found", done.stdout)

    def test_orders_are_submitted_with_ids_of_their_own(self):
        path = self.file('{"workflow": "w", "payload": {"n": 14.00}}\n{"order_id": "cli-b", "workflow": "w", "payload": {}}\n')
        with FakeScheduler("orders.intake", answer_order()) as scheduler:
            done = run("order", "submit", path, "-o", "json", code=DONE)
            scheduler.wait_seen(2)
        sent = {body["order_id"]: properties for properties, body in scheduler.seen}
        self.assertEqual(sorted(sent), sorted(line["order_id"] for line in json_list(done)))
        self.assertEqual(done.stdout, as_listed([{"order_id": line["order_id"]} for line in json_list(done)]))
        for order_id, properties in sent.items():
            self.assertEqual((properties.message_id, properties.delivery_mode), (order_id, 2))

    def test_waiting_shows_how_orders_end(self):
        path = self.file('{"order_id": "cli-w", "workflow": "w", "payload": {}}')
        for statuses, code in ((("accepted", "processed"), DONE), (("accepted", "error"), ERROR), (("accepted",), TIMED_OUT)):
            with FakeScheduler("orders.intake", answer_order(*statuses)):
                done = run("order", "submit", path, "--wait", "-o", "json", "--timeout", "3s", code=code)
            ended = [(line["order_id"], line["status"]) for line in json_list(done)]
            self.assertEqual(ended, [("cli-w", statuses[-1])] if len(statuses) > 1 else [])

    def test_only_a_file_with_ids_may_be_submitted_again(self):
        for order, advice in (('{"order_id": "cli-a", "workflow": "w", "payload": {}}', "submit the same file again"),
                              ('{"workflow": "w", "payload": {}}', "would make new orders")):
            with FakeScheduler("orders.intake", answer_order("accepted")):
                done = run("order", "submit", self.file(order), "--wait", "--timeout", "3s", code=TIMED_OUT)
            self.assertIn(advice, one_line(done))

    def test_no_text_of_others_steers_the_terminal(self):
        evil, order_id = "a\x1b[2Jb\u009bc\rd\ne\u202ef\u2066g\u2028h", "cli-" + uuid.uuid4().hex[:8]
        insert_order(order_id, "error", "failed")
        World.sql("UPDATE order_step SET error_text = %s WHERE order_id = %s", (evil, order_id))
        World.sql("UPDATE order_event SET reason = %s, transitions = %s WHERE order_id = %s",
                  (evil, json.dumps([{"from": "pending", "to": "error", "reason": evil}]), order_id))
        with World.channel() as channel:
            channel.basic_publish("", "orders.rejected", b"{}", pika.BasicProperties(
                type="type" + evil, headers={"x-makegood-reason": evil}))
        for words in (["order", "show", order_id], ["order", "explain", order_id], ["order", "watch", order_id],
                      ["dead", "list", "--queue", "orders.rejected", "--limit", "10000"]):
            with self.subTest(words=words):
                shown = run(*words, code=DONE).stdout
                self.assertIn("a.[2Jb", shown)
                for mark in "\x1b\u009b\r\u202e\u2066\u2028":
                    self.assertNotIn(mark, shown)
        shown = json.loads(run("order", "show", order_id, "-o", "json", code=DONE).stdout)
        self.assertEqual(shown["steps"][0]["error_text"], evil)

    def test_watch_ends_when_the_order_does(self):
        tool = subprocess.Popen([TOOL, "order", "watch", self.order_id, "-o", "jsonl"], stdout=subprocess.PIPE, text=True,
                                env=environment())
        try:
            self.assertEqual(json.loads(tool.stdout.readline())["version"], 1)
            World.sql("UPDATE order_step SET state = 'done' WHERE order_id = %s", (self.order_id,))
            World.sql("UPDATE order_process SET process_state = 'processed' WHERE order_id = %s", (self.order_id,))
            rest, _ = tool.communicate(timeout=20)
        finally:
            if tool.poll() is None:
                tool.kill()
                tool.wait()
        self.assertEqual(rest, as_printed({"order_id": self.order_id, "state": "processed",
                                           "explanation": json.loads(rest)["explanation"],
                                           "steps": [{"step": "charge", "state": "done", "why": None}]}))
        self.assertEqual(tool.returncode, DONE)

    def test_failures_are_counted_by_their_cause(self):
        mark = "w" + uuid.uuid4().hex[:8]
        insert_workflow(mark)
        for n in range(5):
            insert_failure(f"{mark}-{n}", mark, age=f"{n} hours")
        insert_failure(f"{mark}-0", mark, code="undo_failed")  # twice the same order is one
        insert_failure(f"{mark}-5", mark, "ship", "carrier", "timeout", "3 days")
        insert_failure(f"{mark}-6", mark, None, None, "order_expired")
        rows = json.loads(run("order", "list", "--group-by", "error", "--workflow", mark, "-o", "json", code=DONE).stdout)
        self.assertEqual([(row["step"], row["service"], row["error"], row["count"], row["example"]) for row in rows],
                         [("charge", "payment", "http_422/no_card", 5, f"{mark}-0"),
                          ("ship", "carrier", "timeout", 1, f"{mark}-5"),
                          (None, None, "order_expired", 1, f"{mark}-6")])
        insert_failure(f"{mark}-old", None, None, None, None)
        insert_failure(f"{mark}-7", mark, error="http_422")
        insert_failure(f"{mark}-8", mark, error="http_4225/no", step="other")
        for words, count in ((["--since", "150m"], 4), (["--until", "150m"], 2), (["--since", "2h30m"], None),
                             (["--until", "2000-01-01"], 0), (["--since", "2000-01-01T00:00:00Z", "--error", "no_card"], 5),
                             (["--error", "http_422"], 6), (["--error", "http_422/no_card"], 5), (["--error", "http_422/no"], 0),
                             (["--error", "http_4"], 0), (["--error", "card"], 0), (["--error", "%_card"], 0)):
            done = run("order", "list", "--group-by", "error", "--workflow", mark, "--step", "charge", *words, "-o", "json")
            if count is None:
                self.assertIn("expected how long ago", one_line(done))
                continue
            rows = json.loads(done.stdout)
            self.assertEqual(sum(row["count"] for row in rows), count, words)
        rows = json.loads(run("order", "list", "--group-by", "error", "--error", "not known", "-o", "json", code=DONE).stdout)
        self.assertEqual([(row["workflow"], row["step"], row["service"], row["error"]) for row in rows], [("not known",) * 4])
        self.assertIn("http_422/no_card", run("order", "list", "--group-by", "error", code=DONE).stdout)

    def test_pages_follow_each_other_and_name_the_next(self):
        mark = "w" + uuid.uuid4().hex[:8]
        for n in range(5):
            insert_failure(f"{mark}-{n}", mark, age=f"{n} hours")
        # Two with the same time; a page ends between them.
        World.sql("UPDATE operator_alert SET opened_at = (SELECT opened_at FROM operator_alert WHERE subject = %s) WHERE subject = %s",
                  (f"{mark}-1", f"{mark}-2"))
        seen, after = [], []
        for size in (2, 2, 1):
            done = run("order", "list", "--workflow", mark, "--step", "charge", "--limit", "2", *after, "-o", "json", code=DONE)
            rows = json.loads(done.stdout)
            self.assertEqual(len(rows), size)
            seen += [row["order_id"] for row in rows]
            if size == 2:
                after = ["--after", str(rows[-1]["alert_id"])]
                self.assertIn(" ".join(after), one_line(done))
        self.assertEqual(seen, [f"{mark}-{n}" for n in (0, 2, 1, 3, 4)])
        ids = sorted(mark + uuid.uuid4().hex[:4] for _ in range(5))
        for order_id in ids:
            insert_order(order_id)
            for table, moment in (("order_process", "created_at"), ("orders", "received_at")):
                World.sql(f"UPDATE {table} SET workflow = %s, {moment} = '2026-01-31T12:00:00.000001Z' WHERE order_id = %s",
                          (mark, order_id))
        seen, after = [], []
        for size in (2, 2, 1):
            done = run("order", "list", "--workflow", mark, "--limit", "2", *after, code=DONE)
            page = [line.split()[0] for line in done.stdout.splitlines()[1:]]
            self.assertEqual(len(page), size)
            seen, after = seen + page, ["--after", page[-1]]
            self.assertEqual(bool(done.stderr), size == 2)
        self.assertEqual(seen, ids[::-1])
        self.assertIn("there is no such order", one_line(run("order", "list", "--after", "cli-none", code=NOT_FOUND)))
        self.assertIn("there is no such alert", run("order", "list", "--step", "x", "--after", "9" * 18, code=NOT_FOUND).stderr)

    def test_orders_near_their_deadline_come_first(self):
        """Would catch: an order about to expire that no list shows before it does."""
        ids = {name: f"due-{name}-" + uuid.uuid4().hex[:8] for name in ("far", "near", "nearer", "failed", "back")}
        for name, minutes in (("far", 60), ("near", 8), ("nearer", 4), ("failed", 5), ("back", 6)):
            insert_order(ids[name], state={"failed": "error", "back": "compensating"}.get(name, "processing"))
            World.sql("UPDATE order_process SET complete_by = clock_timestamp() + %s * interval '1 minute',"
                      " wake_at = clock_timestamp() + interval '1 minute' WHERE order_id = %s", (minutes, ids[name]))
        rows = json.loads(run("order", "list", "--due-within", "10m", "-o", "json", code=DONE).stdout)
        self.assertEqual([row["order_id"] for row in rows if row["order_id"] in ids.values()], [ids["nearer"], ids["near"]])
        done = run("order", "list", "--due-within", "10m", "--limit", "1", code=DONE)
        self.assertIn("there may be more", done.stderr)
        self.assertIn("expected a duration", one_line(run("order", "list", "--due-within", "soon", code=USAGE)))
        self.assertIn("--limit alone", one_line(run("order", "list", "--due-within", "1m", "--state", "error", code=USAGE)))
        World.sql("UPDATE order_process SET complete_by = NULL WHERE order_id = ANY (%s)", (list(ids.values()),))

    def test_an_act_has_its_outcome_and_those_of_bulk_actions(self):
        """Would catch: a refused command that looks as one that was done; an order that a bulk action changed, without an act."""
        order_id, bulk_id = "audit-" + uuid.uuid4().hex[:8], str(uuid.uuid4())
        insert_order(order_id)
        for command in ("c", "refused"):
            World.sql("INSERT INTO operator_action (by_whom, verb, subject, reason, detail) VALUES"
                      " ('otto', 'order resume', %s, 'r', json_build_object('via', 'tool', 'command', %s))", (order_id, command))
        World.sql("INSERT INTO operator_action (by_whom, verb, subject, reason, detail) VALUES ('otto', 'bulk start', %s, 'r', '{}')", (bulk_id,))
        World.sql("INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent, state, ended_at) VALUES"
                  " (%s, 'resume', '{}', 'r', 'otto', 5, 1, 10, 'done', clock_timestamp())", (bulk_id,))
        World.sql("INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result, asked_at) VALUES"
                  " (%s, 1, %s, 1, 'processed', 'done', clock_timestamp())", (bulk_id, order_id))
        rows = json.loads(run("audit", "--subject", order_id, "-o", "json", code=DONE).stdout)
        self.assertEqual([(row["verb"], row["subject"], row["outcome"]) for row in rows],
                         [("bulk start", bulk_id, None), ("order resume", order_id, "no effect"), ("order resume", order_id, "done")])
        World.sql("DELETE FROM bulk_order WHERE bulk_id = %s", (bulk_id,))
        World.sql("DELETE FROM bulk WHERE bulk_id = %s", (bulk_id,))

    def test_a_bound_that_was_reached_is_reported(self):
        mark = "w" + uuid.uuid4().hex[:8]
        insert_workflow(mark)
        insert_failure(f"{mark}-1", mark, age="30 days")
        World.sql("INSERT INTO operator_alert (code, subject, order_id, text, workflow, step, service, error_code)"
                  " SELECT 'order_error', %s || n, %s || n, '', 'many', 's', 's', 'e' FROM generate_series(1, 100000) n", (mark, mark))
        try:
            for words in (["--group-by", "error"], ["--step", "charge"]):
                done = run("order", "list", "--workflow", mark, *words, "-o", "json", code=DONE)
                self.assertEqual(json.loads(done.stdout), [])
                self.assertIn("looked at the newest 100000 failures; narrow the time", one_line(done))
                until = one_line(done).split("--until ")[1]
                done = run("order", "list", "--workflow", mark, *words, "--until", until, "-o", "json", code=DONE)
                self.assertEqual(len(json.loads(done.stdout)), 1)
                self.assertEqual(done.stderr, "")
        finally:
            World.sql("DELETE FROM operator_alert WHERE workflow = 'many'")

    def test_a_payload_is_shown_as_it_came(self):
        done = run("order", "show", self.order_id, "-o", "json", code=DONE)
        self.assertIn("14.00", done.stdout)
        self.assertIn("7.50", done.stdout)
        shown = json.loads(done.stdout)
        self.assertEqual(shown["revisions"][-1]["payload"], {"price": 14.0, "text": "é"})
        self.assertEqual(shown["events"][0]["reason"], "line one\nline two\t\"quoted\"")
        self.assertTrue(done.stdout.startswith(as_printed({"explanation": shown["explanation"], "archived_on": None})[:-2] + ", "))
        self.assertIn('{"price": 14.00,\n "text": "\\u00e9"}', done.stdout)
        self.assertIn("step charge runs at service", shown["explanation"]["what"])
        dossier = json.loads(run("order", "export", self.order_id, code=DONE).stdout)
        self.assertEqual({**shown, "exported_at": ""}, {**dossier, "exported_at": "", "explanation": shown["explanation"], "archived_on": None})
        line = run("order", "show", self.order_id, "-o", "jsonl", code=DONE).stdout
        self.assertEqual((line.count("\n"), line[-1]), (1, "\n"))
        self.assertIn('{"price": 14.00,  "text": "\\u00e9"}', line)  # a line end between values is a blank

    def test_json_steers_no_terminal_and_a_line_is_a_line(self):
        """Would catch: a service's text that turns the direction of a terminal, and a line end that only some readers know."""
        foreign = "a\u2028b\u2029c\u0085d\u202ee\u2066f\u009bg\x7fh\u00a0ü€😀"
        World.sql("UPDATE order_event SET reason = %s WHERE order_id = %s", (foreign, self.order_id))
        for form in ("json", "jsonl"):
            printed = run("order", "show", self.order_id, "-o", form, code=DONE).stdout
            self.assertEqual(json.loads(printed)["events"][0]["reason"], foreign)
            self.assertEqual([c for c in "\u2028\u2029\u0085\u202e\u2066\u009b\x7f" if c in printed], [])
            self.assertIn("a\\u2028b\\u2029c\\u0085d\\u202ee\\u2066f\\u009bg\\u007fh\u00a0ü€😀", printed)
        self.assertEqual(len(printed.splitlines()), 1)

    def test_an_export_is_whole_or_fails(self):
        World.sql("INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, owed)"
                  " SELECT %s, n, 'nudge', 'c', 'me', 0, false FROM generate_series(2, 10003) n", (self.order_id,))
        done = run("order", "export", self.order_id, code=DONE)
        self.assertIn('{"price": 14.00,\n "text": "\\u00e9"}', done.stdout)  # byte for byte
        dossier = json.loads(done.stdout)
        self.assertEqual(dossier["left_out"], {"revisions": 0, "events": 3, "alerts": 0})
        self.assertEqual([event["version"] for event in dossier["events"]], list(range(4, 10004)))
        for words in (["order", "export", self.order_id], ["order", "list", "-o", "json"], ["order", "watch", self.order_id, "-o", "jsonl"],
                      ["--help"], ["order", "--help"], ["order", "list", "--help"], ["--man"], ["--version"], ["completion", "bash"]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="ascii") as full:
                self.assertIn("could not write all of the answer", one_line(run(*words, stdout=full, code=ERROR)))

    def test_watching_ends_with_its_reader(self):
        """Would catch: a tool that goes on reading an order for a reader that is gone, or that complains of it."""
        tool = subprocess.Popen([TOOL, "order", "watch", self.order_id, "-o", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=environment())
        try:
            self.assertEqual(json.loads(tool.stdout.readline())["version"], 1)
            tool.stdout.close()
            World.sql("INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, owed)"
                      " VALUES (%s, 2, 'nudge', 'c', 'me', 0, false)", (self.order_id,))
            self.assertEqual((tool.wait(timeout=20), tool.stderr.read()), (READER_GONE, ""))
        finally:
            if tool.poll() is None:
                tool.kill()
                tool.wait()
            tool.stderr.close()


class Json(Case):
    """-o json prints JSON and nothing else, for every verb; and the table of the same verb prints something."""

    def test_reading(self):
        order_id = "cli-" + uuid.uuid4().hex[:8]
        insert_order(order_id, "error", "failed")
        World.sql("INSERT INTO operator_alert (code, subject, text) VALUES ('order_error', %s, E'tab\\t\"q\"\\nx')", (order_id,))
        alert_id = World.sql("SELECT max(alert_id) FROM operator_alert")[0][0]
        good = SOURCE / "deploy/sample/workflows/fulfilment.json"
        for words in (["order", "list"], ["order", "list", "--state", "processed"], ["order", "show", order_id],
                      ["order", "explain", order_id], ["order", "watch", order_id], ["order", "export", order_id],
                      ["workflow", "check", good],
                      ["workflow", "load", good], ["workflow", "list"], ["alert", "list"], ["alert", "list", "--all"],
                      ["alert", "ack", alert_id, *REASON], ["db", "status"],
                      ["db", "migrate", "--migrations", SOURCE / "deploy/postgres"],
                      ["broker", "apply", "--service", SERVICE], ["broker", "check", "--service", SERVICE]):
            with self.subTest(words=words):
                done = run(*words, "-o", "json", code=DONE)
                value = json.loads(done.stdout)
                if words[:2] not in (["order", "show"], ["order", "watch"], ["order", "export"]):  # with JSON of others
                    self.assertEqual(done.stdout, as_listed(value) if isinstance(value, list) else as_printed(value))
                if words[:2] != ["alert", "ack"]:
                    self.assertNotEqual(run(*words, code=DONE).stdout, "")
        one_line(run("alert", "ack", alert_id, *REASON, code=NOT_FOUND))

    def test_doctor(self):
        done = run("doctor", "--service", SERVICE, "-o", "json")
        findings = json_list(done)
        self.assertEqual(done.stdout, as_listed(findings))
        self.assertEqual({finding["check"] for finding in findings} & {"database", "schema", "broker"},
                         {"database", "schema", "broker"})

    def test_a_changed_definition_is_a_conflict(self):
        text = (SOURCE / "deploy/sample/workflows/fulfilment.json").read_text(encoding="utf-8")
        run("workflow", "load", self.file(text, "a.json"), code=DONE)
        document = json.loads(text)
        document["complete_within"] = "59m"
        done = run("workflow", "load", self.file(json.dumps(document), "b.json"), code=CONFLICT)
        self.assertIn("makegood: ", done.stderr.splitlines()[-1])

    def test_dead_letters(self):
        mark = "cli-" + uuid.uuid4().hex
        with World.channel() as channel:
            for body in (b"not \xff JSON \"at all\"\x01", b"two"):
                channel.basic_publish("", "orders.rejected", body, pika.BasicProperties(
                    message_id=mark, type="submission", headers={"x-makegood-reason": 'it is "bad"'}))
        queue = ("--queue", "orders.rejected")
        letters = []
        deadline = time.monotonic() + 10
        while len(letters) < 2 and time.monotonic() < deadline:
            done = run("dead", "list", *queue, "--limit", "10000", "-o", "json", code=DONE)
            values = json_list(done)
            letters = [letter for letter in values if letter["message_id"] == mark]
        self.assertEqual([letter["reason"] for letter in letters], ['it is "bad"'] * 2)
        done = run("dead", "show", letters[0]["number"], *queue, "-o", "json", code=DONE)
        shown = json.loads(done.stdout)
        self.assertEqual(done.stdout.replace("\\ufffd", "\ufffd"), as_printed(shown))
        self.assertEqual(list(shown), ["number", "queue", "exchange", "type", "message_id", "correlation_id", "reason", "died_at",
                                       "body"])
        self.assertEqual(shown["body"], "not \ufffd JSON \"at all\"\x01")
        self.assertNotIn("\x01", run("dead", "show", letters[0]["number"], *queue, code=DONE).stdout)
        one_line(run("dead", "drop", letters[1]["number"], *queue, *REASON, code=UNAVAILABLE, env={"MAKEGOOD_PG_DSN": NOBODY_PG}))
        # From the last one down, so that the indexes of earlier ones stay valid.
        for letter in reversed(letters):
            done = run("dead", "drop", letter["number"], *queue, "--by", "ann", "--reason", 'it is "bad"', "-o", "json", code=DONE)
            self.assertEqual(done.stdout, as_printed({"count": 1, "done": "dropped"}))
        self.assertEqual(self.noted(mark), [("dead drop", "ann", 'it is "bad"', "orders.rejected")] * 2)

    def noted(self, message_id):
        """What operator_action holds about dead letters with this message id; each has a mark of its own."""
        rows = World.sql("SELECT verb, by_whom, reason, detail->>'queue', subject FROM operator_action"
                         " WHERE detail->>'via' = 'tool' AND detail->>'message_id' = %s ORDER BY action_id", (message_id,))
        self.assertEqual(len({row[4] for row in rows}), len(rows))
        return [row[:4] for row in rows]

    def test_a_change_of_a_dead_letter_that_cannot_be_recorded_is_not_made(self):
        """Would catch: messages that are gone, or that come again, without a line that names the operator and the reason."""
        mark, queue = "cli-" + uuid.uuid4().hex, ("--queue", "orders.rejected")

        def letters():
            values = json_list(run("dead", "list", *queue, "--limit", "10000", "-o", "json", code=DONE))
            return [letter["number"] for letter in values if letter["message_id"] == mark]
        with World.channel() as channel:
            for body in (b"one", b"two"):
                channel.basic_publish("", "orders.rejected", body, pika.BasicProperties(message_id=mark, type="submission"))
        deadline = time.monotonic() + 10
        while len(letters()) < 2 and time.monotonic() < deadline:
            pass
        World.sql("ALTER TABLE operator_action ADD CONSTRAINT is_barred CHECK (reason <> 'barred') NOT VALID")
        try:
            for words in (("drop", "--all"), ("drop", letters()[1]), ("requeue", "--all")):
                said = one_line(run("dead", *words, *queue, "--reason", "barred", code=USAGE))
                self.assertIn("could not record the change of message", said)
        finally:
            World.sql("ALTER TABLE operator_action DROP CONSTRAINT is_barred")
        self.assertEqual(len(letters()), 2)
        self.assertEqual(self.noted(mark), [])
        while numbers := letters():
            run("dead", "requeue", numbers[-1], *queue, *REASON, code=DONE)
        self.assertEqual(self.noted(mark), [("dead requeue", "tester", "a test", "orders.rejected")] * 2)
        with World.channel() as channel:
            channel.queue_purge("orders.intake")

    def test_a_dead_letter_that_can_never_go_keeps_no_other_and_leaves_no_record(self):
        """Would catch: a record of a change at each try, where none is made; letters that stay for a neighbour's sake."""
        mark = "cli-" + uuid.uuid4().hex
        with World.channel() as channel:
            for queue, body in (("dead.letters", b"no origin"), ("orders.rejected", b" " * (2 ** 20 + 1)), ("orders.rejected", b"small")):
                channel.basic_publish("", queue, body, pika.BasicProperties(message_id=mark))

        def left(queue):
            values = json_list(run("dead", "list", "--queue", queue, "--limit", "10000", "-o", "json", code=DONE))
            return [letter["number"] for letter in values if letter["message_id"] == mark]
        deadline = time.monotonic() + 10
        while len(left("dead.letters")) + len(left("orders.rejected")) < 3 and time.monotonic() < deadline:
            pass
        number, count = left("dead.letters")[0], len(json_list(run("dead", "list", "--queue", "orders.rejected", "-o", "json")))
        for _ in range(2):
            self.assertIn("no header names its origin", one_line(run("dead", "requeue", number, *REASON, code=ERROR)))
        self.assertEqual(self.noted(mark), [])
        said = run("dead", "requeue", "--all", "--queue", "orders.rejected", *REASON, code=ERROR).stderr
        self.assertIn("1 message remains in orders.rejected", said)
        self.assertIn("1 MiB", said)
        self.assertIn(f"{count - 1} requeued", said)
        self.assertEqual(len(left("orders.rejected")), 1)
        self.assertEqual(self.noted(mark), [("dead requeue", "tester", "a test", "orders.rejected")])
        run("dead", "drop", number, *REASON, code=DONE)
        run("dead", "drop", "--all", "--queue", "orders.rejected", *REASON, code=DONE)
        with World.channel() as channel:
            channel.queue_purge("orders.intake")


class Databases(Case):
    """What a database must be, and what a folder of migrations need not be."""

    MIGRATE = ["db", "migrate", "--migrations", SOURCE / "deploy/postgres"]
    BYTEWISE = next((SOURCE / "deploy/postgres").glob("*_bytewise_keys.sql")).name
    ICU = "LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"

    @contextlib.contextmanager
    def database(self, options="LOCALE 'C'", encoding="UTF8"):
        """The environment that names a new database."""
        name = f"{World.name}_{uuid.uuid4().hex[:6]}"
        World.sql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' {options}")
        try:
            yield {"MAKEGOOD_PG_DSN": psycopg2.extensions.make_dsn(World.dsn, dbname=name)}
        finally:
            World.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def set(self, env, setting):
        name = psycopg2.extensions.parse_dsn(env["MAKEGOOD_PG_DSN"])["dbname"]
        World.sql(f"ALTER DATABASE {name} SET {setting}")

    def refused_everywhere(self, env, words):
        for verb in (self.MIGRATE, ["order", "list"]):
            self.assertIn(words, one_line(run(*verb, code=ERROR, env=env)))
        self.assertIn(words, run("doctor", "--timeout", "1s", code=ERROR, env=env).stdout)

    def test_another_encoding_is_refused_in_one_line(self):
        for encoding in ("LATIN1", "SQL_ASCII", "EUC_JP"):
            with self.subTest(encoding=encoding), self.database(encoding=encoding) as env:
                self.refused_everywhere(env, f"has the encoding {encoding}, and orders need UTF8: create one with ENCODING")

    def test_tables_that_the_search_path_does_not_show_are_named(self):
        with self.database() as env:
            self.set(env, "search_path = nowhere")
            self.assertIn("(nowhere) shows no schema", one_line(run(*self.MIGRATE, code=ERROR, env=env)))
            self.set(env, "search_path = public")
            run(*self.MIGRATE, code=DONE, env=env)
            for path in ("''", "pg_catalog"):
                self.set(env, f"search_path = {path}")
                self.refused_everywhere(env, "the tables are in schema public, and the search_path of this user")

    def test_a_read_only_database_is_called_that(self):
        with self.database() as env:
            self.set(env, "default_transaction_read_only = on")
            done = run("order", "list", "--timeout", "1s", code=UNAVAILABLE, env=env)
            self.assertIn("default_transaction_read_only is on for this user, database or server", one_line(done))

    def test_a_changed_collation_is_named_by_doctor_and_written_raw_by_nothing(self):
        with self.database(self.ICU) as env:
            World.sql("UPDATE pg_database SET datcollversion = '1.1' WHERE datname = %s",
                      [psycopg2.extensions.parse_dsn(env["MAKEGOOD_PG_DSN"])["dbname"]])
            self.assertEqual(run(*self.MIGRATE, code=DONE, env=env).stderr, "")
            done = run("doctor", "--timeout", "1s", code=ERROR, env=env)
            self.assertEqual(done.stderr, "")
            self.assertIn("the data have version 1.1", done.stdout)

    def collated_keys(self, env):
        with contextlib.closing(psycopg2.connect(env["MAKEGOOD_PG_DSN"])) as session:
            cursor = session.cursor()
            cursor.execute("SELECT count(*) FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid, unnest(x.indcollation) k (oid)"
                           " WHERE c.relnamespace = 'public'::regnamespace AND k.oid NOT IN (0, '\"C\"'::regcollation)")
            return cursor.fetchone()[0]

    def folder_before(self, first):
        """The migrations before this one, in a folder of their own."""
        folder = pathlib.Path(self.folder.name) / f"before-{first}"
        folder.mkdir()
        for path in sorted((SOURCE / "deploy/postgres").glob("0*.sql")):
            if path.name < first:
                (folder / path.name).write_bytes(path.read_bytes())
        return folder

    def test_keys_of_large_tables_become_bytewise_beside_programs(self):
        """Would catch: a table that stands while its indexes are built; an index that is left out, or left behind."""
        with self.database(self.ICU) as env, contextlib.closing(psycopg2.connect(
                env["MAKEGOOD_PG_DSN"], application_name="psql")) as session:
            run("db", "migrate", "--migrations", self.folder_before(self.BYTEWISE), code=DONE, env=env)
            self.assertGreater(self.collated_keys(env), 20)
            session.autocommit = True
            cursor = session.cursor()
            fill = (SOURCE / "tests/bench/fill.sql").read_text(encoding="utf-8")
            for name, value in (("finished", "30000"), ("open", "10"), ("workflow", "'w'"), ("repeats", "8")):
                fill = re.sub(rf"(?<!:):{name}\b", value, fill)
            cursor.execute(fill)
            cursor.execute("CREATE TABLE order_archive_20260101 (LIKE order_archive); ALTER TABLE order_archive"
                           " ATTACH PARTITION order_archive_20260101 FOR VALUES FROM ('2026-01-01') TO ('2026-01-02');"
                           "INSERT INTO order_archive SELECT '2026-01-01', 'old-' || n, 'w', 'processed', now(), '{}'"
                           " FROM generate_series(1, 200000) n")
            shape = "SELECT tablename, indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"
            cursor.execute(shape)
            before = cursor.fetchall()
            slowest, is_over = 0.0, threading.Event()
            migration = threading.Thread(target=lambda: (run(*self.MIGRATE, code=DONE, env=env, timeout_s=120), is_over.set()))
            migration.start()
            while migration.is_alive():
                began = time.monotonic()
                cursor.execute("UPDATE order_process SET updated_at = now() WHERE wake_at IS NOT NULL")
                cursor.execute("UPDATE order_step SET due_at = now() WHERE order_id = (SELECT max(order_id) FROM order_step)")
                slowest = max(slowest, time.monotonic() - began)
                cursor.execute("SELECT pg_sleep(0.01)")
            migration.join()
            self.assertTrue(is_over.is_set())
            self.assertLess(slowest, 2.0)  # the lock_timeout of programs
            self.assertEqual(self.collated_keys(env), 0)
            cursor.execute(shape)
            after = cursor.fetchall()  # later migrations add others
            self.assertEqual([row for row in after if row in before], before)
            self.assertFalse([name for _, name in after if name.endswith("_bytewise")])
            cursor.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid; SELECT conname FROM pg_constraint"
                           " WHERE conname = 'makegood_day'")
            self.assertEqual(cursor.fetchall(), [])
            for table, rows in (("order_process", 30010), ("order_archive", 200000), ("pattern_process", 30010)):
                cursor.execute(f"SELECT count(*) FROM {table}")
                self.assertEqual(cursor.fetchone()[0], rows)
            cursor.execute("EXPLAIN SELECT * FROM order_archive WHERE order_id = 'old-7'")
            self.assertIn("Index Scan", str(cursor.fetchall()))

    def test_labels_and_orders_are_found_by_their_clients_after_an_upgrade(self):
        """Would catch: a label that an earlier version stored, before or after the migration, and no client's list has."""
        first = next((SOURCE / "deploy/postgres").glob("*_label_client.sql")).name
        with self.database() as env, contextlib.closing(psycopg2.connect(
                env["MAKEGOOD_PG_DSN"], application_name="psql")) as session:
            run("db", "migrate", "--migrations", self.folder_before(first), code=DONE, env=env)
            session.autocommit = True
            cursor = session.cursor()

            def fill(begin, end):
                cursor.execute("INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, client)"
                               " SELECT 'o-' || n, 1, 'w', 1, '{}', sha256('x'), false, CASE WHEN n %% 2 = 0 THEN 'shop' END"
                               "  FROM generate_series(%s, %s) n", (begin, end))
                cursor.execute("INSERT INTO order_label (order_id, name, value, created_at) SELECT 'o-' || n, l, '1', now()"
                               "  FROM generate_series(%s, %s) n, unnest('{a,b}'::text[]) l", (begin, end))
            fill(1, 50000)
            run(*self.MIGRATE, code=DONE, env=env)
            fill(50001, 50100)
            cursor.execute("SELECT count(*), count(l.client) FROM order_label l JOIN orders o USING (order_id)"
                           " WHERE l.client IS NOT DISTINCT FROM o.client")
            self.assertEqual(cursor.fetchone(), (100200, 50100))
            cursor.execute("SELECT count(*) FROM pg_index WHERE indisvalid"
                           " AND indexrelid IN ('orders_client'::regclass, 'order_label_client'::regclass)")
            self.assertEqual(cursor.fetchone()[0], 2)

    def test_of_two_migrations_at_once_each_ends_well(self):
        """Would catch: one that ends the session of the other, which waits for it."""
        with self.database() as env:
            run("db", "migrate", "--migrations", self.folder_before(self.BYTEWISE), code=DONE, env=env)
            with concurrent.futures.ThreadPoolExecutor() as pool:
                for done in [pool.submit(run, *self.MIGRATE, code=DONE, env=env) for _ in range(4)]:
                    self.assertEqual(done.result().stderr, "")

    def test_sessions_that_a_migration_may_not_end_are_named(self):
        owner, other = (f"{role}_{World.name}" for role in ("owner", "other"))
        World.sql(f"CREATE ROLE {owner} LOGIN NOINHERIT PASSWORD 'x'; CREATE ROLE {other} LOGIN PASSWORD 'x'")
        self.addCleanup(World.sql, f"DROP ROLE {owner}; DROP ROLE {other}")
        with self.database() as env:
            dsn = env["MAKEGOOD_PG_DSN"]
            with contextlib.closing(psycopg2.connect(dsn)) as admin:
                admin.autocommit = True
                admin.cursor().execute(f"ALTER SCHEMA public OWNER TO {owner}")
            env = {"MAKEGOOD_PG_DSN": psycopg2.extensions.make_dsn(dsn, user=owner, password="x")}
            run("db", "migrate", "--migrations", self.folder_before(self.BYTEWISE), code=DONE, env=env)
            with contextlib.closing(psycopg2.connect(env["MAKEGOOD_PG_DSN"], application_name="psql")) as session:
                session.autocommit = True
                session.cursor().execute(f"GRANT USAGE ON SCHEMA public TO {other}; GRANT SELECT ON pattern_process, order_process TO {other}")
            with contextlib.closing(psycopg2.connect(dsn, user=other, password="x")) as session:
                said = one_line(run(*self.MIGRATE, code=UNAVAILABLE, env=env))
                self.assertIn(f"the sessions of user {other} must end here, and user {owner} may not end them", said)
                session.cursor().execute("SELECT count(*) FROM pattern_process")
                session.rollback()
                World.sql(f"GRANT {other} TO {owner}")
                run(*self.MIGRATE, code=DONE, env=env)
                with self.assertRaises(psycopg2.OperationalError):
                    session.cursor().execute("SELECT count(*) FROM pattern_process")
            with contextlib.closing(psycopg2.connect(dsn, user=other, password="x")) as session:
                session.cursor().execute("SELECT count(*) FROM pattern_process")  # the right is kept

    def test_line_ends_of_migrations_and_workflows_do_not_matter(self):
        folder = pathlib.Path(self.folder.name) / "dos"
        folder.mkdir()
        for path in (SOURCE / "deploy/postgres").iterdir():
            (folder / path.name).write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        dos = ["db", "migrate", "--migrations", folder]
        for first, second in ((dos, self.MIGRATE), (self.MIGRATE, dos)):
            with self.database() as env:
                run(*first, code=DONE, env=env)
                self.assertIn("the schema is up to date", run(*second, code=DONE, env=env).stdout)
        text = (SOURCE / "deploy/sample/workflows/trip.json").read_bytes()
        unix, dos = self.file(text, "unix.json"), self.file(text.replace(b"\n", b"\r\n"), "dos.json")
        for first, second in ((dos, unix), (unix, dos)):
            with self.database() as env:
                run(*self.MIGRATE, code=DONE, env=env)
                run("workflow", "load", first, code=DONE, env=env)
                run("workflow", "load", second, code=DONE, env=env)


def main(module=__name__):
    if not SERVERS:
        print("cli.py: MAKEGOOD_TEST_SERVERS must describe a RabbitMQ and a PostgreSQL, as deploy/local/with_servers.py does",
              file=sys.stderr)
        return 1
    World.make()
    try:
        run("db", "migrate", "--migrations", SOURCE / "deploy/postgres", code=DONE)
        run("broker", "apply", "--service", SERVICE, code=DONE)
        outcome = unittest.main(module=module, argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=1)
        return 0 if outcome.result.wasSuccessful() else 1
    finally:
        World.drop()


if __name__ == "__main__":
    sys.exit(main())
