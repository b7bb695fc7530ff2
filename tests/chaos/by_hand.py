"""The operator: asks the service about each step in doubt that no repetition may settle, and settles it with the tool.

A service that forgets its keys acts again at each repetition. Its steps are `at_most_once`: with its answer lost, such a step stays `unknown`,
and its order waits for a person. The ledger stands for the service's own pages.
"""

import subprocess
import threading
import time

import psycopg2

from local import processes

LOOK_S = 2.0
# A request may lie in a silent wire for 30 s, and the service acts on it when the wire is whole again. An operator that asks before
# that learns of nothing, and settles a charge that comes afterwards.
DOUBT_S = 45
SETTLE_S = 20  # for one call of the tool; it is called again if the broker was away

DOUBTS = """SELECT s.order_id, s.step, s.service, s.generation FROM operator_alert a JOIN order_step s USING (order_id)
            WHERE a.code = 'outcome_unknown' AND a.closed_at IS NULL AND s.state = 'unknown'"""


class Operator:
    def __init__(self, stage, history):
        self.stage, self.history = stage, history
        self.settled = 0
        self.failure = None  # the error that ended it
        self.is_ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self):
        self.thread.start()

    def end(self):
        self.is_ending.set()
        self.thread.join(2 * SETTLE_S)

    def run(self):
        seen = {}  # (order id, step) → when it was first seen in doubt
        while not self.is_ending.wait(LOOK_S):
            try:
                self.look(seen)
            except (psycopg2.OperationalError, psycopg2.InterfaceError, processes.Failure, subprocess.TimeoutExpired, OSError) as error:
                self.history.note("operator", error=str(error))  # a server is away: the next look finds the same steps
            except Exception as error:  # pylint: disable=broad-except  # an end without a word would look as if nothing was in doubt
                self.failure = repr(error)
                return

    def look(self, seen):
        session = self.stage.session()
        try:
            with session.cursor() as cursor:
                cursor.execute(DOUBTS)
                doubts = cursor.fetchall()
        finally:
            session.close()
        for gone in set(seen) - {doubt[:2] for doubt in doubts}:
            del seen[gone]
        now = time.monotonic()
        for order_id, step, service, generation in doubts:
            if now - seen.setdefault((order_id, step), now) > DOUBT_S:
                self.settle(order_id, step, service, generation)

    def settle(self, order_id, step, service, generation):
        key = f"{order_id}.{step}.do" + (f".{generation}" if generation else "")
        outcome = "done" if self.stage.cluster.remotes[service].entry(key)["state"] == "done" else "absent"
        self.stage.cluster.tool("order", "settle", order_id, "--step", step, "--outcome", outcome, "--reason", "asked the service",
                                "--timeout", "10s", timeout_s=SETTLE_S)
        self.settled += 1
        self.history.note("settled", order=order_id, step=step, outcome=outcome)
