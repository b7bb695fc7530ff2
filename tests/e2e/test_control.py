"""All replicas of an agent apply an operator's settings of its remote service, and no order loses an attempt by them."""

import json
import time

from harness import scenario, step

ONE_BY_ONE = {"concurrency": 1, "tries": 1}


def service(s, name="payment"):
    """Its row of `service list`."""
    return next(row for row in json.loads(s.cluster.tool("service", "list", "-o", "json").stdout) if row["service"] == name)


def want(s, verb, *words):
    """Gives the command; returns its version once all three replicas report it as applied, and prints the time until then."""
    began = time.monotonic()
    done = s.cluster.tool("service", verb, "payment", "--reason", f"the test wants {verb}", "-o", "json", *words)
    version = json.loads(done.stdout)["version"]
    wait_obeyed(s, version)
    print(f"{verb}: obeyed by all after {time.monotonic() - began:.2f} s")
    return version


def wait_obeyed(s, version):
    def look():
        return s.rows("SELECT count(*) AS n FROM service_state WHERE service = 'payment' AND control_version = %s"
                      " AND reported_at > clock_timestamp() - interval '10 seconds'", version)[0]["n"]
    s.wait(lambda: look() == 3, f"three replicas obey version {version}")


def attempts(s):
    """For each order: the number of requests sent, and the counted failures."""
    return s.rows("SELECT order_id, step, attempt, failure_count FROM order_step ORDER BY order_id, step")


def requests(s):
    return sum(entry["do_requests"] for entry in s.remote("payment").entries().values())


def assert_nothing_counted(s):
    """Would catch: a reply of an agent that applies the setting, counted as a failure of the service."""
    counted = s.rows("SELECT order_id, transitions FROM order_event WHERE position('reply_transient' IN transitions::text) > 0")
    assert not counted, counted


def database_now(s):
    return s.rows("SELECT extract(epoch FROM clock_timestamp()) AS now")[0]["now"]


@scenario(agents=3, services=("payment",), edit_service=lambda _, definition: {**definition, **ONE_BY_ONE})
def a_paused_service_is_called_by_no_replica_and_no_attempt_is_lost(s):
    """Would catch: a replica that goes on calling; attempts burnt by waiting; orders that stay when the pause is over."""
    within_s = 5
    s.load_workflow("pay", [step("charge", "payment", complete_within=f"{within_s}s", retry={"attempts": 2, "backoff": "50ms"})])
    s.remote("payment").switch("slow:1000", on="do")
    orders = [s.client.submit("pay", {"n": n}) for n in range(15)]
    s.wait(lambda: s.remote("payment").load()["now"] == 3, "three calls are under way, and the others wait for them")
    version = want(s, "pause")
    orders += [s.client.submit("pay", {"n": n}) for n in range(15, 20)]

    s.wait(lambda: s.rows("SELECT 1 FROM order_step WHERE state = 'waiting' AND error_code = 'service_paused'"),
           "what had gone out to the agents is parked")
    s.wait(lambda: not s.rows("SELECT 1 FROM order_step WHERE state = 'running'"), "calls under way have ended")
    for order in orders:
        s.client.wait_status(order, "accepted")
    s.wait(lambda: s.client.depth("agent.payment.requests") == 0, "the queue is empty")
    assert service(s)["state"] == "paused"
    waiting = next(order for order in orders if s.step_state(order, "charge") == "waiting")
    why = s.cluster.tool("order", "explain", waiting.order_id).stdout
    assert "paused by" in why and "the test wants pause" in why, why

    before, called, until = attempts(s), requests(s), database_now(s) + within_s + 1
    s.wait(lambda: database_now(s) > until, "the pause has lasted for longer than an attempt may take")
    assert attempts(s) == before, (before, attempts(s))
    assert requests(s) == called

    refused = s.cluster.tool("service", "resume", "payment", "--if-version", version + 1, "--reason", "too late", check=False)
    assert refused.returncode == 4, refused
    s.remote("payment").switch("order")
    want(s, "resume", "--if-version", version)
    for order in orders:
        s.wait_state(order, "processed")
    assert_nothing_counted(s)
    noted = s.rows("SELECT verb, subject, reason, detail FROM operator_action ORDER BY action_id")
    assert [row["verb"] for row in noted] == ["service pause", "service resume"], noted
    assert noted[0]["subject"] == "payment" and noted[0]["detail"]["is_paused"] is True, noted


