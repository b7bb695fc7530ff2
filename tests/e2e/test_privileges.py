"""Every process has a user and a role of its own, with the rights that deploy/ gives it: all works, and nothing more does."""

import json
import re

import pika
import psycopg2

from harness import scenario, step
from privileges import OwnAccess, client_of

REFUSED_BY_POSTGRES = ("permission denied", "must be owner", "must be superuser", "read-only transaction")


def channel_of(s, user):
    connection = pika.BlockingConnection(pika.URLParameters(s.cluster.access.url_of(user)))
    return connection.channel()


def publish(s, user, exchange, routing_key, body=b"{}", **properties):
    channel = channel_of(s, user)
    channel.confirm_delivery()
    channel.basic_publish(exchange, routing_key, body, pika.BasicProperties(delivery_mode=2, **properties), mandatory=True)
    channel.connection.close()


def depth(s, queue):
    channel = channel_of(s, "admin")
    count = channel.queue_declare(queue, passive=True).method.message_count
    channel.connection.close()
    return count


def refusals(s):
    """Every refusal of a right so far, from the servers' own logs, except the operator's attempts to compare an exchange and to look
    at a client's queue, which RabbitMQ from 4.2.7 on hides."""
    found = []
    for path in (s.scratch / "postgres.log", *(s.scratch / "rabbit" / "log").glob("*.log")):
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [line for line in text.splitlines() if "permission denied" in line or "access_refused" in line]
    expected = re.compile("operation (exchange[.]declare|queue[.]declare .* queue 'client[.]shop[.]statuses').* for user 'operator'")
    return [line for line in found if not expected.search(line)]


@scenario(own_servers=True, access=OwnAccess, schedulers=2, supervisors=2,
          long="servers start anew with the least rights", portable=True)
