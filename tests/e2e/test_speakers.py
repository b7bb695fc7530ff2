"""The identities that each user of the broker can use: all its rights, tried one by one, and messages through a user's own
exchange."""

import json

import pika

from harness import Client, Order, scenario, step
from privileges import CLIENTS, OwnAccess, client_of
from local.cluster import SERVICES

# The rights of agents up to schema 7: the pattern for queues also allowed exchanges of their own.
OLD_RIGHTS = ("^agent\\.inventory\\.control\\..+$", "^(makegood\\.replies\\.inventory|agent\\.inventory\\.control\\..+)$",
              "^(agent\\.inventory\\.(requests(\\.high)?|control\\..+)|makegood\\.control\\.inventory)$")
EVIL = "agent.inventory.control.evil"


class Link:
    """A user's channel, opened anew after each refusal."""

    def __init__(self, s, user):
        self.connection = pika.BlockingConnection(pika.URLParameters(s.cluster.access.url_of(user)))
        self.channel = None

    def may(self, attempt):
        """Returns whether the broker allows the attempt, even if it then fails by a missing queue or differing arguments."""
        if self.channel is None or self.channel.is_closed:
            self.channel = self.connection.channel()
            self.channel.confirm_delivery()
        try:
            attempt(self.channel)
        except pika.exceptions.ChannelClosedByBroker as closed:
            return closed.reply_code not in (403, 405)  # refused; exclusive to another connection
        return True


def names_of(s, what):
    return [line.split("\t")[0] for line in s.servers.rabbit.ctl(f"list_{what}", "name").splitlines()]


def probes(exchanges, queues):
    """Names that do not exist: a pattern might allow them beside the existing ones."""
    words = ("makegood", "orders", "scheduler", "operator", "dead", "agent", "client", "amq", "amq.gen-probe", EVIL)
    return sorted({f"{name}.probe" for name in exchanges + queues if name} | {f"{word}.probe" for word in words} | {"probe", "amq.gen-probe", EVIL})


def rights_of(s, user, exchanges, queues):
    """All rights that the broker grants the user, in words."""
    link, found, new = Link(s, user), set(), probes(exchanges, queues)
    for name in exchanges:
        if link.may(lambda channel, n=name: channel.basic_publish(n, "probe", b"{}")):
            found.add(f"write {name or 'the default exchange'}")
    for name in queues:
        if link.may(lambda channel, n=name: channel.basic_get(n)):
            found.add(f"read {name}")
        if link.may(lambda channel, n=name: channel.queue_purge(n)):
            found.add(f"read {name}")
        if link.may(lambda channel, n=name: channel.queue_delete(n, if_unused=True, if_empty=True)):
            found.add(f"delete {name}")
    own = []
    if link.may(lambda channel: own.append(channel.queue_declare("", exclusive=True).method.queue)):
        found.add("make a queue that the broker names")
    for name in new + queues:
        if link.may(lambda channel, n=name: channel.queue_declare(n, exclusive=True, auto_delete=True)):
            found.add(f"make queue {name}")
    for name in new + [name for name in exchanges if name]:
        if link.may(lambda channel, n=name: channel.exchange_declare(n, "direct", auto_delete=True)):
            found.add(f"make exchange {name}")
        if link.may(lambda channel, n=name: channel.exchange_delete(n, if_unused=True)):
            found.add(f"delete exchange {name}")
    for source in exchanges:
        for name in queues + own:
            if link.may(lambda channel, n=name, e=source: (channel.queue_bind(n, e, "probe"), channel.queue_unbind(n, e, "probe"))):
                found.add(f"lead {source} to {'a queue of its own' if name in own else name}")
        for name in exchanges:
            if link.may(lambda channel, n=name, e=source: (channel.exchange_bind(n, e, "probe"), channel.exchange_unbind(n, e, "probe"))):
                found.add(f"lead {source} to exchange {name}")
    link.connection.close()
    return found


def reads(*names):
    return {f"read {name}" for name in names}


