#!/usr/bin/python3
"""first_hour.py MAKEGOOD: the page of the first hour keeps its bounds, and its files are good.

tests/first_hour/run types it. Would catch: a sixth command, a service that grows, a workflow that is refused.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "first_hour"))

import page  # noqa: E402

TOOL = sys.argv[1]
SERVICE_LINES_MAX = 20


class Page(unittest.TestCase):
    def setUp(self):
        self.files, self.commands = page.read()

    def test_its_commands_are_few(self):
        self.assertEqual(page.COMMANDS_MAX, len(self.commands), self.commands)
        self.assertTrue(self.commands[1].startswith("deploy/dev "), self.commands)

    def test_its_service_is_short_and_compiles(self):
        text = self.files["first/shop.py"]
        self.assertLessEqual(len([line for line in text.splitlines() if line.strip()]), SERVICE_LINES_MAX)
        compile(text, "shop.py", "exec")

    def test_its_steps_can_be_undone(self):
        steps = json.loads(self.files["first/workflows/purchase.json"])["steps"]
        self.assertEqual([], [step["step"] for step in steps if step["undo"] == "none"], "a reader copies it")

    def test_its_workflow_is_good(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(self.files["first/workflows/purchase.json"])
            file.flush()
            done = subprocess.run([TOOL, "workflow", "describe", file.name], capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stderr))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