def with_the_least_rights_all_that_is_promised_works(s):
    """Would catch: a right that one of the programs needs, and that its user or role does not have."""
    shop = client_of(s, "shop")

    plain, turned_back = shop.submit(payload={"n": 1}), shop.submit(payload={"behaviour": {"carrier": "decline"}}, high=True)
    shop.wait_status(plain, "processed")
    shop.wait_status(turned_back, "compensated")

    s.load_workflow("lined", [step("charge", "payment")], sequence={"key": "${/payload/customer}"})
    lined = [shop.submit("lined", {"customer": "a"}) for _ in range(2)]
    s.cluster.tool("order", "list", "--line", "a")
    for order in lined:
        shop.wait_status(order, "processed")
    s.wait(lambda: any("\nmakegood_lines_waiting " in supervisor.page() for supervisor in s.cluster.supervisors), "lines are counted", 30)
    s.wait(lambda: any("\nmakegood_signals_kept " in supervisor.page() for supervisor in s.cluster.supervisors), "signals are counted", 30)

    s.load_workflow("stops", [step("charge", "payment")], on_failure="error")
    s.remote("payment").switch("decline")
    stopped = shop.submit("stops")
    shop.wait_status(stopped, "error")
    s.remote("payment").switch("order")
    alert = s.alerts("order_error")[0]
    s.cluster.tool("alert", "list")
    s.cluster.tool("alert", "ack", alert["alert_id"], "--reason", "I look after it")
    for words in (("show",), ("explain",), ("resume", "--reason", "payment is back")):
        s.cluster.tool("order", words[0], stopped.order_id, *words[1:])
    shop.wait_status(stopped, "processed")

    s.remote("payment").switch("decline")
    again = shop.submit("stops", {"again": True})
    shop.wait_status(again, "error")
    s.remote("payment").switch("order")
    s.bulk_runner()
    bulk = json.loads(s.cluster.tool("bulk", "start", "resume", "--step", "charge", "--reason", "it is back", "-o", "json").stdout)
    shop.wait_status(again, "processed")
    s.wait(lambda: '"state": "done"' in s.cluster.tool("bulk", "show", bulk["bulk_id"], "-o", "json").stdout, "the bulk action is done")
    s.remote("payment").switch("decline")
    failing = [shop.submit("stops", {"again": False}) for _ in range(2)]
    for order in failing:
        shop.wait_status(order, "error")
    s.cluster.tool("bulk", "start", "resume", "--step", "charge", "--reason", "again")
    s.wait(lambda: s.alerts("bulk_stopped"), "a bulk action that stopped has raised an alert")
    s.cluster.tool("bulk", "list")
    s.cluster.tool("alert", "ack", s.alerts("bulk_stopped")[0]["alert_id"], "--reason", "I know")
    s.remote("payment").switch("order")
    bulk = json.loads(s.cluster.tool("bulk", "start", "resume", "--step", "charge", "--reason", "again", "--rate", "0.001",
                                      "--canary", "0", "-o", "json").stdout)
    s.wait(lambda: any(s.state(order) == "processed" for order in failing), "the first of the bulk action has ended")
    for word in ("pause", "resume", "stop"):  # while the second waits for its turn
        s.cluster.tool("bulk", word, bulk["bulk_id"], "--reason", "to see whether I may")
    [left] = [order for order in failing if s.state(order) == "error"]
    s.cluster.tool("order", "resume", left.order_id, "--reason", "payment is back")
    for order in failing:
        shop.wait_status(order, "processed")

    s.cluster.tool("service", "pause", "payment", "--reason", "maintenance", "--for", "1h")
    s.cluster.tool("service", "limit", "payment", "--concurrency", "4", "--rate", "none", "--reason", "it is slow")
    s.wait(lambda: any(row["obeying"] == row["agents"] == 1 and row["version"] == 2
                       for row in json.loads(s.cluster.tool("service", "list", "-o", "json").stdout)), "the agent obeys")
    s.cluster.tool("service", "resume", "payment", "--reason", "it is back")
    s.rows("INSERT INTO service_control (service, is_paused, version, reason, by_whom) VALUES ('gone', true, 1, 'x', 'x');"
           "INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency, reported_at) VALUES"
           " ('gone', 'a', 'closed', true, 0, 1, clock_timestamp() - interval '1 minute');"
           "INSERT INTO operator_alert (code, subject, text) VALUES ('unpublishable', 'gone', 'x'); SELECT 1")
    s.cluster.tool("service", "forget", "gone", "--reason", "it was shut down")

    s.cluster.tool("db", "vacuum-policy", "--hot", "30d", "--keep", "365d", "--reason", "our rules")
    s.cluster.tool("db", "retain", env=s.cluster.env_of("deployer", "owner"))
    s.wait(lambda: any("\nmakegood_order_finished_oldest_age_seconds " in supervisor.page() for supervisor in s.cluster.supervisors),
           "the leader has looked for orders to move")

    path = s.scratch / "order.json"
    path.write_text(json.dumps({"workflow": "three", "payload": {}}), encoding="utf-8")
    assert "processed" in s.cluster.tool("order", "submit", path, "--wait").stdout
    for words in (("order", "list"), ("workflow", "list"), ("db", "status"), ("doctor",),
                  ("broker", "check", "--service", "payment", "--client", "shop")):
        s.cluster.tool(*words)
    s.cluster.tool("broker", "check", "--service", "payment", "--client", "shop", env=s.cluster.env_of("deployer", None))

    publish(s, "agent-payment", "makegood.replies.payment", "scheduler.replies", b"not a reply", type="reply")
    s.wait(lambda: [row for row in s.alerts("dead_letter") if row["closed_at"] is None], "the dead letter raised an alert")
    s.cluster.tool("dead", "list")
    s.cluster.tool("dead", "requeue", "--all", "--reason", "try again")
    s.wait(lambda: depth(s, "dead.letters") == 1, "it died again")
    s.cluster.tool("dead", "drop", "--all", "--reason", "nonsense")
    forged = {"v": 1, "order_id": plain.order_id, "step": "ship", "attempt": 1, "kind": "do", "outcome": "done", "executed": "yes"}
    publish(s, "agent-payment", "makegood.replies.payment", "scheduler.replies", json.dumps(forged).encode(), type="reply")
    s.wait(lambda: depth(s, "dead.letters") == 1, "the word for another service is a dead letter")
    s.cluster.tool("dead", "drop", "--all", "--reason", "forged")
    forged = {"v": 1, "command_id": "forged", "command": "cancel", "order_id": plain.order_id, "by": "ann"}
    publish(s, "supervisor", "makegood.commands.supervisor", "scheduler.commands", json.dumps(forged).encode(), type="command")
    s.wait(lambda: depth(s, "dead.letters") == 1, "an operator's command that comes from a supervisor is a dead letter")
    s.cluster.tool("dead", "drop", "--all", "--reason", "forged")
    s.wait(lambda: all(row["closed_at"] for row in s.alerts("dead_letter")), "the alert is closed")
    shop.publish(b"not an order", message_id="nonsense")
    s.wait(lambda: "nonsense" in s.cluster.tool("dead", "list", "--queue", "orders.rejected", "-o", "json").stdout,
           "the submission was rejected")
    s.cluster.tool("dead", "drop", "--queue", "orders.rejected", "--all", "--reason", "nonsense")

    shop.publish(json.dumps({"order_id": "told-to-others", "workflow": "three", "payload": {}}), reply_to="client.other.statuses")
    s.wait(lambda: "reply_to" in s.cluster.tool("dead", "list", "--queue", "orders.rejected", "-o", "json").stdout,
           "another client's queue is refused")
    s.cluster.tool("dead", "drop", "--queue", "orders.rejected", "--all", "--reason", "not its queue")

    owed = shop.submit(payload={"n": 2}, reply_to="client.shop.later")
    s.wait_state(owed, "processed")
    s.wait(lambda: s.rows("SELECT 1 FROM order_event WHERE order_id = %s AND owed", owed.order_id), "a status is owed")
    channel_of(s, "admin").queue_declare("client.shop.later", durable=True)
    s.wait(lambda: not s.rows("SELECT 1 FROM order_event WHERE order_id = %s AND owed", owed.order_id), "nothing is owed")

    admin = channel_of(s, "admin")
    for queue in ("agent.carrier.requests", "agent.carrier.requests.high"):
        admin.queue_delete(queue)
    unpublishable = shop.submit(payload={"n": 3})
    s.wait(lambda: s.alerts("unpublishable"), "an alert says that the queue is gone")
    s.cluster.tool("broker", "apply", "--service", "carrier", env=s.cluster.env_of("deployer", None))
    shop.wait_status(unpublishable, "processed")

    s.remote("payment").switch("silent")
    order = shop.submit(payload={"n": 4})
    s.wait(lambda: s.step_state(order, "charge") == "running", "a step runs that will be overdue")
    leader = s.wait(lambda: next((one for one in s.cluster.supervisors if one.metric("makegood_supervisor_leading") == 1), None), "one leads")
    leader.kill()
    s.remote("payment").switch("order")
    shop.wait_status(order, "processed")
    leader.start().wait_ready()

    assert not refusals(s), refusals(s)


