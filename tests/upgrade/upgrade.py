#!/usr/bin/python3
"""upgrade.py OLD NEW: rolls an installation from one build to another and back, with orders on their way all the time.

OLD and NEW are folders: `build/bin` holds the executables, `source` the sources (migrations, samples). Exit 0 only if every order
ended as expected, whichever version carried it, and no message was set aside and no order left in error.
"""

import json
import pathlib
import sys
import threading
import time

import pika

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy"))

from local import cluster, orders, processes, servers, verdict  # noqa: E402

IN_FLIGHT = 40       # orders on their way at any moment: enough for every process to have some in hand
PER_STAGE = 30       # orders that must end on each mixture of versions before the next process is exchanged
STAGE_TIMEOUT_S = 60.0
ENDED = ("processed", "compensated", "cancelled", "error", "rejected")


class Load(threading.Thread):
    """A client that keeps IN_FLIGHT orders on their way until stopped, and records how each ended."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.lines, self.told = url, [], {}
        self.is_stopping, self.failure = False, None

    def run(self):
        try:
            self.post_and_read()
        except Exception as failure:  # pylint: disable=broad-except  # the thread that waits for this one raises it
            self.failure = failure

    def post_and_read(self):
        connection = pika.BlockingConnection(pika.URLParameters(self.url))
        channel = connection.channel()
        channel.confirm_delivery()
        queue = channel.queue_declare("", exclusive=True).method.queue
        source = iter(orders.mixed_lines(100000))

        def take(_channel, _method, properties, body):
            status = json.loads(body)["status"]
            if status in ENDED:
                self.told[properties.correlation_id] = status

        channel.basic_consume(queue, take, auto_ack=True)
        while not self.is_stopping or len(self.told) < len(self.lines):
            while not self.is_stopping and len(self.lines) - len(self.told) < IN_FLIGHT:
                line = next(source)
                channel.basic_publish("makegood.intake", "orders.intake", line.text.encode(), pika.BasicProperties(
                    delivery_mode=2, reply_to=queue, correlation_id=line.order_id, message_id=line.order_id), mandatory=True)
                self.lines.append(line)
            connection.process_data_events(time_limit=processes.POLL_S)
        connection.close()

    def wait_more(self, count):
        """Waits until that many more orders have ended."""
        target = len(self.told) + count
        processes.wait_until(lambda: len(self.told) >= target or self.failure, f"{count} more orders have ended",
                             STAGE_TIMEOUT_S)
        if self.failure:
            raise processes.Failure(f"the client failed: {self.failure}")

    def finish(self):
        self.is_stopping = True
        self.join(STAGE_TIMEOUT_S)
        if self.is_alive() or self.failure:
            raise processes.Failure(f"{len(self.lines) - len(self.told)} orders have not ended; {self.failure or ''}")


class Roll:
    def __init__(self, old, new):
        self.builds = {"old": old, "new": new}
        self.scratch = cluster.make_scratch()
        self.both = servers.Servers(self.scratch).start()
        # A definition of the present may have members that the old programs refuse.
        self.workflows = old / "source" / cluster.SAMPLE.relative_to(cluster.REPOSITORY) / "workflows"
        self.cluster = cluster.Cluster(self.scratch, old / "build", self.both.postgres.dsn, self.both.rabbit.url,
                                       workflows=self.workflows, source=old / "source")
        self.load = None

    def use(self, version):
        folder = self.builds[version]
        self.cluster.use(folder / "build", folder / "source")

    def exchange(self, version):
        """Each process of one kind after the other: the other version is started beside it, then it gets SIGTERM."""
        self.use(version)
        for kind, group in (("scheduler", self.cluster.schedulers), ("agent", self.cluster.agents),
                            ("supervisor", self.cluster.supervisors)):
            for place, process in enumerate(group):
                successor = self.cluster.remake(process).start()
                successor.wait_ready()
                process.ask_to_end()
                code = process.wait_end()
                if code != 0:
                    raise processes.Failure(f"{process.name} ended with {code}\n{process.tail()}")
                group[place] = successor
                self.load.wait_more(PER_STAGE)
            print(f"  {kind}s are {version}: {len(self.load.told)} orders have ended, "
                  f"{len(self.load.lines) - len(self.load.told)} are on their way", flush=True)

    def run(self):
        self.cluster.start()
        self.load = Load(self.both.rabbit.url)
        self.load.start()
        self.load.wait_more(PER_STAGE)
        print("everything is old; the schema is brought up to date beneath it", flush=True)
        self.use("new")
        self.cluster.prepare()
        self.load.wait_more(PER_STAGE)
        for version, what in (("new", "upgrade"), ("old", "roll back, on the new schema"), ("new", "upgrade again")):
            print(what, flush=True)
            self.exchange(version)
        self.load.finish()

    def judge(self):
        states = dict(self.both.postgres.psql("SELECT order_id, process_state FROM order_process"))
        workflow = json.loads((self.workflows / "fulfilment.json").read_text(encoding="utf-8"))
        wrong, numbers = verdict.judge(self.load.lines, workflow, states, self.load.told, self.cluster.remotes)
        for (code, subject, text) in self.both.postgres.psql("SELECT code, subject, text FROM operator_alert"):
            wrong.append(f"alert {code} of {subject}: {text}")
        dead = json.loads(self.cluster.tool("dead", "list", "-o", "json").stdout or "[]")
        if dead:
            wrong.append(f"dead letters: {dead}")
        return wrong, numbers


def main(words):
    if len(words) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    processes.end_on_signals()
    roll, wrong = None, []
    began = time.monotonic()
    try:
        roll = Roll(*(pathlib.Path(word).resolve() for word in words))
        roll.run()
        wrong, numbers = roll.judge()
        for text in wrong[:20]:
            print(f"wrong: {text}")
        print(f"{len(roll.load.lines)} orders, {numbers['effects']} effects for {numbers['keys']} keys, "
              f"{numbers['values_different']} of {numbers['values_compared']} values differ, {time.monotonic() - began:.0f} s: "
              + ("all is as it should be" if not wrong else f"{len(wrong)} things are wrong"))
    except processes.Failure as failure:
        print(f"upgrade: {failure}", file=sys.stderr)
        wrong = [str(failure)]
    finally:
        if roll is not None:
            if not wrong:
                roll.cluster.stop()
            processes.end_all()
            cluster.remove_scratch(roll.scratch)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