def writes(*names):
    return {f"write {name}" for name in names}


def expected():
    """The rights by deploy/rabbitmq/README.md, in words. Left out are the deployer and the administrator, who have all of them."""
    rights = {
        "scheduler": writes("makegood.requests", "makegood.alerts", "the default exchange")
                     | reads("orders.intake", "orders.intake.high", "orders.signals", "scheduler.replies", "scheduler.commands"),
        "supervisor": writes("makegood.commands.supervisor", "makegood.control", "makegood.alerts"),
        "operator": writes("makegood.commands", "makegood.intake", "the default exchange")
                    | reads("dead.letters", "orders.rejected", "operator.alerts") | {"make a queue that the broker names"},
        "gateway": writes("makegood.commands.gateway", "makegood.callbacks",
                          *(f"makegood.{what}.{name}" for name in CLIENTS for what in ("intake", "signals")))
                   | reads(*(f"client.{name}.webhook" for name in CLIENTS)) | {"make a queue that the broker names"},
    }
    for name in SERVICES:
        # The last one routes the supervisors' broadcasts to its agents on to the schedulers' exchange. This is harmless: no queue
        # of the schedulers is bound by that routing key, and the exchange of origin proves no agent.
        rights[f"agent-{name}"] = (
            writes(f"makegood.replies.{name}") | reads(f"agent.{name}.requests", f"agent.{name}.requests.high")
            | {"make a queue that the broker names", f"lead makegood.control.{name} to a queue of its own",
               f"lead makegood.control.{name} to exchange makegood.replies.{name}"})
    for name in CLIENTS:
        rights[f"client-{name}"] = writes(f"makegood.intake.{name}", f"makegood.signals.{name}") | reads(f"client.{name}.statuses")
    return rights


def samples(names):
    """One of the exchanges that every broker has; of names with a service or a client, those of two services and all clients."""
    return [name for name in names if (not name.startswith("amq.") or name == "amq.topic") and SERVICES[-1] not in name]


@scenario(own_servers=True, access=OwnAccess, agents=0, supervisors=0, schedulers=0,
          long="servers start anew with the least rights")
def every_user_has_the_rights_that_are_named_and_no_others(s):
    """Would catch: any right to send, receive or declare beyond those of deploy/rabbitmq/README.md."""
    words = [word for name in CLIENTS for word in ("--client", name)]
    s.cluster.tool("broker", "apply", "--webhook", *words, env=s.cluster.env_of("deployer", None))
    exchanges, queues = samples(names_of(s, "exchanges")), samples(names_of(s, "queues"))
    assert len(exchanges) == 2 + 10 + 2 * 2 + 2 * 2 and len(queues) == 8 + 2 * 2 + 2 * 2, (exchanges, queues)
    users = ("scheduler", "supervisor", "operator", "gateway", f"agent-{SERVICES[0]}", f"client-{CLIENTS[0]}")
    for user in users: # the template has one line for all services, and one for all clients
        rights = expected()[user]
        found = rights_of(s, user, exchanges, queues)
        assert found == rights, f"{user} may also {sorted(found - rights)}, may not {sorted(rights - found)}"
    # The comparison can fail: the rights of earlier schemas are found.
    s.servers.rabbit.set_permissions("agent-inventory", *OLD_RIGHTS)
    more = rights_of(s, "agent-inventory", exchanges, queues) - expected()["agent-inventory"]
    assert more == {f"{what} {name}" for what in ("make queue", "make exchange", "delete exchange") for name in (EVIL, EVIL + ".probe")}, more


def forge(s, message_type, body, exchange=EVIL, headers=None):
    """As inventory's user, through an exchange that it has made and bound to its own, or through its own."""
    connection = pika.BlockingConnection(pika.URLParameters(s.cluster.access.url_of("agent-inventory")))
    channel = connection.channel()
    channel.confirm_delivery()
    channel.exchange_declare(EVIL, "direct")
    channel.exchange_bind("makegood.replies.inventory", EVIL, "scheduler.replies")
    channel.basic_publish(exchange, "scheduler.replies", json.dumps(body).encode(), mandatory=True,
                          properties=pika.BasicProperties(delivery_mode=2, type=message_type, headers=headers))
    connection.close()


