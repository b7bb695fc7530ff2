"""Policies of the broker that others set. Makegood's own policy outranks those of users; an operator policy applies in any case
and is refused by name. A queue that is gone is an alert."""

import json
import time

from harness import scenario
from test_gateway import write_tokens

ORDERS = 50
FOREIGN = {"expires": 3600000, "message-ttl": 3600000, "overflow": "drop-head", "max-length": 10, "delivery-limit": 1}
HARMFUL = ("expires", "message-ttl", "overflow", "delivery-limit")
QUICK = {"expires": 3000, "message-ttl": 3000}
GONE_S = 5.0  # longer than these
SHOWN_S = 60  # RabbitMQ shows which policy applies some seconds later
BACK_S = 60.0  # an alert closes when its cause has not been seen for half a minute
FIXED = ("orders.intake", "orders.intake.high", "scheduler.replies", "scheduler.commands", "orders.signals", "operator.alerts", "orders.rejected",
         "dead.letters")
QUEUES = (*FIXED, "agent.payment.requests", "agent.payment.requests.high", "client.shop.statuses", "client.shop.webhook")


def set_policy(s, name, pattern, definition, kind="policy", priority=1):
    s.servers.rabbit.ctl(f"set_{kind}", "--priority", str(priority), "--apply-to", "queues", name, pattern, json.dumps(definition))


def check(s, api):
    return s.cluster.tool("broker", "check", "--service", "payment", "--amqp-api", api, check=False)


def wait_named(s, api, text):
    """Until `broker check` fails with the text; returns its output."""
    def look():
        done = check(s, api)
        return done.returncode == 1 and text in done.stdout and done.stdout
    return s.wait(look, f"broker check names {text!r}", SHOWN_S)


def wait_good(s, api):
    s.wait(lambda: check(s, api).returncode == 0, "broker check is content", SHOWN_S)


def assert_refused(s, api, text):
    """Doctor names the policy, and neither a scheduler nor a gateway starts."""
    doctor = s.cluster.tool("doctor", "--amqp-api", api, check=False)
    assert doctor.returncode == 1 and f"WRONG policy       {text}" in doctor.stdout, doctor.stdout
    started = s.cluster.make("scheduler", "scheduler-refused", "--amqp-api", api).start()
    s.wait(lambda: not started.is_running(), "the scheduler refuses to start")
    assert started.popen.returncode == 1 and text in started.tail(), started.tail()
    tokens = s.scratch / "tokens"
    write_tokens(tokens, [("read", "shop", "a token")])
    gateway = s.cluster.tool("gateway", "--listen", "127.0.0.1:0", "--tokens-file", tokens, "--amqp-api", api, check=False)
    assert gateway.returncode == 1 and text in gateway.stderr, gateway.stderr


@scenario(own_servers=True, long="RabbitMQ boots twice")
def policies_of_others_are_outranked_on_servers_of_its_own(s):
    """Would catch: queues that expire, messages that age out, the oldest dropped by a full queue, and orders that are set aside
    after two crashes, all by a policy of another team."""
    api = s.servers.rabbit.open_api()
    set_policy(s, "tidy", ".*", FOREIGN)
    for key in HARMFUL:
        wait_named(s, api, f"policy tidy (pattern .*, priority 1) sets {key} {json.dumps(FOREIGN[key])} on ")
    assert_refused(s, api, "policy tidy (pattern .*, priority 1) sets message-ttl 3600000 on ")
    done = s.cluster.tool("broker", "apply", "--amqp-api", api)
    assert "policy makegood: set, priority 10000" in done.stdout, done.stdout
    wait_good(s, api)
    set_policy(s, "tidy", ".*", {**FOREIGN, **QUICK})
    scheduler = s.cluster.schedulers[0]
    scheduler.terminate()
    orders = [s.client.submit() for _ in range(ORDERS)]
    until = time.monotonic() + GONE_S
    s.wait(lambda: time.monotonic() > until, "the times of the foreign policy are over")
    for _ in range(2):  # deliveries that a limit of 1 would count
        scheduler.start()
        s.wait(lambda: s.client.consumers("orders.intake") > 0, "the scheduler consumes")
        scheduler.kill()
    scheduler.start()
    for order in orders:
        s.wait_state(order, "processed", 120)
    assert s.client.depth("dead.letters") == 0
    deaf = s.cluster.make("scheduler", "scheduler-deaf", "--amqp-api", "http://127.0.0.1:1").start()
    s.others.append(deaf)
    deaf.wait_ready()
    assert "the policies of the broker are not known" in deaf.tail(100), deaf.tail(100)


