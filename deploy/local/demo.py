#!/usr/bin/python3
"""The demo: orders through the whole system on this machine, and a verdict on every one of them.

Exit 0 requires four results. Each order ends as meant. Each remote executes each key once. A compensated order has no net
effect. The bodies received by the remotes equal the submitted ones, byte for byte.
"""

import argparse
import collections
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from local import cluster, keep, orders, processes, servers, verdict  # noqa: E402

VICTIMS = ("agent", "scheduler", "supervisor", "broker", "database")
KILL_COMPLETE_WITHIN = "10m"  # an order that waited for a step's complete-by would miss AFTER_KILL_S by far
BACK = "fulfilment-back"      # of orders that turn back: an undo waits for that of a request that was redelivered
AFTER_KILL_S = 60.0
SILENCE_S = 60.0              # no order ended for so long: something is wrong
DEAD_FOR_S = 2.0              # how long a killed service stays dead, so that others must take over


class Progress:
    """One line that changes, on a terminal; else a line for each tenth."""

    def __init__(self, total):
        self.total, self.said, self.is_terminal = total, -1, sys.stderr.isatty()

    def show(self, ended):
        counts = collections.Counter(ended.values())
        text = f"{len(ended):>5} of {self.total} orders have ended  " + "  ".join(
            f"{word} {count}" for word, count in sorted(counts.items()))
        if self.is_terminal:
            print(f"\r\033[K{text}", end="" if len(ended) < self.total else "\n", file=sys.stderr, flush=True)
        elif len(ended) * 10 // self.total > self.said:
            self.said = len(ended) * 10 // self.total
            print(text, file=sys.stderr, flush=True)

    def say(self, text):
        print(("\r\033[K" if self.is_terminal else "") + text, file=sys.stderr, flush=True)


