#!/usr/bin/python3
"""Where the time goes: tests/bench/profile.py FOLDER [--orders N] [--callgrind scheduler
agent] [--delay-ms MS --calls N]

Loads the release build of tests/bench/run and writes profiles to FOLDER. perf covers the scheduler, the agent, PostgreSQL and
RabbitMQ (by function; names of Erlang's functions too). Further files hold PostgreSQL's statements by time, and system calls by
strace; or, with --callgrind, every instruction of one service. For people: nothing here is a figure of the benchmark, since
profiling costs time. Needs linux-perf, strace or valgrind from Debian's archive.
"""

import argparse
import pathlib
import signal
import subprocess
import sys

import parts
import stage
from local import cluster, processes

STATEMENTS = """SELECT round((total_exec_time / {orders} * 1000)::numeric, 1), calls, round((mean_exec_time * 1000)::numeric),
    left(regexp_replace(query, '\\s+', ' ', 'g'), 90) FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 12"""


class CallgrindCluster(stage.BenchCluster):
    """A cluster with one kind of service under valgrind."""

    watched, folder = None, None

    def make(self, kind, name, *words):
        process = super().make(kind, name, *words)
        if kind == self.watched:
            process.argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/callgrind.{kind}", *process.argv]
        return process


def load(on, made, orders, in_flight=parts.IN_FLIGHT):
    return on.run("load", "--url", made.url, "--orders", orders, "--in-flight", min(in_flight, orders // 4))


def callgrind(on, made, kind, folder, orders):
    """Counts from after the warm-up; callgrind_annotate reads the file."""
    victim = (made.schedulers if kind == "scheduler" else made.agents)[0]
    load(on, made, 100)
    subprocess.run(["callgrind_control", "-z", str(victim.pid)], check=True, stdout=subprocess.DEVNULL)
    load(on, made, orders)
    subprocess.run(["callgrind_control", "-d", str(victim.pid)], check=True, stdout=subprocess.DEVNULL)
    print(f"{orders} orders; callgrind_annotate --inclusive=yes {folder}/callgrind.{kind}.1")


def perf(on, made, folder, orders, in_flight):
    parts.warm(on, made)
    roots = {"scheduler": made.schedulers[0].pid, "agent": made.agents[0].pid, "postgres": on.postgres.process.pid,
             "rabbitmq": on.rabbit.process.pid}
    on.postgres.psql("SELECT pg_stat_statements_reset()", made.place)
    watchers = [subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", f"{folder}/{name}.data", "-p",
                                  ",".join(map(str, [pid] + processes.descendants(pid)))]) for name, pid in roots.items()]
    result = parts.saturate(on, made, orders + 2 * in_flight, in_flight, look=True)
    for watcher in watchers:
        watcher.send_signal(signal.SIGINT)
        watcher.wait()
    print(result["orders_per_s"], result["cpu_ms"], "calls in flight", result["in_flight_max"])
    for name in roots:
        with open(folder / f"{name}.txt", "w", encoding="utf-8") as text:
            for keys in ("dso", "dso,sym"):
                subprocess.run(["perf", "report", "-i", f"{folder}/{name}.data", "--stdio", "--sort", keys, "--percent-limit",
                                "0.3"], stdout=text, stderr=subprocess.DEVNULL, check=False)
    print("statements: us an order, calls, us a call")
    for row in on.postgres.psql(STATEMENTS.format(orders=orders), made.place):
        print("  ", *row)
    traced = max(parts.WARM_ORDERS, 4 * in_flight)
    for name in ("scheduler", "agent"):
        watcher = subprocess.Popen(["strace", "-c", "-f", "-o", f"{folder}/{name}.strace", "-p", str(roots[name])],
                                   stderr=subprocess.DEVNULL)
        processes.wait_until(lambda pid=roots[name]: processes.status_field(pid, "TracerPid") != 0, f"strace watches {name}")
        load(on, made, traced, in_flight)
        watcher.send_signal(signal.SIGINT)
        watcher.wait()
    print(f"by function: {folder}/*.txt; system calls of {traced} orders: {folder}/*.strace")


def main(words):
    parser = argparse.ArgumentParser(prog="tests/bench/profile.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--orders", type=int, default=20000)
    parser.add_argument("--callgrind", choices=("scheduler", "agent"))
    parser.add_argument("--delay-ms", type=int, default=0, help="how long the remote service takes")
    parser.add_argument("--calls", type=int, help="the service's concurrency; three times as many orders are under way")
    options = parser.parse_args(words)
    options.folder.mkdir(parents=True, exist_ok=True)
    processes.end_on_signals()
    if options.callgrind:
        CallgrindCluster.watched, CallgrindCluster.folder = options.callgrind, options.folder.resolve()
        stage.BenchCluster = CallgrindCluster
    on = stage.Stage(cluster.build_folder(), look=True)
    try:
        on.start().start_remote(options.delay_ms)
        made = on.cluster_at("look", concurrency=options.calls).start()
        if options.callgrind:
            callgrind(on, made, options.callgrind, options.folder, min(options.orders, 1000))
        else:
            perf(on, made, options.folder, options.orders, 3 * options.calls if options.calls else parts.IN_FLIGHT)
        return 0
    except (processes.Failure, OSError, subprocess.CalledProcessError) as failure:
        print(f"profile: {failure}", file=sys.stderr)
        return 1
    finally:
        on.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