@scenario(own_servers=True, long="RabbitMQ boots twice")
def operator_policies_are_refused_by_name_on_servers_of_its_own(s):
    """Would catch: a loss that no policy of ours outranks, and that starts without a word."""
    api = s.servers.rabbit.open_api()
    s.cluster.tool("broker", "apply", "--client", "shop", "--webhook", "--amqp-api", api)
    for key, value in (("expires", 3600000), ("message-ttl", 3600000), ("delivery-limit", 1)):
        set_policy(s, "ops", ".*", {key: value}, "operator_policy", 7)
        text = f"operator policy ops (pattern .*, priority 7) sets {key} {value} on "
        out = wait_named(s, api, text)
        assert "rabbitmqctl clear_operator_policy -p / ops" in out, out
        assert_refused(s, api, text)
    s.servers.rabbit.ctl("clear_operator_policy", "ops")
    set_policy(s, "full", ".*", {"max-length": 5}, "operator_policy")
    wait_good(s, api)  # a full queue refuses, and its publishers keep their messages
    s.servers.rabbit.ctl("clear_operator_policy", "full")
    for number, queue in enumerate(QUEUES):  # each kind of queue by itself
        set_policy(s, f"ops{number}", f"^{queue}$".replace(".", "\\."), {"message-ttl": 3600000}, "operator_policy")
    for number, queue in enumerate(QUEUES):
        out = wait_named(s, api, f"operator policy ops{number} ")
        assert f"sets message-ttl 3600000 on {queue}:" in out, out
    s.servers.rabbit.add_user("plain", "secret")
    s.servers.rabbit.set_permissions("plain", "", "", ".*")
    done = s.cluster.tool("broker", "check", "--amqp-api", api, check=False,
                          env={"MAKEGOOD_AMQP_URL": s.url.replace("guest:guest", "plain:secret")})
    assert "set_user_tags" in done.stderr, done.stderr


def not_ready(process):
    """The reason on /readyz; "" if it is ready."""
    code, text = process.get("/readyz")
    return text if code == 503 else ""


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_missing_queue_is_an_alert_until_it_is_back(s):
    """Would catch: a deleted or expired queue that only a log names, in a system that counts as ready."""
    supervisor, scheduler = s.cluster.supervisors[0], s.cluster.schedulers[0]
    s.wait_state(s.client.submit(), "processed")
    for queue in FIXED:
        s.client.channel.queue_delete(queue)
    s.wait(lambda: {row["subject"] for row in s.alerts("queue_missing")} == set(FIXED), "an alert names each queue")
    assert all(row["text"] == f"queue {row['subject']} is missing; run: makegood broker apply" for row in s.alerts("queue_missing"))
    s.wait(lambda: "missing; run: makegood broker apply" in not_ready(supervisor), "the supervisor is not ready")
    s.wait(lambda: any(queue in not_ready(scheduler) for queue in FIXED), "the scheduler is not ready, and names a queue")
    words = [word for service in s.cluster.services for word in ("--service", service)]
    s.cluster.tool("broker", "apply", *words)
    s.wait(lambda: not not_ready(scheduler) and not not_ready(supervisor), "both are ready again", BACK_S)
    s.wait(lambda: all(row["closed_at"] for row in s.alerts("queue_missing")), "the alerts are closed", BACK_S)
    s.wait_state(s.client.submit(), "processed")


