"""Orders without a pause, at a steady rate, from a client that behaves as the contract asks. It repeats unconfirmed posts. It posts
an order again after a long silence: the reply queue may be gone, with statuses in it. It relies on no other process for its own
state.

One thread makes orders, some post them and one listens, each with a connection of its own. So a post waits neither for statuses nor
for the confirm of another. All times are of this program's monotonic clock.
"""

import collections
import itertools
import json
import random
import threading
import time
import traceback

import pika
import pika.exceptions

from kinds import KINDS, LINES
from local import processes

QUEUE = "client.chaos.statuses"
ENDS = ("processed", "compensated", "cancelled", "error", "rejected")
SILENCE_S = 15.0    # of a confirmed order: then it is posted again; of all orders: then the queue is declared again
POSTERS = 24        # each waits for its confirms one by one, and that of a busy disk takes some 100 ms
END_S = 60.0        # for all threads together
CALM_S = 1.5        # an order of a remote that does not dawdle is never silent for so long
# An undo waits until its do was answered by the service, or until complete_within (30 s in all workflows here) and 3 s are over. It
# takes that long if a fault duplicated the request or lost its answer.
QUIET_S = 33.0
IDLE_S = 1.0        # of a poster without orders: then its connection must be serviced


class Order:
    def __init__(self, order_id, body, kind, wanted_at, is_high):
        self.order_id, self.body, self.kind, self.wanted_at, self.is_high = order_id, body, kind, wanted_at, is_high
        self.confirmed_at = None
        self.tried_at = None # the time of the first post; in the backlog of an outage it is later than the planned time
        self.posted_at = None
        self.statuses = {}   # seq → (status, the whole message but its time, as text)
        self.heard = []      # when new statuses of it arrived
        self.turned_at = None  # when the status of its turning back arrived
        self.contradictions = []
        self.ended = None    # the last status received
        self.ended_at = None

    def longest_silence(self, since):
        """Between two news of it, from `since` or its first posting until its end. After the order turned back only the part beyond
        the time that an undo may have to wait counts."""
        begin = max(since, self.tried_at or self.wanted_at)
        heard = [begin] + [at for at in self.heard if at > begin]
        allowed = [QUIET_S if self.turned_at is not None and at >= self.turned_at else 0.0 for at in heard]
        return max((later - earlier - quiet for earlier, later, quiet in zip(heard, heard[1:], allowed)), default=0.0)


