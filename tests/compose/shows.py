#!/usr/bin/python3
"""The tests of the system in containers; see tests/compose/run. Each show is a function; a failed one ends the run."""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import ssl
import sys
import tempfile
import time
import urllib.request

import pika
import pika.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy"))
from local import cluster, orders, processes, verdict  # noqa: E402

import dev  # noqa: E402
import refusals  # noqa: E402
import rotation  # noqa: E402
from client import Client  # noqa: E402
from system import EDGE, ONE_SHOTS, PARTS, REPOSITORY, SERVERS, System, fresh_copy, run  # noqa: E402

HEALTHY_WITHIN_S = 120.0  # after the build, from an empty state
ORDERS = 500
ORDERS_UNDER_FAULTS = 250  # with each victim
ORDERS_OVER_TLS = 100
ORDERS_OF_ONES_OWN = 50
ORDERS_WATCHED = 20       # so that each metric of orders has a value
CALLS, CAUSES = "makegood_agent_calls_total", "makegood_batch_causes_sum"
SLOW = {"inventory": "slow:500", "payment": "slow:500", "carrier": "slow:2500"}
OPEN_AT_LEAST = 0.25      # of the orders, when a show interferes with them
END_WITHIN_S = 180.0      # every order, also after a fault
FILES = ("docker-compose.yml",)
OWN = REPOSITORY / "tests" / "compose" / "own"
LONG_RUNNING = SERVERS + PARTS + EDGE + cluster.SERVICES


