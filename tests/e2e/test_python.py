"""The Python library of proto/clients: its agent serves the steps of a service, its client follows its orders."""

import importlib
import sys

import parcels
from harness import DEADLINE_S, scenario
from local import cluster

AGENT = ("/usr/bin/python3", "-B", cluster.REPOSITORY / "tests" / "e2e" / "parcels_agent.py")
LIBRARY = cluster.REPOSITORY / "proto" / "clients" / "python"


def import_library():
    if str(LIBRARY) not in sys.path:
        sys.path.insert(0, str(LIBRARY))
    return importlib.import_module("makegood")


@scenario(services=("payment",))
def an_agent_and_a_client_by_the_python_library_work_as_any_other(s):
    """Would catch: a library whose replies, undos, refusals, statuses or second posts the engine does not take."""
    with import_library().Client(s.url) as client:
        parcels.work_as_any_other(parcels.Parcels(s, AGENT), client)


@scenario(services=("payment",))
def an_agent_by_the_python_library_follows_pause_and_limit(s):
    """Would catch: calls of a paused service; attempts that a pause uses up; a limit that the agent passes over."""
    parcels.follow_pause_and_limit(parcels.Parcels(s, AGENT))


@scenario(services=("payment",))
def an_agent_by_the_python_library_ends_without_loss(s):
    """Would catch: a call under way that SIGTERM cuts off or leaves unanswered; a request that dies with its agent."""
    parcels.end_without_loss(parcels.Parcels(s, AGENT))


@scenario(services=("payment",))
def a_consumer_of_the_python_library_that_the_broker_cancels_comes_back(s):
    """Would catch: an agent, and a client with a queue of its own, that consume nothing after their queue was made anew."""
    s.cluster.tool("broker", "apply", "--client", "shop")
    with import_library().Client(s.url, client="shop") as client:
        parcels.consume_again(parcels.Parcels(s, AGENT), client)
