#!/usr/bin/python3
"""workflow_cases.py MAKEGOOD SOURCE: `makegood workflow test` on the sample workflows, and on cases that are wrong.

Every branch of each sample is covered. Each wrong expectation is found at its pointer, so a case that passes shows something.
The answer as JSON has its schema, and JUnit's file its form. No server is needed, and none is reached.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from jsonschema import Draft202012Validator

TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
SAMPLES = {
    "fulfilment": ("deploy/sample/workflows/fulfilment.json", "deploy/sample/cases/fulfilment.json"),
    "trip": ("deploy/sample/workflows/trip.json", "deploy/sample/cases/trip.json"),
    "returns": ("deploy/sample/workflows/returns.json", "deploy/sample/cases/returns.json"),
    "values": ("proto/examples/workflow/valid/values.json", "proto/examples/cases/valid/values.json"),
    "signals": ("proto/examples/workflow/valid/waits_for_signals.json", "proto/examples/cases/valid/signals.json"),
    "parallel": ("proto/examples/workflow/valid/parallel.json", "proto/examples/cases/valid/parallel.json"),
}
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
DONE, ERROR, USAGE = range(3)


def run(*words):
    return subprocess.run([TOOL, "workflow", "test", *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
                          env=ENVIRONMENT)


class Cases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(SOURCE / SAMPLES["fulfilment"][1], encoding="utf-8") as file:
            # 600.00 must stay as it is written
            self.text = file.read().replace("../services/", f"{SOURCE}/deploy/sample/services/")

    def changed(self, *pairs):
        text = self.text
        for old, new in pairs:
            self.assertIn(old, text)
            text = text.replace(old, new, 1)
        path = pathlib.Path(self.folder.name, "cases.json")
        path.write_text(text, encoding="utf-8")
        return path

    def workflow(self, **members):
        definition = json.loads((SOURCE / SAMPLES["fulfilment"][0]).read_text(encoding="utf-8"))
        path = pathlib.Path(self.folder.name, "workflow.json")
        path.write_text(json.dumps({**definition, **members}), encoding="utf-8")
        return path

    def fails(self, path, *texts, workflow=SOURCE / SAMPLES["fulfilment"][0]):
        done = run(workflow, path)
        self.assertEqual(done.returncode, ERROR, done.stdout + done.stderr)
        for text in texts:
            self.assertIn(text, done.stdout)

    def test_every_sample_passes_with_all_branches(self):
        for name, files in SAMPLES.items():
            with self.subTest(name):
                done = run("--coverage", *(SOURCE / file for file in files))
                self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)
                self.assertRegex(done.stdout, r"\n0 of [1-9]\d* branches not covered\n")

    def test_a_run_repeats_exactly(self):
        words = ["-o", "json", *(SOURCE / file for file in SAMPLES["fulfilment"])]
        self.assertEqual(run(*words).stdout, run(*words).stdout)

    def test_a_case_has_the_moment_that_it_names(self):
        """The default is a fixed one. A case's own moment counts in conditions, requests, output and labels."""
        at = "${= order.accepted_at}"
        definition = {"workflow": "timed", "version": 1, "labels": {"at": at}, "output": {"at": at},
                      "require": [{"that": "order.accepted_at < '2027'", "text": "over"}],
                      "steps": [{"step": "a", "service": "s", "undo": "none", "when": "time(order.accepted_at) > time('2026-01-01T00:00:00Z')",
                                 "do": {"method": "POST", "path": "/a", "body": {"at": at}}}]}
        moment, default = "2026-01-31T12:34:56.700Z", "2026-01-01T00:00:00.000Z"
        answers = {"a": [{"status": 200}]}
        cases = [{"case": "the moment of all others", "payload": {},
                  "expect": {"end": "processed", "steps": {"a": "skipped"}, "output": {"at": default}, "labels": {"at": default}}},
                 {"case": "its own", "payload": {}, "accepted_at": "2026-01-31T12:34:56.7009Z", "answers": answers,
                  "expect": {"end": "processed", "steps": {"a": "done"}, "output": {"at": moment}, "labels": {"at": moment},
                             "requests": [{"step": "a", "request": {"body": {"at": moment}}}]}},
                 {"case": "too late", "payload": {}, "accepted_at": "2027-01-01T00:00:00Z",
                  "expect": {"end": "rejected", "cause": {"code": "requirement"}}}]
        workflow, path = (pathlib.Path(self.folder.name, name) for name in ("timed.json", "moments.json"))
        workflow.write_text(json.dumps(definition), encoding="utf-8")
        path.write_text(json.dumps({"workflow": "timed", "cases": cases}), encoding="utf-8")
        done = run(workflow, path, "-o", "json")
        self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)
        answer = json.loads(done.stdout)
        self.assertNotIn("require.0.refused", [branch["branch"] for branch in answer["not_covered"]])
        cases[1]["accepted_at"] = "2026-02-30T00:00:00Z"
        path.write_text(json.dumps({"workflow": "timed", "cases": cases}), encoding="utf-8")
        done = run(workflow, path)
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertIn('/cases/1/accepted_at: "2026-02-30T00:00:00Z" is no time; write RFC 3339 in UTC', done.stderr)

    def test_digits_count(self):
        self.fails(self.changed(('"amount": 600.00', '"amount": 600.0')),
                   "/cases/0/expect/requests/0/request/body/amount: expected 600.0, and it is 600.00")
        self.fails(self.changed(('"charged": 600.00', '"charged": 600')), "/cases/0/expect/output/charged: expected 600,")

    def test_each_expectation_is_compared(self):
        for old, new, where in (
                ('"end": "processed"', '"end": "compensated"', "/cases/0/expect/end: expected compensated,"),
                ('"charge": "done"', '"charge": "undone"', '/cases/0/expect/steps/charge: expected "undone", and it is "done"'),
                ('["reserve.do", "charge.do", "book.do"]', '["reserve.do", "book.do"]', '/cases/0/expect/calls/1: expected "book.do"'),
                ('"path": "/charges"', '"path": "/charge"', "/cases/0/expect/requests/0/request/path"),
                ('"tracking": "T-1", "charged"', '"tracking": "T-2", "charged"', "/cases/0/expect/output/tracking"),
                ('"city": "Bern" }\n', '"city": "Basel" }\n', "/cases/0/expect/labels/city"),
                ('"code": "DECLINED", "status"', '"code": "OTHER", "status"', "/cases/1/expect/cause/code"),
                ('"step": "charge", "code"', '"step": "book", "code"', "/cases/1/expect/cause/step"),
        ):
            with self.subTest(where):
                self.fails(self.changed((old, new)), where)

    def test_the_rules_of_the_service_file_count(self):
        payment = json.loads((SOURCE / "deploy/sample/services/payment.json").read_text(encoding="utf-8"))
        payment["answers"] = {"402": {"outcome": "done"}}
        path = pathlib.Path(self.folder.name, "payment.json")
        path.write_text(json.dumps(payment), encoding="utf-8")
        cases = self.changed((f"{SOURCE}/deploy/sample/services/payment.json", str(path)))
        self.fails(cases, "/cases/1/expect/end: expected compensated, and the order ended as processed")

    def test_a_signal_becomes_what_it_does_in_the_scheduler(self):
        """Early, counted, repeated, late and refused signals, and time-outs: each told by the scheduler's own words."""
        files = [SOURCE / file for file in SAMPLES["signals"]]
        text, path = files[1].read_text(encoding="utf-8"), pathlib.Path(self.folder.name, "signals.json")
        for old, new, where in (
                ('"ok": true}, "answer": "counted"}', '"ok": true}, "answer": "taken"}',
                 "/cases/0/signals/0: expected taken, and it was counted (it counts, and the step needs more)"),
                (', "answer": "refused"}', "}", "/cases/0/signals/1: expected taken, kept or counted, and it was refused (the step needs signals of several"),
                ('"by": "client", ', '"by": "client:psp", ', None),
                ('"by": "client", "payload": {"ok": true}, "answer": "refused"', '"by": "cyn", "payload": {"ok": true}, "answer": "refused"',
                 "/cases/0/signals/2: expected refused, and it was taken (its step is done)"),
                ('"answer": "kept"', '"answer": "late"', "/cases/0/signals/3: expected late, and it was kept (it is kept until its step begins"),
                ('"id": "evt_1", "by": "client:psp", "payload": {"state": "settled"}, "answer": "dup', '"by": "client:psp", "answer": "dup',
                 "/cases/0/signals/4: expected duplicate, and it was kept"),
                (', "answer": "late"', "", "/cases/0/signals/6: expected taken, kept or counted, and it was late (late: no step"),
                ('"at": "2d", "signal": "approved", "by": "bob"', '"at": "4d", "signal": "approved", "by": "bob"', "/cases/1/expect/cause/code"),
                ('"signals": [{"at": "1h", "signal": "approved", "by": "ann"', '"signals": [{"at": "1h", "signal": "approved", "by": "ann", "payload": 1}, {"at": "4d", "signal": "approved", "by": "bob"',
                 "/cases/2/signals/1: expected taken, kept or counted, and it was late"),
        ):
            with self.subTest(where=where, new=new):
                self.assertIn(old, text)
                path.write_text(text.replace(old, new, 1), encoding="utf-8")
                if where is None:
                    self.assertEqual(run(files[0], path).returncode, DONE)
                else:
                    self.fails(path, where, workflow=files[0])

    def test_an_answer_too_many_or_too_few_is_a_fault(self):
        self.fails(self.changed(('"answers": { "charge": [{ "status": 402',
                                 '"answers": { "book": [{ "status": 200 }], "charge": [{ "status": 402')),
                   "/cases/1/answers/book/0: no call asked for this answer")
        self.fails(self.changed(('"answers": { "book": [{ "status": 422 }] }', '"answers": { "book": [{ "status": 503 }] }')),
                   "/cases/3: answers: book is called (do, call 2) and has no answer left")

    def test_the_cause_of_a_turn_comes_before_the_undo_without_an_answer(self):
        """Would catch: an undo that is blamed, although a step after it has failed."""
        workflow, path = (pathlib.Path(self.folder.name, name) for name in ("turns.json", "turns-cases.json"))
        act = {"service": "shop", "do": {"method": "POST", "path": "/x", "body": {}}, "undo": {"method": "DELETE", "path": "/x"}}
        mail = {**act, "step": "mail", "after": ["pay"], "undo": "none", "do": {"method": "POST", "path": "/m", "body": {"to": "${/payload/email}"}}}
        workflow.write_text(json.dumps({"workflow": "turns", "version": 1, "complete_within": "1m", "on_failure": "compensate",
                                        "steps": [{**act, "step": "pay"}, mail]}), encoding="utf-8")
        path.write_text(json.dumps({"workflow": "turns", "cases": [{"case": "no address", "payload": {}, "answers": {"pay": [{"status": 200}]},
                                                                    "expect": {"end": "processed"}}]}), encoding="utf-8")
        told = run(workflow, path).stdout
        self.assertRegex(told, r'the order turns back because of \{.*"step": ?"mail".*; answers: pay is called \(undo')

    def test_a_branch_that_no_case_takes_fails_the_coverage_only(self):
        path = self.changed(('"answers": { "reserve": [{ "status": 422, "body": { "code": "SOLD_OUT" } }] },', ""),
                            ('"end": "compensated", "steps": { "reserve": "failed" }, "calls": ["reserve.do"]', '"end": "processed"'))
        workflow = SOURCE / SAMPLES["fulfilment"][0]
        self.assertEqual(run(workflow, path).returncode, DONE)
        done = run("--coverage", workflow, path)
        self.assertEqual(done.returncode, ERROR)
        self.assertIn("not covered: reserve.failed: step reserve is failed in no case\n1 of 12 branches not covered", done.stdout)
        text = path.read_text(encoding="utf-8").replace('"cases": [', '"uncovered": {"reserve.failed": "a test"}, "cases": [', 1)
        path.write_text(text, encoding="utf-8")
        self.assertEqual(run("--coverage", workflow, path).returncode, DONE)

    def without(self, sample, *names):
        """The branches that the cases of a sample leave out without the cases whose names begin so."""
        workflow, path = (SOURCE / file for file in SAMPLES[sample])
        cases = json.loads(path.read_text(encoding="utf-8").replace("../services/", f"{SOURCE}/deploy/sample/services/"))
        # the ends alone are compared: the digits of numbers do not survive this
        kept = [{**one, "expect": {"end": one["expect"]["end"]}} for one in cases["cases"] if not one["case"].startswith(tuple(names))]
        self.assertEqual(len(kept), len(cases["cases"]) - len(names))
        shorter = pathlib.Path(self.folder.name, f"{sample}.json")
        shorter.write_text(json.dumps({**cases, "cases": kept}), encoding="utf-8")
        answer = json.loads(run("-o", "json", workflow, shorter).stdout)
        self.assertEqual((answer["passed"], answer["failed"]), (len(kept), 0), answer)
        return [branch["branch"] if branch["step"] is None else f'{branch["step"]}.{branch["branch"]}' for branch in answer["not_covered"]]

    def test_each_outcome_of_a_condition_is_a_branch(self):
        """Each case is left out in turn; the only case of an outcome is missed."""
        for sample, names, missing in (
                ("trip", ["a trip for nothing"], ["require.0.refused"]),
                ("trip", ["a fare above"], ["charge.require.0.refused"]),
                ("trip", ["a charge that"], ["charge.answer.open"]),
                ("trip", ["a refusal in"], ["charge.failed", "charge.answer.refused"]),  # a requirement's failure is another one
                ("trip", ["with insurance", "the insurer", "the policy", "the driver", "answers that"],
                 ["seat.unknown", "charge.unknown", "insure.done", "insure.failed", "insure.unknown", "insure.undone", "insure.when.true",
                  "policy.done", "policy.failed", "policy.unknown", "policy.undone", "transfer.done", "transfer.failed",
                  "transfer.unknown", "transfer.undone", "transfer.when.true", "ticket.unknown"]),
                ("returns", ["a person inspects", "the person rejects"], ["inspect.failed", "inspect.answer.refused", "inspect.answer.open"]),
                ("returns", ["a condition that"], ["require.0.refused"]),
                ("signals", ["nobody approves"], ["approve.timed_out"]),
                ("signals", ["one of two"], ["approve.answer.refused"]),
                ("signals", ["a small order"], ["approve.skipped", "approve.when.false", "settled.skipped", "settled.timed_out"]),
                ("signals", ["two people"], ["approve.done", "settled.done"]),
        ):
            with self.subTest(sample=sample, names=names):
                self.assertEqual(sorted(self.without(sample, *names)), sorted(missing))

    def test_a_step_that_needs_a_skipped_one_can_be_skipped(self):
        always = self.without("trip", "without extras", "insurance that", "a trip", "a fare", "a charge", "a refusal", "without a seat", "no ticket")
        self.assertEqual([name for name in always if name.endswith((".skipped", ".false"))],
                         ["insure.skipped", "insure.when.false", "policy.skipped"])

    def test_an_id_that_only_an_open_answer_gave_undoes_its_step(self):
        """The do's answer is lost. The id comes with an answer that the conditions leave open, or cannot read."""
        undo = {"method": "DELETE", "path": "/deeds/${= string(results.write['deed/no']) + '-' + order.id}"}
        write = {"step": "write", "service": "clerk", "done_when": "result.state == 'done'", "refused_when": "result.state == 'refused'",
                 "on_unknown": "retry", "retry": {"attempts": 1}, "do": {"method": "POST", "path": "/deeds", "body": {"of": "${/payload/of}"}},
                 "verify": {"method": "GET", "path": "/deeds/of/${/do_key}"}, "undo": undo}
        lost = {"fails": "lost"}
        for learn, finish_within in (("repeat", None), ("repeat", "40s"), ("verify", None), ("verify", "40s")):
            kind = "do" if learn == "repeat" else "verify"
            for body in ({"state": "at_work", "deed/no": 7}, {"deed/no": 7}):
                step = {**write, "learn": learn, **({"finish_within": finish_within} if finish_within else {})}
                empty = {"kind": kind, "status": 200, "body": {"grade": "none"}}  # read as little, and without the id: asked again
                cases = {"workflow": "deed", "cases": [{
                    "case": "undone by the id that was learned", "payload": {"of": "x"},
                    "answers": {"write": [lost, empty, {"kind": kind, "status": 200, "body": body}, {"kind": "undo", "status": 204}]},
                    "expect": {"end": "compensated", "steps": {"write": "undone"}, "calls": ["write.do", f"write.{kind}", f"write.{kind}", "write.undo"],
                               "requests": [{"step": "write", "kind": "undo", "request": {"path": "/deeds/7-order-1"}}]}}]}
                workflow, path = (pathlib.Path(self.folder.name, name) for name in ("deed.json", "deed_cases.json"))
                workflow.write_text(json.dumps({"workflow": "deed", "version": 1, "steps": [step]}), encoding="utf-8")
                path.write_text(json.dumps(cases), encoding="utf-8")
                with self.subTest(learn=learn, finish_within=finish_within, body=body):
                    done = run(workflow, path)
                    self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)

    def test_a_page_is_a_text_where_a_step_asks_for_one(self):
        workflow, path = (pathlib.Path(self.folder.name, name) for name in ("text.json", "text_cases.json"))
        for asks, end in (({"response": "text"}, "processed"), ({}, "error")):
            step = {"step": "print", "service": "clerk", "undo": "none", "on_unknown": "operator", "at_most_once": True,
                    "retry": {"attempts": 1}, "do": {"method": "POST", "path": "/pages", "body": {}, **asks}}
            workflow.write_text(json.dumps({"workflow": "text", "version": 1, "steps": [step]}), encoding="utf-8")
            path.write_text(json.dumps({"workflow": "text", "cases": [{
                "case": "a page", "payload": {}, "answers": {"print": [{"status": 200, "text": "<html>a ticket</html>"}]},
                "expect": {"end": end}}]}), encoding="utf-8")
            with self.subTest(end):
                done = run(workflow, path)
                self.assertEqual(done.returncode, DONE if end == "processed" else ERROR, done.stdout + done.stderr)
                self.assertEqual("waiting" in done.stdout, end == "error", done.stdout)

    def test_a_reason_stands_for_a_branch_that_no_case_takes(self):
        for name, text in (("charge.skipped", '"charge.skipped" is no branch of the workflow'), ("charge", '"charge" is no branch'),
                           ("charge.done", '"charge.done" is taken by a case; leave it out')):
            with self.subTest(name):
                done = run(SOURCE / SAMPLES["fulfilment"][0], self.changed(('"cases": [', f'"uncovered": {{"{name}": "why"}}, "cases": [')))
                self.assertEqual(done.returncode, USAGE, done.stdout)
                self.assertRegex(done.stderr, rf"^{re.escape(self.folder.name)}/cases.json:\d+:\d+: /uncovered: {re.escape(text)}")

    def test_an_order_that_a_longer_time_would_end_ends_by_its_deadline(self):
        path = self.changed(('"answers": { "book": [{ "status": 422 }] }', '"answers": { "book": [{ "fails": "unreachable" }] }'))
        done = run(self.workflow(complete_within="1s"), path)
        self.assertIn("/cases/3: answers: book is called", done.stdout)

    def test_mistakes_of_the_file_have_a_pointer_and_a_cure(self):
        for old, new, text in (
                ('"answers": { "charge": [', '"answers": { "chargee": [',
                 '/cases/1/answers/chargee: the workflow has no step "chargee"; did you mean "charge"?'),
                ('"expect": {', '"expects": {', '/cases/0/expects: no such member; did you mean "expect"?'),
                ('"workflow": "fulfilment"', '"workflow": "other"', "/workflow: the cases are for workflow"),
                ('"workflow": "fulfilment",', '"workflow": "fulfilment"', "a comma is missing here"),
        ):
            with self.subTest(text):
                done = run(SOURCE / SAMPLES["fulfilment"][0], self.changed((old, new)))
                self.assertEqual(done.returncode, USAGE, done.stdout)
                self.assertRegex(done.stderr, rf"(?m)^{re.escape(self.folder.name)}/cases.json:\d+:\d+: {re.escape(text)}")

    def test_an_early_signal_that_means_nothing_counts_for_no_step(self):
        """It was looked up beyond the last step once."""
        path = pathlib.Path(self.folder.name, "early.json")
        path.write_text(json.dumps({"workflow": "approval", "answers": {
            "reserve": [{"status": 201, "body": {"id": "r"}, "after": "1s"}, {"kind": "undo", "status": 204}]}, "cases": [{
                "case": "early", "payload": {"customer": "1", "total": 600}, "expect": {"end": "compensated", "cause": {"code": "timed_out"}},
                "signals": [{"at": "1ms", "signal": "approved", "by": "ann", "payload": {"ok": None}, "answer": "counted"}]}]}), encoding="utf-8")
        done = run(SOURCE / "deploy/sample/workflows/approval.json", path)
        self.assertEqual((done.returncode, done.stderr), (DONE, ""), done.stdout)

    def test_a_payload_that_no_message_has_is_a_mistake_or_a_rejection(self):
        """It was "no memory" once."""
        workflow, sample = (SOURCE / file for file in SAMPLES["signals"])
        path, text = pathlib.Path(self.folder.name, "large.json"), sample.read_text(encoding="utf-8")
        path.write_text(text.replace('"payload": {"ok": false}', '"payload": "' + 65535 * "x" + '"', 1), encoding="utf-8")
        done = run(workflow, path)
        self.assertEqual(done.returncode, USAGE, done.stdout)
        self.assertRegex(done.stderr, r"/cases/\d+/signals/\d+/payload: 65537 bytes; a signal carries up to 65536")
        path.write_text(text.replace('"payload": {', '"payload": {"more": "' + 2_000_000 * "x" + '",', 1), encoding="utf-8")
        done = run(workflow, path)
        self.assertEqual((done.returncode, done.stderr), (ERROR, ""))
        self.assertIn("and the order ended as rejected", done.stdout)

    def test_the_json_has_its_schema_and_junit_its_form(self):
        schema = json.loads((SOURCE / "proto/cli/workflow-test.schema.json").read_text(encoding="utf-8"))
        junit = pathlib.Path(self.folder.name, "junit.xml")
        path = self.changed(('"end": "processed"', '"end": "error"'), ("all is well", r'a < b & \"c\"'))
        done = run("-o", "json", "--junit", junit, "--coverage", SOURCE / SAMPLES["fulfilment"][0], path)
        self.assertEqual(done.returncode, ERROR, done.stderr)
        answer = json.loads(done.stdout)
        Draft202012Validator(schema).validate(answer)
        self.assertEqual((answer["passed"], answer["failed"]), (5, 1))
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures"), len(suite)), ("7", "1", 7))
        self.assertEqual([(test.get("classname"), len(test)) for test in suite[1:]], [("fulfilment", 0)] * 6)
        self.assertEqual(suite[6].get("name"), "coverage")
        self.assertEqual(suite[0].get("name"), 'a < b & "c"')
        self.assertIn("/cases/0/expect/end", suite[0][0].text)

    def test_a_branch_without_a_case_is_a_failure_in_junit(self):
        junit = pathlib.Path(self.folder.name, "junit.xml")
        path = self.changed(('"answers": { "reserve": [{ "status": 422, "body": { "code": "SOLD_OUT" } }] },', ""),
                            ('"end": "compensated", "steps": { "reserve": "failed" }, "calls": ["reserve.do"]', '"end": "processed"'))
        for words, failures, tests in ((["--coverage"], "1", "7"), ([], "0", "6")):
            run("--junit", junit, *words, SOURCE / SAMPLES["fulfilment"][0], path)
            suite = xml.etree.ElementTree.parse(junit).getroot()
            self.assertEqual((suite.get("failures"), suite.get("tests"), len(suite)), (failures, tests, int(tests)))
            failed = [test for test in suite if len(test) > 0]
            self.assertEqual([(test.get("name"), test[0].get("message"), test[0].text) for test in failed],
                             [("coverage", "1 of 12 branches not covered", "step reserve is failed in no case\n")] if words else [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
