#!/usr/bin/python3
"""workflow_simulate.py MAKEGOOD SOURCE: `makegood workflow simulate` on the sample workflows, by options and by profiles.

The counts themselves are tested in rehearse/test_simulation.c and test_exploration.c. Here: the files and options that the tool
reads or refuses, its words, and the schema of its answers. No server is needed, and none is reached.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from jsonschema import Draft202012Validator

TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
FULFILMENT, TRIP, RETURNS, APPROVAL = (SOURCE / f"deploy/sample/workflows/{name}.json" for name in ("fulfilment", "trip", "returns", "approval"))
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
DONE, ERROR, USAGE = range(3)
SCHEMA = Draft202012Validator(json.loads((SOURCE / "proto/cli/workflow-simulate.schema.json").read_text(encoding="utf-8")))


def run(*words):
    return subprocess.run([TOOL, "workflow", "simulate", *map(str, words)], capture_output=True, text=True, timeout=120, check=False,
                          env=ENVIRONMENT)


class Simulate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def answer(self, *words, code=DONE):
        done = run("-o", "json", *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        found = json.loads(done.stdout)
        SCHEMA.validate(found)
        return found

    def refused(self, *words, text):
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""), words)
        self.assertIn(text, done.stderr)
        self.assertNotIn("\n", done.stderr.rstrip("\n"))

    def profile(self, **members):
        path = pathlib.Path(self.folder.name, "profile.json")
        path.write_text(json.dumps({"workflow": "fulfilment", **members}), encoding="utf-8")
        return path

    def test_ten_thousand_orders_by_default(self):
        found = self.answer(FULFILMENT)
        self.assertEqual((found["orders"], found["rate"], found["seed"], found["open"]), (10000, 50, 1, 0))
        self.assertEqual([(end["end"], end["orders"], end["percent"]) for end in found["ends"]], [("processed", 10000, 100)])
        self.assertEqual([service["calls_per_second"] for service in found["services"]], [50, 50, 50])
        self.assertEqual(found["reasons"], [])

    def test_the_table_has_each_end_step_service_and_reason(self):
        done = run(FULFILMENT, "--refuse", "carrier=10%", "--fail", "payment=20%", "--refuse", "reserve.undo=10%", "--orders", "2000")
        for pattern in (r"^2000 orders of fulfilment, version 2, 50 a second, seed 1; the last event after ", r"^processed +\d\d\.\d % +\d+ ",
                        r"^compensated +\d\.\d % ", r"^error +\d\.\d\d? % ", r"^charge +100\.0 % ", r"^payment +\d\d\.\d +\d+$",
                        r"^compensated +\d\.\d %  book failed: the service refused$",
                        r"^error +\d\.\d\d? %  reserve undo_failed: the service refused$"):
            self.assertRegex(done.stdout, re.compile(pattern, re.M))
        self.assertEqual((done.returncode, done.stderr), (DONE, ""))

    def test_the_same_seed_gives_the_same_bytes(self):
        words = (FULFILMENT, "--fail", "payment=30%", "--lose", "reserve=5%", "--time", "carrier=50ms,p99=4s", "--down", "carrier=10s..2m")
        first = run(*words).stdout
        self.assertEqual(first, run(*words).stdout)
        self.assertEqual(first, run(*words, "--seed", "1").stdout)
        self.assertNotEqual(first.replace("seed 1;", ""), run(*words, "--seed", "2").stdout.replace("seed 2;", ""))

    def test_a_profile_has_the_words_of_the_options(self):
        words = ["--fail", "payment=30%", "--time", "charge=1s..2s", "--down", "carrier=1m..2m", "--down", "carrier=3m..4m", "--orders", "700", "--rate",
                 "7.5", "--seed", "3", "--stop-after", "2h", "--lose", "book.do=2%", "--refuse", "inventory=1%"]
        path = self.profile(fail={"payment": "30%"}, time={"charge": "1s..2s"}, down={"carrier": ["1m..2m", "3m..4m"]}, orders=700, rate=7.5, seed=3,
                            stop_after="2h", lose={"book.do": "2%"}, refuse={"inventory": "1%"})
        self.assertEqual(self.answer(FULFILMENT, *words), self.answer(FULFILMENT, "--profile", path))
        self.assertEqual(self.answer(FULFILMENT, "--profile", path, "--orders", "10")["orders"], 10)

    def test_a_service_file_of_the_profile_counts(self):
        service = pathlib.Path(self.folder.name, "payment.json")
        service.write_text(json.dumps({"service": "payment", "url": "http://127.0.0.1", "answers": {"422": "done"}}), encoding="utf-8")
        path = self.profile(refuse={"payment": "100%"}, services=["payment.json"], orders=50)
        self.assertEqual([end["end"] for end in self.answer(FULFILMENT, "--profile", path)["ends"]], ["processed"])
        service.unlink()
        self.refused(FULFILMENT, "--profile", path, text="payment.json")

    def test_a_payload_decides_or_a_share_does(self):
        self.refused(RETURNS, text='step "inspect" has a condition, and nothing says how often it holds; give --when inspect=40%')
        shares = []
        for step in json.loads(RETURNS.read_text(encoding="utf-8"))["steps"]:
            shares += ["--when", f"{step['step']}=40%"] if "when" in step else []
        skipped = {step["step"]: step["skipped"] for step in self.answer(RETURNS, *shares)["steps"]}
        self.assertTrue(5700 < skipped["inspect"] < 6300, skipped)

    def test_mistakes_of_options_have_a_cure(self):
        for words, text in (
                (("--fail", "payment"), '"payment" names no value; write NAME=VALUE'), (("--fail", "=3%"), "names no value"),
                (("--fail", "payment=30"), '"30" is no share; write "30%"'), (("--fail", "payment=100.00001%"), "is no share"),
                (("--fail", "payment=.5%"), "is no share"), (("--fail", "payment=5.%"), "is no share"),
                (("--fail", "paymnt=3%"), 'did you mean "payment"?'), (("--fail", "payment.ask=3%"), "write do, undo or verify"),
                (("--refuse", "charge.verify=3%"), "a verify only asks"), (("--time", "charge=soon"), '"soon" is no time'),
                (("--time", "charge=3s..1s"), "is no time"), (("--time", "charge=366d"), "is no time"),
                (("--down", "charge=1s..2s"), "a service is what can be down: name payment"), (("--down", "payment.do=1s..2s"), "leave out the kind"),
                (("--down", "payment=2s..2s"), "is no time of an outage"), (("--finish", "charge=3s"), 'has no "finish_within"'),
                (("--when", "charge=3%"), 'step "charge" has no "when"'), (("--when", "payment=3%"), "payment is a service, and a step is what has a condition"),
                (("--rate", "0"), "is no number of orders a second"), (("--rate", "1.2345"), "is no number"), (("--rate", "1000000"), "is no number"),
                (("--orders", "0"), "orders"), (("--seed", "0"), "seed"), (("--payload", "{"), "--payload"),
                (("--payload", "[1]"), "an object is expected, as of an order"), (("--results", "3"), "a number; an object with a member for each step"),
                (("--payload", '{"total": "x"}'), "an order with this payload is rejected"), (("--results", '{"ship": 1}'), 'the results name "ship"'),
                (("--never", "end == 'error'"), "--never is proved by --explore; give both"),
                (("--explore", "--never", "end == 'eror'"), 'did you mean "error"?'), (("--explore", "--never", "stands.ship"), "stands.ship")):
            with self.subTest(words):
                if words[0] == "--payload" and "total" in words[1]:
                    self.refused(self.typed(), *words, text=text)
                else:
                    self.refused(FULFILMENT, *words, text=text)

    def typed(self):
        path = pathlib.Path(self.folder.name, "typed.json")
        path.write_text(json.dumps({**json.loads(FULFILMENT.read_text(encoding="utf-8")), "input": {
            "total": "number", "order_number": "any", "ship_to": "any", "items": "any", "currency": "any", "carrier": "any"}}), encoding="utf-8")
        return path

    def test_a_name_of_a_step_and_of_another_service_is_refused(self):
        step = {"undo": "none", "do": {"method": "POST", "path": "/"}}
        path = pathlib.Path(self.folder.name, "both.json")
        path.write_text(json.dumps({"workflow": "both", "version": 1, "steps": [
            {"step": "pay", "service": "bank", **step}, {"step": "bank", "service": "pay", **step}]}), encoding="utf-8")
        self.refused(path, "--refuse", "pay=10%", text='"pay" is a step and a service of other steps; write step:pay or service:pay')
        failed = {}
        for name in ("step:pay", "service:pay"):
            failed[name] = [step["failed"] > 0 for step in self.answer(path, "--refuse", f"{name}=10%")["steps"]]
        self.assertEqual(failed, {"step:pay": [True, False], "service:pay": [False, True]})

    def test_each_example_of_a_profile_is_read_or_refused_at_its_place(self):
        for path in sorted((SOURCE / "proto/examples/profile").glob("*/*.json")):
            with self.subTest(path.name):
                done = run(APPROVAL if '"approval"' in path.read_text(encoding="utf-8") else FULFILMENT, "--profile", path)
                self.assertEqual(done.returncode, DONE if path.parent.name == "valid" else USAGE, done.stderr)
                if path.parent.name != "valid":
                    self.assertRegex(done.stderr, rf"^{re.escape(str(path))}:\d+:\d+: ")

    def test_each_sample_profile_has_its_schema_and_its_claims_hold(self):
        schema = Draft202012Validator(json.loads((SOURCE / "proto/profile.schema.json").read_text(encoding="utf-8")))
        paths = sorted((SOURCE / "deploy/sample/profiles").glob("*.json"))
        self.assertTrue(paths)
        for path in paths:
            schema.validate(json.loads(path.read_text(encoding="utf-8")))
            definition = SOURCE / "deploy/sample/workflows" / path.name
            self.assertEqual(self.answer(definition, "--profile", path)["open"], 0)
            self.assertTrue(self.answer(definition, "--profile", path, "--explore")["never"])

    def test_the_examples_of_the_page_print_the_output_of_the_page(self):
        page = (SOURCE / "deploy/docs/workflow-simulate.md").read_text(encoding="utf-8")
        examples = re.findall(r"```sh\nmakegood workflow simulate ([^\n]*)\n```\n\n```\n(.*?)```", page, re.S)
        self.assertEqual(len(examples), 3)
        for words, shown in examples:
            done = subprocess.run(f"{TOOL} workflow simulate {words}", shell=True, cwd=SOURCE, capture_output=True, text=True, timeout=120, check=True,
                                  env=ENVIRONMENT)
            self.assertEqual(done.stdout, shown)

    def test_signals_come_in_their_share_and_the_table_has_them(self):
        words = (APPROVAL, "--when", "approve=50%", "--signal", "approved=80% in 1h..2h", "--choice", "approve=90% Approve", "--choice",
                 'approve=10% {"ok": false}')
        found = self.answer(*words)
        signal = found["signals"][0]
        self.assertEqual((signal["signal"], found["lines"], found["rejected"]), ("approved", None, 0))
        self.assertTrue(4700 < signal["waits"] < 5300, signal)
        self.assertEqual(signal["waits"], signal["done"] + signal["refused"] + signal["timed_out"])
        # Two senders of which each approves in nine of ten: 0.8 * 0.81, and 0.8 * 0.19 that one of them rejects.
        self.assertAlmostEqual(signal["done"] / signal["waits"], 0.648, delta=0.03)
        self.assertAlmostEqual(signal["refused"] / signal["waits"], 0.152, delta=0.03)
        self.assertTrue(3600000 < signal["p50_ms"] < 7200000 < signal["p95_ms"], signal)
        done = run(*words)
        for pattern in (r"^signal +waits +done +refused +timed out +early +late +wait p50 +p95$",
                        r"^approved +\d{4} +\d\d\.\d % +\d\d\.\d % +\d\d\.\d % +0\.0 % +\d{3} +1\.\dh +3\.0d$",
                        r"^compensated +\d+\.\d %  approve failed: no signal ended its wait in time$", r"^compensated +\d+\.\d %  approve failed: a signal refused it$"):
            self.assertRegex(done.stdout, re.compile(pattern, re.M))

    def test_a_wait_without_its_signal_in_the_settings_is_refused(self):
        self.refused(APPROVAL, "--when", "approve=1%", text='give --signal "approved=85% in 2h..2d"')
        for words, text in (
                (("--signal", "approved"), "names no value"), (("--signal", "approved=85%"), '"85%" is no share with its time'),
                (("--signal", "approved=85% on 2h"), "is no share with its time"), (("--signal", "approve.do=1% in 2h"), "leave out the kind"),
                (("--signal", "aproved=1% in 2h"), 'did you mean "approved"?'), (("--signal", "charge=1% in 2h"), 'step "charge" waits for no signal'),
                (("--signal", "payment=1% in 2h"), "payment is a service, and signals alone come"), (("--fail", "approved=1%"), "approved is a signal, which is not called"),
                (("--down", "approved=1s..2s"), "approved is a signal, and a service is what can be down"),
                (("--time", "approve=2h"), "--signal has the time of its signal"), (("--choice", "approve=Reject"), '"Reject" is no share with a choice'),
                (("--choice", "approve=10% Rejct"), '"Rejct" is neither a choice of step "approve" nor a payload in JSON'),
                (("--choice", "approve=60% Reject", "--choice", "approve=50% Approve"), "more than 100%"), (("--lines", "0"), "lines")):
            with self.subTest(words):
                self.refused(APPROVAL, *words, text=text)
        self.refused(FULFILMENT, "--lines", "3", text='fulfilment has no "sequence"; leave them out')

    def test_a_name_of_a_signal_and_of_another_thing_is_refused(self):
        call = {"undo": "none", "do": {"method": "POST", "path": "/"}}
        wait = {"wait": {"signal": "pay", "within": "1h"}, "refused_when": "result.no"}
        path = pathlib.Path(self.folder.name, "both.json")
        path.write_text(json.dumps({"workflow": "both", "version": 1, "complete_within": "1d", "steps": [
            {"step": "book", "service": "pay", **call}, {"step": "wait", **wait}]}), encoding="utf-8")
        self.refused(path, "--refuse", "pay=10%", text='"pay" is a service and a signal of other steps; write service:pay or signal:pay')
        words = (path, "--signal", "pay=100% in 1m")
        self.assertEqual([step["failed"] > 0 for step in self.answer(*words, "--refuse", "service:pay=10%")["steps"]], [True, False])
        self.assertEqual([step["failed"] > 0 for step in self.answer(*words, "--refuse", "signal:pay=10%", "--fail", "pay=1%")["steps"]], [False, True])

    def test_orders_of_a_sequence_wait_for_each_other(self):
        path = pathlib.Path(self.folder.name, "line.json")
        path.write_text(json.dumps({**json.loads(FULFILMENT.read_text(encoding="utf-8")),
                                    "sequence": {"key": "to/${/payload/carrier}", "at_most": 20}}), encoding="utf-8")
        self.refused(path, text="nothing says how many keys there are; give --lines 200")
        found = self.answer(path, "--lines", "10")
        self.assertEqual(found["orders"], found["rejected"] + sum(end["orders"] for end in found["ends"]))
        self.assertEqual((found["lines"]["lines"], found["lines"]["longest"], found["open"]), (10, 20, 0))
        self.assertTrue(0.2 < found["rejected"] / found["orders"] < 0.4, found)  # 50 orders a second, and 33 of 0.3 s in ten lines
        done = run(path, "--lines", "10")
        for pattern in (r"^rejected +\d\d\.\d % +\d{4} +- +-$", r"^10 lines; \d\d\.\d % of the orders waited in one, p50 \d\.\ds, p95 \d\.\ds; "
                        r"the longest had 20 orders$"):
            self.assertRegex(done.stdout, re.compile(pattern, re.M))
        self.assertEqual(self.answer(path, "--explore")["ways"], 7)

    def test_all_ways_of_a_signal(self):
        found = self.answer(APPROVAL, "--explore", "--when", "approve=100%", "--never", "end == 'processed' && state.approve != 'done'",
                            "--never", "state.approve == 'failed' && end == 'compensated'", code=ERROR)
        self.assertEqual([claim["counter_examples"] > 0 for claim in found["never"]], [False, True])
        self.assertEqual(found["ways"], 2 + 2 * 3 + 2)  # of reserve; of charge after an early signal, or a later one; refused, timed out
        text = run(APPROVAL, "--explore", "--when", "approve=100%", "--signal", "approved=0%").stdout
        self.assertRegex(text, r"(?m)^compensated +2  reserve +reserve done, approve timed_out$")

    def test_all_ways_of_a_chain(self):
        found = self.answer(FULFILMENT, "--explore", "--never", "end == 'compensated' && (stands.reserve || stands.charge || stands.book)")
        self.assertEqual((found["ways"], found["is_whole"], found["never"][0]["counter_examples"]), (7, True, 0))
        self.assertIn((["book", "charge", "reserve"], {"reserve": "done", "charge": "done", "book": "unknown"}),
                      [(end["undone"], end["first"]["steps"]) for end in found["explored"]])
        self.assertEqual({end["end"] for end in found["explored"]}, {"processed", "compensated"})

    def test_a_counter_example_is_shown_and_is_a_failure(self):
        done = run(FULFILMENT, "--explore", "--never", "end == 'compensated' && state.charge == 'undone'", "--never", "end == 'error'")
        self.assertEqual(done.returncode, ERROR)
        self.assertIn("never end == 'compensated' && state.charge == 'undone': FALSE in 3 ways\n  reserve done, charge done, book refused: compensated\n",
                      done.stdout)
        self.assertIn("never end == 'error': proved\n", done.stdout)
        path = self.profile(never=["end == 'processed'"])
        self.assertEqual(self.answer(FULFILMENT, "--explore", "--profile", path, code=ERROR)["never"][0]["first"]["end"], "processed")

    def test_undos_of_the_sample_with_branches_go_in_reverse(self):
        after = {"seat": 0, "charge": 1, "insure": 2, "policy": 3, "transfer": 2, "ticket": 4}
        for end in self.answer(TRIP, "--explore")["explored"]:
            chain = [after[step] for step in end["undone"] if step != "transfer"]
            self.assertEqual(chain, sorted(chain, reverse=True), end)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
