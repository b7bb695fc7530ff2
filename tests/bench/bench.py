#!/usr/bin/python3
"""Measures Makegood beside the limit of its broker and database, and prints the table.

An order here has three steps, each a POST of its 1 KB payload to one local HTTP server; every message is confirmed, every commit is
on disk. All runs on this machine: servers, remote service, Makegood, load. Ratios are of one run.
"""

import argparse
import json
import os
import pathlib
import platform
import sys
import time

import approvals
import gateway
import latency
import memory
import parts
import report
import stage
from local import cluster, processes

PARTS = ("limit", "throughput", "latency", "idle", "start", "growth", "parked", "scale", "kill", "slow", "gateway")
ONLY_NAMED = ("approvals", "hour", "memory", "owed")  # longer than all the others; no figures but bounds


def machine():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), model)
    with open("/proc/meminfo", encoding="ascii") as info:
        memory_mb = int(next(line.split()[1] for line in info if line.startswith("MemTotal"))) // 1024
    return {"processor": model, "cores": os.cpu_count(), "memory_mb": memory_mb, "kernel": platform.release()}


class Bench:
    def __init__(self, options):
        self.plan = parts.QUICK if options.quick else parts.FULL
        self.wanted = options.only or PARTS
        self.found = {"machine": machine(), "quick": options.quick}
        self.stage = stage.Stage(cluster.build_folder())

    def wants(self, *names):
        return any(name in self.wanted for name in names)

    def run(self):
        say("starting PostgreSQL, RabbitMQ and the remote service")
        self.stage.start()
        if self.wants("limit", "throughput", "latency", "idle", "start"):
            self.run_main()
        rate = self.found.get("throughput", {}).get("orders_per_s")
        if self.wants("growth"):
            say(f"growth: {self.plan.finished} finished and {self.plan.open} open orders")
            self.found["growth"] = parts.growth(self.stage, self.plan, rate)
        if self.wants("parked"):
            say(f"parked: {self.plan.parked} orders of a service that is paused")
            self.found["parked"] = parts.parked(self.stage, self.plan)
        if self.wants("scale"):
            say("scale: a second scheduler, a second agent")
            self.found["scale"] = parts.scale(self.stage, self.plan)
        if self.wants("kill"):
            say(f"kill: an agent every {parts.KILL_PERIOD_S} s")
            self.found["kill"] = parts.kill(self.stage, self.plan)
        if self.wants("slow"):
            say("slow: a remote service that takes its time")
            self.found["slow"] = parts.slow(self.stage, self.plan, rate)
        if self.wants("gateway"):
            say("gateway: orders over HTTP")
            self.found["gateway"] = gateway.gateway(self.stage, self.plan)
        if self.wants("memory"):
            say("memory: bursts of the largest messages, with 256 MiB for each process")
            self.found["memory"] = memory.memory(self.stage, self.plan)
        if self.wants("approvals"):
            say(f"approvals: {self.plan.parked} orders that wait for a signal")
            self.found["approvals"] = approvals.approvals(self.stage, self.plan)
        if self.wants("owed"):
            say(f"owed: {self.plan.owed} events whose statuses are owed to queues that are gone")
            self.found["owed"] = parts.owed(self.stage, self.plan)
        if self.wants("hour"):
            say("hour: an hour of load, by the clock")
            self.found["hour"] = parts.hour(self.stage)

    def run_main(self):
        """The figures of one small installation: sizes first, the limit, then Makegood beside it."""
        made = self.stage.cluster_at("main").start()
        self.found["sizes"] = parts.sizes(self.stage, made)
        if self.wants("limit"):
            say("limit")
            self.found["limit"] = parts.limit(self.stage, self.plan, self.found["sizes"])
        if self.wants("throughput", "latency"):
            say("throughput")
            self.found["throughput"] = parts.throughput(self.stage, self.plan, made)
            if self.wants("limit"):
                self.found["throughput"]["ratio_to_limit"] = round(
                    self.found["throughput"]["orders_per_s"] / self.found["limit"]["orders_per_s"], 3)
        if self.wants("latency"):
            say("latency")
            rate = self.found["throughput"]["orders_per_s"]
            for name, at in (("latency_50", 50), ("latency_half", rate / 2)):
                limit = self.found["limit"]["setting"] if self.wants("limit") else None
                self.found[name] = latency.measure_beside(self.stage, self.plan, made, at, self.found["sizes"], limit)
            seconds = self.plan.latency_s / 3
            self.found["latency_curve"] = [latency.measure(self.stage, made, rate * share, seconds) for share in self.plan.curve]
        if self.wants("idle"):
            say("idle")
            self.found["idle"] = parts.idle(self.plan, made)
            self.found["memory_mb"] = {"idle": self.found["idle"]["memory_mb"],
                                       "saturated": self.found.get("throughput", {}).get("memory_mb", {})}
        if self.wants("start"):
            say("start")
            self.found["start"] = parts.starts(self.plan, made)
        self.stage.leave(made)


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse(words):
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short runs, small tables: 4 minutes instead of 25")
    parser.add_argument("--only", action="append", choices=PARTS + ONLY_NAMED, metavar="PART",
                        help=f"only this part; may be given several times: {', '.join(PARTS)}; "
                             "and four which the whole leaves out: approvals (the cost of a million orders that wait for a "
                             "signal), hour (whether tables stay as large an order), memory "
                             "(whether bursts of the largest messages fit into 256 MiB a process) and owed (what a sweep costs "
                             "while a million statuses are owed to queues that are gone)")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="write all that was measured to this file")
    parser.add_argument("--pictures", metavar="FOLDER", type=pathlib.Path, help="draw latency, scale and CPU into this folder")
    return parser.parse_args(words)


def tell(found, folder):
    of = found["machine"]
    print(f"\n{of['processor']}, {of['cores']} cores, {of['memory_mb']} MB, Linux {of['kernel']}; {found['seconds']:.0f} s\n")
    print(report.table(found))
    text = report.lists(found)
    if text:
        print(f"\n{text}")
    noisy = report.noise(found)
    if noisy:
        print("\nother programs took part of this machine meanwhile; not to be trusted: " + ", ".join(noisy))
    if folder:
        report.pictures(found, folder)


def main(words):
    """A part that fails ends the run; the results of the parts before it are printed all the same."""
    options = parse(words)
    processes.end_on_signals()
    bench = Bench(options)
    began = time.monotonic()
    status = 0
    try:
        bench.run()
    except (processes.Failure, OSError) as failure:
        print(f"bench: {failure}", file=sys.stderr)
        status = 1
    finally:
        bench.found["seconds"] = round(time.monotonic() - began, 1)
        if options.json:
            options.json.write_text(json.dumps(bench.found, indent=1) + "\n", encoding="utf-8")
        bench.stage.end()
    tell(bench.found, options.pictures)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
