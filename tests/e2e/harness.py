"""The base of every end-to-end scenario: a cluster, a client, the database and the remotes' ledgers.

A scenario is a function marked @scenario(...). It gets a Stage; it fails by an exception. After its own assertions the stage checks
invariants. No order is open without a mover, no key has two effects, no sanitizer has a report, and every service exits with 0.
"""

import functools
import json
import os
import re
import secrets
import subprocess
import time
import traceback
import uuid

import pika
import psycopg2

from local import cluster, processes, servers

DEADLINE_S = 45.0  # on an idle machine every condition here needs less than a tenth of it
PUMP_S = 0.1  # of waiting for the next message; it ends with the message
ONE_OF_EACH = {"schedulers": 1, "agents": 1, "supervisors": 1}
PAIRS = {"schedulers": 2, "agents": 2, "supervisors": 2}  # where a process stalls or dies and another goes on
TERMINAL = ("processed", "compensated", "cancelled", "error")
MIGRATIONS = cluster.REPOSITORY / "deploy" / "postgres"
SANITIZER = re.compile(r"(ERROR: (Address|Leak)Sanitizer|runtime error:|SUMMARY: \w+Sanitizer).*")


class Order:
    """One submission, from its client's view."""

    def __init__(self, order_id, body, correlation_id):
        self.order_id, self.body, self.correlation_id = order_id, body, correlation_id


