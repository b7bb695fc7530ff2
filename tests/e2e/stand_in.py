"""A stand-in for the schedulers: it takes signals from their queue and answers as it is told."""

import json
import threading

import pika


class StandIn:
    """Takes orders.signals and answers each command with `answer`, a function of the command; None: not at all."""

    def __init__(self, url):
        self.taken, self.bodies, self.answer = [], [], lambda command: {"verdict": "done", "signal": "taken"}
        self.connection = pika.BlockingConnection(pika.URLParameters(url))
        self.channel = self.connection.channel()
        self.channel.basic_consume("orders.signals", self.take)
        self.thread = threading.Thread(target=self.channel.start_consuming)
        self.thread.start()

    def take(self, channel, method, properties, body):
        command = json.loads(body)
        self.taken.append((method.exchange, method.routing_key, properties, command))
        self.bodies.append(body)
        answer = self.answer(command)
        if answer is not None:
            result = {"v": 1, "command_id": command["command_id"], "text": "", **answer}
            if "order_id" in command and answer["verdict"] != "invalid":
                result |= {"order_id": command["order_id"], "version": 7, "state": "processing"}
            channel.basic_publish("", properties.reply_to, json.dumps(result).encode(),
                                  pika.BasicProperties(correlation_id=properties.correlation_id, type="command_result"))
        channel.basic_ack(method.delivery_tag)

    def end(self):
        self.connection.add_callback_threadsafe(self.channel.stop_consuming)
        self.thread.join()
        self.connection.close()