class Load:
    """`port()` returns the present port of the broker. `sender` sends the signals of each order."""

    def __init__(self, port, seed, rate, history, sender):
        self.port, self.rate, self.history, self.sender = port, rate, history, sender
        self.dice = random.Random(seed)
        self.prefix = f"chaos-{seed}"
        self.orders = {}
        self.open = {}       # those of them that have not ended
        self.ended = []      # the ended ones, in the order of their ends
        self.unposted = collections.deque()
        self.lock = threading.Lock()
        self.has_unposted = threading.Condition(self.lock)
        self.is_wanted = self.is_ending = False
        self.next_at = 0.0   # when the next order is due; it also counts while no connection can take it
        self.posts = 0
        self.told_at = 0.0   # when the last status of any order arrived
        self.strangers = []  # statuses of orders that this client never posted
        self.errors = collections.Counter()
        self.last_error = ""
        self.threads = [threading.Thread(target=self.run, args=(work,), daemon=True)
                        for work in [self.listen] + POSTERS * [self.post_all]]
        self.threads.append(threading.Thread(target=self.make_all, daemon=True))

    # --- for the nemesis and the check -----------------------------------------------------------------------------------

    def start(self):
        self.is_wanted, self.next_at = True, time.monotonic()
        for thread in self.threads:
            thread.start()

    def pause(self):
        """No new orders; existing ones go on."""
        self.is_wanted = False

    def end(self):
        self.is_ending = True
        deadline = time.monotonic() + END_S
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def snapshot(self):
        with self.lock:
            return list(self.orders.values())

    def open_orders(self):
        with self.lock:
            return list(self.open.values())

    def waits(self, since, window_s):
        """The longest silence of each plain order that was open at `since`, or was due in the `window_s` after it; None for one
        that has not ended. Skips orders that ended before: there are many, and this is called often."""
        found = [None] if self.is_wanted and self.next_at < since + window_s else []
        with self.lock:
            touched = list(itertools.takewhile(lambda order: order.ended_at > since, reversed(self.ended)))
            touched += self.open.values()
        for order in touched:
            if order.kind.is_plain and order.wanted_at <= since + window_s:
                found.append(order.longest_silence(since) if order.ended else None)
        return found

    def post_again(self, orders):
        """Posts again, like a client after a long silence; the answer is the present status."""
        with self.lock:
            self.unposted.extend(order for order in orders if order not in self.unposted)
            self.has_unposted.notify_all()

    def is_calm(self):
        """Returns true if no plain order has been silent for long."""
        now = time.monotonic()
        return all(now - max(order.heard[-1:] + [order.wanted_at]) < CALM_S for order in self.open_orders() if order.kind.is_plain)

    # --- posting ---------------------------------------------------------------------------------------------------------

    def run(self, work):
        while not self.is_ending:
            try:
                parameters = pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{self.port()}/%2F?heartbeat=8&"
                                                "blocked_connection_timeout=15&socket_timeout=5&stack_timeout=8")
                connection = pika.BlockingConnection(parameters)
                try:
                    work(connection)
                finally:
                    if connection.is_open:
                        connection.close()
            except Exception as error:  # pylint: disable=broad-except  # pika raises all sorts when a connection breaks
                self.errors[f"{work.__name__}: {type(error).__name__}"] += 1
                self.last_error = traceback.format_exc()
                time.sleep(processes.POLL_S * 5)  # POLL_S: until the next connection

    def post_all(self, connection):
        channel = connection.channel()
        channel.confirm_delivery()
        while not self.is_ending:
            with self.has_unposted:
                if not self.unposted:
                    self.has_unposted.wait(IDLE_S)
                order = self.unposted.popleft() if self.unposted else None
            is_refused = order is not None and not self.post(channel, order)
            connection.process_data_events(time_limit=processes.POLL_S if is_refused else 0)

    def make_all(self):
        looked_at = time.monotonic()
        while not self.is_ending:
            now = time.monotonic()
            while self.is_wanted and self.next_at <= now:
                self.make(self.next_at)
                self.next_at += 1.0 / self.rate
            if now - looked_at > 1.0:
                looked_at = now
                self.post_again([order for order in self.open_orders() if order.confirmed_at is not None
                                 and now - max(order.heard[-1:] + [order.posted_at]) > SILENCE_S])
            time.sleep(processes.POLL_S)  # POLL_S: until the next orders

    def make(self, wanted_at):
        kind = self.dice.choices(KINDS, [kind.share for kind in KINDS])[0]
        number = len(self.orders) + 1
        payload = {"n": number, "amount": "AMOUNT", "text": "é" * self.dice.randrange(40)}
        if kind.behaviour:
            payload["behaviour"] = kind.behaviour
        is_high = self.dice.random() < 0.1
        order_id, workflow = f"{self.prefix}-{number:06}", self.dice.choice(kind.workflows)
        payload.update({"paid": {"key": order_id}, "line": {"line": self.dice.randrange(LINES)}}.get(workflow, {}))
        body = json.dumps({"order_id": order_id, "workflow": workflow, "payload": payload, "notify": "steps",
                           "priority": "high" if is_high else "normal"})
        body = body.replace('"AMOUNT"', f"{number % 1000}.50")  # money keeps its zeros
        order = Order(order_id, body, kind, wanted_at, is_high)
        self.sender.plan(order_id, workflow, kind.signals, wanted_at)
        with self.lock:
            self.orders[order.order_id] = self.open[order.order_id] = order
            self.unposted.append(order)
            self.has_unposted.notify()

    def post(self, channel, order):
        """False: the queue is full or gone; it is posted later."""
        self.posts += 1
        order.posted_at = time.monotonic()
        order.tried_at = order.tried_at or order.posted_at
        try:
            channel.basic_publish("makegood.intake", "orders.intake.high" if order.is_high else "orders.intake", order.body.encode(),
                                  mandatory=True, properties=pika.BasicProperties(
                                      delivery_mode=2, message_id=order.order_id, correlation_id="corr-" + order.order_id,
                                      reply_to=QUEUE, content_type="application/json"))
        except Exception as error:  # after any error the order is unconfirmed
            with self.lock:
                self.unposted.append(order)
                self.has_unposted.notify()
            if isinstance(error, (pika.exceptions.UnroutableError, pika.exceptions.NackError)):
                return False
            raise
        if order.confirmed_at is None:
            order.confirmed_at = time.monotonic()
            self.history.note("posted", order=order.order_id, kind=order.kind.name)
        return True

    # --- listening -------------------------------------------------------------------------------------------------------

    def listen(self, connection):
        channel = connection.channel()
        channel.queue_declare(QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        channel.basic_qos(prefetch_count=500)
        channel.add_on_cancel_callback(lambda _frame: connection.close())
        channel.basic_consume(QUEUE, self.take)
        self.told_at = time.monotonic()
        while not self.is_ending and time.monotonic() - self.told_at < SILENCE_S:
            connection.process_data_events(time_limit=processes.POLL_S)

    def take(self, channel, method, properties, body):
        now = self.told_at = time.monotonic()
        message = json.loads(body)
        order = self.orders.get(message.get("order_id"))
        if order is None:
            if not (properties.correlation_id or "").startswith("bad-"):
                self.strangers.append(message)
        elif message["status"] == "rejected":
            if properties.correlation_id == "corr-" + order.order_id:
                order.contradictions.append(message)
        else:
            word = (message["status"], json.dumps({**message, "at": ""}, sort_keys=True))
            seen = order.statuses.setdefault(message["seq"], word)
            if seen != word:
                order.contradictions.append(message)
            if seen is word:
                self.history.note("told", order=order.order_id, seq=message["seq"], status=message["status"])
                order.heard.append(now)
                if message["status"] == "compensating":
                    order.turned_at = now
            if message["status"] in ENDS:
                self.note_end(order, message["status"], now)
        channel.basic_ack(method.delivery_tag)

    def note_end(self, order, word, now):
        with self.lock:
            if order.ended is None:
                order.ended_at = now
                self.ended.append(order)
                del self.open[order.order_id]
            order.ended = word
