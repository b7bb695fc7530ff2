#!/usr/bin/python3
"""A client: posts one order and prints its statuses until it has ended.

Usage: python_client.py AMQP-URL WORKFLOW PAYLOAD [CLIENT]. CLIENT: whose exchange and queue `broker apply --client` made.
"""
import json
import sys
import uuid
from decimal import Decimal

import pika

url, workflow, payload = sys.argv[1:4]
order_id = str(uuid.uuid4())  # made once: posted again after a failure, it is still the same order
channel = pika.BlockingConnection(pika.URLParameters(url)).channel()
channel.confirm_delivery()
if len(sys.argv) > 4:  # it may write to nothing and read from nothing else
    exchange, queue = f"makegood.intake.{sys.argv[4]}", f"client.{sys.argv[4]}.statuses"
else:
    exchange, queue = "makegood.intake", channel.queue_declare("", exclusive=True).method.queue
body = f'{{"order_id": "{order_id}", "workflow": "{workflow}", "payload": {payload}}}'  # 14.00 stays 14.00
channel.basic_publish(exchange, "orders.intake", body, pika.BasicProperties(
    content_type="application/json", delivery_mode=2, reply_to=queue, correlation_id=order_id, message_id=order_id), mandatory=True)
for _method, properties, message in channel.consume(queue, auto_ack=True):
    if properties.correlation_id != order_id:
        continue  # of an order that was posted before, in a queue that is kept
    status = json.loads(message, parse_float=Decimal)
    print(order_id, status["seq"], status["status"], status.get("reason", ""), status.get("output", ""),
          *status.get("cause", {}).values(), flush=True)
    if status["status"] in ("processed", "compensated", "cancelled", "rejected", "error"):
        sys.exit(0 if status["status"] == "processed" else 1)
