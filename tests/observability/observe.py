#!/usr/bin/python3
"""Prometheus with our rules beside a running Makegood.

First orders of all kinds come for some minutes without a fault. No scrape may fail, no sample may be refused, no alert may even be
pending at the end. Then come the faults (faults.py), at once if they do not hide each other. Each rule must fire by a real fault,
and fall silent after its repair; at the end no rule fires. The configuration and the rules are those of deploy/observability, with
our addresses in place of the containers' names.
"""

import argparse
import collections
import json
import pathlib
import re
import signal
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pika
import yaml

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS.parent / "deploy"), str(TESTS / "e2e")]

import faults  # noqa: E402
from local import cluster, orders, processes, servers  # noqa: E402

FOLDER = cluster.REPOSITORY / "deploy" / "observability"
ORDERS_PER_S = 5
SCRAPE_S = 5  # the interval of prometheus.yml
# Beyond a rule's own `for`. To fall silent: the longest look back of a rule, and the time of orders that have waited meanwhile.
FIRES_S, RESOLVES_S = 480, 900
HURRIED = "30s"
ALERTS_PERIOD_S = 1
# Prometheus' own counters of scrapes that failed although the target answered.
REFUSED = ("prometheus_target_scrapes_exceeded_sample_limit_total", "prometheus_target_scrapes_sample_duplicate_timestamp_total",
           "prometheus_target_scrapes_sample_out_of_bounds_total", "prometheus_target_scrapes_sample_out_of_order_total",
           "prometheus_target_scrapes_exceeded_body_size_limit_total", "prometheus_rule_evaluation_failures_total")


def say(text):
    print(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}", flush=True)


def seconds_of(duration):
    """Of a duration as Prometheus writes it: 30s, 5m."""
    number, unit = re.fullmatch(r"(\d+)([smh])", duration).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def read_rules():
    """(the file's content, {alert: rule})"""
    content = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))
    return content, {rule["alert"]: rule for group in content["groups"] for rule in group["rules"]}