@scenario(agents=3, services=("payment",), schedulers=2, supervisors=2, long="graces, elections and patience pass in real time")
def a_limit_is_of_all_replicas_together(s):
    """Would catch: a limit that each replica applies by itself, one that a restarted agent loses, and one that stays after its
    removal."""
    s.load_workflow("pay", [step("charge", "payment", complete_within="30s")])
    s.remote("payment").switch("slow:50", on="do")
    want(s, "limit", "--concurrency", "6")
    row = service(s)
    assert (row["concurrency"], row["agents"], row["obeying"]) == (6, 3, 3), row
    s.remote("payment").load()  # from here on
    for order in [s.client.submit("pay", {"n": n}) for n in range(120)]:
        s.wait_state(order, "processed")
    most = s.remote("payment").load()["most"]
    assert 2 < most <= 6, most

    again = s.cluster.agents[0]
    again.terminate()
    again.start().wait_ready()
    s.wait(lambda: again.metric("makegood_agent_concurrency") == 2, "a new process has a share, and the one that has gone none")

    want(s, "limit", "--concurrency", "none")
    s.remote("payment").switch("slow:500", on="do")
    orders = [s.client.submit("pay", {"m": n}) for n in range(60)]
    s.wait(lambda: s.remote("payment").load()["most"] > 6, "more calls at once than the limit let")
    for order in orders:
        s.wait_state(order, "processed")
    assert_nothing_counted(s)


@scenario(agents=3, services=("payment",), supervisors=2)
def a_pause_outlives_its_leader_and_ends_by_the_next_ones_word(s):
    """Would catch: agents that resume when they receive nothing; a new leader that has lost the settings, or that agents ignore."""
    s.load_workflow("pay", [step("charge", "payment")])
    leader = s.wait(lambda: next((one for one in s.cluster.supervisors if one.metric("makegood_supervisor_leading") == 1), None),
                    "one leads")
    want(s, "pause")
    s.ends_badly.add(leader.name)
    leader.kill()
    order = s.client.submit("pay")
    s.wait_step(order, "charge", "waiting")
    other = next(one for one in s.cluster.supervisors if one is not leader)
    s.wait(lambda: other.metric("makegood_supervisor_leading") == 1, "the other one leads")
    assert not s.remote("payment").entries()
    assert all(agent.metric("makegood_agent_paused") == 1 for agent in s.cluster.agents)
    want(s, "resume")
    s.wait_state(order, "processed")

    want(s, "pause", "--for", "2s")
    late = s.client.submit("pay")
    s.wait_state(late, "processed")  # without a resume
    assert_nothing_counted(s)


@scenario(services=("payment",), long="others of its kind are quick")
def a_service_that_is_gone_is_forgotten_until_an_agent_of_it_reports(s):
    """Would catch: a row "no agent" that stays for ever; a live service that is forgotten by mistake; one that stays unknown."""
    def is_listed():
        return "payment" in s.cluster.tool("service", "list").stdout

    def forget():
        return s.cluster.tool("service", "forget", "payment", "--reason", "it was shut down", check=False)
    s.load_workflow("trip", [step("charge", "payment")])
    refused = forget()
    assert refused.returncode == 4 and "loaded workflow trip" in refused.stderr, refused
    s.rows("DELETE FROM workflow; SELECT 1")
    agent = s.cluster.agents_of("payment")[0]
    s.wait(lambda: s.rows("SELECT 1 FROM service_state WHERE service = 'payment'"), "its agent has reported")
    refused = forget()
    assert refused.returncode == 4 and "its agent" in refused.stderr, refused
    assert agent.terminate() == 0
    s.rows("UPDATE service_state SET reported_at = reported_at - interval '11 seconds'; SELECT 1")
    done = forget()
    assert done.returncode == 0, done
    assert not is_listed() and not s.rows("SELECT 1 FROM service_state WHERE service = 'payment'")
    assert forget().returncode == 3
    agent.start()
    s.wait(is_listed, "the agent's report has made it known again")
