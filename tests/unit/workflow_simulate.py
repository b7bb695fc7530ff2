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
FULFILMENT, TRIP, RETURNS = (SOURCE / f"deploy/sample/workflows/{name}.json" for name in ("fulfilment", "trip", "returns"))
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
                done = run(FULFILMENT, "--profile", path)
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
        self.assertEqual(len(examples), 2)
        for words, shown in examples:
            done = subprocess.run(f"{TOOL} workflow simulate {words}", shell=True, cwd=SOURCE, capture_output=True, text=True, timeout=120, check=True,
                                  env=ENVIRONMENT)
            self.assertEqual(done.stdout, shown)

    def test_a_definition_that_waits_for_a_signal_is_refused(self):
        path = pathlib.Path(self.folder.name, "signal.json")
        path.write_text(json.dumps({"workflow": "signal", "version": 1, "complete_within": "3d", "steps": [
            {"step": "approve", "wait": {"signal": "approved", "within": "1d", "on_timeout": "fail"}},
            {"step": "pay", "service": "bank", "undo": "none", "do": {"method": "POST", "path": "/"}}]}), encoding="utf-8")
        for words in ((), ("--explore",)):
            self.refused(path, *words, text='step "approve" waits for a signal, and a simulation has none')

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