@scenario()
def a_services_missing_queue_is_an_alert_until_it_is_back(s):
    """Would catch: a deleted queue of requests that its agent counts as read, and that no alert names."""
    s.wait_state(s.client.submit(), "processed")
    agent = next(agent for agent in s.cluster.agents if agent.name.startswith("agent-payment"))
    s.client.channel.queue_delete("agent.payment.requests")
    s.wait(lambda: "agent.payment.requests" in not_ready(agent), "the agent is not ready, and names the queue")
    order = s.client.submit()
    alert = s.wait(lambda: s.alerts("unpublishable"), "an alert names the service")[0]
    assert alert["subject"] == "payment" and "agent.payment.requests" in alert["text"], alert
    s.cluster.tool("broker", "apply", "--service", "payment")
    s.wait(lambda: not not_ready(agent), "the agent is ready again", BACK_S)
    s.wait_state(order, "processed", BACK_S)
    s.wait(lambda: all(row["closed_at"] for row in s.alerts("unpublishable")), "the alert is closed", BACK_S)


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_letter_that_died_of_a_policy_names_the_check(s):
    """Would catch: orders in dead.letters of which nothing tells that a policy put them there."""
    scheduler = s.cluster.schedulers[0]
    scheduler.terminate()
    vhost = s.url.rsplit("/", 1)[1].replace("%2F", "/")
    s.servers.rabbit.ctl("set_policy", "--vhost", vhost, "--apply-to", "queues", "ttl", "^orders\\.intake$", '{"message-ttl": 500}')
    order = s.client.submit()
    s.wait(lambda: s.client.depth("dead.letters") == 1, "the order is a dead letter")
    listed = s.cluster.tool("dead", "list")
    assert "expired" in listed.stdout and "1 of them left their queue" in listed.stderr, (listed.stdout, listed.stderr)
    assert "makegood broker check --amqp-api URL" in listed.stderr, listed.stderr
    s.servers.rabbit.ctl("clear_policy", "--vhost", vhost, "ttl")
    s.cluster.tool("dead", "requeue", "--all", "--reason", "test")
    scheduler.start()
    s.wait_state(order, "processed")


@scenario(own_servers=True, long="RabbitMQ boots twice")
def a_lost_binding_is_named_and_made_anew_on_servers_of_its_own(s):
    """Would catch: a binding of the topology that is lost, while broker check and doctor are content."""
    api = s.servers.rabbit.open_api()
    s.cluster.tool("broker", "apply", "--client", "shop", "--amqp-api", api)
    wait_good(s, api)
    services = [word for name in s.cluster.services for word in ("--service", name)]
    channel = s.new_client().channel
    ours = [(row["source_name"], row["destination_name"], row["destination_kind"], row["routing_key"])
            for row in json.loads(s.servers.rabbit.ctl("list_bindings", "--formatter", "json"))
            if row["source_name"].startswith("makegood.") and not row["destination_name"].startswith("amq.")]
    assert len(ours) == 23, ours  # 9 of fixed exchanges, 4 of each of three services, 2 of the client
    for source, destination, kind, key in ours:
        if kind == "queue":
            channel.queue_unbind(destination, source, key)
        else:
            channel.exchange_unbind(destination, source, key)
    lines = [f"binding of exchange {source} to {destination}: missing" for source, destination, _, _ in ours]
    out, doctor = check(s, api), s.cluster.tool("doctor", "--amqp-api", api, check=False).stdout
    assert out.returncode == 1 and all(line + "; run: makegood broker apply" in out.stdout for line in lines), out.stdout
    assert all(f"WRONG binding      {line}" in doctor for line in lines), doctor
    s.cluster.schedulers[0].terminate()
    started = s.cluster.make("scheduler", "scheduler-bound", "--amqp-api", api).start()
    s.others.append(started)
    started.wait_ready()
    assert "a binding of the broker is missing" in started.tail(100), started.tail(100)
    out = s.cluster.tool("broker", "apply", "--client", "shop", "--amqp-api", api).stdout
    assert "binding of exchange makegood.replies.carrier to scheduler.replies: missing; run: makegood broker apply --service carrier" in out, out
    assert "binding of exchange makegood.intake.shop to orders.intake: made" in out, out
    out = s.cluster.tool("broker", "apply", "--client", "shop", "--amqp-api", api, *services).stdout
    assert "binding of exchange makegood.replies.carrier to scheduler.replies: made" in out and "missing" not in out, out
    wait_good(s, api)
    s.wait_state(s.client.submit(), "processed")
