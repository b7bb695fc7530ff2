"""The sender of signals, which behaves as the contract asks: it sends each one under one id until it has an answer, whatever is lost in
between. Some go through the broker, some over HTTP to any of the gateways; callbacks come as from a service that was given the address.
"""

import base64
import collections
import hashlib
import heapq
import hmac
import http.client
import itertools
import json
import random
import threading
import time
import traceback

import pika
import pika.exceptions

from kinds import BROKER, CALLBACK, CLIENT, GATEWAY, OPERATOR, SIGNALS
from local import processes

AGAIN_S = 4.0        # without an answer: then it is sent again
ASK_S = 12.0         # of one HTTP request; a gateway answers within 5 s, unless it is frozen
HANDS = 12           # HTTP requests at once
END_S = 30.0
TOKEN, SECRET = "a token of the teller, long enough", "0123456789abcdef" * 4
BY = "chaos"         # the name of an operator
FINAL = ("taken", "kept", "counted", "duplicate", "late", "refused")
STATUSES = {409: "late", 403: "refused"}
SIGNAL_OF = {"approve": "approved", "paid": "paid", "called": None}
STEP_OF = {"called": "charge"}


def token_of(order_id, step, generation=0):
    """The last part of a callback's address, as a service is given it."""
    named = f"{order_id}/{step}/{generation}".encode()
    mac = hmac.new(SECRET.encode(), b"makegood callback 1\n" + named, hashlib.sha256).digest()
    return base64.urlsafe_b64encode(mac + named).decode().rstrip("=")


class Sent:
    """One copy of a signal, and its answers."""

    def __init__(self, order_id, workflow, planned, at):
        self.order_id, self.way, self.payload = order_id, planned.way, planned.payload
        self.signal = SIGNAL_OF[workflow]
        self.signal_id = f"{order_id}.{planned.number}"
        self.key = order_id if self.signal == "paid" else None
        self.step = STEP_OF.get(workflow)
        self.at = at         # when it is sent, or sent again
        self.words = []      # the answers, in the order in which they came
        self.tries = 0
        self.is_invalid = None

    @property
    def identity(self):
        """As the cause in the order's story; of a callback only its begin."""
        if self.way == CALLBACK:
            return f"callback.{self.step}/"
        sender = f"/{BY}" if self.way == OPERATOR else CLIENT
        return f"{self.signal}/{self.signal_id}/{sender}" + (f"/{self.key}" if self.key else "")

    @property
    def is_answered(self):
        return bool(self.words) or self.is_invalid is not None