class Prometheus:
    """Debian's Prometheus, with the repository's configuration and rules; its targets are the processes of a cluster."""

    def __init__(self, scratch, rabbit_port):
        self.folder = scratch / "prometheus"
        self.folder.mkdir()
        self.port, self.rabbit_port = processes.free_port(), rabbit_port
        self.process = processes.Process("prometheus", [
            "/usr/bin/prometheus", "--config.file", self.folder / "prometheus.yml", "--storage.tsdb.path", self.folder / "data",
            "--web.listen-address", f"127.0.0.1:{self.port}", "--log.level", "warn"], scratch / "prometheus.log")

    def configure(self, parts, is_hurried):
        """parts: {part: [address]}. Hurried, a rule waits no longer than HURRIED before it fires; else the rules are as shipped."""
        config = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
        content, rules = read_rules()
        for rule in rules.values():
            if is_hurried and seconds_of(rule.get("for", "0s")) > seconds_of(HURRIED):
                rule["for"] = HURRIED
        (self.folder / "alerts.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
        config["rule_files"] = [str(self.folder / "alerts.yml")]
        for job in config["scrape_configs"]:
            if job["job_name"] == "makegood":
                del job["dns_sd_configs"], job["relabel_configs"]  # both read container names; set below
                job["static_configs"] = [{"targets": targets, "labels": {"part": part}} for part, targets in parts.items()]
            else:
                port = self.port if job["job_name"] == "prometheus" else self.rabbit_port
                job["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        self.process.signal(signal.SIGHUP)  # reads it anew, if it runs

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
    """Orders at a steady rate, by a client without any code of Makegood; it reconnects to a broker that was away."""

    def __init__(self, url):
        self.url, self.connection, self.channel, self.sent, self.next_at = url, None, None, 0, time.monotonic()
        self.lines = orders.mixed_lines(len(orders.MIX) * 40)

    def connect(self):
        self.connection = pika.BlockingConnection(pika.URLParameters(self.url))
        self.channel = self.connection.channel()

    def post(self, text, exchange="makegood.intake", routing_key="orders.intake", **properties):
        """Posts once; drops the message if the broker is away."""
        try:
            if self.connection is None or not self.connection.is_open:
                self.connect()
            self.channel.basic_publish(exchange, routing_key, text.encode(), pika.BasicProperties(delivery_mode=2, **properties))
            return True
        except (pika.exceptions.AMQPError, OSError):
            self.connection = None
            return False

    def go_on(self):
        """Posts all messages due by now."""
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
        self.servers = self.cluster = self.prometheus = self.traffic = self.bulk_runner = None
        self.rules = read_rules()[1]
        self.parts = collections.defaultdict(list)
        self.broken, self.mended = [], []  # present faults, and mended ones with rules that still have to fall silent
        self.fired = {}                    # {rule: seconds from its fault to its firing}
        self.unexpected = set()

    def start(self):
        self.servers = servers.Servers(self.scratch).start()
        rabbit_port = processes.free_port()
        (self.servers.rabbit.folder / "enabled_plugins").write_text("[rabbitmq_prometheus].\n", encoding="ascii")
        with open(self.servers.rabbit.folder / "rabbitmq.conf", "a", encoding="ascii") as conf:
            conf.write(f"prometheus.tcp.ip = 127.0.0.1\nprometheus.tcp.port = {rabbit_port}\n")
        self.servers.rabbit.settle()
        # Few attempts are judged at once, so that hundreds are a mass of them.
        self.cluster = cluster.Cluster(self.scratch, cluster.build_folder(), self.servers.postgres.dsn, self.servers.rabbit.url,
                                       options={"supervisor": ("--overdue-limit", str(faults.OVERDUE_LIMIT))}).start()
        for process in self.cluster.all:
            self.parts[process.name.rsplit("-", 1)[0]].append(f"127.0.0.1:{process.http_port}")
        self.prometheus = Prometheus(self.scratch, rabbit_port)
        self.prometheus.configure(self.parts, self.options.hurry)
        self.traffic = Traffic(self.servers.rabbit.url)
        self.prometheus.start()
        self.wait(lambda: [target["health"] for target in self.prometheus.targets()] == ["up"] * self.target_count(),
                  "every target was scraped", 60)

    def target_count(self):
        return len(self.cluster.all) + 3  # RabbitMQ twice, and Prometheus

    def watch_too(self, part, process):
        self.parts.setdefault(part, []).append(f"127.0.0.1:{process.http_port}")
        self.prometheus.configure(self.parts, self.options.hurry)

    def watch_no_more(self, process):
        for addresses in self.parts.values():
            if f"127.0.0.1:{process.http_port}" in addresses:
                addresses.remove(f"127.0.0.1:{process.http_port}")
        self.prometheus.configure(self.parts, self.options.hurry)

    def start_again(self, *ended):
        for process in ended:
            process.start()
        for process in ended:
            process.wait_ready(60)

    def drive_bulk_actions(self):
        if self.bulk_runner is None:
            self.bulk_runner = processes.Process("bulk", [self.cluster.bin / "makegood", "bulk", "run"], self.scratch / "bulk.log",
                                             env=self.cluster.tool_env).start()

    # --- without faults ----------------------------------------------------------------------------------------------

    def watch(self):
        """Minutes without an error, judged by Prometheus' own record of them."""
        prometheus, minutes = self.prometheus, self.options.minutes
        count = self.target_count()
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

    # --- with faults --------------------------------------------------------------------------------------------------

    def go_on(self):
        if all(fault.orders_come for fault in self.broken):
            self.traffic.go_on()
        for fault in self.broken:
            fault.go_on()

    def wait(self, condition, what, timeout_s):
        """Orders go on coming meanwhile, and faults stay in force."""
        def look():
            self.go_on()
            return condition()
        return processes.wait_until(look, what, timeout_s)

    def meant(self, fault):
        """Those of its rules that were selected."""
        return [rule for rule in fault.rules if self.options.only is None or rule in self.options.only]

    def judge(self, fault, began, firing):
        """Mends a fault if all its rules fire."""
        rules = self.meant(fault)
        for rule in rules:
            if rule in firing and rule not in self.fired:
                self.fired[rule] = time.monotonic() - began
                say(f"  {rule} fires, {self.fired[rule]:.0f} s after")
        missing = [rule for rule in rules if rule not in self.fired]
        patience_s = FIRES_S + max(seconds_of(self.rules[rule].get("for", "0s")) for rule in rules)
        if missing and time.monotonic() > began + patience_s:
            raise processes.Failure(f"{missing} did not fire within {patience_s} s after this: {fault.about}; firing: {sorted(firing)}")
        if not missing:
            self.broken.remove(fault)
            fault.mend()
            self.mended.append((fault, time.monotonic()))
            say(f"  mended: {fault.about}")

    def judge_mended(self, firing):
        for fault, since in list(self.mended):
            still = [rule for rule in fault.rules if rule in firing]
            if still and time.monotonic() > since + RESOLVES_S:
                raise processes.Failure(f"{still} still fire {RESOLVES_S} s after this was mended: {fault.about}; {self.alerts_open()}")
            if not still:
                self.mended.remove((fault, since))
                say(f"  silent again: {', '.join(fault.rules)}")

    def alerts_open(self):
        return self.cluster.tool("alert", "list", check=False).stdout

    def look(self):
        """Returns the firing rules; records those that no fault accounts for."""
        firing = self.prometheus.alerts()
        expected = {rule for fault in self.broken for rule in fault.rules} | {rule for fault, _ in self.mended for rule in fault.rules}
        self.unexpected |= set(firing) - expected
        return firing

    def run_stage(self, stage):
        began = {}
        rules = {rule for fault in stage for rule in self.meant(fault)}
        self.look_until(lambda: not rules & set(self.look()), f"{sorted(rules)} are silent before anything is broken", RESOLVES_S)
        self.unexpected = set()

        def look():
            firing = self.look()
            for fault in list(self.broken):
                self.judge(fault, began[fault], firing)
            self.judge_mended(firing)
            return not self.broken and all(fault.is_lasting for fault, _ in self.mended)
        for kind in stage:
            fault = kind(self)
            say(f"{fault.about}: {', '.join(fault.rules)}")
            fault.begin()
            self.broken.append(fault)
            began[fault] = time.monotonic()
            look()
        self.look_until(look, "a stage is over", 4 * RESOLVES_S)
        if self.unexpected:
            say(f"  besides, as a consequence: {', '.join(sorted(self.unexpected))}")

    def look_until(self, look, what, timeout_s):
        next_at = 0.0

        def now_and_then():
            nonlocal next_at
            if time.monotonic() < next_at:
                return False
            is_over = look()
            next_at = time.monotonic() + ALERTS_PERIOD_S
            return is_over
        self.wait(now_and_then, what, timeout_s)

    def await_silence(self):
        say("until nothing fires any more")

        def look():
            firing = self.look()
            self.judge_mended(firing)
            return not firing
        try:
            self.look_until(look, "nothing fires", RESOLVES_S)
        except processes.Failure as failure:
            raise processes.Failure(f"{failure}: {sorted(self.look())}\n{self.alerts_open()}") from None

    def run(self):
        findings = list(faults.check(self.rules))
        if findings:
            raise processes.Failure("\n".join(findings))
        self.start()
        if self.options.minutes > 0:
            self.watch()
        if self.options.well:
            return
        for stage in faults.STAGES:
            chosen = [fault for fault in stage if self.meant(fault)]
            if chosen:
                self.run_stage(chosen)
        self.await_silence()
        self.tell()

    def tell(self):
        meant = self.options.only or set(self.rules)
        print(f"\n{'rule':30}{'for':>6}{'fired after':>13}")
        for rule in sorted(meant):
            wait = HURRIED if self.options.hurry and "for" in self.rules[rule] else self.rules[rule].get("for", "")
            told = f"{self.fired[rule]:.0f} s" if rule in self.fired else "NEVER"
            print(f"{rule:30}{wait:>6}{told:>13}")
        never = meant - set(self.fired)
        if never:
            raise processes.Failure(f"these never fired: {sorted(never)}")
        say(f"{len(self.fired)} of {len(self.rules)} rules fired by the real thing, and fell silent when it was mended")


def list_faults():
    """Prints the fault of each rule; exit code 1 if a rule has no fault."""
    rules = read_rules()[1]
    for stage in faults.STAGES:
        for fault in stage:
            print(f"{', '.join(fault.rules)}: {fault.about}")
    findings = list(faults.check(rules))
    for finding in findings:
        print(f"FAILED: {finding}")
    return 1 if findings else 0


def main(words):
    parser = argparse.ArgumentParser(prog="tests/observability/run", description=__doc__.splitlines()[0],
                                     epilog="With the rules as they are it takes three quarters of an hour more than --minutes; a rule "
                                     "alone (--only) takes as long as it waits.")
    parser.add_argument("--minutes", type=float, metavar="N", help="how long all is well (10; with --only 0)")
    parser.add_argument("--well", action="store_true", help="break nothing")
    parser.add_argument("--only", action="append", metavar="RULE", help="break only what makes this rule fire; may be given again")
    parser.add_argument("--hurry", action="store_true", help=f"no rule waits for longer than {HURRIED}: for who changes this test")
    parser.add_argument("--list", action="store_true", help="say what is broken for which rule, and end")
    options = parser.parse_args(words)
    if options.list:
        return list_faults()
    unknown = set(options.only or ()) - set(read_rules()[1])
    if unknown:
        parser.error(f"there is no rule {', '.join(sorted(unknown))}; see --list")
    if options.minutes is None:
        options.minutes = 0 if options.only else 10
    options.only = set(options.only) if options.only else None
    processes.end_on_signals()
    show = Show(options)
    try:
        show.run()
        say("all is as it should be")
        return 0
    except processes.Failure as failure:
        say(f"FAILED: {failure}")
        processes.show_logs(show.scratch)
        return 1
    finally:
        processes.end_all()
        cluster.remove_scratch(show.scratch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
