"""An agent whose replies the broker does not take begins no work that it could not report, is named, and goes on by itself."""

import json
import time

from harness import scenario, step
from test_rights import grant, new_user
from test_standstill import TOLD_S, doctor

QUEUE, REPLIES, EXCHANGE = "agent.payment.requests", "scheduler.replies", "makegood.replies.payment"
RIGHTS = ("^amq\\.gen", f"^({EXCHANGE}|amq\\.gen.*)$".replace("makegood.replies", "makegood\\.replies"), "^(agent\\.payment\\.|makegood\\.control|amq\\.gen)")
ORDERS = 6
LASTS_S = 30  # three attempts of the step would be over
SETTLED_S = 15  # calls under way when it begins
FILLER = json.dumps({"v": 1, "service": "payment", "instance": "filler", "breaker": "closed", "ready": False, "in_flight": 0,
                     "concurrency": 1, "reason": "stopping"})


def exchange_deleted(s, channel):
    channel.exchange_delete(EXCHANGE)
    return lambda: s.cluster.tool("broker", "apply", "--service", "payment")


def binding_lost(s, channel):
    channel.queue_unbind(REPLIES, EXCHANGE, REPLIES)
    return lambda: s.cluster.tool("broker", "apply", "--service", "payment")


def right_revoked(s, _channel):
    grant(s, s.user, RIGHTS[0], "^amq\\.gen", RIGHTS[2])
    return lambda: grant(s, s.user, *RIGHTS)


def queue_full(s, _channel):
    vhost = s.url.rsplit("/", 1)[1]
    scheduler = s.cluster.schedulers[0]
    scheduler.pause()
    s.servers.rabbit.ctl("set_policy", "--vhost", vhost, "--apply-to", "queues", "full", "^scheduler\\.replies$", '{"max-length": 1}')

    def fill():
        for _ in range(3):
            try:
                s.client.publish(FILLER, REPLIES, "", type="service_report")
            except Exception:  # pylint: disable=broad-except  # it is refused
                return True
        return False
    s.wait(fill, "the queue is full")

    def mend():
        s.servers.rabbit.ctl("clear_policy", "--vhost", vhost, "full")
        scheduler.resume()
    return mend


def alarm(s, _channel):
    s.servers.rabbit.ctl("set_vm_memory_high_watermark", "0.000001")
    return lambda: s.servers.rabbit.ctl("set_vm_memory_high_watermark", "0.6")


def lines_with(process, words):
    with open(process.log_path, encoding="utf-8", errors="replace") as log:
        return [line for line in log if words in line]


def named(s):
    """The lines of doctor about agents."""
    return [line for line in doctor(s).splitlines() if line.startswith("WRONG agent ")]


def run_mute(s, break_it, reason, is_alerted=True):
    """The fault comes while requests are under way, lasts for longer than all attempts, and is mended. `is_alerted`: the others can
    work, so that they name the agent."""
    s.load_workflow("pay", [step("charge", "payment", complete_within="8s")])
    agent = s.cluster.agents[0]
    s.client.wait_status(s.client.submit("pay"), "processed")
    s.wait(lambda: not named(s), "doctor finds it well", TOLD_S)
    agent.pause()  # the requests wait until the fault is there
    orders = [s.client.submit("pay") for _ in range(ORDERS)]
    for order in orders:
        s.wait_step(order, "charge", "running")
    admin = s.new_client()
    mend = break_it(s, admin.channel)
    agent.resume()
    began = time.monotonic()
    s.wait(lambda: agent.get("/readyz")[0] == 503 and reason in agent.get("/readyz")[1], f"/readyz names {reason}", SETTLED_S)
    s.wait(lambda: s.client.consumers(QUEUE + ".high") == 0, "it stops to consume", SETTLED_S)
    assert agent.series("makegood_agent_mute", service="payment") == 1, agent.page()
    s.wait(lambda: agent.metric("makegood_agent_in_flight") == 0, "calls under way end", SETTLED_S)
    calls = agent.metric("makegood_agent_calls_total")
    if is_alerted:
        line = s.wait(lambda: named(s), "doctor names the agent", TOLD_S)[0]
        assert "payment" in line and "replies" in line, line
        s.wait(lambda: s.rows("SELECT 1 FROM operator_alert WHERE code = 'standstill' AND closed_at IS NULL"), "an alert is open", TOLD_S)
    s.wait(lambda: time.monotonic() - began > LASTS_S, "it lasts", LASTS_S + 5)
    assert agent.metric("makegood_agent_calls_total") == calls, "it calls on"
    mend()
    for order in orders:
        s.client.wait_status(order, "processed", 90)
    agent.wait_ready()
    assert agent.series("makegood_agent_mute", service="payment") == 0, agent.page()
    assert len(lines_with(agent, "replies cannot be published")) == 1, lines_with(agent, "replies cannot be published")
    assert len(lines_with(agent, "replies are taken again")) == 1
    failures = s.rows("SELECT max(failure_count) AS most, max(attempt) AS attempts FROM order_step")[0]
    # Schedulers that stall see no agent stop, so an attempt whose reply is owed at its complete-by is overdue.
    assert failures["most"] <= (0 if is_alerted else 1) and failures["attempts"] <= 2, "\n\n".join(s.story(order) for order in orders)
    s.wait(lambda: not named(s), "doctor finds it well again", TOLD_S)


def limited(s, path):
    """The agent as a user of its own, with the rights of deploy/rabbitmq."""
    s.user, s.cluster.access.url = new_user(s, *RIGHTS)
    agent = s.cluster.make_agent("payment", 1).start()
    s.cluster.access.url = path
    s.cluster.agents.append(agent.wait_ready())


@scenario(services=("payment",), long="alerts, pauses and time-outs pass in real time")
def an_agent_whose_reply_exchange_is_gone_calls_no_more(s):
    """Would catch: work done for orders that are compensated, since nobody learns its result."""
    run_mute(s, exchange_deleted, EXCHANGE)


@scenario(services=("payment",), long="time-outs and reports pass in real time")
def an_agent_whose_replies_reach_no_queue_calls_no_more(s):
    """Would catch: the same by a lost binding, where the broker returns each reply and the agent is ready."""
    run_mute(s, binding_lost, "not bound to exchange makegood.replies.payment")


@scenario(services=("payment",), long="time-outs and reports pass in real time")
def an_agent_whose_replies_find_a_full_queue_calls_no_more(s):
    """Would catch: the same by a queue that refuses, while the schedulers take nothing."""
    run_mute(s, queue_full, "scheduler.replies refuses", is_alerted=False)


@scenario(services=("payment",), agents=0, long="time-outs and reports pass in real time")
def an_agent_that_may_not_write_replies_calls_no_more(s):
    """Would catch: the same by a right that is taken away."""
    limited(s, s.url)
    run_mute(s, right_revoked, "the right to write")


@scenario(services=("payment",), own_servers=True, long="RabbitMQ boots twice")
def an_agent_under_an_alarm_of_the_broker_calls_no_more_on_servers_of_its_own(s):
    """Would catch: the same by the memory alarm: consumers get requests, and publishers are blocked."""
    run_mute(s, alarm, "blocked publishers", is_alerted=False)
