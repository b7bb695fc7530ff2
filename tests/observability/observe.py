#!/usr/bin/python3
"""Prometheus with our rules beside a running Makegood.

First orders of all kinds come for some minutes while all is well: no scrape may fail, no sample may be refused, no alert may
even be pending at the end. Then things are broken, some of them at once, and each alert that stands for one must fire, and
resolve where that takes no more than minutes. The configuration and the rules are those of deploy/observability, with our
addresses in place of the containers' names. What fires only after a quarter of an hour or by a defect is left to unit.alerts.
"""

import argparse
import collections
import json
import pathlib
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pika
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy"))

from local import cluster, orders, processes, servers  # noqa: E402

FOLDER = cluster.REPOSITORY / "deploy" / "observability"
ORDERS_PER_S = 5
SCRAPE_S = 5  # as prometheus.yml says
FIRES_S, RESOLVES_S = 300, 420
# What Prometheus itself counts of scrapes that went wrong though the target answered.
REFUSED = ("prometheus_target_scrapes_exceeded_sample_limit_total", "prometheus_target_scrapes_sample_duplicate_timestamp_total",
           "prometheus_target_scrapes_sample_out_of_bounds_total", "prometheus_target_scrapes_sample_out_of_order_total",
           "prometheus_target_scrapes_exceeded_body_size_limit_total", "prometheus_rule_evaluation_failures_total")


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


class Prometheus:
    """Debian's, with the repository's configuration and rules; its targets are the processes of a cluster."""

    def __init__(self, scratch, rabbit_port):
        self.folder = scratch / "prometheus"
        self.folder.mkdir()
        self.port, self.rabbit_port = processes.free_port(), rabbit_port
        self.process = processes.Process("prometheus", [
            "/usr/bin/prometheus", "--config.file", self.folder / "prometheus.yml", "--storage.tsdb.path", self.folder / "data",
            "--web.listen-address", f"127.0.0.1:{self.port}", "--log.level", "warn"], scratch / "prometheus.log")

    def configure(self, parts):
        """parts: {part: [address]}."""
        config = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
        config["rule_files"] = [str(FOLDER / "alerts.yml")]
        for job in config["scrape_configs"]:
            if job["job_name"] == "makegood":
                del job["dns_sd_configs"], job["relabel_configs"]  # they make of a container's name what is said here
                job["static_configs"] = [{"targets": targets, "labels": {"part": part}} for part, targets in parts.items()]
            else:
                port = self.port if job["job_name"] == "prometheus" else self.rabbit_port
                job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")

    def start(self):
        self.process.start()
        processes.wait_until(self.is_ready, "Prometheus is ready", 60, alive=self.process)

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read().decode()

    def is_ready(self):
        try:
            return self.get("/-/ready") is not None
        except (OSError, urllib.error.URLError):
            return False

    def query(self, expression):
        """[(labels, value)]"""
        told = json.loads(self.get("/api/v1/query", query=expression))
        return [(row["metric"], float(row["value"][1])) for row in told["data"]["result"]]

    def targets(self):
        return json.loads(self.get("/api/v1/targets"))["data"]["activeTargets"]

    def alerts(self, state="firing"):
        """{alert: [labels]}"""
        found = collections.defaultdict(list)
        for alert in json.loads(self.get("/api/v1/alerts"))["data"]["alerts"]:
            if alert["state"] == state:
                found[alert["labels"]["alertname"]].append(alert["labels"])
        return dict(found)


class Traffic:
    """Orders at a steady rate, by a client that is no code of ours; a broker that is away is looked for again."""

    def __init__(self, url):
        self.url, self.connection, self.channel, self.sent, self.next_at = url, None, None, 0, time.monotonic()
        self.lines = orders.mixed_lines(len(orders.MIX) * 40)

    def connect(self):
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        self.channel = self.connection.channel()

    def post(self, text, exchange="makegood.intake", routing_key="orders.intake", **properties):
        """Once; what a broker that is away does not take is not posted at all."""
        try:
            if self.connection is None or not self.connection.is_open:
                self.connect()
            self.channel.basic_publish(exchange, routing_key, text.encode(), pika.BasicProperties(delivery_mode=2, **properties))
            return True
        except (pika.exceptions.AMQPError, OSError):
            self.connection = None
            return False

    def go_on(self):
        """Posts what is due by now."""
        while time.monotonic() >= self.next_at:
            self.next_at += 1 / ORDERS_PER_S
            line = self.lines[self.sent % len(self.lines)]
            if self.post(line.text.replace(f'"{line.order_id}"', f'"{uuid.uuid4()}"', 1)):
                self.sent += 1
            else:
                self.next_at = time.monotonic() + 1

    def wait(self, condition, what, timeout_s):
        """Orders go on coming meanwhile."""
        def look():
            self.go_on()
            return condition()
        return processes.wait_until(look, what, timeout_s)


