#!/usr/bin/python3
"""screen.py MAKEGOOD SOURCE: the tool for people: rows as wide as the terminal, colours, times, --watch; several words in one command; and
the names that a shell completes."""

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli import (DONE, NOBODY_PG, NOT_FOUND, REASON, SOURCE, TOOL, USAGE, Case, FakeScheduler, World,  # noqa: E402
                 answer_command, environment, insert_failure, insert_order, main, run)

ESCAPES = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")
COMPLETE_MAX_S = 2  # 0.3 s of the tool's own, on a busy machine with sanitizers


def on_terminal(*words, columns=80, env=None):
    """Everything that the tool writes to a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([TOOL, *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                          env=environment({"TERM": "xterm-256color", **(env or {})})) as tool:
        os.close(slave)
        written = b""
        try:
            while block := os.read(master, 65536):
                written += block
        except OSError:  # the tool has ended
            pass
        os.close(master)
        error = tool.stderr.read()
        assert tool.wait(timeout=30) == DONE, (words, written, error)
    return written.decode().replace("\r\n", "\n")


def completed(wanted, *words):
    """The candidates. The tool gives up after 0.3 s, which a busy machine with sanitizers may need twice."""
    found, deadline = [], time.monotonic() + 30
    while wanted not in found and time.monotonic() < deadline:
        found = [line.split("\t")[0] for line in run("__complete", *words, code=DONE).stdout.splitlines()]
    return found


class Screen(Case):
    def setUp(self):
        super().setUp()
        self.order_id = str(uuid.uuid4())
        insert_order(self.order_id, state="error")
        insert_failure(self.order_id, error="http_422/" + "no_card_" * 12)

    def alerts(self, error=""):
        return [str(row[0]) for row in World.sql("SELECT alert_id FROM operator_alert WHERE acked_by IS NULL AND closed_at IS NULL"
                                                 f" AND position('{error}' IN coalesce(error_code, '')) > 0 ORDER BY 1")]

    def test_a_row_is_one_line_with_its_whole_id(self):
        for words in (["order", "list"], ["alert", "list"], ["order", "list", "--step", "charge"], ["service", "list"]):
            for columns in (60, 80, 120):
                with self.subTest(words=words, columns=columns):
                    lines = ESCAPES.sub("", on_terminal(*words, columns=columns)).splitlines()
                    self.assertLessEqual(max(map(len, lines)), columns)
                    if words[0] != "service":
                        self.assertTrue(any(self.order_id in line for line in lines), lines)
        self.assertIn("no_card_" * 12, run("order", "list", "--step", "charge", code=DONE).stdout)

    def test_colours_are_for_terminals_that_want_them(self):
        self.assertIn("\x1b[1;31merror\x1b[0m", on_terminal("order", "list"))
        self.assertIn("\x1b[", on_terminal("order", "show", self.order_id))
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
            self.assertNotIn("\x1b", on_terminal("order", "list", env=env))
        self.assertNotIn("\x1b", run("order", "list", code=DONE).stdout)

    def test_times_are_relative_and_utc_by_an_option(self):
        told = run("order", "list", code=DONE).stdout
        self.assertRegex(told, rf"(?m)^{self.order_id} .* (now|\d+ s ago)")
        self.assertRegex(run("order", "list", "--utc", code=DONE).stdout, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
        self.assertRegex(json.loads(run("order", "list", "-o", "json", code=DONE).stdout)[0]["created_at"], r"^\d{4}-.*Z$")
        self.assertRegex(run("order", "show", self.order_id, code=DONE).stdout, r"accepted (now|\d+ s ago)\n")

    def test_authors_only_by_an_option(self):
        self.assertNotIn('by me "and" I', run("order", "show", self.order_id, code=DONE).stdout)
        self.assertIn('by me "and" I', run("order", "show", self.order_id, "-v", code=DONE).stdout)

    def test_watching_ends_with_the_order(self):
        World.sql("UPDATE order_process SET process_state = 'processed', wake_at = NULL WHERE order_id = %s", (self.order_id,))
        shown = run("order", "show", self.order_id, "--watch", code=DONE)
        self.assertEqual(len(re.findall(rf"(?m)^order {self.order_id}  w 1  ", shown.stdout)), 1)
        self.assertTrue(on_terminal("order", "show", self.order_id, "-w").startswith("\x1b[H\x1b[2J"))
        self.assertIn("there is no order", run("order", "show", "cli-none", "--watch", code=NOT_FOUND).stderr)
        self.assertIn("--watch", run("order", "list", "--watch", "-o", "json", code=USAGE).stderr)

    def test_a_list_is_drawn_again(self):
        with subprocess.Popen([TOOL, "order", "list", "-w"], stdout=subprocess.PIPE, env=environment(), text=True) as tool:
            self.assertIn("order_id", tool.stdout.readline())
            insert_order(later := "cli-" + uuid.uuid4().hex)
            line, deadline = "", time.monotonic() + 20
            while later not in line and time.monotonic() < deadline:
                line = tool.stdout.readline()
            tool.terminate()
        self.assertIn(later, line)

    def test_several_words_have_a_line_each(self):
        for cause in range(4):  # an acknowledgement counts for all alerts of its cause
            insert_failure(str(uuid.uuid4()), error=f"http_422/several_{cause}")
        first, second = self.alerts("several")[:2]
        done = run("alert", "ack", first, "999999999", second, *REASON, code=NOT_FOUND)
        self.assertEqual(done.stdout, f"alert {first} is acknowledged\nalert {second} is acknowledged\n")
        self.assertIn("999999999", done.stderr)
        left = self.alerts("several")
        run("alert", "ack", left[0], "x", *REASON, code=USAGE)
        self.assertEqual(self.alerts("several"), left)  # all words are checked before the first change
        ids = self.alerts("several")
        done = subprocess.run([TOOL, "alert", "ack", *ids, *REASON, "-o", "json"], env=environment(), capture_output=True, text=True, check=False)
        self.assertEqual([row["alert_id"] for row in json.loads(done.stdout)], [int(one) for one in ids])
        self.assertIn("--if-version", run("order", "cancel", "a", "b", "--if-version", "1", *REASON, code=USAGE).stderr)

    def test_several_orders_get_a_command_each(self):
        insert_order(other := str(uuid.uuid4()))
        with FakeScheduler("scheduler.commands", answer_command("done")) as scheduler:
            done = run("order", "cancel", self.order_id, other, *REASON, code=DONE)
        self.assertEqual(list(dict.fromkeys(command["order_id"] for _properties, command in scheduler.seen)), [self.order_id, other])
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()], [self.order_id, other])
        run("order", "cancel", "a", "no id", *REASON, code=USAGE)

    def test_names_are_completed_in_time(self):
        run("workflow", "load", SOURCE / "deploy/sample/workflows/fulfilment.json", code=DONE)
        for words, wanted in ((["order", "show", ""], self.order_id), (["order", "show", self.order_id[:4]], self.order_id),
                              (["order", "resume", "x", ""], self.order_id), (["workflow", "show", ""], "fulfilment"),
                              (["order", "list", "--workflow", ""], "fulfilment"), (["order", "list", "--workflow=f"], "--workflow=fulfilment"),
                              (["service", "pause", ""], "payment"), (["alert", "ack", ""], self.alerts()[-1])):
            with self.subTest(words=words):
                self.assertIn(wanted, completed(wanted, *words))
        began = time.monotonic()
        done = run("__complete", "order", "show", "", env={"MAKEGOOD_PG_DSN": "postgresql://x@192.0.2.1/x"}, code=DONE)  # answers nothing
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        self.assertLess(time.monotonic() - began, COMPLETE_MAX_S)
        self.assertEqual(run("__complete", "order", "show", "", env={"MAKEGOOD_PG_DSN": NOBODY_PG}, code=DONE).stdout, "")
        for words in (["order", "show", "--context", "none", ""], ["order", "show", "--context=none", ""]):  # other servers' names mislead
            self.assertEqual(run("__complete", *words, code=DONE).stdout, "", words)

    def test_an_unknown_name_gets_the_nearest(self):
        run("workflow", "load", SOURCE / "deploy/sample/workflows/fulfilment.json", code=DONE)
        for words in (["order", "list", "--workflow", "fulfillment"], ["order", "list", "--workflow", "fulfillment", "--group-by", "error"],
                      ["workflow", "show", "fulfillment"], ["order", "list", "--waiting", "*", "--workflow", "fulfillment"]):
            self.assertIn('no workflow "fulfillment" has been loaded; did you mean "fulfilment"?', run(*words, code=NOT_FOUND).stderr)
        self.assertIn(f"did you mean {self.order_id}?", run("order", "resume", self.order_id[:20], *REASON, code=NOT_FOUND).stderr)


if __name__ == "__main__":
    sys.exit(main(__name__))
