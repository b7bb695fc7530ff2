#!/usr/bin/python3
"""An agent that passes on a service's own code, which steers terminals. Usage: steering_agent.py AMQP-URL"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "proto" / "clients" / "python"))
from makegood import Agent, Permanent  # noqa: E402  pylint: disable=wrong-import-position

CODE = "code\x1b]0;OWNED\x07\x1b[2J\x1b[31mX\u202e\u061c\u0085\n"
Agent("parcels", url=sys.argv[1], do=lambda _request: Permanent(CODE, f"{CODE} is its text")).run()
