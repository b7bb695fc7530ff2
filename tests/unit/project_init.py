#!/usr/bin/python3
"""project_init.py MAKEGOOD SOURCE: `makegood init` writes a project that is good as it stands, and overwrites nothing.

Would catch: a project whose workflow or cases are refused, a service that breaks a promise, or that costs a file of its folder.
"""
import json
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TOOL, SOURCE = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
PROJECT = SOURCE / "deploy" / "examples" / "project"
DONE, USAGE, CONFLICT = 0, 2, 4
PORT = "9080"
START_S = 30


class Project(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def run_tool(self, *words):
        return subprocess.run([TOOL, *map(str, words)], cwd=self.folder, capture_output=True, text=True, check=False, timeout=60)

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def test_the_files_are_those_of_the_sources(self):
        for language, name in (("node", "service.mjs"), ("python", "service.py")):
            self.assertEqual(DONE, self.run_tool("init", language, language).returncode)
            self.assertEqual((SOURCE / "deploy/examples" / language / name).read_bytes(), (self.folder / language / name).read_bytes())
            for path in PROJECT.rglob("*"):
                if path.is_file() and path.name != "README.md":
                    self.assertEqual(path.read_bytes(), (self.folder / language / path.relative_to(PROJECT)).read_bytes())
        node, python = ((self.folder / language / "README.md").read_text(encoding="utf-8") for language in ("node", "python"))
        self.assertEqual((PROJECT / "README.md").read_text(encoding="utf-8"), node)
        self.assertEqual(node.replace("node service.mjs", "python3 service.py").replace("service.mjs", "service.py"), python)
        self.assertNotRegex(python, "mjs|node")

    def test_nothing_is_overwritten(self):
        (self.folder / "workflows").mkdir()
        own = self.folder / "workflows/purchase.json"
        own.write_text("mine", encoding="utf-8")
        done = self.run_tool("init", "node")
        self.assertEqual((CONFLICT, ""), (done.returncode, done.stdout))
        self.assertIn("./workflows/purchase.json is there already", done.stderr)
        self.assertEqual(("mine", ["workflows/purchase.json"]), (own.read_text(encoding="utf-8"), self.files()))

    def test_a_folder_with_other_files_is_taken(self):
        (self.folder / "notes.txt").write_text("mine", encoding="utf-8")
        self.assertEqual(DONE, self.run_tool("init", "python").returncode)
        self.assertIn("notes.txt", self.files())

    def test_folders_above_are_made(self):
        self.assertEqual(DONE, self.run_tool("init", "node", "a/b/shop").returncode)
        self.assertTrue((self.folder / "a/b/shop/workflows/purchase.json").is_file())
        (self.folder / "file").touch()
        done = self.run_tool("init", "node", "file/shop")
        self.assertEqual(1, done.returncode)
        self.assertIn("could not make the folder file/shop: Not a directory", done.stderr)

    def test_an_unknown_language(self):
        done = self.run_tool("init", "cobol")
        self.assertEqual(USAGE, done.returncode)
        self.assertIn("there is no project in cobol: expected node or python", done.stderr)
        self.assertEqual([], self.files())

    def test_the_workflow_is_good_and_its_cases_pass(self):
        self.run_tool("init", "node")
        done = self.run_tool("workflow", "describe", "workflows/purchase.json")
        self.assertEqual((DONE, ""), (done.returncode, done.stderr))
        done = self.run_tool("workflow", "test", "workflows/purchase.json", "cases/purchase.json")
        self.assertEqual(DONE, done.returncode, done)

    def check_service(self, language, program):
        """The service is started and tested by the lines of the project's own page, at a free port."""
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed")
        self.run_tool("init", language)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = str(listener.getsockname()[1])
        page = (self.folder / "README.md").read_text(encoding="utf-8").replace(PORT, port)
        start = next(line for line in page.splitlines() if line.startswith(f"{program} service"))
        test = next(line for line in page.splitlines() if line.startswith("makegood service test "))
        process = subprocess.Popen(shlex.split(start), cwd=self.folder, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline, is_up = time.monotonic() + START_S, False
        while not is_up and time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                is_up = probe.connect_ex(("127.0.0.1", int(port))) == 0
        done = self.run_tool(*shlex.split(test)[1:], "-o", "json")
        self.assertEqual(DONE, done.returncode, done)
        self.assertEqual({"kept"}, {promise["verdict"] for promise in json.loads(done.stdout)["promises"]})

    def test_the_service_in_node(self):
        self.check_service("node", "node")

    def test_the_service_in_python(self):
        self.check_service("python", "python3")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