def consume(s, user, queue):
    channel_of(s, user).basic_get(queue)


def configure(s, user, queue="", **arguments):
    channel_of(s, user).queue_declare(queue, **arguments)


def hear(s, user, queue, exchange):
    channel = channel_of(s, user)
    channel.queue_bind(channel.queue_declare(queue, exclusive=True, auto_delete=True).method.queue, exchange)


def make_exchange(s, user, exchange):
    channel_of(s, user).exchange_declare(exchange, "direct")


def lead(s, user, destination, source):
    channel_of(s, user).exchange_bind(destination, source, "scheduler.replies")


def execute(s, role, sql):
    connection = psycopg2.connect(s.cluster.access.dsn_of(role))
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
    finally:
        connection.close()  # and so rolled back


def connect_as(s, name, password):
    access = s.cluster.access
    psycopg2.connect(access.dsn_of("reader").replace("makegood_reader", name).replace(access.passwords["makegood_reader"], password))


# (attempt, its code): each must be refused.
FORBIDDEN_AT_THE_BROKER = [
    ("agent reads another service's queue", consume, "agent-payment", "agent.carrier.requests"),
    ("agent reads orders", consume, "agent-payment", "orders.intake"),
    ("agent reads replies", consume, "agent-payment", "scheduler.replies"),
    ("agent reads dead letters", consume, "agent-payment", "dead.letters"),
    ("agent writes commands", publish, "agent-payment", "makegood.commands", "scheduler.commands"),
    ("agent writes orders", publish, "agent-payment", "makegood.intake", "orders.intake"),
    ("agent writes requests", publish, "agent-payment", "makegood.requests", "agent.carrier.requests"),
    ("agent writes replies of another service", publish, "agent-payment", "makegood.replies.carrier", "scheduler.replies"),
    ("agent writes replies of all services", publish, "agent-payment", "makegood.replies", "scheduler.replies"),
    ("agent writes to any queue", publish, "agent-payment", "", "scheduler.commands"),
    ("agent makes a queue with a name", configure, "agent-payment", "agent.payment.control.x"),
    ("agent makes an exchange", make_exchange, "agent-payment", "agent.payment.control.x"),
    ("agent makes an exchange with a name of the broker's", make_exchange, "agent-payment", "amq.gen-x"),
    ("agent makes its own exchange anew", make_exchange, "agent-payment", "makegood.replies.payment"),
    ("agent leads an exchange of the broker's to its own", lead, "agent-payment", "makegood.replies.payment", "amq.direct"),
    ("agent leads its exchange to another service's", lead, "agent-payment", "makegood.replies.carrier", "makegood.replies.payment"),
    ("agent leads what supervisors say of others to its exchange", lead, "agent-payment", "makegood.replies.payment", "makegood.control"),
    ("client makes an exchange", make_exchange, "client-shop", "makegood.intake.shop.x"),
    ("client leads an exchange to its own", lead, "client-shop", "makegood.intake.shop", "amq.direct"),
    ("supervisor makes an exchange", make_exchange, "supervisor", "makegood.commands.supervisor.x"),
    ("supervisor leads an exchange to its own", lead, "supervisor", "makegood.commands.supervisor", "makegood.control"),
    ("operator makes an exchange", make_exchange, "operator", "makegood.commands.x"),
    ("agent makes a queue for its requests", configure, "agent-payment", "agent.payment.requests.more"),
    ("agent makes a queue to hear what is wanted of another service", configure, "agent-payment", "agent.carrier.control.x"),
    ("agent hears what is wanted of another service", hear, "agent-payment", "", "makegood.control.carrier"),
    ("agent hears what is wanted of all services", hear, "agent-payment", "", "makegood.control"),
    ("agent says what is wanted of its service", publish, "agent-payment", "makegood.control.payment", ""),
    ("operator says what is wanted of a service", publish, "operator", "makegood.control", "payment"),
    ("supervisor hears what is wanted", hear, "supervisor", "agent.payment.control.z", "makegood.control.payment"),
    ("client reads another client's queue", consume, "client-shop", "client.other.statuses"),
    ("client reads orders", consume, "client-shop", "orders.intake"),
    ("client reads alerts", consume, "client-shop", "operator.alerts"),
    ("client writes to makegood.intake", publish, "client-shop", "makegood.intake", "orders.intake"),
    ("client writes orders of another client", publish, "client-shop", "makegood.intake.other", "orders.intake"),
    ("client writes requests", publish, "client-shop", "makegood.requests", "agent.payment.requests"),
    ("client writes replies", publish, "client-shop", "makegood.replies", "scheduler.replies"),
    ("client writes commands", publish, "client-shop", "makegood.commands", "scheduler.commands"),
    ("client writes to any queue", publish, "client-shop", "", "client.other.statuses"),
    ("client makes a queue", configure, "client-shop"),
    ("supervisor writes operators' commands", publish, "supervisor", "makegood.commands", "scheduler.commands"),
    ("supervisor writes requests", publish, "supervisor", "makegood.requests", "agent.payment.requests"),
    ("supervisor writes orders", publish, "supervisor", "makegood.intake", "orders.intake"),
    ("supervisor writes to any queue", publish, "supervisor", "", "agent.payment.requests"),
    ("supervisor reads orders", consume, "supervisor", "orders.intake"),
    ("supervisor makes a queue", configure, "supervisor"),
    ("scheduler writes commands", publish, "scheduler", "makegood.commands", "scheduler.commands"),
    ("scheduler reads requests", consume, "scheduler", "agent.payment.requests"),
    ("scheduler makes a queue", configure, "scheduler"),
    ("operator writes replies", publish, "operator", "makegood.replies", "scheduler.replies"),
    ("operator reads orders", consume, "operator", "orders.intake"),
    ("operator makes a queue with a name", configure, "operator", "operator.mine"),
    ("deployer writes to any queue", publish, "deployer", "", "orders.intake"),
]

