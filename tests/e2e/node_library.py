"""The Node library of proto/clients, and npm's packages that its tests need: installed once in the build folder."""

import contextlib
import fcntl
import hashlib
import json
import shutil
import subprocess

from harness import DEADLINE_S
from local import cluster, processes

LIBRARY = cluster.REPOSITORY / "proto" / "clients" / "node"
TESTS = cluster.REPOSITORY / "tests" / "e2e" / "node"
TOOL_S = 120
NPM_S = 240  # for one command of npm; a registry is slow now and then
MESSAGES = ("request", "status", "submission")
QUIETLY = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def npm(folder, *words):
    done = subprocess.run(["npm", *words, *QUIETLY], cwd=folder, capture_output=True, text=True, timeout=NPM_S, check=False)
    if done.returncode != 0:
        raise processes.Failure(f"npm {words[0]} failed; does it reach a registry?\n{done.stdout}{done.stderr}")


def install():
    """The folder with the tests' programs and node_modules. Another test that installs meanwhile is awaited."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise processes.Failure("there is no node or no npm: deploy/local/install long")
    folder = cluster.build_folder() / "node"
    folder.mkdir(exist_ok=True)
    sources = sorted(path for place in (LIBRARY, TESTS) for path in place.iterdir())
    state = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()
    installed = folder / "installed"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not installed.exists() or installed.read_text(encoding="ascii") != state:
            installed.unlink(missing_ok=True)
            shutil.copytree(TESTS, folder, dirs_exist_ok=True)
            npm(folder, "ci")
            npm(folder, "install", "--install-links", "--no-save", LIBRARY)  # a copy, as a user's project has it
            installed.write_text(state, encoding="ascii")
    return folder


def run(folder, *words):
    """One of npm's programs."""
    done = subprocess.run([folder / "node_modules" / ".bin" / words[0], *words[1:]], cwd=folder, capture_output=True, text=True,
                          timeout=TOOL_S, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"


def generate(folder, contract, name):
    """The types of an OpenAPI document, as `name`.ts. By default a member with a default value would be required."""
    run(folder, "openapi-typescript", contract, "--default-non-nullable=false", "-o", f"{name}.ts")


def compile_strictly(folder, *words):
    run(folder, "tsc", "--strict", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022", "--types", "node", *words)


def message_schemas():
    """The schemas of messages as an OpenAPI document."""
    schemas = {name.capitalize(): {"$ref": str(cluster.REPOSITORY / "proto" / f"{name}.schema.json")} for name in MESSAGES}
    return json.dumps({"openapi": "3.1.0", "info": {"title": "Messages", "version": "1"}, "paths": {}, "components": {"schemas": schemas}})


class Client:
    """The library's client in a process of its own, with the methods of the Python library's."""

    def __init__(self, folder, words, log):
        self.log = log
        self.process = subprocess.Popen(["node", folder / "client.js", *words], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log.open("w", encoding="utf-8"))

    def call(self, *words):
        """A method ends by its own time-out."""
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise processes.Failure(f"the client ended\n{self.log.read_text(encoding='utf-8')}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "failed" in answer:
            raise processes.Failure(answer["failed"])
        return answer

    def submit(self, workflow, payload=None, **members):
        return self.call("submit", workflow, payload or {}, {"timeoutS": DEADLINE_S, **members})

    def wait(self, order_id, timeout):
        return self.call("wait", order_id, {"timeoutS": timeout})

    def statuses(self, order_id, timeout):
        return self.call("statuses", order_id, {"timeoutS": timeout})


@contextlib.contextmanager
def client(folder, s, *words):
    """`words`: of client.js, if not the scenario's URL."""
    one = Client(folder, words or [s.url], s.scratch / "node-client.log")
    try:
        yield one
        one.process.stdin.close()
        assert one.process.wait(DEADLINE_S) == 0, one.log.read_text(encoding="utf-8")
    finally:
        one.process.kill()
        one.process.wait()
        one.process.stdout.close()
