#!/usr/bin/python3
"""Posts an order of the workflow "hello" and prints its statuses. Usage: example_client.py AMQP-URL"""
import sys

from makegood import Client

with Client(sys.argv[1]) as client:
    order_id = client.submit("hello", {"name": "Ada", "amount": 14.5})
    for status in client.statuses(order_id, timeout=60):
        print(order_id, status["seq"], status["status"])