class Sender:
    """`port()`: the present port of the broker. `gateways()`: the present ports of all gateways. `has_called(order, step)`: whether
    the step's service has begun the work; before that it calls nobody back."""

    def __init__(self, port, gateways, has_called, seed, history):
        self.port, self.gateways, self.has_called, self.history = port, gateways, has_called, history
        self.dice = random.Random(seed)
        self.all = []
        self.by_number = {}  # correlation id → the copy
        self.due = {BROKER: [], GATEWAY: []}  # heaps of (when, number, copy); an operator's go as BROKER, callbacks as GATEWAY
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        self.is_ending = False
        self.errors = collections.Counter()
        self.last_error = ""
        self.threads = [threading.Thread(target=self.run, args=(work,), daemon=True) for work in [self.hear] + HANDS * [self.ask_all]]

    def start(self):
        for thread in self.threads:
            thread.start()

    def end(self):
        self.is_ending = True
        deadline = time.monotonic() + END_S
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def plan(self, order_id, workflow, signals, wanted_at):
        """All signals of one order."""
        with self.lock:
            for planned in signals:
                sent = Sent(order_id, workflow, planned, wanted_at + planned.after_s)
                self.all.append(sent)
                self.put(sent)

    def unanswered(self):
        with self.lock:
            return [sent for sent in self.all if not sent.is_answered]

    # --- due ones; with the lock ---

    def put(self, sent):
        heapq.heappush(self.due[BROKER if sent.way in (BROKER, OPERATOR) else GATEWAY], (sent.at, next(self.numbers), sent))

    def take_due(self, way):
        """The next one that is due, or None."""
        with self.lock:
            heap = self.due[way]
            while heap and heap[0][0] <= time.monotonic():
                sent = heapq.heappop(heap)[2]
                if not sent.is_answered:
                    sent.tries += 1
                    return sent
        return None

    def again(self, sent):
        with self.lock:
            sent.at = time.monotonic() + AGAIN_S
            self.put(sent)

    def answered(self, sent, word):
        with self.lock:
            sent.words.append(word)
        self.history.note("signal", id=sent.signal_id, way=sent.way, word=word, tries=sent.tries)

    # --- ways ---

    def run(self, work):
        while not self.is_ending:
            try:
                work()
            except Exception as error:  # pylint: disable=broad-except  # pika and http.client raise all sorts when a connection breaks
                self.errors[f"{work.__name__}: {type(error).__name__}"] += 1
                self.last_error = traceback.format_exc()
                time.sleep(processes.POLL_S * 5)  # POLL_S: until the next connection

    def hear(self):
        connection = pika.BlockingConnection(pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{self.port()}/%2F?heartbeat=8&"
                                                                "blocked_connection_timeout=15&socket_timeout=5&stack_timeout=8"))
        try:
            channel = connection.channel()
            queue = channel.queue_declare("", exclusive=True).method.queue
            channel.add_on_cancel_callback(lambda _frame: connection.close())
            channel.basic_consume(queue, self.take_answer, auto_ack=True)
            while not self.is_ending:
                for sent in iter(lambda: self.take_due(BROKER), None):
                    self.again(sent)
                    self.publish(channel, queue, sent)
                connection.process_data_events(time_limit=processes.POLL_S)
        finally:
            if connection.is_open:
                connection.close()

    def publish(self, channel, queue, sent):
        number = f"{sent.signal_id}/{sent.way}"
        self.by_number[number] = sent
        body = {"v": 1, "command_id": sent.signal_id, "command": "signal", "signal": sent.signal, "payload": sent.payload, "by": BY,
                **({"key": sent.key} if sent.key else {"order_id": sent.order_id})}
        exchange, key = (("makegood.commands", "scheduler.commands") if sent.way == OPERATOR
                         else (f"makegood.signals.{CLIENT}", sent.signal))
        channel.basic_publish(exchange, key, json.dumps(body).encode(), properties=pika.BasicProperties(
            delivery_mode=2, type="command", message_id=sent.signal_id, correlation_id=number, reply_to=queue,
            content_type="application/json"))

    def take_answer(self, _channel, _method, properties, body):
        answer, sent = json.loads(body), self.by_number.get(properties.correlation_id)
        if sent is None:
            return
        if answer.get("signal") in FINAL:
            self.answered(sent, answer["signal"])
        elif answer["verdict"] == "invalid" and not answer.get("may_pass"):
            sent.is_invalid = answer["text"]

    def ask_all(self):
        while not self.is_ending:
            sent = self.take_due(GATEWAY)
            if sent is None:
                time.sleep(processes.POLL_S)  # POLL_S: until the next is due
                continue
            try:
                if sent.way != CALLBACK or self.has_called(sent.order_id, sent.step):
                    self.ask(sent)
            finally:
                self.again(sent)

    def ask(self, sent):
        connection = http.client.HTTPConnection("127.0.0.1", self.dice.choice(self.gateways()), timeout=ASK_S)
        headers = {"Content-Type": "application/json"}
        if sent.way == CALLBACK:
            path = f"/v1/callbacks/{token_of(sent.order_id, sent.step)}"
        else:
            path = f"/v1/signals/{sent.signal}?key={sent.key}" if sent.key else f"/v1/orders/{sent.order_id}/signals/{sent.signal}"
            headers.update({"Authorization": f"Bearer {TOKEN}", "Idempotency-Key": sent.signal_id})
        try:
            connection.request("POST", path, json.dumps(sent.payload), headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status == 200:
            self.answered(sent, json.loads(body)["signal"])
        elif answer.status in STATUSES:
            self.answered(sent, STATUSES[answer.status])
        elif answer.status in (400, 401, 413, 415, 422):
            sent.is_invalid = f"HTTP {answer.status}: {body[:200]}"


def write_files(scratch):
    """The gateways' file of tokens and their file of secrets."""
    tokens, secrets = scratch / "gateway-tokens", scratch / "callback-secret"
    tokens.write_text(f"submit,read,cancel,signal {CLIENT} {hashlib.sha256(TOKEN.encode()).hexdigest()}\n", encoding="ascii")
    secrets.write_text(SECRET + "\n", encoding="ascii")
    return tokens, secrets


def topology_words():
    """For `makegood broker apply`."""
    words = ["--client", CLIENT]
    for name in SIGNALS:
        words += ["--signal", name]
    return words