def reports_refused_by(scheduler):
    with open(scheduler.log_path, encoding="utf-8") as log:
        return sum("could not accept a service report" in line for line in log)


def dead_letters(s):
    return int(next(line.split("\t")[1] for line in s.servers.rabbit.ctl("list_queues", "name", "messages").splitlines()
                    if line.startswith("dead.letters\t")))


@scenario(own_servers=True, access=OwnAccess, agents=1, supervisors=1, schedulers=1,
          long="servers start anew with the least rights")
def messages_through_a_strangers_exchange_have_no_effect(s):
    """Would catch: an agent that sends as other services through an exchange of its own, where its rights still let it make one."""
    s.servers.rabbit.set_permissions("agent-inventory", *OLD_RIGHTS)
    inventory, payment = s.cluster.agents_of("inventory")[0], s.cluster.agents_of("payment")[0]
    inventory.terminate()
    inventory.start().wait_ready()  # consumes its broadcasts, and so makes its queue, with the earlier rights
    s.cluster.tool("service", "pause", "inventory", "--reason", "to see whether it hears", "--for", "1h")
    s.wait(lambda: any(row["obeying"] == row["agents"] == 1 for row in json.loads(s.cluster.tool("service", "list", "-o", "json").stdout)
                       if row["service"] == "inventory"), "the agent obeys")
    s.cluster.tool("service", "resume", "inventory", "--reason", "it hears")

    s.load_workflow("pays", [step("charge", "payment", complete_within="2m", retry={"attempts": 100})])
    s.remote("payment").switch("silent")
    shop = client_of(s, "shop")
    order = shop.submit("pays")
    s.wait_step(order, "charge", "running")
    identity = {"v": 1, "order_id": order.order_id, "step": "charge", "attempt": 1, "kind": "do"}
    forge(s, "reply", {**identity, "outcome": "done", "executed": "yes", "result": {"forged": True}})
    forge(s, "service_report", {"v": 1, "service": "payment", "instance": "forged", "breaker": "open", "ready": False,
                                "in_flight": 0, "concurrency": 1})
    s.wait(lambda: dead_letters(s) == 2, "both are dead letters")
    assert s.step_state(order, "charge") == "running", s.story(order)
    assert not s.rows("SELECT 1 FROM service_state WHERE instance = 'forged'")
    s.wait(lambda: len([row for row in s.alerts("dead_letter") if row["closed_at"] is None]) == 1, "one alert tells of them")
    # An operator's requeue does not lend it the default exchange either, which proves every service.
    shown = s.cluster.tool("dead", "list").stdout
    assert shown.count(EVIL[:24]) == 2, shown
    s.cluster.tool("dead", "requeue", "--all", "--reason", "try again")
    s.wait(lambda: reports_refused_by(s.cluster.schedulers[0]) == 2 and dead_letters(s) == 2, "both are refused again")
    assert s.step_state(order, "charge") != "done", s.story(order)
    assert not s.rows("SELECT 1 FROM service_state WHERE instance = 'forged'")
    s.cluster.tool("dead", "drop", "--all", "--reason", "forged")
    # Nor does the broker's note of a death help, which it would leave as the sender wrote it.
    death = {"queue": "scheduler.replies", "reason": "rejected", "exchange": "makegood.replies.payment", "count": 0,
             "routing-keys": ["scheduler.replies"]}
    forge(s, "reply", {**identity, "outcome": "done", "executed": "yes"}, "makegood.replies.inventory", {"x-death": [death]})
    s.wait(lambda: dead_letters(s) == 1, "it is a dead letter")
    shown = s.cluster.tool("dead", "show", "1").stdout
    assert "makegood.replies.inventory" in shown and "x-death" in shown, shown
    assert "no header names its origin" in s.cluster.tool("dead", "requeue", "1", "--reason", "try again", check=False).stderr
    assert s.step_state(order, "charge") != "done", s.story(order)
    s.cluster.tool("dead", "drop", "--all", "--reason", "forged")
    s.remote("payment").switch("order")
    payment.kill()
    s.ends_badly.add(payment.name)
    payment.start()
    shop.wait_status(order, "processed")
    assert "forged" not in json.dumps(s.rows("SELECT result FROM order_step WHERE order_id = %s", order.order_id))


