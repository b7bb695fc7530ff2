"""Agents of a library and their client, whatever its language: the body of a step says how its parcel fares."""

import json

from harness import DEADLINE_S, step
from local import processes

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
EXACT = 123456789012345678901234567890  # has more digits than a double
QUICK = {"attempts": 3, "backoff": "50ms", "max_backoff": "200ms"}


class Parcels:
    """Agents of a service that only this test has, and the ledger of their calls. `command` starts one."""

    def __init__(self, s, command):
        self.s, self.command, self.ledger, self.count = s, command, s.scratch / "parcels.jsonl", 0
        s.cluster.tool("broker", "apply", "--service", "parcels")
        deliver = {"step": "deliver", "service": "parcels", "after": [], "complete_within": "20s", "retry": QUICK,
                   "do": {"method": "POST", "path": "/parcels", "body": "${/payload/parcel}"},
                   "undo": {"method": "DELETE", "path": "/parcels/${/do_key}", "complete_within": "20s", "retry": QUICK}}
        charge = step("charge", "payment", after=["deliver"], do={"method": "POST", "path": "/charges", "body": {"amount": 14.5}})
        s.load_workflow("parcel", [deliver, charge], output={"parcel": "${/results/deliver/parcel}"})

    def start(self):
        self.count += 1
        name = f"parcels-{self.count}"
        agent = processes.Process(name, [*self.command, self.s.url, self.ledger], self.s.scratch / f"{name}.log")
        self.s.others.append(agent)
        agent.start()
        self.s.wait(lambda: self.s.client.consumers("agent.parcels.requests") == 1, "the agent consumes")
        return agent

    def calls(self, **members):
        lines = self.ledger.read_text(encoding="utf-8").splitlines() if self.ledger.exists() else []
        calls = [json.loads(line) for line in lines]
        return [call for call in calls if members.items() <= call.items()]

    def go(self):
        (self.s.scratch / "parcels.jsonl.go").touch()

    def want(self, verb, *words):
        """Gives the command, and waits until the agent reports its version."""
        done = self.s.cluster.tool("service", verb, "parcels", "--reason", "the test wants it", "-o", "json", *words)
        version = json.loads(done.stdout)["version"]
        self.s.wait(lambda: self.s.rows("SELECT 1 FROM service_state WHERE service = 'parcels' AND control_version = %s", version),
                    f"the agent reports version {version}")


def work_as_any_other(parcels, client):
    s, agent = parcels.s, parcels.start()
    plain = client.submit("parcel", {"parcel": "book"}, traceparent=TRACE)
    assert client.wait(plain, DEADLINE_S)["status"] == "processed"
    assert [(status["seq"], status["status"]) for status in client.statuses(plain, 1)] == [(1, "accepted"), (2, "processed")]
    assert parcels.calls(order=plain)[0]["trace"].split("-")[1] == TRACE.split("-")[1]

    exact = client.submit("parcel", {"parcel": EXACT})
    assert client.wait(exact, DEADLINE_S)["output"] == {"parcel": EXACT}

    raised = client.submit("parcel", {"parcel": "raise"})
    assert client.wait(raised, DEADLINE_S)["status"] == "processed"
    assert [call["attempt"] for call in parcels.calls(order=raised)] == [1, 2]

    refused = client.submit("parcel", {"parcel": "refuse"})
    end = client.wait(refused, DEADLINE_S)
    assert end["status"] == "compensated" and end["cause"]["code"] == "no_such_street", end

    s.remote("payment").switch("decline", on="do")
    undone = client.submit("parcel", {"parcel": "vase"}, priority="high")
    assert [status["status"] for status in client.statuses(undone, DEADLINE_S)] == ["accepted", "compensating", "compensated"]
    assert [call["kind"] for call in parcels.calls(order=undone)] == ["do", "undo"]
    s.remote("payment").switch("order")

    wrong = client.submit("no-such-workflow")
    assert client.wait(wrong, DEADLINE_S)["status"] == "rejected"

    held = client.submit("parcel", {"parcel": "hold"})
    s.wait(lambda: parcels.calls(order=held), "the agent is at work")
    s.servers.rabbit.ctl("close_all_connections", "--vhost", s.url.rsplit("/", 1)[1], "the test")
    parcels.go()
    assert client.wait(held, DEADLINE_S)["status"] == "processed"  # the statuses came to another queue
    assert agent.terminate() == 0


def consume_again(parcels, client):
    """`client` has the name shop, and its queue. Both queues are deleted and made anew."""
    s, agent = parcels.s, parcels.start()
    assert client.wait(client.submit("parcel", {"parcel": "book"}), DEADLINE_S)["status"] == "processed"
    for queue, words in (("agent.parcels.requests", ("--service", "parcels")), ("client.shop.statuses", ("--client", "shop"))):
        s.delete_queue(queue)
        s.cluster.tool("broker", "apply", *words)
        s.wait(lambda queue=queue: s.client.consumers(queue) == 1, f"{queue} has its consumer again")
    assert client.wait(client.submit("parcel", {"parcel": "vase"}), DEADLINE_S)["status"] == "processed"
    assert "cancelled a consumer" in agent.tail(200), agent.tail(200)


def follow_pause_and_limit(parcels):
    s = parcels.s
    parcels.start()
    parcels.want("pause")
    orders = [s.client.submit("parcel", {"parcel": n}) for n in range(8)]
    s.wait(lambda: s.rows("SELECT count(*) AS n FROM order_step WHERE step = 'deliver' AND state = 'waiting'")[0]["n"] == 8,
           "all steps wait for the end of the pause")
    assert not parcels.calls()
    parcels.want("limit", "--rate", "2")
    parcels.want("resume")
    for order in orders:
        s.wait_state(order, "processed")
    moments = [call["at"] for call in parcels.calls()]
    assert len(moments) == 8, moments
    assert moments[-1] - moments[0] > 7 / 2 * 0.9, moments  # a token each half second, the first one at once
    counted = s.rows("SELECT order_id FROM order_step WHERE failure_count > 0")
    assert not counted, counted


def end_without_loss(parcels):
    s = parcels.s
    first = parcels.start()
    order = s.client.submit("parcel", {"parcel": "hold"})
    s.wait(lambda: parcels.calls(order=order.order_id), "the agent is at work")
    first.ask_to_end()
    s.wait(lambda: "stopping: finishing 1 call" in first.tail(), "the agent is stopping")
    parcels.go()
    assert first.wait_end() == 0, first.tail()
    s.wait_state(order, "processed")
    assert [(call["attempt"], call["again"]) for call in parcels.calls(order=order.order_id)] == [(1, False)]

    (s.scratch / "parcels.jsonl.go").unlink()
    second = parcels.start()
    orders = [s.client.submit("parcel", {"parcel": "hold"}) for _ in range(6)]  # more than it calls at once
    s.wait(lambda: len(parcels.calls()) == 1 + 4, "the agent is at work on as many as it may")
    s.ends_badly.add(second.name)
    second.kill()
    parcels.go()
    parcels.start()
    for order in orders:
        s.wait_state(order, "processed")
    calls = [call for order in orders for call in parcels.calls(order=order.order_id)]
    assert all(call["attempt"] == 1 for call in calls) and sum(call["again"] for call in calls) >= 4, calls
