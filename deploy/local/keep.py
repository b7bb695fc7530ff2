"""deploy/demo --keep: the sample services under `makegood dev`, with orders to look at, until Ctrl-C."""

import collections
import json
import shlex
import shutil
import signal
import subprocess
import sys
import threading

from . import cluster, processes

READY = "Ctrl-C ends all"  # in the last line that `makegood dev` prints when all is ready


class Kept:
    """The sample remotes, and a `makegood dev` of their own servers in `scratch`."""

    def __init__(self, scratch):
        self.scratch, self.state = scratch, scratch / "state"
        self.cluster = cluster.Cluster(scratch, cluster.build_folder(), dsn=None, url=None)
        self.doors = {name: f"127.0.0.1:{processes.free_port()}" for name in ("gateway", "console")}
        self.dev = self.tool = None
        self.is_ending, self.is_settled = False, threading.Event()

    def words(self):
        workflows = self.scratch / "workflows"
        shutil.copytree(cluster.SAMPLE / "workflows", workflows)
        words = [self.cluster.bin / "makegood", "dev", "--migrations", self.cluster.migrations, "--state", self.state,
                 "--workflows", workflows]
        for name, address in self.doors.items():
            words += [f"--{name}", address]
        for name in self.cluster.services:
            words += ["--service", self.cluster.service_file(name)]
        return [str(word) for word in words]

    def start(self):
        """Returns when all is ready, or has ended. What `makegood dev` prints goes on to our own output."""
        for remote in self.cluster.remotes.values():
            remote.start()
        self.dev = subprocess.Popen(self.words(), env=processes.plain_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    text=True, start_new_session=True, preexec_fn=processes.end_with_parent)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.on_signal)
        threading.Thread(target=self.relay, daemon=True).start()
        self.is_settled.wait()

    def relay(self):
        for line in self.dev.stdout:
            print(line, end="", flush=True)
            if READY in line:
                self.is_settled.set()
        self.is_settled.set()

    def on_signal(self, _number, _frame):
        """The first one ends all in order, a second one at once: `makegood dev` does both."""
        self.is_ending = True
        self.dev.send_signal(signal.SIGINT)
        if self.tool is not None:
            self.tool.terminate()

    def addresses(self):
        """(DSN, URL) of the servers, from the file that sets up a shell."""
        exports = dict(word.split("=", 1) for word in shlex.split((self.state / "env").read_text(encoding="utf-8")) if "=" in word)
        return exports["MAKEGOOD_PG_DSN"], exports["MAKEGOOD_AMQP_URL"]

    def post(self, lines):
        """Posts the orders with the tool and counts their ends."""
        path = self.scratch / "orders.jsonl"
        path.write_text("".join(line.text + "\n" for line in lines), encoding="utf-8")
        self.cluster.access = cluster.OneAccess(*self.addresses())
        ended = collections.Counter()
        self.tool = subprocess.Popen([str(self.cluster.bin / "makegood"), "order", "submit", str(path), "--wait", "-o", "jsonl"],
                                     env={**processes.plain_environment(), **self.cluster.tool_env}, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        with self.tool:
            for text in self.tool.stdout:
                ended[json.loads(text)["status"]] += 1
        if sum(ended.values()) < len(lines) and not self.is_ending:
            raise processes.Failure(f"makegood order submit ended with {self.tool.returncode} before all orders had")
        return ended

    def tell(self, ended):
        order = json.loads((cluster.SAMPLE / "orders" / "first.json").read_text(encoding="utf-8"))
        path = self.scratch / "order.json"
        path.write_text(json.dumps({**order, "order_id": "sample"}), encoding="utf-8")
        counts = ", ".join(f"{count} {status}" for status, count in sorted(ended.items()))
        services = ", ".join(f"{name} {remote.url}" for name, remote in self.cluster.remotes.items())
        token = (self.state / "token").read_text(encoding="ascii")
        curl, url = f'curl -s -H "Authorization: Bearer {token}"', f"http://{self.doors['gateway']}/v1/orders"
        print(f"{sum(ended.values())} orders have ended: {counts}\n"
              f"the sample services: {services}\n\n"
              f"an order that they take, its end, and its story:\n"
              f"  {curl} --json @{path} {url}\n"
              f"  {curl} '{url}/sample?wait=20s'\n"
              f"  makegood order show sample\n", flush=True)

    def follow(self, lines):
        """Runs until `makegood dev` ends; returns its exit code."""
        try:
            if self.dev.poll() is None and not self.is_ending:
                ended = self.post(lines)
                if not self.is_ending:
                    self.tell(ended)
        except processes.Failure:
            self.on_signal(None, None)
            self.dev.wait()
            raise
        return self.dev.wait()


def run(lines):
    """Returns the exit code. Ends everything that it started, and removes its folder."""
    scratch = cluster.make_scratch()
    try:
        kept = Kept(scratch)
        kept.start()
        return kept.follow(lines)
    finally:
        processes.end_all()
        cluster.remove_scratch(scratch)