class Show:
    """One run of the system, its client and all orders posted so far."""

    def __init__(self, system):
        self.system = system
        self.wheel = iter(orders.mixed_lines(100000))
        self.lines = []
        self.client = self.token = None  # the token of the gateway
        self.workflow = json.loads((cluster.SAMPLE / "workflows" / "fulfilment.json").read_text(encoding="utf-8"))

    def take(self, count):
        lines = [next(self.wheel) for _ in range(count)]
        self.lines += lines
        return lines

    def take_slow(self, count):
        """The same, but the services take their time for most of them: long enough to be interrupted."""
        lines = self.take(count)
        for line in lines:
            if line.kind.behaviour is None:
                line.text = line.text.removesuffix("}}") + f', "behaviour": {json.dumps(SLOW)}}}}}'
        return lines

    @contextlib.contextmanager
    def orders_on_their_way(self, count=ORDERS):
        """The body runs with orders at every stage, and some ended; then all must end as expected."""
        first, second = self.take_slow(count // 2), self.take_slow(count // 2)
        self.client.post(first)
        self.client.wait_ended(first, END_WITHIN_S, share=0.1)
        self.client.post(second)
        yield first + second
        self.client.wait_ended(first + second, END_WITHIN_S)
        self.judge()

    def open_orders(self, lines):
        """The number of open orders. With too few the interference proves nothing."""
        left = len(lines) - self.client.ended(lines)
        if left < len(lines) * OPEN_AT_LEAST:
            raise processes.Failure(f"only {left} of {len(lines)} orders were open; nothing is shown")
        return left

    def crash_and_return(self, service):
        """A process of the service dies by itself; prints a note if that cannot be done from here."""
        (container, *_) = self.system.containers(service)
        (state,) = self.system.inspect(container)
        try:
            os.kill(state["State"]["Pid"], 9)
        except (PermissionError, ProcessLookupError):
            say("  not shown: the processes of the engine are out of reach from here")
            return
        processes.wait_until(lambda: self.system.inspect(container)[0]["RestartCount"] == state["RestartCount"] + 1,
                             f"the engine starts {service} again", 60)
        self.system.wait_healthy([service])
        say(f"  a process of {service} that died was started again by the engine")

    def connect(self, name="sample"):
        tls = None
        if self.system.is_tls:
            files = self.system.client_files(self.system.folder / "client")
            context = ssl.create_default_context(cafile=files / "ca.pem")
            context.load_cert_chain(files / "cert.pem", files / "key.pem")
            tls = pika.SSLOptions(context, "localhost")
        former, self.client = self.client, Client(name, self.system.client_url(name), tls)
        if former is not None:
            former.end()
            self.client.statuses = former.statuses
        self.client.start()

    def judge(self):
        """All orders of the run, by the database, their client and the ledgers."""
        states = dict(self.system.psql("SELECT order_id, process_state FROM order_process"))
        wrong, numbers = verdict.judge(self.lines, self.workflow, states, self.client.told(), self.system.remotes)
        if wrong:
            raise processes.Failure("\n".join(wrong[:20]) + f"\n{len(wrong)} things are wrong")
        return numbers


def say(text):
    print(text, flush=True)


def healthy(show):
    """From nothing to healthy: build first, then `up`."""
    began_at, is_machine_ours = time.monotonic(), os.getloadavg()[0] < os.cpu_count()
    show.system.compose("build", timeout_s=1800)
    built_at = time.monotonic()
    show.system.up("--build")
    show.system.wait_healthy(LONG_RUNNING)
    healthy_s = time.monotonic() - built_at
    size = int(run(["docker", "image", "inspect", "--format", "{{.Size}}", "makegood:0.3.0"]).stdout)
    say(f"  built in {built_at - began_at:.0f} s, healthy {healthy_s:.0f} s later; the image has {size / 1e6:.0f} MB")
    if healthy_s > HEALTHY_WITHIN_S and is_machine_ours:  # on a slower machine the time proves nothing
        raise processes.Failure(f"that took longer than {HEALTHY_WITHIN_S:g} s")
    for service in ONE_SHOTS:
        for state in (each["State"] for each in show.system.inspect(*show.system.containers(service, everyone=True))):
            if state["ExitCode"] != 0:
                raise processes.Failure(f"{service} ended with {state['ExitCode']}\n{show.system.logs(service)}")
    processes.wait_until(lambda: show.system.compose("run", "--rm", "-T", "--no-deps", "operator", "doctor", check=False).returncode == 0,
                         "the doctor finds no fault", 60)
    show.connect()


def some_orders(show, count=ORDERS):
    """A client on the host posts orders of all kinds; each ends as it should, and the ledgers agree."""
    lines = show.take(count)
    began_at = time.monotonic()
    show.client.post(lines)
    show.client.wait_ended(lines, END_WITHIN_S)
    numbers = show.judge()
    say(f"  {count} orders ended as they should in {time.monotonic() - began_at:.1f} s; the ledgers: {numbers['keys']} keys, "
        f"{numbers['effects']} effects, {numbers['undos']} undone, net {numbers['net_effects']}, "
        f"{numbers['keys_with_several_effects']} keys with several effects; {numbers['values_compared']} values compared, "
        f"{numbers['values_different']} differ")


def scale(show):
    """Four agents share a service's calls. Of three schedulers the longest up leads; it is killed, and the others go on."""
    system = show.system
    before = system.starts()
    system.up("--no-recreate", "--scale", "agents=4", "--scale", "scheduler=3")
    system.wait_healthy(PARTS)
    system.assert_untouched(before, "scaling out")
    agents, schedulers = system.containers("agents"), system.containers("scheduler")
    if (len(agents), len(schedulers)) != (4, 3):
        raise processes.Failure(f"there are {len(agents)} agents and {len(schedulers)} schedulers; meant were 4 and 3")

    def rise(containers, name, since=None):
        return {each: int(system.metric(each, name)) - (since or {}).get(each, 0) for each in containers}

    calls, causes = rise(agents, CALLS), rise(schedulers, CAUSES)
    lines = show.take(ORDERS)
    show.client.post(lines)
    show.client.wait_ended(lines, END_WITHIN_S)
    calls, causes = rise(agents, CALLS, calls), rise(schedulers, CAUSES, causes)
    say(f"  calls of the four agents: {', '.join(map(str, sorted(calls.values())))}; causes of the three schedulers: "
        f"{', '.join(map(str, sorted(causes.values())))}")
    if min(calls.values()) * 8 < sum(calls.values()) / 4:
        raise processes.Failure("the calls were not spread over all agents")
    show.judge()

    leader = max(causes, key=causes.get)
    others = [each for each in schedulers if each != leader]
    causes = rise(others, CAUSES)
    with show.orders_on_their_way() as lines:
        run(["docker", "kill", leader])
        left = show.open_orders(lines)
    causes = rise(others, CAUSES, causes)
    say(f"  the leading scheduler killed with {left} of {len(lines)} orders open; causes of the two others: "
        f"{', '.join(map(str, sorted(causes.values())))}")
    if sum(causes.values()) < left:  # each order that was open needed some more
        raise processes.Failure(f"{left} orders went on by {sum(causes.values())} causes of other schedulers: that is not understood")
    run(["docker", "start", leader])
    system.wait_healthy(["scheduler"])


def kill(show):
    """Each service is killed under load, all its replicas at once, and comes back."""
    system = show.system
    for victim in PARTS + cluster.SERVICES + SERVERS:
        began_at = time.monotonic()
        with show.orders_on_their_way(ORDERS_UNDER_FAULTS) as lines:
            system.compose("kill", "-s", "KILL", victim)
            left = show.open_orders(lines)
            system.compose("start", victim)
        say(f"  {victim} killed with {left} of {len(lines)} orders open; all ended {time.monotonic() - began_at:.1f} s after the first post")
        system.wait_healthy([victim])


def crash(show):
    """A process that dies by itself is started again by the engine."""
    show.crash_and_return("scheduler")


def down_and_up(show):
    """`down` in the middle, then `up`: orders in progress go on."""
    system = show.system
    with show.orders_on_their_way() as lines:
        # An engine now and then keeps a network of a container that was killed; the test only requires that no container is left.
        system.compose("down", check=False)
        if system.all_containers():
            raise processes.Failure("containers are left after down")
        left = show.open_orders(lines)
        began_at = time.monotonic()
        system.up()
        system.wait_healthy(LONG_RUNNING)
        say(f"  down with {left} of {len(lines)} orders open; healthy again after {time.monotonic() - began_at:.0f} s")


def versions(show):
    """An image that is not for its volume is refused before its server starts."""
    system = show.system
    major = int(system.psql("SHOW server_version_num")[0][0]) // 10000
    (rabbitmq,) = system.containers("rabbitmq")
    broker = tuple(int(part) for part in system.execute(rabbitmq, "rabbitmqctl", "-q", "version").stdout.split(".")[:2])
    for name, image, refusal in (("POSTGRES_IMAGE", f"postgres:{major + 1}.1", "postgres-data is of PostgreSQL"),
                                 ("POSTGRES_IMAGE", f"mirror:5000/postgres:{major}.1", None),
                                 ("RABBITMQ_IMAGE", "rabbitmq:4.3.6-management", "rabbitmq-data is of" if broker < (4, 2) else None)):
        done = system.compose("run", "--rm", "-T", "--no-deps", "-e", f"{name}={image}", "setup", check=False)
        if (done.returncode == 0) != (refusal is None) or (refusal or "") not in done.stderr:
            raise processes.Failure(f"setup ended with {done.returncode} for {name}={image}\n{done.stderr}")
    say(f"  the volumes are of PostgreSQL {major} and RabbitMQ {'.'.join(map(str, broker))}")


def connects(system, container, host, port):
    script = f"exec 3<>/dev/tcp/{host}/{port}"
    return system.execute(container, "timeout", "5", "bash", "-c", script, check=False).returncode == 0


def reach(show):
    """From inside the agents: PostgreSQL is out of reach, and to the user of each so are other services' queues."""
    system = show.system
    (agent, *_), (postgres, *_), (remote, *_) = (system.containers(name) for name in ("agents", "postgres", "inventory"))

    amqp, remote_port = (5671 if system.is_tls else 5672), system.remote_port
    if not connects(system, agent, "rabbitmq", amqp) or not connects(system, agent, "payment", remote_port):
        raise processes.Failure("an agent does not reach its own broker and service, so that nothing is shown")
    targets = [("postgres by name", agent, "postgres", 5432), ("the broker, from a remote service", remote, "rabbitmq", amqp)]
    targets += [(f"postgres by its address in {name}", agent, address, 5432) for name, address in system.address(postgres).items()]
    targets += [(f"Erlang's port {port}", agent, "rabbitmq", port) for port in (4369, 25672)]
    (broker,) = system.containers("rabbitmq")
    targets += [(f"the broker by its address in {name}, from a remote service", remote, address, amqp)
                for name, address in system.address(broker).items()]
    with concurrent.futures.ThreadPoolExecutor(len(targets)) as pool:  # each waits for its time-out
        reached = list(pool.map(lambda target: connects(system, *target[1:]), targets))
    for (what, _, host, port), is_reached in zip(targets, reached):
        if is_reached:
            raise processes.Failure(f"{what} ({host}:{port}) was reached")
    for name in ("scheduler", "supervisor", "postgres") + cluster.SERVICES:
        for network in system.networks(system.containers(name)[0]):
            if not network["Internal"]:
                raise processes.Failure(f"{name} is in {network['Name']}, from which the outside is reached")
    files = system.execute(agent, "sh", "-c", "find /run/secrets -type f; ls /etc/makegood").stdout.split()
    if any("pg-dsn" in name for name in files) or system.execute(agent, "sh", "-c", "touch /x || touch /usr/bin/x", check=False).returncode == 0:
        raise processes.Failure(f"an agent holds a database address, or can write to its image: {files}")
    say(f"  out of reach: {'; '.join(target[0] for target in targets)}")
    parameters = show.client.parameters_of("agent-payment", system.secrets()["amqp-agent-payment"])
    for what, attempt in FORBIDDEN_TO_AGENTS.items():
        connection = pika.BlockingConnection(parameters)
        try:
            attempt(connection.channel())
        except pika.exceptions.ChannelClosedByBroker as refusal:
            if refusal.reply_code != 403:
                raise
        else:
            raise processes.Failure(f"an agent's user may {what}")
        finally:
            connection.close()
    say(f"  refused to an agent's user: to {', to '.join(FORBIDDEN_TO_AGENTS)}")


def publish(exchange, routing_key):
    def attempt(channel):
        channel.confirm_delivery()
        channel.basic_publish(exchange, routing_key, b"{}", mandatory=True)
    return attempt


FORBIDDEN_TO_AGENTS = {
    "read another service's requests": lambda channel: channel.basic_get("agent.inventory.requests"),
    "read the schedulers' replies": lambda channel: channel.basic_get("scheduler.replies"),
    "answer for another service": publish("makegood.replies.inventory", "scheduler.replies"),
    "answer for all services": publish("makegood.replies", "scheduler.replies"),
    "read orders": lambda channel: channel.basic_get("orders.intake"),
    "submit orders": publish("makegood.intake", "orders.intake"),
    "give commands": publish("makegood.commands", "scheduler.commands"),
    "write to any queue": publish("", "scheduler.commands"),
    "make a queue": lambda channel: channel.queue_declare("agent.payment.other"),
    "remove a queue": lambda channel: channel.queue_delete("agent.payment.requests"),
}


def canaries(show):
    """No password is in the engine's output about containers and images, in logs, or in the database."""
    system = show.system
    secrets = system.secrets()
    if len(secrets) < 10:
        raise processes.Failure(f"only {len(secrets)} passwords were found; nothing is shown")
    images = {each["Image"] for each in system.inspect(*system.all_containers())}
    places = {"docker inspect": run(["docker", "inspect", *system.all_containers(), *images]).stdout, "logs": system.logs(),
              "arguments of the processes": "".join(run(["docker", "top", each]).stdout for name in LONG_RUNNING
                                                    for each in system.containers(name)),
              "the database": "".join("\t".join(row) for table, in system.psql(
                  "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'")
                  for row in system.psql(f"SELECT * FROM {table}"))}
    for place, text in places.items():
        if not text:
            raise processes.Failure(f"{place}: there is nothing to look at")
        for name, secret in secrets.items():
            if secret in text:
                raise processes.Failure(f"the password {name} is in {place}")
    say(f"  {len(secrets)} passwords, none in {', '.join(places)} ({sum(map(len, places.values())) / 1e6:.1f} MB of text)")


def observability(show):
    """Prometheus finds every part and accepts the rules; every metric that a rule or panel names exists; Grafana starts."""
    system = show.system
    system.up("--no-recreate", "--scale", "agents=2")
    before = system.starts()
    system.compose("--profile", "observability", "up", "-d", "--no-recreate", "prometheus", "grafana")
    system.wait_healthy([*PARTS, "prometheus"])
    system.assert_untouched(before, "the profile observability")
    (prometheus,) = system.containers("prometheus")
    some_orders(show, ORDERS_WATCHED)  # a process counts by service and workflow from its first order of them on

    def query(expression):
        done = system.execute(prometheus, "promtool", "query", "instant", "-o", "json", "http://127.0.0.1:9090", expression, check=False)
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else []

    wanted = sum(len(system.containers(part)) for part in PARTS + EDGE)
    processes.wait_until(lambda: len(query('up{job="makegood"} == 1')) >= wanted, f"Prometheus sees {wanted} processes", 60)
    processes.wait_until(lambda: query("rabbitmq_detailed_queue_messages"), "Prometheus sees the queues", 60)
    system.execute(prometheus, "promtool", "check", "config", "/etc/prometheus/prometheus.yml")
    folder = REPOSITORY / "deploy" / "observability"
    text = "".join(path.read_text(encoding="utf-8") for path in [folder / "alerts.yml", *folder.rglob("dashboards/*.json")])
    absent = {"makegood_metrics_overflow_total", "makegood_orders", "makegood_spans_sent_total", "makegood_spans_dropped_total",
              "makegood_order_finished_oldest_age_seconds"}
    # No orders are open, there is no collector, and no retention policy is set. Over TLS nothing is asked of the gateway.
    if system.is_tls:
        absent |= {name for name in re.findall(r"\bmakegood_gateway_\w+", text) if re.search("_(batch|request)", name)}
    else:
        gateway(show, ":batch", {"order_id": "refused", "workflow": "nowhere", "payload": {}}, "application/x-ndjson")
        gateway(show, "?state=processed")
    absent |= set(re.findall(r"\bmakegood_webhook_\w+", text))  # no client has a webhook
    names = sorted(set(re.findall(r"\bmakegood_\w+", text)) - absent)
    for name in [*names, "rabbitmq_alarms_memory_used_watermark"]:
        processes.wait_until(lambda: query(name), f"Prometheus has a series of {name}", 60)
    if query('ALERTS{alertstate="firing", severity="critical"}'):
        raise processes.Failure(f"alerts are firing: {query('ALERTS')}")
    (grafana,) = system.containers("grafana")
    processes.wait_until(lambda: system.inspect(grafana)[0]["State"]["Running"], "Grafana runs", 60)
    say(f"  {wanted} processes scraped, {len(names)} metrics of rules and panels found")


def orders_over_tls(show):
    """The same over TLS: a client with a certificate posts orders, all of them end as expected."""
    some_orders(show, ORDERS_OVER_TLS)
    scheduler = show.system.containers("scheduler")[0]
    for port, is_open in ((5671, True), (15691, True), (5672, False), (15672, False), (15692, False)):
        if connects(show.system, scheduler, "rabbitmq", port) != is_open:
            raise processes.Failure(f"port {port} of RabbitMQ is {'closed' if is_open else 'open, for plaintext'}")
    sessions = show.system.psql("SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl) FROM pg_stat_ssl"
                                " JOIN pg_stat_activity USING (pid) WHERE client_addr IS NOT NULL")
    if sessions[0][0] == "0" or sessions[0][1] != "0":
        raise processes.Failure(f"sessions of PostgreSQL with and without TLS: {sessions}")
    say(f"  RabbitMQ is reached over TLS only; {sessions[0][0]} sessions of PostgreSQL, all over TLS")


def rotate_passwords(show):
    """Passwords are rotated with orders on their way: the old are refused, nothing stops."""
    rotation.passwords(show, say)


def rotate_certificates(show):
    """Certificates are renewed with orders on their way; nothing stops."""
    rotation.certificates(show, say)


def gateway(show, path, body=None, form="application/json"):
    """The gateway's answer to the first of the clients, as JSON; not over TLS."""
    if show.token is None:
        show.token = show.system.setup("password", "gateway").strip()
    request = urllib.request.Request(f"http://127.0.0.1:{show.system.env['MAKEGOOD_GATEWAY_PORT']}/v1/orders{path}",
                                     data=body and json.dumps(body).encode(), headers={"Authorization": f"Bearer {show.token}",
                                                                                      "Content-Type": form})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def shipments(show, prefix, meanwhile=lambda: None):
    """Orders for a service of one's own, through the gateway; each has to be processed."""
    names = [f"{prefix}-{number}" for number in range(ORDERS_OF_ONES_OWN)]
    for name in names:
        gateway(show, "", {"order_id": name, "workflow": "shipment", "payload": {"to": "Reims"}})
    meanwhile()
    for name in names:
        order = gateway(show, f"/{name}?wait=60s")
        if order["state"] != "processed":
            raise processes.Failure(f"{name} is not processed: {order}")


def agent_metric(system, name, service):
    """Of the agent of one service; None: there is no such agent."""
    (agents, *_) = system.containers("agents")
    found = [line for line in system.fetch(agents, 9100, "/metrics")[1].splitlines() if line.startswith(f'{name}{{agent="{service}"')]
    return float(found[0].rpartition(" ")[2]) if found else None


def own(show):
    """A service of one's own by one line, while all runs: added, changed, removed; nothing is restarted. Then without the samples."""
    system = show.system
    folder = system.folder / "deploy" / "compose" / "own"
    shutil.copy(OWN / "workflows" / "shipment.json", folder / "workflows")
    shutil.copy(OWN / "somebody-else.yml", system.folder)
    before = system.starts()
    system.env["COMPOSE_FILE"] += ":somebody-else.yml"
    system.compose("up", "-d", "--no-deps", "parcels")
    system.wait_healthy(["parcels"])
    began_at = time.monotonic()
    run([system.folder / "deploy" / "compose" / "add-service", "parcels", "http://parcels:8080"],
        env={**system.env, "COMPOSE": " ".join(system.program)})
    added_s = time.monotonic() - began_at
    system.compose("run", "--rm", "-T", "--no-deps", "migrate", "makegood", "workflow", "load", "/etc/makegood/workflows/shipment.json")
    shipments(show, "added")
    system.assert_untouched(before, "a service of one's own")

    file = folder / "services" / "parcels.json"

    def change():
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), "concurrency": 3}), encoding="utf-8")
        draft.rename(file)
        processes.wait_until(lambda: agent_metric(system, "makegood_agent_concurrency", "parcels") == 3, "the changed file counts", 60)
    shipments(show, "changed", change)
    file.write_text("{", encoding="utf-8")
    processes.wait_until(lambda: '"service":"parcels","reason":"' in system.logs("agents"), "the mistake is logged", 60)
    shipments(show, "broken")
    file.unlink()
    processes.wait_until(lambda: agent_metric(system, "makegood_agent_concurrency", "parcels") is None, "the agent is gone", 60)
    system.assert_untouched(before, "a file changed and removed")
    ledger = json.loads(system.fetch(system.containers("parcels")[0], system.remote_port, "/ledger?entries=no")[1])
    if ledger["totals"]["effects"] != 3 * ORDERS_OF_ONES_OWN or ledger["totals"]["keys_with_several_effects"] != 0:
        raise processes.Failure(f"not every order had its one effect: {ledger}")
    say(f"  added in {added_s:.0f} s, changed, broken and removed: {3 * ORDERS_OF_ONES_OWN} orders processed through the gateway; "
        f"{len(before)} containers untouched")

    system.env["MAKEGOOD_SAMPLES"] = "0"
    run([system.folder / "deploy" / "compose" / "add-service", "parcels", "http://parcels:8080"],
        env={**system.env, "COMPOSE": " ".join(system.program)})
    system.up("--remove-orphans")
    system.wait_healthy(SERVERS + PARTS + EDGE + ("parcels",))
    shipments(show, "alone")
    if any(system.containers(name) for name in cluster.SERVICES) or agent_metric(system, "makegood_agent_concurrency", "payment") is not None:
        raise processes.Failure("the samples run, too")
    say("  the samples are gone by MAKEGOOD_SAMPLES=0")