FORBIDDEN_IN_THE_DATABASE = [
    ("scheduler", "DELETE FROM orders"),
    ("scheduler", "UPDATE orders SET payload = ''"),
    ("scheduler", "DELETE FROM order_process"),
    ("scheduler", "DELETE FROM order_event"),
    ("scheduler", "UPDATE order_event SET by_whom = ''"),
    ("scheduler", "UPDATE operator_alert SET acked_by = 'x'"),
    ("scheduler", "INSERT INTO workflow (name, version, definition) VALUES ('x', 1, '{}')"),
    ("scheduler", "UPDATE supervisor_leader SET holder = 'x'"),
    ("scheduler", "DELETE FROM order_aside"),
    ("supervisor", "INSERT INTO order_aside (order_id, by_whom, reason) VALUES ('x', 'x', 'x')"),
    ("operator", "UPDATE order_aside SET by_whom = 'x'"),
    ("scheduler", "UPDATE service_control SET is_paused = false"),
    ("scheduler", "SELECT reason FROM service_control"),
    ("supervisor", "UPDATE service_control SET is_paused = false"),
    ("supervisor", "SELECT by_whom FROM service_control"),
    ("supervisor", "SELECT detail FROM operator_action"),
    ("operator", "UPDATE operator_action SET by_whom = 'x'"),
    ("operator", "DELETE FROM operator_action"),
    ("operator", "INSERT INTO operator_action (role, by_whom, verb, subject, reason, detail) VALUES ('x', 'x', 'x', 'x', 'x', '{}')"),
    ("supervisor", "SELECT makegood_dossier('x')"),
    ("supervisor", "SELECT dossier FROM order_archive"),
    ("supervisor", "UPDATE retention SET hot = NULL"),
    ("scheduler", "SELECT dossier FROM order_archive"),
    ("scheduler", "SELECT makegood_retire(1, 'x', 1)"),
    ("operator", "SELECT makegood_retire(1, 'x', 1)"),
    ("operator", "UPDATE retention SET page = 1"),
    ("operator", "DELETE FROM order_archive"),
    ("supervisor", "UPDATE order_process SET process_state = 'processed'"),
    ("supervisor", "UPDATE order_process SET version = version + 1"),
    ("supervisor", "UPDATE order_step SET state = 'done'"),
    ("supervisor", "UPDATE order_event SET owed = false"),
    ("supervisor", "UPDATE order_event SET given_up_at = now()"),
    ("supervisor", "UPDATE order_event SET owed_to = 'mine'"),
    ("supervisor", "INSERT INTO reply_queue (name, since, tried_at, ask_at) VALUES ('x', now(), now(), now())"),
    ("operator", "UPDATE reply_queue SET ask_at = now()"),
    ("supervisor", "SELECT key FROM sequence_key"),
    ("supervisor", "SELECT payload FROM signal_by_key"),
    ("supervisor", "SELECT key FROM signal_by_key"),
    ("supervisor", "UPDATE signal_by_key SET taken_by = ''"),
    ("operator", "DELETE FROM minute_count"),
    ("scheduler", "SELECT FROM minute_count"),
    ("supervisor", "UPDATE service_state SET calls = NULL"),
    ("supervisor", "SELECT key FROM sequence_place"),
    ("supervisor", "DELETE FROM sequence_place"),
    ("operator", "DELETE FROM sequence_place"),
    ("supervisor", "SELECT payload FROM orders"),
    ("supervisor", "SELECT result FROM order_step"),
    ("supervisor", "SELECT statuses FROM order_event"),
    ("supervisor", "DELETE FROM operator_alert"),
    ("supervisor", "SELECT definition FROM workflow"),
    ("operator", "UPDATE order_process SET process_state = 'processed'"),
    ("operator", "UPDATE order_step SET state = 'done'"),
    ("operator", "INSERT INTO operator_alert (code, subject, text) VALUES ('poisoned', 'x', 'x')"),
    ("operator", "UPDATE workflow SET definition = '{}'"),
    ("operator", "DELETE FROM orders"),
    ("reader", "UPDATE workflow SET loaded_at = now()"),
    ("reader", "SET default_transaction_read_only = off; COMMIT; BEGIN; DELETE FROM workflow"),
    *((role, sql) for role in ("scheduler", "supervisor", "operator", "reader") for sql in (
        "CREATE TABLE mine (x integer)", "CREATE TEMPORARY TABLE mine (x integer)", "DROP TABLE orders",
        "TRUNCATE order_event", "UPDATE makegood_migration SET serves_from = 99", "SET ROLE makegood_owner",
        "SELECT rolpassword FROM pg_authid", "COPY workflow TO PROGRAM 'true'", "CREATE ROLE mine")),
    ("owner", "CREATE ROLE mine"),
    ("owner", "SELECT rolpassword FROM pg_authid"),
]


