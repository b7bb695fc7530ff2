#!/usr/bin/python3
"""examples.py MAKEGOOD SOURCE: the services of deploy/examples keep every promise of `makegood service test`, also after a restart.

Would catch: an example that readers copy and that acts twice, forgets a key when it starts again, or leaves a late call's effect.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

TOOL, SOURCE = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCE / "tests" / "first_hour"))

import page  # noqa: E402

EXAMPLES = SOURCE / "deploy" / "examples"
SERVICES = {"python": [sys.executable, EXAMPLES / "python/service.py"], "node": ["node", EXAMPLES / "node/service.mjs"]}
LINES_MAX = 50
START_S = 30


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Examples(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def start(self, language):
        port = free_port()
        process = subprocess.Popen([*map(str, SERVICES[language]), str(port)], cwd=self.folder, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return process, f"http://127.0.0.1:{port}"
        self.fail(f"{language}: nothing listens")
        return None

    def audit(self, url, payload):
        file = self.folder / "service.json"
        file.write_text(json.dumps({"service": "example", "url": url}), encoding="utf-8")
        done = subprocess.run([TOOL, "service", "test", f"{url}/charges", "--service", file, "--payload", json.dumps(payload), "-o", "json"],
                              capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, json.loads(done.stdout)

    def ask(self, url, method, key=None, body=None):
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={} if key is None else {"Idempotency-Key": key})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def refuses(self, url):
        """A workflow with a wrong method, path or key would else seem to succeed."""
        for status, path, method, key in ((404, "/charge", "POST", "k"), (404, "/charge/by-key/k", "GET", None),
                                          (405, "/mails", "PUT", "k"), (405, "/mails", "GET", None), (405, "/mails/by-key/k", "POST", "k"),
                                          (400, "/mails", "POST", None), (400, "/mails", "POST", "")):
            self.assertEqual(status, self.ask(f"{url}{path}", method, key, {})[0], f"{method} {path}, key {key}")
        self.assertEqual(404, self.ask(f"{url}/mails/by-key/k", "GET")[0], "a refused call acts")

    def check(self, language):
        if shutil.which(str(SERVICES[language][0])) is None:
            self.skipTest(f"{language} is not installed")
        process, url = self.start(language)
        code, audit = self.audit(url, {"amount": 14})
        self.assertEqual(0, code, audit)
        self.assertEqual({"kept"}, {promise["verdict"] for promise in audit["promises"]}, audit)
        self.assertEqual(1, self.audit(url, {"amount": 101})[0], "a declined card is no test")
        self.refuses(url)
        created = self.ask(f"{url}/reservations", "POST", "order-1.reserve.do", {})
        self.assertEqual(201, created[0])
        self.assertEqual(200, self.ask(f"{url}/reservations/by-key/late.do", "DELETE")[0])
        process.kill()
        process.wait()
        _, url = self.start(language)
        self.assertEqual(created, self.ask(f"{url}/reservations", "POST", "order-1.reserve.do", {}), "a restart forgets a key")
        self.assertEqual(410, self.ask(f"{url}/reservations", "POST", "late.do", {})[0], "a restart forgets an undo")

    def test_python(self):
        self.check("python")

    def test_node(self):
        self.check("node")

    def commands(self, name):
        """The commands of a page; from now on makegood is on the path."""
        (self.folder / "bin").mkdir(exist_ok=True)
        (self.folder / "bin/makegood").unlink(missing_ok=True)
        (self.folder / "bin/makegood").symlink_to(TOOL)
        return page.commands_of(page.text_of(f"deploy/docs/{name}"))

    def type(self, command):
        done = subprocess.run(["bash", "-c", command], cwd=SOURCE, env=dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}"),
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(0, done.returncode, done)
        return done.stdout

    def test_the_commands_of_pages_without_servers(self):
        for name in ("recipes.md", "workflow-simulate.md", "workflow-test.md"):
            for command in self.commands(name):
                with self.subTest(page=name):
                    self.type(command)

    def test_cases_need_no_secret(self):
        """The file of the token counts from the agent's folder, and cases make no call."""
        recipe = EXAMPLES / "recipes/charge-and-refund"
        done = subprocess.run([TOOL, "workflow", "test", recipe / "workflow.json", recipe / "cases.json"], cwd=self.folder,
                              capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_the_commands_of_the_checklist(self):
        service, test = self.commands("service-checklist.md")
        self.assertEqual("python3 deploy/examples/python/service.py 9080", service)
        _, url = self.start("python")
        self.assertIn("stays_undone", self.type(test.replace("http://127.0.0.1:9080", url)))

    def test_they_are_short(self):
        for words in SERVICES.values():
            lines = [line for line in words[1].read_text(encoding="utf-8").splitlines() if line.strip()]
            self.assertLessEqual(len(lines), LINES_MAX, words[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
