"""A remote service that is down for most of its agents is down for all. One of them probes it, and no order loses attempts by
further probes."""

import datetime
import json

from harness import scenario, step

OPEN_FOR_S = 1


def wary(_name, definition):
    """One call at a time and one per attempt; two failures open the breaker."""
    return {**definition, "concurrency": 1, "tries": 1, "try_timeout": "30s",
            "breaker": {"min_calls": 2, "open_for": f"{OPEN_FOR_S}s"}}


def load(s):
    s.load_workflow("pay", [step("charge", "payment", complete_within="60s", retry={
        "attempts": 1000, "backoff": "50ms", "max_backoff": "200ms"})])


def service(s):
    """Its row of `service list`."""
    return next(row for row in json.loads(s.cluster.tool("service", "list", "-o", "json").stdout) if row["service"] == "payment")


def words(s, among=None):
    """The state sent to each agent: 0 not down, 1 down, 2 down and prober."""
    return [agent.metric("makegood_agent_service_down") for agent in among or s.cluster.agents]


def wait_down(s, among=None):
    """Returns the prober."""
    among = among or s.cluster.agents
    s.wait(lambda: sorted(words(s, among)) == [1] * (len(among) - 1) + [2], "it is down for all, and one probes")
    return among[words(s, among).index(2)]


def calls(agent):
    return agent.metric("makegood_agent_calls_total")


def requests(s):
    return sum(entry["do_requests"] for entry in s.remote("payment").entries().values())


def failures(s):
    return s.rows("SELECT coalesce(sum(failure_count), 0)::bigint AS n FROM order_step")[0]["n"]


def answered_at_ms(s):
    """When the agents received each failure answer, by the one clock of this machine; and which agent."""
    found = []
    for agent in s.cluster.agents:
        with open(agent.log_path, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log if '"call made"' in line]
        found += [(datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp() * 1000, agent.name)
                  for line in lines if line["status"] == 503]
    return sorted(found)


@scenario(agents=3, services=("payment",), edit_service=wary, schedulers=2, supervisors=2,
          long="graces, elections and patience pass in real time")
def a_service_that_is_down_for_most_agents_is_probed_by_one_for_all(s):
    """Would catch: an agent that tests a service known to be down at its own orders' expense; several probers at a time; attempts
    burnt by waiting or by probes; an agent that is not informed of the end."""
    load(s)
    slow = s.client.submit("pay", {"behaviour": "slow:15000"})
    s.wait(lambda: s.remote("payment").load()["now"] == 1, "one agent is busy")
    busy = s.wait(lambda: next((a for a in s.cluster.agents if a.metric("makegood_agent_in_flight") == 1), None), "it says so")
    s.remote("payment").switch("unavailable", on="do")
    orders = [s.client.submit("pay", {"n": n}) for n in range(10)]
    prober = wait_down(s)
    assert calls(busy) == 0, "the busy one was to see no failure itself"
    assert prober is not busy
    s.wait(lambda: service(s)["breakers_open"] == 3, "all say that they are open")

    before = len(answered_at_ms(s))
    s.wait(lambda: len(answered_at_ms(s)) >= before + 4, "four probes")
    probes = answered_at_ms(s)[before:]
    attempts = failures(s)  # of the calls before the breakers opened; the four probes cost none
    assert attempts <= before, (attempts, before)
    assert {name for _, name in probes} == {prober.name}, probes
    between = [later - earlier for (earlier, _), (later, _) in zip(probes, probes[1:])]
    assert all(ms >= OPEN_FOR_S * 1000 - 20 for ms in between), probes
    s.wait_state(slow, "processed")  # an answer from before the outage ends it for no agent
    assert sorted(words(s)) == [1, 1, 2]

    s.remote("payment").switch("order")
    for order in orders:
        s.wait_state(order, "processed")
    s.wait(lambda: words(s) == [0, 0, 0], "it is over for all")
    assert all(agent.metric("makegood_agent_breaker_state") == 0 for agent in s.cluster.agents)
    refused = len(answered_at_ms(s))
    assert requests(s) == refused + 1 + len(orders), (requests(s), refused)
    assert failures(s) == attempts, (failures(s), attempts)
    counted = s.rows("SELECT count(*) AS n FROM order_event WHERE position('expired' IN transitions::text) > 0")[0]["n"]
    assert counted == 0, counted