class Demo:
    def __init__(self, options):
        self.options = options
        self.scratch = cluster.make_scratch()
        self.servers = self.cluster = self.workflow = None
        self.ended = {}         # order id → status, as the tool printed it
        self.killed_at = None
        self.after_kill_s = None
        self.to_restart = None  # (when, process)

    # --- before -----------------------------------------------------------------------------------------------------

    def start(self):
        options = self.options
        print("starting PostgreSQL, RabbitMQ, the services and the sample remotes", file=sys.stderr)
        build = cluster.build_folder()
        print(f"using the build in {build}", file=sys.stderr)
        self.servers = servers.Servers(self.scratch).start()
        self.cluster = cluster.Cluster(self.scratch, build, self.servers.postgres.dsn, self.servers.rabbit.url,
                                       agents=options.agents, workflows=self.workflows())
        if options.kill == "broker":
            self.cluster.prepare()
            self.servers.rabbit.settle()
        self.cluster.start()
        if options.kill == "supervisor":
            processes.wait_until(self.leader, "a supervisor leads")

    def workflows(self):
        """The sample workflows; with --kill, the steps of the one that is run get so much time that nothing can end by waiting for it. For orders that
        are to turn back it has its own times: their undo waits for the attempts that the kill sends out once more."""
        folder = self.scratch / "workflows"
        folder.mkdir()
        for path in sorted((cluster.SAMPLE / "workflows").glob("*.json")):
            definition = json.loads(path.read_text(encoding="utf-8"))
            if definition["workflow"] == "fulfilment":
                self.workflow = definition
            if self.options.kill and definition is self.workflow:
                back = {**definition, "workflow": BACK}
                (folder / f"back-{path.name}").write_text(json.dumps(back, indent=2, ensure_ascii=False), encoding="utf-8")
                for step in definition["steps"]:
                    step["complete_within"] = KILL_COMPLETE_WITHIN
                    step["on_unknown"] = "retry"  # a verify would wait for it
            (folder / path.name).write_text(json.dumps(definition, indent=2, ensure_ascii=False), encoding="utf-8")
        return folder

    # --- the run ----------------------------------------------------------------------------------------------------

    def submit(self, lines):
        """Submits through the operator's tool, which waits for all; returns when all have ended or nothing moves."""
        path = self.scratch / "orders.jsonl"
        for line in lines if self.options.kill else ():
            if line.kind.meant == "compensated":
                line.text = line.text.replace('"workflow": "fulfilment"', f'"workflow": "{BACK}"')
        path.write_text("".join(line.text + "\n" for line in lines), encoding="utf-8")
        environment = processes.plain_environment()
        environment.update(self.cluster.tool_env)
        progress = Progress(len(lines))
        told = queue.Queue()
        with open(self.scratch / "submit.log", "wb") as log:
            tool = subprocess.Popen([str(self.cluster.bin / "makegood"), "order", "submit", str(path), "--wait", "-o", "jsonl"],
                                    env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        reader = threading.Thread(target=self.read, args=(tool.stdout, told), daemon=True)
        reader.start()
        try:
            self.follow(told, progress, len(lines))
        finally:
            if tool.poll() is None and len(self.ended) < len(lines):
                tool.terminate()
            tool.wait(30)
        if len(self.ended) < len(lines):
            progress.say(f"makegood order submit ended with {tool.returncode}\n{processes.end_of(self.scratch / 'submit.log')}")
        if self.killed_at is not None:
            self.after_kill_s = time.monotonic() - self.killed_at
        if self.to_restart is not None:
            self.restart()

    @staticmethod
    def read(stream, told):
        for text in stream:
            told.put(json.loads(text))
        told.put(None)

    def follow(self, told, progress, total):
        heard_at = time.monotonic()
        while len(self.ended) < total:
            if self.options.kill and self.killed_at is None and 3 * len(self.ended) >= total:
                self.kill(progress)
            if self.to_restart is not None and time.monotonic() >= self.to_restart[0]:
                self.restart()
            try:
                message = told.get(timeout=0.1)
            except queue.Empty:
                if time.monotonic() - heard_at > SILENCE_S:
                    progress.say(f"no order has ended for {SILENCE_S:g} s")
                    return
                continue
            if message is None:
                return
            heard_at = time.monotonic()
            self.ended[message["order_id"]] = message["status"]
            progress.show(self.ended)

    def leader(self):
        """The supervisor that leads, by the row that it fences its work with (holder is host:pid:start); None: none yet."""
        for (holder,) in self.servers.postgres.psql("SELECT holder FROM supervisor_leader"):
            for supervisor in self.cluster.supervisors:
                if str(supervisor.pid) in holder.split(":"):
                    return supervisor
        return None

    def kill(self, progress):
        victim = self.options.kill
        self.killed_at = time.monotonic()
        if victim in ("broker", "database"):
            server = self.servers.rabbit if victim == "broker" else self.servers.postgres
            progress.say(f"kill -9 of the {victim} (pid {server.process.pid}); it is started again at once")
            server.kill()
            server.restart()
            progress.say(f"the {victim} is back after {time.monotonic() - self.killed_at:.1f} s (pid {server.process.pid})")
            return
        if victim == "agent":
            process = self.cluster.agents_of("payment")[0]
        elif victim == "scheduler":
            process = self.cluster.schedulers[0]
        else:
            process = self.leader()
        progress.say(f"kill -9 of {process.name} (pid {process.pid}); it stays dead for {DEAD_FOR_S:g} s")
        process.kill()
        self.to_restart = (time.monotonic() + DEAD_FOR_S, process)

    def restart(self):
        self.to_restart[1].start()
        self.to_restart[1].wait_ready()
        self.to_restart = None

    # --- the verdict ------------------------------------------------------------------------------------------------

    def judge(self, lines):
        """Everything that is not as it should be, as texts; and the numbers."""
        states = dict(self.servers.postgres.psql("SELECT order_id, process_state FROM order_process"))
        wrong, numbers = verdict.judge(lines, self.workflow, states, self.ended, self.cluster.remotes)
        if self.options.kill and self.killed_at is None:
            wrong.append(f"too few orders ended to kill the {self.options.kill}")
        if self.after_kill_s is not None and self.after_kill_s > AFTER_KILL_S:
            wrong.append(f"the last order ended {self.after_kill_s:.1f} s after the kill; allowed are {AFTER_KILL_S:g} s")
        return wrong, numbers

    def table(self, lines):
        kinds = {}
        for line in lines:
            row = kinds.setdefault(line.kind.name, [0, collections.Counter()])
            row[0] += 1
            row[1][self.ended.get(line.order_id, "open")] += 1
        width = max(len(name) for name in kinds)
        print(f"\n{'orders':<{width}}  {'number':>6}  {'meant':<11}  ended")
        for kind in [kind for kind in orders.MIX + (orders.FROM_FILE,) if kind.name in kinds]:
            count, words = kinds[kind.name]
            mark = "" if words == {kind.meant: count} else "   <-- wrong"
            print(f"{kind.name:<{width}}  {count:>6}  {kind.meant:<11}  "
                  + ", ".join(f"{number} {word}" for word, number in sorted(words.items())) + mark)

    def tell(self, lines, wrong, numbers):
        self.table(lines)
        print(f"\nledger of the remotes: {numbers['keys']} keys, {numbers['requests']} requests, {numbers['effects']} effects, "
              f"{numbers['undos']} undone, net {numbers['net_effects']} (meant {numbers['net_effects_meant']}); "
              f"keys with several effects: {numbers['keys_with_several_effects']}")
        print(f"bytes: {numbers['values_compared']} values received and compared with what was submitted, "
              f"{numbers['values_different']} differ")
        if self.after_kill_s is not None:
            print(f"the {self.options.kill} was killed; the last order ended {self.after_kill_s:.1f} s later")
        self.tell_stories(lines)
        for text in wrong[:20]:
            print(f"wrong: {text}")
        if len(wrong) > 20:
            print(f"wrong: and {len(wrong) - 20} more")
        still_open = [line.order_id for line in lines if line.order_id not in self.ended]
        for order_id in still_open[:5]:
            print(self.cluster.tool("order", "explain", order_id, check=False).stdout.strip())

    def tell_stories(self, lines):
        """One order that turned back, with the service's own words, and what one that was processed gives back."""
        turned_back = [line for line in lines if line.kind.meant != "processed"]
        declined = [line for line in turned_back if line.kind.name == "payment declines"]
        chosen = (declined or turned_back or lines[len(lines) // 2:])[0]
        print(f"\nthe story of one order ({chosen.kind.name}):\n")
        sys.stdout.flush()
        print(self.cluster.tool("order", "show", chosen.order_id, check=False).stdout)
        processed = next((line for line in lines if self.ended.get(line.order_id) == "processed"), None)
        if processed is not None:
            story = self.cluster.tool("order", "show", processed.order_id, check=False).stdout
            given = [text.strip() for text in story.splitlines() if text.strip().startswith("output")]
            print(f"{processed.order_id} ({processed.kind.name}) gives back: {' '.join(given)}\n")


def parse(words):
    parser = argparse.ArgumentParser(prog="deploy/demo", description="Shows Makegood at work on this machine.")
    parser.add_argument("--orders", type=int, metavar="N", help="how many orders to post, of all kinds (200; with --kill 300)")
    parser.add_argument("--file", metavar="FILE.jsonl", help="post these submissions instead, one a line; all should be processed")
    parser.add_argument("--agents", type=int, metavar="N", help="agents of each service (2)")
    parser.add_argument("--kill", choices=VICTIMS, help="kill -9 one in the middle of the run and start it again")
    parser.add_argument("--keep", action="store_true", help="run it under makegood dev, with gateway and console, until Ctrl-C")
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    options = parser.parse_args(words)
    if options.keep and (options.kill or options.agents or options.json):
        parser.error("--keep goes with --orders or --file only")
    if options.orders is None:
        options.orders = 300 if options.kill else 200
    if options.agents is None:
        options.agents = 2
    if options.orders < 1 or options.agents < 1:
        parser.error("--orders and --agents take numbers from 1 up")
    return options


def main(words):
    options = parse(words)
    processes.end_on_signals()
    began = time.monotonic()
    demo, wrong = None, []
    summary = {"ok": False}
    try:
        lines = orders.file_lines(options.file) if options.file else orders.mixed_lines(options.orders)
        if not lines:
            raise processes.Failure(f"{options.file}: there are no submissions in it")
        if options.keep:
            return keep.run(lines)
        demo = Demo(options)
        demo.start()
        posted = time.monotonic()
        demo.submit(lines)
        took = time.monotonic() - posted
        wrong, numbers = demo.judge(lines)
        demo.tell(lines, wrong, numbers)
        summary = {"ok": not wrong, "orders": len(lines), "ended": dict(collections.Counter(demo.ended.values())),
                   "meant": dict(collections.Counter(line.kind.meant for line in lines)), "wrong": len(wrong),
                   "ledger": numbers, "killed": options.kill, "seconds_after_kill": demo.after_kill_s,
                   "seconds": round(took, 3)}
        print(f"\n{'all is as it should be' if not wrong else f'{len(wrong)} things are wrong'}: {len(lines)} orders in "
              f"{took:.1f} s, {time.monotonic() - began:.1f} s with starting")
    except (processes.Failure, OSError) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        summary["error"] = str(failure)
        wrong = [str(failure)]
    finally:
        if demo is not None:
            if demo.cluster is not None and not wrong:
                demo.cluster.stop()
            processes.end_all()
            if wrong and os.environ.get("MAKEGOOD_DEMO_LOGS"):
                print(f"logs are in {demo.scratch}", file=sys.stderr)
            else:
                cluster.remove_scratch(demo.scratch)
    if options.json:
        print(json.dumps(summary))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
