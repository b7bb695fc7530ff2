#!/usr/bin/python3
"""workflow_cases.py MAKEGOOD SOURCE: `makegood workflow test` on the sample workflows, and on cases that are wrong.

Every branch of each sample is covered. Each wrong expectation is found at its pointer, so a case that passes shows something.
The answer as JSON has its schema, and JUnit's file its form. No server is needed, and none is reached.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from jsonschema import Draft202012Validator

TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
SAMPLES = {
    "fulfilment": ("deploy/sample/workflows/fulfilment.json", "deploy/sample/cases/fulfilment.json"),
    "values": ("proto/examples/workflow/valid/values.json", "proto/examples/cases/valid/values.json"),
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
                self.assertIn("0 branches not covered", done.stdout)

    def test_a_run_repeats_exactly(self):
        words = ["-o", "json", *(SOURCE / file for file in SAMPLES["fulfilment"])]
        self.assertEqual(run(*words).stdout, run(*words).stdout)

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

    def test_an_answer_too_many_or_too_few_is_a_fault(self):
        self.fails(self.changed(('"answers": { "charge": [{ "status": 402',
                                 '"answers": { "book": [{ "status": 200 }], "charge": [{ "status": 402')),
                   "/cases/1/answers/book/0: no call asked for this answer")
        self.fails(self.changed(('"answers": { "book": [{ "status": 422 }] }', '"answers": { "book": [{ "status": 503 }] }')),
                   "/cases/3: answers: book is called (do, call 2) and has no answer left")

    def test_a_branch_that_no_case_takes_fails_the_coverage_only(self):
        path = self.changed(('"answers": { "reserve": [{ "status": 422, "body": { "code": "SOLD_OUT" } }] },', ""),
                            ('"end": "compensated", "steps": { "reserve": "failed" }, "calls": ["reserve.do"]', '"end": "processed"'))
        workflow = SOURCE / SAMPLES["fulfilment"][0]
        self.assertEqual(run(workflow, path).returncode, DONE)
        done = run("--coverage", workflow, path)
        self.assertEqual(done.returncode, ERROR)
        self.assertIn("not covered: step reserve is failed in no case", done.stdout)
        text = path.read_text(encoding="utf-8").replace('"cases": [', '"uncovered": {"reserve.failed": "a test"}, "cases": [', 1)
        path.write_text(text, encoding="utf-8")
        self.assertEqual(run("--coverage", workflow, path).returncode, DONE)

    def test_an_order_that_a_longer_time_would_end_ends_by_its_deadline(self):
        path = self.changed(('"answers": { "book": [{ "status": 422 }] }', '"answers": { "book": [{ "fails": "unreachable" }] }'))
        done = run(self.workflow(complete_within="1s"), path)
        self.assertIn("/cases/3: answers: book is called", done.stdout)

    def test_mistakes_of_the_file_have_a_pointer_and_a_cure(self):
        for old, new, text in (
                ('"answers": { "charge": [', '"answers": { "chargee": [', 'the workflow has no step "chargee"; did you mean "charge"?'),
                ('"expect": {', '"expects": {', "/cases/0"),
                ('"workflow": "fulfilment"', '"workflow": "other"', "/workflow: the cases are for workflow"),
        ):
            with self.subTest(text):
                done = run(SOURCE / SAMPLES["fulfilment"][0], self.changed((old, new)))
                self.assertEqual(done.returncode, USAGE, done.stdout)
                self.assertIn(text, done.stderr)

    def test_the_json_has_its_schema_and_junit_its_form(self):
        schema = json.loads((SOURCE / "proto/cli/workflow-test.schema.json").read_text(encoding="utf-8"))
        junit = pathlib.Path(self.folder.name, "junit.xml")
        path = self.changed(('"end": "processed"', '"end": "error"'), ("all is well", r'a < b & \"c\"'))
        done = run("-o", "json", "--junit", junit, SOURCE / SAMPLES["fulfilment"][0], path)
        self.assertEqual(done.returncode, ERROR, done.stderr)
        answer = json.loads(done.stdout)
        Draft202012Validator(schema).validate(answer)
        self.assertEqual((answer["passed"], answer["failed"]), (5, 1))
        suite = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("6", "1"))
        self.assertEqual(suite[0].get("name"), 'a < b & "c"')
        self.assertIn("/cases/0/expect/end", suite[0][0].text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
