"""A client on the host, in pika without any of Makegood's code: posts orders until each is confirmed, and receives their statuses.

It survives the broker: connects again, posts unconfirmed orders again, and finds its statuses in its own queue.
"""

import copy
import json
import threading

import pika
import pika.exceptions

from local import processes

INTAKE = "orders.intake"
TERMINAL = ("processed", "compensated", "cancelled", "rejected", "error")
RETRY_S = 0.5       # between two connects to a broker that is away
LISTEN_S = 0.2      # how long it receives before it checks for more orders to post


class Client(threading.Thread):
    def __init__(self, name, url, tls=None):
        super().__init__(daemon=True)
        self.exchange, self.queue = f"makegood.intake.{name}", f"client.{name}.statuses"
        self.parameters = pika.URLParameters(url)
        self.parameters.blocked_connection_timeout = 60
        self.parameters.heartbeat = 20
        if tls is not None:
            self.parameters.ssl_options = tls
        self.lock = threading.Lock()
        self.to_post = []       # lines not yet confirmed, in order
        self.posted = 0
        self.statuses = {}      # order id → {seq: status}
        self.connects = 0
        self.is_ending = threading.Event()

    def parameters_of(self, user, password):
        """The same broker for another user."""
        parameters = copy.copy(self.parameters)
        parameters.credentials = pika.PlainCredentials(user, password)
        return parameters

    def post(self, lines):
        with self.lock:
            self.to_post.extend(lines)

    def told(self):
        """The last status of each order that has ended."""
        with self.lock:
            last = {order: by_seq[max(by_seq)] for order, by_seq in self.statuses.items()}
        return {order: status for order, status in last.items() if status in TERMINAL}

    def ended(self, lines):
        told = self.told()
        return sum(line.order_id in told for line in lines)

    def wait_ended(self, lines, timeout_s, share=1.0):
        """Waits until this share of the orders has ended."""
        wanted = int(len(lines) * share)
        try:
            processes.wait_until(lambda: self.ended(lines) >= wanted, f"{wanted} orders have ended", timeout_s)
        except processes.Failure as failure:
            told = self.told()
            open_orders = [line.order_id for line in lines if line.order_id not in told]
            raise processes.Failure(f"{failure}; {len(open_orders)} are open: {', '.join(open_orders[:5])} …") from None

    def end(self):
        self.is_ending.set()
        self.join(10)

    def run(self):
        while not self.is_ending.is_set():
            try:
                self.session()
            except (pika.exceptions.AMQPError, OSError):
                self.is_ending.wait(RETRY_S)

    def session(self):
        connection = pika.BlockingConnection(self.parameters)
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_consume(self.queue, self.take)
        self.connects += 1
        while not self.is_ending.is_set():
            while self.to_post:
                line = self.to_post[0]
                channel.basic_publish(self.exchange, INTAKE, line.text.encode(), mandatory=True, properties=pika.BasicProperties(
                    delivery_mode=2, reply_to=self.queue, message_id=line.order_id, correlation_id=line.order_id))
                with self.lock:
                    self.to_post.pop(0)
                self.posted += 1
            connection.process_data_events(time_limit=LISTEN_S)
        connection.close()

    def take(self, channel, method, properties, body):
        status = json.loads(body)
        with self.lock:
            self.statuses.setdefault(properties.correlation_id, {})[status["seq"]] = status["status"]
        channel.basic_ack(method.delivery_tag)