class Show:
    def __init__(self, options):
        self.options, self.scratch = options, cluster.make_scratch("makegood-observe-")
        self.servers = self.cluster = self.prometheus = self.traffic = None
        self.fired = []

    def start(self):
        self.servers = servers.Servers(self.scratch).start()
        rabbit_port = processes.free_port()
        (self.servers.rabbit.folder / "enabled_plugins").write_text("[rabbitmq_prometheus].\n", encoding="ascii")
        with open(self.servers.rabbit.folder / "rabbitmq.conf", "a", encoding="ascii") as conf:
            conf.write(f"prometheus.tcp.ip = 127.0.0.1\nprometheus.tcp.port = {rabbit_port}\n")
        self.servers.rabbit.settle()
        self.cluster = cluster.Cluster(self.scratch, cluster.build_folder(), self.servers.postgres.dsn, self.servers.rabbit.url).start()
        stops = self.scratch / "stops.json"
        stops.write_text(json.dumps({"workflow": "stops", "version": 1, "complete_within": "5m", "on_failure": "error", "steps": [
            {"step": "reserve", "service": "inventory", "complete_within": "5s", "undo": "none",
             "do": {"method": "POST", "path": "/reservations", "body": "${/payload}"}}]}), encoding="utf-8")
        self.cluster.tool("workflow", "load", stops)
        parts = collections.defaultdict(list)
        for process in self.cluster.all:
            parts[process.name.rsplit("-", 1)[0]].append(f"127.0.0.1:{process.http_port}")
        self.prometheus = Prometheus(self.scratch, rabbit_port)
        self.prometheus.configure(dict(parts))
        self.traffic = Traffic(self.servers.rabbit.url)
        self.prometheus.start()

    # --- while all is well -------------------------------------------------------------------------------------------

    def watch(self):
        """Minutes without an error, judged by Prometheus' own record of them."""
        prometheus, minutes = self.prometheus, self.options.minutes
        count = len(self.cluster.all) + 3  # RabbitMQ twice, and Prometheus
        self.traffic.wait(lambda: [target["health"] for target in prometheus.targets()] == ["up"] * count, "every target was scraped", 60)
        until, looked = time.monotonic() + 60 * minutes, 0
        say(f"{count} targets, {len(self.cluster.all)} of them ours; {ORDERS_PER_S} orders a second for {minutes:g} minutes")
        while time.monotonic() < until:
            self.traffic.go_on()
            time.sleep(processes.POLL_S)
            if time.monotonic() > until - 60 * minutes + looked * SCRAPE_S:
                looked += 1
                wrong = [f"{target['scrapeUrl']}: {target['lastError']}" for target in prometheus.targets() if target["lastError"]]
                if wrong:
                    raise processes.Failure(f"scrapes failed: {wrong}")
        span = f"[{int(60 * minutes)}s]"
        failed = prometheus.query(f"min_over_time(up{span}) < 1")
        scrapes = sum(value for _, value in prometheus.query(f"count_over_time(up{span})"))
        refused = [name for name in REFUSED if sum(value for _, value in prometheus.query(f"max({name})")) != 0]
        refused += [f"{name} is not told" for name in REFUSED if not prometheus.query(name)]
        fired = prometheus.query(f'count_over_time(ALERTS{{alertstate="firing"}}{span})')
        ended = sum(value for _, value in prometheus.query(f'increase(makegood_orders_total{{state=~"processed|compensated"}}{span})'))
        for what, found in (("scrapes failed", failed), ("samples or rules were refused", refused), ("alerts fired", fired),
                            ("alerts are pending", list(prometheus.alerts("pending").items()))):
            if found:
                raise processes.Failure(f"{what} while all was well: {found}")
        if scrapes < 0.9 * count * 60 * minutes / SCRAPE_S or ended < 0.5 * self.traffic.sent:
            raise processes.Failure(f"{scrapes:.0f} scrapes and {ended:.0f} ended orders are too few to show anything")
        say(f"{scrapes:.0f} scrapes without an error, {self.traffic.sent} orders posted, {ended:.0f} ended, no alert")

    # --- when something is broken ------------------------------------------------------------------------------------

    def await_alerts(self, *names, orders_come=True):
        """Each is awaited as firing, while orders go on."""
        began, wait = time.monotonic(), self.traffic.wait if orders_come else processes.wait_until
        for name in names:
            wait(lambda name=name: name in self.prometheus.alerts(), f"{name} fires; firing: {self.prometheus.alerts()}", FIRES_S)
            self.fired.append(name)
            say(f"  {name} fires, {time.monotonic() - began:.0f} s after")

    def await_silence(self, *names):
        for name in names:
            self.traffic.wait(lambda name=name: name not in self.prometheus.alerts(), f"{name} is over", RESOLVES_S)
        say(f"  over: {', '.join(names)}")

    def start_again(self, *broken):
        for process in broken:
            process.start()
        for process in broken:
            process.wait_ready(60)

    def break_services(self):
        say("the agents of carrier die over their work, payment's service is away, an order is refused, a message is none of ours")
        carrier, payment, inventory = (self.cluster.remotes[name] for name in ("carrier", "payment", "inventory"))
        carrier.switch("slow:3000", on="do")
        self.traffic.wait(lambda: carrier.load()["now"] >= 4, "calls of carrier are under way", 60)
        for agent in self.cluster.agents_of("carrier"):
            agent.kill()
        payment.process.kill()
        inventory.switch("decline", count=1)
        self.traffic.post(json.dumps({"order_id": str(uuid.uuid4()), "workflow": "stops", "payload": {"behaviour": "decline"}}))
        self.traffic.post("not a reply", "makegood.replies", "scheduler.replies", type="reply")
        self.await_alerts("MakegoodDeadLetters", "MakegoodOrdersInError", "MakegoodPartDown", "MakegoodBreakerOpen",
                          "MakegoodServiceUnserved")
        say("all of it is repaired")
        carrier.switch("order")
        payment.start()
        self.start_again(*self.cluster.agents_of("carrier"))
        self.cluster.tool("dead", "drop", "--all", "--reason", "nonsense")
        self.await_silence("MakegoodPartDown", "MakegoodBreakerOpen", "MakegoodServiceUnserved", "MakegoodDeadLetters")

    def break_supervisors(self):
        say("both supervisors die")
        for supervisor in self.cluster.supervisors:
            supervisor.kill()
        self.await_alerts("MakegoodNoLeader")
        self.start_again(*self.cluster.supervisors)
        self.await_silence("MakegoodNoLeader")

    def break_schedulers(self):
        say("both schedulers die, and orders go on coming")
        for scheduler in self.cluster.schedulers:
            scheduler.kill()
        self.await_alerts("MakegoodNoScheduler", "MakegoodQueueOld")
        self.start_again(*self.cluster.schedulers)
        self.await_silence("MakegoodNoScheduler", "MakegoodQueueOld")

    def break_servers(self):
        say("RabbitMQ and PostgreSQL die")
        self.servers.rabbit.kill()
        self.servers.postgres.kill()
        self.await_alerts("MakegoodBrokerAway", "MakegoodStoreAway", orders_come=False)
        self.servers.postgres.restart()
        self.servers.rabbit.restart()
        self.await_silence("MakegoodBrokerAway", "MakegoodStoreAway")

    def run(self):
        self.start()
        self.watch()
        if not self.options.well:
            self.break_services()
            self.break_supervisors()
            self.break_schedulers()
            self.break_servers()
            say(f"{len(self.fired)} alerts fired when they should: {', '.join(self.fired)}")
        say("all is as it should be")


def main(words):
    parser = argparse.ArgumentParser(prog="tests/observability/run", description=__doc__.splitlines()[0],
                                     epilog="It takes ten minutes more than --minutes.")
    parser.add_argument("--minutes", type=float, default=10, metavar="N", help="how long all is well (10)")
    parser.add_argument("--well", action="store_true", help="break nothing")
    options = parser.parse_args(words)
    processes.end_on_signals()
    show = Show(options)
    try:
        show.run()
        return 0
    except processes.Failure as failure:
        say(f"FAILED: {failure}")
        for path in sorted(show.scratch.glob("*.log")):
            print(f"--- {path.name}\n{path.read_text(encoding='utf-8', errors='replace')[-2000:]}", file=sys.stderr)
        return 1
    finally:
        processes.end_all()
        cluster.remove_scratch(show.scratch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