def image_of_dev(show):
    """The image of `makegood dev` carries orders to a service on the host, and ends in order."""
    dev.show(show.system, say)


def own_certificates(show):
    """Certificates of an authority of one's own in place of those for trying."""
    rotation.own_certificates(show, say)
    some_orders(show, ORDERS_OVER_TLS)


def refused(show):
    """Wrong certificates, expired ones, wrong passwords, missing rights: refused, and both sides name the reason."""
    refusals.show(show.system, say)


PLAIN_SHOWS = {"healthy": healthy, "orders": some_orders, "scale": scale, "kill": kill, "crash": crash, "down": down_and_up, "versions": versions,
               "reach": reach, "rotate": rotate_passwords, "canaries": canaries, "observability": observability, "own": own,
               "dev": image_of_dev}
TLS_SHOWS = {"tls": healthy, "tls-orders": orders_over_tls, "tls-refusals": refused, "tls-reach": reach,
             "tls-rotate": rotate_certificates, "tls-canaries": canaries, "tls-observability": observability,
             "tls-own": own_certificates}
SHOWS = {**PLAIN_SHOWS, **TLS_SHOWS}


def images(options):
    return {name: value for name, value in (("POSTGRES_IMAGE", options.postgres), ("RABBITMQ_IMAGE", options.rabbitmq)) if value}


