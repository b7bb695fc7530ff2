"""Clients and agents of Makegood in Python, on pika: see ../../README.md. The folder stands alone, to be copied into a project."""

from .agent import Agent
from .client import ENDS, Client, NotTaken, Refused
from .request import Absent, Accepted, Done, Outcome, Permanent, Request, Transient, Unknown

__version__ = "0.3.0"
__all__ = ["ENDS", "Absent", "Accepted", "Agent", "Client", "Done", "NotTaken", "Outcome", "Permanent", "Refused", "Request", "Transient", "Unknown"]
