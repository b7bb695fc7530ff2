#!/usr/bin/python3
"""An agent in another language: serves the steps of service "greeting". Usage: python_agent.py AMQP-URL"""
import json
import sys
from datetime import datetime, timezone

import pika

done = {}  # effects by idempotency key; a real service keeps them in its database


def handle(channel, method, properties, body):
    request = json.loads(body)
    complete_by = datetime.fromisoformat(request["complete_by"].replace("Z", "+00:00"))
    if datetime.now(timezone.utc) < complete_by:  # past complete-by: silence, not even an error
        key = request["idempotency_key"]
        if request["kind"] == "do":
            name = request["request"]["body"]["name"]
            reply = {"outcome": "done", "executed": "yes", "result": done.setdefault(key, {"greeting": f"Hello, {name}"})}
        elif request["kind"] == "undo":
            done.pop(request["do_key"], None)
            reply = {"outcome": "done", "executed": "yes"}
        else:  # verify
            reply = {"outcome": "done" if request["do_key"] in done else "absent", "executed": "no"}
        reply["v"] = 1
        for name in ("order_id", "step", "attempt", "kind"):
            reply[name] = request[name]
        if method.redelivered:  # another agent may be at work on it
            reply["may_still_act"] = True
        channel.basic_publish("makegood.replies.greeting", "scheduler.replies", json.dumps(reply), pika.BasicProperties(
            delivery_mode=2, type="reply", correlation_id=properties.correlation_id), mandatory=True)
    channel.basic_ack(method.delivery_tag)  # only now: the reply is confirmed


channel = pika.BlockingConnection(pika.URLParameters(sys.argv[1])).channel()
channel.confirm_delivery()
channel.basic_qos(prefetch_count=16)
for queue in ("agent.greeting.requests.high", "agent.greeting.requests"):
    channel.basic_consume(queue, handle)
channel.start_consuming()