def main():
    parser = argparse.ArgumentParser(prog="tests/compose/run", description="Shows the system in containers.")
    parser.add_argument("--postgres", metavar="IMAGE")
    parser.add_argument("--rabbitmq", metavar="IMAGE")
    parser.add_argument("--only", metavar="SHOW,…", help="healthy, or tls, is always among them")
    parser.add_argument("--list", action="store_true", help="prints the names of the shows")
    parser.add_argument("--keep", action="store_true", help="leaves the containers running")
    options = parser.parse_args()
    if options.list:
        for name, function in SHOWS.items():
            say(f"{name:<18} {function.__doc__.splitlines()[0]}")
        return 0
    wanted = list(SHOWS) if options.only is None else options.only.split(",")
    unknown = set(wanted) - set(SHOWS)
    if unknown:
        parser.error(f"no such show: {', '.join(sorted(unknown))}; --list names them")
    processes.end_on_signals()
    began_at = time.monotonic()
    passed = posted = 0
    for suffix, shows, files in (("", PLAIN_SHOWS, FILES), ("-tls", TLS_SHOWS, FILES + ("deploy/compose.tls.yml",))):
        chosen = [name for name in shows if name in wanted]
        if not chosen:
            continue
        first = next(iter(shows))  # brings it up
        chosen = [first] + [name for name in chosen if name != first]
        with contextlib.ExitStack() as ending:
            scratch = pathlib.Path(tempfile.mkdtemp(prefix="makegood-compose-"))
            scratch.chmod(0o755)
            system = System(f"makegood-test-{os.getpid()}{suffix}", fresh_copy(scratch), files, images(options))
            if options.keep:
                ending.callback(say, f"left running; to end it: cd {scratch} && docker compose -p {system.project} down -v")
            else:
                ending.callback(shutil.rmtree, scratch, ignore_errors=True)
                ending.callback(system.end)
            image = system.image_out_of_reach()
            if image is not None:
                say(f"skipped: {image} is not here and cannot be pulled")
                return 0
            show = Show(system)
            for name in chosen:
                say(f"{name}, after {time.monotonic() - began_at:.0f} s: {SHOWS[name].__doc__.splitlines()[0]}")
                try:
                    SHOWS[name](show)
                except (processes.Failure, AssertionError) as failure:
                    say(f"{system.logs(lines=10)}\n\n{failure}\nfailed: {name}, after {time.monotonic() - began_at:.0f} s")
                    return 1
                passed += 1
            posted += len(show.lines)
            show.client.end()
    say(f"{passed} of {len(SHOWS)} shows passed, {posted} orders, {time.monotonic() - began_at:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