class Client:
    """An independent client: pika, none of Makegood's code, an exclusive queue of its own. A client with fewer rights gets an
    existing queue and the one exchange that it may write to."""

    def __init__(self, url, queue=None, exchange=""):
        self.exchange = exchange
        parameters = pika.URLParameters(url)
        parameters.heartbeat = 0  # a scenario may be busy elsewhere for longer than the broker waits for two of them
        self.connection = pika.BlockingConnection(parameters)
        self.channel = self.connection.channel()
        self.channel.confirm_delivery()
        self.queue = queue or self.channel.queue_declare("", exclusive=True).method.queue
        self.messages = []  # (status message, pika properties), as they came
        self.bodies = []    # the bytes of each
        self.channel.basic_consume(self.queue, self.take, auto_ack=True)

    def take(self, _channel, _method, properties, body):
        self.messages.append((json.loads(body), properties))
        self.bodies.append(body)

    def publish(self, body, routing_key="orders.intake", exchange=None, **properties):
        """Publishes bytes with the given properties. Raises an exception unless the message is confirmed and routed."""
        if isinstance(body, str):
            body = body.encode()
        self.channel.basic_publish(self.exchange if exchange is None else exchange, routing_key, body, mandatory=True,
                                   properties=pika.BasicProperties(delivery_mode=2, **properties))

    def submit(self, workflow="three", payload=None, order_id=None, reply_to=None, high=False, headers=None, **fields):
        order_id = order_id or str(uuid.uuid4())
        submission = {"order_id": order_id, "workflow": workflow, "payload": payload if payload is not None else {}}
        submission.update(fields)
        order = Order(order_id, json.dumps(submission), "corr-" + order_id)
        self.post(order, reply_to, high, headers)
        return order

    def post(self, order, reply_to=None, high=False, headers=None):
        """Posts the same bytes (again)."""
        self.publish(order.body, "orders.intake.high" if high else "orders.intake", message_id=order.order_id,
                     correlation_id=order.correlation_id, reply_to=reply_to or self.queue, headers=headers)

    def pump(self, time_limit_s=PUMP_S):
        self.connection.process_data_events(time_limit=time_limit_s)

    def statuses(self, order_id):
        """Statuses of one order by seq, each once."""
        by_seq = {message["seq"]: message for message, _ in self.messages if message.get("order_id") == order_id}
        return [by_seq[seq] for seq in sorted(by_seq)]

    def wait_status(self, order, word, timeout_s=DEADLINE_S):
        """Waits for a status and returns it; fails at once if the order ended otherwise."""
        deadline = time.monotonic() + timeout_s
        while True:
            seen = self.statuses(order.order_id)
            for message in seen:
                if message["status"] == word:
                    return message
            ended = [message for message in seen if message["status"] in ("processed", "compensated", "cancelled", "rejected")]
            if ended:
                raise AssertionError(f"waited for {word}, but the order ended otherwise: {seen}")
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout_s:g} s in vain for {word} of {order.order_id}; seen: {seen}")
            self.pump()

    def wait_message(self, matches, what, timeout_s=DEADLINE_S):
        """Waits for any message for which matches(body, properties) is true."""
        deadline = time.monotonic() + timeout_s
        while True:
            for body, properties in self.messages:
                if matches(body, properties):
                    return body, properties
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout_s:g} s in vain for {what}; seen: {[m for m, _ in self.messages]}")
            self.pump()

    def get(self, queue):
        """Takes one message off a queue: (properties, body), or None."""
        method, properties, body = self.channel.basic_get(queue, auto_ack=True)
        return (properties, body) if method is not None else None

    def depth(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.message_count

    def consumers(self, queue):
        return self.channel.queue_declare(queue, passive=True).method.consumer_count

    def close(self):
        try:
            self.connection.close()
        except pika.exceptions.AMQPError:
            pass  # its broker was killed by the scenario


class Stage:
    """The objects that a scenario acts on."""

    def __init__(self, scratch, both, owns_servers, options):
        """`options`: those of a cluster, and `access`, a function that makes the cluster's access from the servers."""
        self.scratch, self.servers, self.owns_servers = scratch, both, owns_servers
        if owns_servers:
            dsn, url = both.postgres.dsn, both.rabbit.url
        else:  # a database and a virtual host of the scenario's own in the shared servers
            name = "e2e_" + secrets.token_hex(6)
            both.postgres.create_database(name, both.postgres.template(migrate))
            both.rabbit.create_vhost(name)
            dsn, url = both.postgres.dsn_of(name), both.rabbit.url_of(name)
        self.dsn, self.url = dsn, url  # for clients of a scenario: never with TLS
        if both.tls is not None:
            dsn, url = both.postgres.tls_dsn, both.rabbit.tls_url
            certificate, key = both.tls.of("client")
            options["env"] = {"MAKEGOOD_AMQP_CA_FILE": str(both.tls.ca), "MAKEGOOD_AMQP_CERT_FILE": str(certificate),
                              "MAKEGOOD_AMQP_KEY_FILE": str(key), **options.get("env", {})}
        access = options.pop("access", lambda _both, _scratch: None)(both, scratch)
        self.cluster = cluster.Cluster(scratch, cluster.build_folder(), dsn, url, workflows=None, access=access,
                                       is_migrated=not owns_servers, **{**ONE_OF_EACH, **options})
        self.clients, self.database = [], None
        self.others = []                  # processes alongside the cluster's, with the same checks at their end
        self.expects_open_orders = False  # set by a scenario that leaves orders open on purpose
        self.ends_badly = set()           # names of services with an exit code that is not judged

    def start(self):
        """Starts the cluster, with the workflow "three" that most scenarios use: reserve, charge, ship."""
        self.cluster.start()
        if set(cluster.SERVICES) <= set(self.cluster.services):
            self.load_workflow("three", [step("reserve", "inventory"), step("charge", "payment", after=["reserve"]),
                                         step("ship", "carrier", after=["charge"])])

    # --- tools ------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def client(self):
        return self.new_client()

    def new_client(self):
        return self.new_client_of(self.url)

    def new_client_of(self, url):
        client = Client(url)
        self.clients.append(client)
        return client

    def bulk_runner(self, **env):
        """Starts `makegood bulk run` as the operator, with `env` added."""
        name = f"bulk-{len(self.others) + 1}"
        runner = processes.Process(name, [self.cluster.bin / "makegood", "bulk", "run"], self.scratch / f"{name}.log",
                                   env={**self.cluster.env, **self.cluster.tool_env, **env})
        self.others.append(runner)
        return runner.start()

    def rows(self, sql, *parameters):
        """Rows as dictionaries; reconnects once, for scenarios that kill the database."""
        for is_last in (False, True):
            try:
                if self.database is None or self.database.closed:
                    self.database = psycopg2.connect(self.dsn)
                    self.database.autocommit = True
                with self.database.cursor() as cursor:
                    cursor.execute(sql, parameters)
                    names = [column.name for column in cursor.description]
                    return [dict(zip(names, row)) for row in cursor.fetchall()]
            except psycopg2.OperationalError:
                self.database = None
                if is_last:
                    raise

    def process(self, order):
        """The order's process row, or None."""
        found = self.rows("SELECT * FROM order_process WHERE order_id = %s", order.order_id)
        return found[0] if found else None

    def state(self, order):
        row = self.process(order)
        return row["process_state"] if row else None

    def step(self, order, name):
        found = self.rows("SELECT * FROM order_step WHERE order_id = %s AND step = %s", order.order_id, name)
        return found[0] if found else None

    def step_state(self, order, name):
        row = self.step(order, name)
        return row["state"] if row else None

    def events(self, order):
        return self.rows("SELECT * FROM order_event WHERE order_id = %s ORDER BY version", order.order_id)

    def alerts(self, code=None):
        return [row for row in self.rows("SELECT * FROM operator_alert ORDER BY alert_id") if code in (None, row["code"])]

    def wait(self, condition, what, timeout_s=DEADLINE_S):
        """Waits until condition() is true and returns its value; clients go on receiving meanwhile."""
        def look():
            for client in self.clients:
                if client.connection.is_open:
                    try:
                        client.pump(processes.POLL_S)
                    except pika.exceptions.AMQPError:
                        pass  # the scenario killed its broker; the database has the state then
            return condition()
        return processes.wait_until(look, what, timeout_s)

    def delete_queue(self, queue):
        """Deletes a queue, and waits until its consumer has missed it. RabbitMQ may carry a consumer over to a quorum queue that is
        made anew at once: then it is not cancelled, counts as a consumer, and gets no message."""
        missed = f"no queue '{queue}' in vhost '{self.url.rsplit('/', 1)[1]}'"
        self.client.channel.queue_delete(queue)
        self.wait(lambda: any(missed in log.read_text(errors="replace") for log in (self.servers.rabbit.folder / "log").glob("*.log")),
                  f"the consumer of {queue} has missed it")

    def pause_service(self, service, reason="a look at the orders"):
        """Pauses a service; its agents have the setting, which reaches them later than the tool returns."""
        self.cluster.tool("service", "pause", service, "--reason", reason)
        self.wait(lambda: all(agent.metric("makegood_agent_paused") == 1 for agent in self.cluster.agents_of(service)), f"{service} is paused")

    def wait_state(self, order, word, timeout_s=DEADLINE_S):
        try:
            self.wait(lambda: self.state(order) == word, f"order {order.order_id} is {word}", timeout_s)
        except processes.Failure as failure:
            raise AssertionError(f"{failure}\n  it is {self.state(order)}\n{self.story(order)}") from None

    def wait_step(self, order, step, word, timeout_s=DEADLINE_S):
        try:
            self.wait(lambda: self.step_state(order, step) == word, f"step {step} is {word}", timeout_s)
        except processes.Failure as failure:
            raise AssertionError(f"{failure}\n  it is {self.step_state(order, step)}\n{self.story(order)}") from None

    def story(self, order):
        lines = [f"  {row['version']:>3} {row['cause_kind']} {row['step'] or ''} {row['attempt'] or ''} "
                 f"{row['reason'] or ''} {json.dumps(row['transitions'])}" for row in self.events(order)]
        return "\n".join(lines)

    def load_workflow(self, name, steps, **fields):
        """Loads a definition made of steps (see `step`), version 1."""
        definition = {"workflow": name, "version": 1, "complete_within": "5m", "steps": steps}
        definition.update(fields)
        path = self.scratch / f"workflow-{name}.json"
        path.write_text(json.dumps(definition, indent=2), encoding="utf-8")
        self.cluster.tool("workflow", "load", path)

    def remote(self, service):
        return self.cluster.remotes[service]

    def effect(self, order, step_name, service, kind="do", generation=0):
        """The remote's ledger entry of one step's key."""
        key = f"{order.order_id}.{step_name}.{kind}" + (f".{generation}" if generation else "")
        return self.remote(service).entry(key)

    def assert_effects(self, order, expected):
        """expected: {(step, service): state in the ledger}."""
        seen = {place: self.effect(order, *place)["state"] for place in expected}
        assert seen == expected, f"the ledgers say {seen}, expected {expected}\n{self.story(order)}"

    # --- invariants after every scenario ------------------------------------------------------------------------------

    def check_invariants(self):
        for service, remote in self.cluster.remotes.items():
            if remote.process.is_running():
                twice = [key for key, entry in remote.entries().items() if entry["effects"] > 1]
                assert not twice, f"{service} executed the same key more than once: {twice}"
        if not self.expects_open_orders:
            def still_open():
                return self.rows("SELECT order_id, process_state FROM order_process WHERE process_state NOT IN %s", TERMINAL)
            try:
                self.wait(lambda: not still_open(), "every order ends")
            except processes.Failure as failure:
                raise AssertionError(f"{failure}\n  open are {still_open()}") from None
        gaps = self.rows("""SELECT order_id, count(*) AS rows, max(version) AS newest FROM order_event
                            GROUP BY order_id HAVING count(*) <> max(version)""")
        assert not gaps, f"an order's story has gaps: {gaps}"
        for supervisor in self.cluster.supervisors:
            if supervisor.is_running():
                page = processes.wait_until(supervisor.page, f"{supervisor.name} tells its metrics", alive=supervisor)
                assert "\nmakegood_invariant_violations_found_total 0\n" in page, "an open order had nothing to move it"

    def check_slots(self):
        """slot_once: no order is that of two slots, and each order of a slot is there."""
        twice = self.rows("SELECT order_id FROM schedule_run WHERE what = 'order' GROUP BY order_id HAVING count(*) > 1")
        lost = self.rows("SELECT order_id FROM schedule_run r WHERE what = 'order'"
                         " AND NOT EXISTS (SELECT FROM order_process p WHERE p.order_id = r.order_id)"
                         " AND NOT EXISTS (SELECT FROM order_archive a WHERE a.order_id = r.order_id)")
        assert not twice and not lost, f"orders of two slots: {twice}; slots without their order: {lost}"

    def check_ends(self):
        """All services end with 0 on SIGTERM, and no sanitizer has reported anything."""
        codes = {process.name: process.terminate() for process in self.others if process.is_running()}
        codes.update(self.cluster.stop())
        unchecked = {process.name for process in self.cluster.all + self.others if process.was_in_leak_check}
        if unchecked:
            print(f"note: LeakSanitizer did not finish at the end of {', '.join(sorted(unchecked))}; not checked for leaks")
        bad = {name: code for name, code in codes.items() if code != 0 and name not in self.ends_badly | unchecked}
        reports = []
        for process in self.cluster.all + self.others + [remote.process for remote in self.cluster.remotes.values()]:
            with open(process.log_path, encoding="utf-8", errors="replace") as log:
                reports += [f"{process.name}: {found.group()}" for found in SANITIZER.finditer(log.read())]
        assert not reports, "sanitizers report:\n" + "\n".join(reports)
        assert not bad, f"services ended badly: {bad}"

    def close(self):
        for client in self.clients:
            client.close()
        if self.database is not None:
            self.database.close()


COLLECTIONS = {"inventory": "/reservations", "payment": "/charges", "carrier": "/bookings"}


def step(name, service, after=(), undo=True, verify=False, **fields):
    """A step of a definition against the sample remotes: its body is the order's payload, byte for byte."""
    collection = COLLECTIONS.get(service, "")
    by_key = collection + "/by-key/${/do_key}"
    definition = {"step": name, "service": service, "after": list(after), "complete_within": "5s",
                  "retry": {"attempts": 3, "backoff": "50ms", "max_backoff": "200ms"},
                  "do": {"method": "POST", "path": collection, "body": "${/payload}"}}
    if verify:
        definition["verify"] = {"method": "GET", "path": by_key}
    definition["undo"] = "none"
    if undo and collection:
        definition["undo"] = {"method": "DELETE", "path": by_key, "complete_within": "5s",
                              "retry": {"attempts": 3, "backoff": "50ms", "max_backoff": "200ms"}}
    definition.update(fields)
    return definition


def migrate(dsn):
    """Gives a database the schema, as an operator does."""
    tool = cluster.build_folder() / "bin" / "makegood"
    done = subprocess.run([tool, "db", "migrate", "--migrations", MIGRATIONS], capture_output=True, text=True, check=False,
                          env={**processes.plain_environment(), "MAKEGOOD_PG_DSN": dsn})
    if done.returncode != 0:
        raise processes.Failure(f"makegood db migrate ended with {done.returncode}: {done.stderr}")


def scenario(own_servers=False, tls=False, long=None, portable=False, **options):
    """Marks a scenario. own_servers: it kills or starves a server; otherwise it may share them with other tests, and its database is
    a copy of one with the schema. tls: own servers, which Makegood reaches by TLS only. long: the reason why `tests/run` leaves it to
    `tests/run --long`. portable: `tests/run portable` runs it nevertheless. Both are literals, since tests/e2e/run.py reads them from
    the text. Options as those of a cluster, with one of each service unless they state another number."""
    assert long or not portable, "a short scenario is portable without a word"

    def mark(function):
        @functools.wraps(function)
        def run():
            return run_scenario(function, own_servers, tls, options)
        run.own_servers, run.options = own_servers or tls, options
        return run
    return mark


def check_facts(stage, facts, *given):
    """Tests each fact, a function of the stage and of what is given, on the same stage: one that fails hides no other."""
    failed = []
    for fact in facts:
        try:
            fact(stage, *given)
        except Exception:  # pylint: disable=broad-except  # all are named below
            traceback.print_exc()
            failed.append(fact.__name__.replace("_", " "))
    assert not failed, f"{len(failed)} of {len(facts)} facts: {'; '.join(failed)}"


def run_scenario(function, own_servers, tls, options):
    processes.end_on_signals()
    scratch = cluster.make_scratch("makegood-e2e-")
    stage, failed = None, True
    try:
        shared = os.environ.get("MAKEGOOD_TEST_SERVERS")
        owns = own_servers or tls or not shared
        both = servers.Servers(scratch, tls=tls).start() if owns else servers.attach(shared)
        stage = Stage(scratch, both, owns, dict(options))
        stage.start()
        function(stage)
        stage.check_invariants()
        stage.check_ends()
        failed = False
    except Exception:  # pylint: disable=broad-except  # every failure is shown with the logs
        processes.show_logs(scratch)
        traceback.print_exc()
    finally:
        if stage is not None:
            stage.close()
        processes.end_all()
        if not (failed and os.environ.get("MAKEGOOD_TEST_KEEP")):
            cluster.remove_scratch(scratch)
    if not failed:
        print(f"ok: {function.__name__.replace('_', ' ')}")
    return 1 if failed else 0
