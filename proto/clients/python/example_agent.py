#!/usr/bin/python3
"""An agent of the service "greeting". Usage: example_agent.py AMQP-URL"""
import logging
import sys

from makegood import Absent, Agent, Done

greetings = {}  # by idempotency key; a real service keeps them in its database


def greet(request):
    return Done(greetings.setdefault(request.idempotency_key, {"greeting": f"Hello, {request.body['name']}"}))


def forget(request):
    return Done() if greetings.pop(request.do_key, None) else Absent()


logging.basicConfig()
Agent("greeting", url=sys.argv[1], do=greet, undo=forget, verify=lambda request: Done() if request.do_key in greetings else Absent()).run()