@scenario(agents=3, services=("payment",), edit_service=wary, schedulers=2, supervisors=2,
          long="graces, elections and patience pass in real time")
def an_outage_outlives_its_leader_and_its_prober(s):
    """Would catch: agents that stay down by a report of a dead agent, or without a prober; a new leader that has lost the state."""
    load(s)
    s.remote("payment").switch("unavailable", on="do")
    orders = [s.client.submit("pay", {"n": n}) for n in range(10)]
    before = wait_down(s)
    leader = s.wait(lambda: next((one for one in s.cluster.supervisors if one.metric("makegood_supervisor_leading") == 1), None),
                    "one leads")
    s.ends_badly.add(leader.name)
    leader.kill()
    other = next(one for one in s.cluster.supervisors if one is not leader)
    s.wait(lambda: other.metric("makegood_supervisor_leading") == 1, "the other one leads")
    prober = wait_down(s)
    assert prober is before, "a takeover changed who probes"
    seen = calls(prober)
    s.wait(lambda: calls(prober) > seen, "it probes under the new leader")

    s.ends_badly.add(prober.name)
    prober.kill()
    left = [agent for agent in s.cluster.agents if agent is not prober]
    after = s.wait(lambda: next((agent for agent in left if agent.metric("makegood_agent_service_down") == 2), None),
                   "another probes")
    seen = calls(after)
    s.wait(lambda: calls(after) > seen, "it does")
    newcomer = prober.start().wait_ready()
    s.wait(lambda: newcomer.metric("makegood_agent_service_down") == 1, "who has just been started obeys")
    assert calls(newcomer) == 0

    s.remote("payment").switch("order")
    for order in orders:
        s.wait_state(order, "processed")
    s.wait(lambda: words(s) == [0, 0, 0], "it is over for all")
    refused = requests(s) - len(orders)
    assert failures(s) <= refused, (failures(s), refused)  # the killed agent received some of the refusals and reported none


PROBES = 6


def rows_of(s):
    """By order: its number of events and of sent requests."""
    return {row["order_id"]: (row["events"], row["attempt"]) for row in s.rows(
        "SELECT order_id, attempt, (SELECT count(*) FROM order_event e WHERE e.order_id = t.order_id) AS events FROM order_step t")}


@scenario(agents=3, services=("payment",), edit_service=wary, schedulers=2, supervisors=2,
          long="graces, elections and patience pass in real time")
def an_outage_is_no_story_of_those_who_only_wait_for_its_end(s):
    """Would catch: steps that go out at each probe of a service that is down, only to be parked again; hundreds of event rows for
    an hour of it; orders that stay when it is over."""
    load(s)
    s.remote("payment").switch("unavailable", on="do")
    orders = [s.client.submit("pay", {"n": n}) for n in range(20)]
    wait_down(s)
    s.wait(lambda: not s.rows("SELECT 1 FROM order_step WHERE reason <> 'breaker_open'"), "all wait for it, but who may probe")
    before, probes = rows_of(s), len(answered_at_ms(s))
    s.wait(lambda: len(answered_at_ms(s)) >= probes + PROBES, "probes")
    after, probes = rows_of(s), len(answered_at_ms(s)) - probes
    sent = sum(after[order][1] - before[order][1] for order in after)
    told = sum(after[order][0] - before[order][0] for order in after)
    assert sent <= probes + 1, (sent, probes)  # the next one may be under way
    assert told <= 3 * sent, (told, sent)  # it goes out, fails, is parked
    waited = [order for order in after if after[order][1] == before[order][1]]
    assert len(waited) >= len(orders) - sent and all(after[order] == before[order] for order in waited), (before, after)

    s.remote("payment").switch("order")
    for order in orders:
        s.wait_state(order, "processed")
    for order in orders:
        shown = s.cluster.tool("order", "show", order.order_id).stdout.splitlines()
        assert len(shown) <= 35, shown