def permitted(s):
    """The attempts of the tables above that are not refused for want of a right."""
    found = []
    for what, attempt, *words in FORBIDDEN_AT_THE_BROKER:
        try:
            attempt(s, *words)
            found.append(what)
        except pika.exceptions.ChannelClosedByBroker as closed:
            if closed.reply_code != 403:
                found.append(f"{what}: {closed}")
    for role, sql in FORBIDDEN_IN_THE_DATABASE:
        try:
            execute(s, role, sql)
            found.append(f"{role}: {sql}")
        except psycopg2.Error as error:
            if not any(text in str(error) for text in REFUSED_BY_POSTGRES):
                found.append(f"{role}: {sql}: {error}")
    return found


def assert_kept_out(attempt, *words):
    """The server must answer, and refuse the client: a server that is down proves nothing."""
    try:
        attempt(*words)
    except psycopg2.OperationalError as error:
        assert "authentication failed" in str(error), error
    except (pika.exceptions.ProbableAuthenticationError, pika.exceptions.ConnectionClosedByBroker) as error:
        assert "ACCESS_REFUSED" in repr(error), error
    else:
        raise AssertionError(f"{words[1:]} was let in")


@scenario(own_servers=True, access=OwnAccess, long="servers start anew with the least rights")
def unneeded_rights_are_granted_to_no_user(s):
    """Would catch: a taken-over process that reaches more than its own work."""
    for name in ("shop", "other"):
        client_of(s, name)
    assert not permitted(s), permitted(s)

    access = s.cluster.access
    for name in ("agent-payment", "makegood_agent", "agent_payment"):
        assert_kept_out(connect_as, s, name, access.passwords["agent-payment"])
    assert_kept_out(pika.BlockingConnection, pika.URLParameters(access.url_of("admin").replace(access.passwords["admin"], "guess")))
    assert_kept_out(pika.BlockingConnection, pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{s.servers.rabbit.port}/"))

    # The tables above can fail: widened rights are found, each by its line.
    s.servers.rabbit.set_permissions("agent-payment", "^$", "^makegood\\.(replies\\.payment|commands)$", "^agent\\..*$")
    s.rows("GRANT UPDATE (process_state) ON order_process TO makegood_supervisor; SELECT 1")
    s.wait(lambda: permitted(s) == ["agent reads another service's queue", "agent writes commands",
                                    "supervisor: UPDATE order_process SET process_state = 'processed'"], "the widened rights are found")
    # The next migration removes rights that were given by hand.
    s.cluster.tool("db", "migrate", "--migrations", s.cluster.migrations, env=s.cluster.env_of("deployer", "owner"))
    assert not [what for what in permitted(s) if what.startswith("supervisor:")], permitted(s)


@scenario(own_servers=True, access=OwnAccess, long="servers start anew with the least rights")
def a_missing_right_is_reported_in_one_line_with_user_right_and_object(s):
    """Would catch: a service that waits silently, or an error that does not name the missing right."""
    agent = s.cluster.agents_of("payment")[0]
    s.servers.rabbit.set_permissions("agent-payment", "^$", "^makegood\\.replies\\.payment$", "^$")
    agent.terminate()
    agent.start()
    said = s.wait(lambda: [line for line in agent.tail(50).splitlines() if "agent.payment.requests" in line], "the agent says it")
    assert len(said) == 1 and "agent-payment" in said[0], said

    supervisor = s.cluster.supervisors[0]
    s.rows("REVOKE UPDATE (wake_at) ON order_process FROM makegood_supervisor; SELECT 1")
    said = s.wait(lambda: [line for line in supervisor.tail(50).splitlines() if "order_process" in line], "the supervisor says it")
    assert "makegood_supervisor" in said[0] and "permission denied" in said[0], said
