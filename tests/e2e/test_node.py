"""The Node library of proto/clients: its agent serves the steps of a service and keeps the protocol, its client follows its orders.
Alongside it, a client generated from the gateway's contract."""

import subprocess

import node_library
import parcels
import test_gateway
from harness import DEADLINE_S, scenario, step
from local import cluster, processes
from test_agent_test import RULES, begin, end, of

HERE = cluster.REPOSITORY / "tests" / "e2e"


def parcels_of(s, folder):
    return parcels.Parcels(s, ("node", folder / "parcels_agent.js"))


@scenario(services=("payment",), long="npm installs packages")
def an_agent_and_a_client_by_the_node_library_work_as_any_other(s):
    """Would catch: a library whose replies, undos, refusals, statuses or second posts the engine does not take, or that loses digits."""
    folder = node_library.install()
    with node_library.client(folder, s) as client:
        parcels.work_as_any_other(parcels_of(s, folder), client)


@scenario(services=("payment",), long="npm installs packages")
def an_agent_by_the_node_library_follows_pause_and_limit(s):
    """Would catch: calls of a paused service; attempts that a pause uses up; a limit that the agent passes over."""
    parcels.follow_pause_and_limit(parcels_of(s, node_library.install()))


@scenario(services=("payment",), long="npm installs packages")
def an_agent_by_the_node_library_ends_without_loss(s):
    """Would catch: a call under way that SIGTERM cuts off or leaves unanswered; a request that dies with its agent."""
    parcels.end_without_loss(parcels_of(s, node_library.install()))


@scenario(services=("payment",), long="npm installs packages")
def a_consumer_of_the_node_library_that_the_broker_cancels_comes_back(s):
    """Would catch: an agent, and a client with a queue of its own, that consume nothing after their queue was made anew."""
    folder = node_library.install()
    s.cluster.tool("broker", "apply", "--client", "shop")
    with node_library.client(folder, s, s.url, "shop") as client:
        parcels.consume_again(parcels_of(s, folder), client)
        assert "has cancelled the consumer" in client.log.read_text(encoding="utf-8")


@scenario(services=("payment",), schedulers=0, supervisors=0, agents=0, long="npm installs packages")
def an_agent_by_the_node_library_keeps_the_protocol(s):
    """Would catch: a rule of the protocol that the library breaks."""
    s.cluster.tool("broker", "apply", "--service", "parcels")
    agent = processes.Process("parcels", ["node", node_library.install() / "parcels_agent.js", s.url, s.scratch / "parcels.jsonl"],
                              s.scratch / "parcels.log")
    s.others.append(agent)
    agent.start()
    s.wait(lambda: s.client.consumers("agent.parcels.requests") == 1, "the agent consumes")
    code, found = end(begin(s, s.url, "parcels"))
    assert set(found) == set(RULES) and of(found, "kept") == set(RULES) and code == 0, found


@scenario(services=("payment",), long="npm installs packages")
def the_examples_of_the_node_library_run(s):
    """Would catch: examples that do not work together, a package that lacks a file, types that do not fit the examples."""
    folder = node_library.install()
    examples = folder / "node_modules" / "makegood"
    node_library.compile_strictly(folder, "--noEmit", "--checkJs", *sorted(examples.glob("example_*.js")))
    s.cluster.tool("broker", "apply", "--service", "greeting")
    s.cluster.tool("workflow", "load", HERE / "hello.json")
    agent = processes.Process("greeting", ["node", examples / "example_agent.js", s.url], s.scratch / "greeting.log")
    s.others.append(agent)
    agent.start()
    s.wait(lambda: s.client.consumers("agent.greeting.requests") == 1, "the agent consumes")
    done = subprocess.run(["node", examples / "example_client.js", s.url], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    words = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [word[1:] for word in words] == [["1", "accepted"], ["2", "processed"]], done
    s.remote("payment").switch("decline", on="do")
    order = s.client.submit("hello", {"name": "Bob", "amount": 1})
    s.client.wait_status(order, "compensated")
    assert s.step_state(order, "greet") == "undone"
    assert agent.terminate() == 0


@scenario(services=(), schedulers=0, supervisors=0, agents=0, long="npm installs packages")
def the_types_of_the_node_library_are_those_of_the_schemas(_s):
    """Would catch: a member or a word of a message that the library's types lack, or have otherwise."""
    folder = node_library.install()
    (folder / "messages.json").write_text(node_library.message_schemas(), encoding="utf-8")
    node_library.generate(folder, "messages.json", "messages")
    node_library.compile_strictly(folder, "--noEmit", "types.ts")


@scenario(services=("payment",), long="npm installs packages")
def a_client_generated_from_the_contract_works(s):
    """Would catch: a contract from which a generator makes types that do not compile, or that do not fit the gateway's answers."""
    folder = node_library.install()
    node_library.generate(folder, cluster.REPOSITORY / "proto" / "openapi.yaml", "contract")
    node_library.compile_strictly(folder, "gateway.ts")
    test_gateway.load(s)
    s.cluster.tool("broker", "apply", "--service", "parcels")
    s.load_workflow("held", [step("deliver", "parcels", complete_within="1s", do={"method": "POST", "path": "/parcels"})])
    door = test_gateway.start(s)
    done = subprocess.run(["node", folder / "gateway.js", f"http://127.0.0.1:{door.port}", test_gateway.TOKENS["shop"]],
                          capture_output=True, text=True, timeout=2 * DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