def operator_of(s):
    client = Client(s.cluster.access.url_of("operator"), exchange="makegood.intake")
    s.clients.append(client)
    return client


def refused(client, order, count):
    """Waits until the client has received `count` conflicts, and checks that it has received nothing else."""
    def told():
        return [message for message, _ in client.messages if message.get("order_id") == order.order_id]
    client.wait_message(lambda *_: len(told()) >= count, "the refusal")
    assert all(message["status"] == "rejected" and message["seq"] == 0 and message["reason"].startswith("conflict") for message in told()), told()
    assert len({message["reason"] for message in told()}) == 1, told()


@scenario(own_servers=True, access=OwnAccess, agents=1, supervisors=1, schedulers=2,
          long="servers start anew with the least rights")
def an_order_belongs_to_the_client_that_posted_it_first(s):
    """Would catch: a client that takes over another's order, or its ids, or learns its state."""
    shop, other, operator = client_of(s, "shop"), client_of(s, "other"), operator_of(s)
    s.remote("carrier").switch("silent")
    order = shop.submit(payload={"n": 1})
    s.wait_step(order, "ship", "running")
    version, events = s.process(order)["version"], len(s.events(order))
    other.post(order)
    refused(other, order, 1)
    operator.post(order)  # through makegood.intake, which proves no client
    refused(operator, order, 1)
    changed = Order(order.order_id, order.body.replace('"n": 1', '"n": 2'), order.correlation_id)
    other.post(changed)
    refused(other, order, 2)  # in the same words
    assert (s.process(order)["version"], len(s.events(order))) == (version, events), s.story(order)
    s.remote("carrier").switch("order")
    shop.wait_status(order, "processed")
    assert "client shop" in s.cluster.tool("order", "show", order.order_id).stdout
    assert json.loads(s.cluster.tool("order", "export", order.order_id).stdout)["revisions"][0]["client"] == "shop"
    refused(other, order, 2)
    shop.post(order)
    s.wait(lambda: sum(message["status"] == "processed" for message, _ in shop.messages if message.get("order_id") == order.order_id) >= 2,
           "its own repetition is answered")

    # A requeued order still belongs to its client: refused for want of a workflow, and accepted once that is loaded.
    early = shop.submit("late", {"n": 2})
    shop.wait_message(lambda body, _: body.get("order_id") == early.order_id and body["status"] == "rejected", "there is no such workflow")
    s.load_workflow("late", [step("charge", "payment")])
    s.cluster.tool("dead", "requeue", "--queue", "orders.rejected", "--all", "--reason", "it is loaded now")
    s.wait_state(early, "processed")
    other.post(early)
    refused(other, early, 1)
    assert s.rows("SELECT DISTINCT client FROM orders WHERE order_id IN (%s, %s)", early.order_id, order.order_id) == [{"client": "shop"}]
    refused(other, order, 2)

    # An order from before clients were stored belongs to the first client that repeats it.
    s.rows("UPDATE orders SET client = NULL WHERE order_id = %s; SELECT 1", order.order_id)
    for scheduler in s.cluster.schedulers:  # their memory of the order includes the client
        scheduler.terminate()
        scheduler.start().wait_ready()
    shop.messages.clear()
    shop.post(order)
    s.wait(lambda: s.rows("SELECT 1 FROM orders WHERE order_id = %s AND revision = 2 AND client = 'shop'", order.order_id), "it is shop's")
    shop.wait_status(order, "processed")
    other.messages.clear()
    other.post(order)
    refused(other, order, 1)
