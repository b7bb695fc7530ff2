#!/usr/bin/python3
"""workflow_words.py MAKEGOOD SOURCE: `makegood workflow describe` and `makegood workflow diff` on files.

A description names every call, its undo and the output, in the order of the steps. A difference is one of meaning: another
spelling is no difference, and each member that matters is found. No server is needed, and none is reached.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from jsonschema import Draft202012Validator

TOOL, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
FULFILMENT = SOURCE / "deploy/sample/workflows/fulfilment.json"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
DONE, ERROR, USAGE = range(3)


def run(*words, code=DONE):
    done = subprocess.run([TOOL, "workflow", *map(str, words)], capture_output=True, text=True, timeout=60, check=False,
                          env=ENVIRONMENT)
    assert done.returncode == code, (words, done)
    return done.stdout


class Words(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def changed(self, change):
        definition = json.loads(FULFILMENT.read_text(encoding="utf-8"))
        change(definition)
        path = pathlib.Path(self.folder.name, "new.json")
        path.write_text(json.dumps(definition, indent=1), encoding="utf-8")
        return path

    def validate(self, verb, text):
        schema = json.loads((SOURCE / f"proto/cli/workflow-{verb}.schema.json").read_text(encoding="utf-8"))
        answer = json.loads(text)
        Draft202012Validator(schema).validate(answer)
        return answer

    def test_a_description_names_calls_undos_and_output_in_order(self):
        text = run("describe", FULFILMENT)
        place = -1
        for words in ("Workflow fulfilment, version 2, has 3 steps.", "The forward work has 15m;", "1. reserve\n",
                      "At the beginning, it calls inventory.", "It sends POST /reservations with {", "asks GET /reservations/by-key/",
                      "It is undone by DELETE /reservations/by-key/${/do_key}.", "2. charge\n", "When reserve is done, it calls payment.",
                      "3. book\n", 'A processed order gives back { "tracking": "${/results/book/tracking}"'):
            found = text.find(words)
            self.assertGreater(found, place, words)
            place = found
        answer = self.validate("describe", run("describe", "-o", "json", FULFILMENT))
        self.assertEqual(answer["sentences"][0], {"step": None, "text": "Workflow fulfilment, version 2, has 3 steps."})
        self.assertIn({"step": "book", "text": "When charge is done, it calls carrier."}, answer["sentences"])

    def test_a_description_names_conditions_requirements_and_meanings_of_answers(self):
        for name, step, sentences in (
                ("trip", None, ['An order is rejected unless payload.fare > 0. Its client gets "the fare must be above 0".']),
                ("trip", "charge", ['It requires payload.fare <= 5000. Otherwise it fails without a call, and the client gets '
                                    '"fares above 5000 are sold at the counter".',
                                    "A good answer counts as done if result.state == 'done'.",
                                    "A good answer counts as refused if result.state == 'declined'.",
                                    "Any other good answer means that the service works on it."]),
                ("trip", "insure", ["When charge is done, it calls payment.",
                                    "It runs only if values.is_insured. Otherwise it is skipped, and the steps after it go on."]),
                ("trip", "policy", ["When insure is done or skipped, it calls carrier.", "It is skipped if insure was skipped."]),
                ("returns", "letter", ["When restock, refund and voucher are done or skipped, it calls carrier."]),
        ):
            answer = self.validate("describe", run("describe", "-o", "json", SOURCE / f"deploy/sample/workflows/{name}.json"))
            told = [sentence["text"] for sentence in answer["sentences"] if sentence["step"] == step]
            for sentence in sentences:
                self.assertIn(sentence, told)

    def test_other_good_answers_without_a_poll(self):
        for member, sentence in (("done_when", "Any other good answer leaves its outcome unclear."),
                                 ("refused_when", "Any other good answer counts as done.")):
            path = self.changed(lambda definition: definition["steps"][1].update({member: "result.state == 'x'"}))
            self.assertIn(f"   {sentence}\n", run("describe", path))

    def test_every_valid_example_is_described_and_equals_itself(self):
        for path in sorted((SOURCE / "proto/examples/workflow/valid").glob("*.json")):
            with self.subTest(path.name):
                self.assertIn("has ", run("describe", path))
                self.assertEqual(run("diff", path, path), "no difference in meaning\n")

    def test_another_way_to_write_it_is_no_difference(self):
        def otherwise(definition):
            definition["on_failure"] = definition["on_expiry"] = "compensate"
            definition["steps"][0].update(complete_within="3000ms", pivot=False, at_most_once=False)
            del definition["steps"][1]["after"]
            definition["steps"][2] = dict(reversed(definition["steps"][2].items()))
        self.assertEqual(run("diff", FULFILMENT, self.changed(otherwise)), "no difference in meaning\n")

    def test_each_change_is_named(self):
        for change, line in (
                (lambda d: d.update(complete_within="20m"), "workflow: complete_within changed from 15m to 20m"),
                (lambda d: d.update(on_failure="error"), "workflow: on_failure changed from compensate to error"),
                (lambda d: d["output"].pop("charged"), 'workflow: output/charged removed: "${/payload/total}"'),
                (lambda d: d["labels"].update(city="x"), 'workflow: labels/city changed from "${/payload/ship_to/city}" to "x"'),
                (lambda d: d["steps"].pop(), "step book: removed"),
                (lambda d: d["steps"][0].update(service="other"), "step reserve: service changed from inventory to other"),
                (lambda d: d["steps"][1].update(after=[]), "step charge: after changed from reserve to the beginning"),
                (lambda d: d["steps"][1]["do"]["body"].update(amount=1.0),
                 'step charge: do/body/amount changed from "${/payload/total}" to 1.0'),
                (lambda d: d["steps"][1]["do"].update(path="/c"), "step charge: do/path changed from /charges to /c"),
                (lambda d: d["steps"][1].update(undo="none"), "step charge: undo removed: DELETE /charges/by-key/${/do_key}"),
                (lambda d: d["steps"][1]["undo"].update(complete_within="11s"),
                 "step charge: undo/complete_within changed from 10s to 11s"),
                (lambda d: d["steps"][1]["retry"].update(attempts=6), "step charge: retry/attempts changed from 5 to 6"),
                (lambda d: d["steps"][0].update(complete_within="4s"), "step reserve: complete_within changed from 3s to 4s"),
                (lambda d: d["steps"][2].update(pivot=True), "step book: pivot changed from false to true"),
                (lambda d: d["steps"][2].update(on_unknown="operator"), "step book: on_unknown changed from verify to operator"),
        ):
            with self.subTest(line):
                output = (lambda d: d.pop("output")) if "book: removed" in line else (lambda d: None)
                path = self.changed(lambda d, change=change, output=output: (change(d), output(d)))
                self.assertIn(line + "\n", run("diff", FULFILMENT, path, code=ERROR))

    def test_the_meaning_of_an_answer_is_described_and_compared(self):
        path = self.changed(lambda d: d["steps"][1].update(done_when="result.status == 'captured'"))
        self.assertIn("A good answer counts as done if result.status == 'captured'.", run("describe", path))
        self.assertEqual(run("diff", FULFILMENT, path, code=ERROR).splitlines()[0],
                         "step charge: done_when added: \"result.status == 'captured'\"")
        self.assertEqual(run("diff", path, FULFILMENT, code=ERROR).splitlines()[0],
                         "step charge: done_when removed: \"result.status == 'captured'\"")

    def test_a_wait_for_a_signal_is_described_drawn_and_compared(self):
        waits = SOURCE / "proto/examples/workflow/valid/waits_for_signals.json"
        answer = self.validate("describe", run("describe", "-o", "json", waits))
        told = {step: [sentence["text"] for sentence in answer["sentences"] if sentence["step"] == step] for step in ("approve", "settled")}
        for sentence in ("At the beginning, it waits for signal approved.", "It has 3d; after that it fails.",
                         "It needs 2 signals, each of another sender.", "The signal may come from operators.",
                         'People are asked: "An order above the limit".', "A signal counts as done if result.ok.",
                         "A signal counts as refused if !result.ok.", "Any other signal leaves it waiting."):
            self.assertIn(sentence, told["approve"])
        for sentence in ("It has 2d; after that it is skipped, and the steps after it go on.", "The signal may come from client psp.",
                         "Its key, by which it finds the order, is results.charge.id."):
            self.assertIn(sentence, told["settled"])
        for form in ("mermaid", "svg"):
            picture = run("draw", "--as", form, waits)
            for words in ("for signal approved", "fails after 3d", "done when result.ok", "refused when !result.ok", "skipped after 2d"):
                self.assertIn(words, picture)
        self.assertEqual(run("draw", "--as", "svg", waits).count('class="clock"'), 2)
        text, path = waits.read_text(encoding="utf-8"), pathlib.Path(self.folder.name, "other.json")
        for old, new, line in (
                ('"signal": "approved"', '"signal": "agreed"', "step approve: wait/signal changed from approved to agreed"),
                ('"within": "3d"', '"within": "36h"', "step approve: wait/within changed from 3d to 36h"),
                ('"on_timeout": "fail"', '"on_timeout": "skip"', "step approve: wait/on_timeout changed from fail to skip"),
                ('"of": 2', '"of": 3', "step approve: wait/of changed from 2 to 3"),
                ('"operator"', '"operator", "client", "client:shop"', "step approve: wait/from changed from operators to operators, the order's client, client shop"),
                ('"title": "An order above the limit"', '"title": "Too much"', 'step approve: wait/title changed from "An order above the limit" to "Too much"'),
                ('"Approve": {', '"Yes": {', 'step approve: wait/choices/Approve removed: {'),
                ('"key": "results.charge.id",', "", 'step settled: wait/key removed: "results.charge.id"'),
                ('"on_timeout": "fail",', "", None), ('"within": "3d"', '"within": "72h"', None),
        ):
            with self.subTest(line):
                self.assertIn(old, text)
                path.write_text(text.replace(old, new, 1), encoding="utf-8")
                if line is None:
                    self.assertEqual(run("diff", waits, path), "no difference in meaning\n")
                else:
                    self.assertIn(line, run("diff", waits, path, code=ERROR))

    def test_a_step_put_between_others_is_the_only_change(self):
        path = self.changed(lambda d: d["steps"].insert(1, {**d["steps"][0], "step": "pack", "after": ["reserve"]}))
        self.assertEqual(run("diff", FULFILMENT, path, code=ERROR).splitlines()[:-1], ["step pack: added"])

    def test_the_json_has_its_schema_and_the_version_its_advice(self):
        path = self.changed(lambda d: d["steps"][1]["retry"].update(attempts=6))
        self.assertIn("both are version 2", run("diff", FULFILMENT, path, code=ERROR))
        path = self.changed(lambda d: (d.update(version=3), d["steps"][1]["retry"].update(attempts=6)))
        self.assertIn("orders that have begun keep version 2", run("diff", FULFILMENT, path, code=ERROR))
        answer = self.validate("diff", run("diff", "-o", "json", FULFILMENT, path, code=ERROR))
        self.assertEqual(answer["changes"], [{"step": "charge", "member": "retry/attempts", "change": "changed", "from": "5", "to": "6"}])

    def test_a_file_that_is_not_there_is_trouble(self):
        run("diff", FULFILMENT, "./missing.json", code=USAGE)
        run("describe", SOURCE / "proto/examples/workflow/invalid/no_steps.json"
            if (SOURCE / "proto/examples/workflow/invalid/no_steps.json").exists()
            else next((SOURCE / "proto/examples/workflow/invalid").glob("*.json")), code=USAGE)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
