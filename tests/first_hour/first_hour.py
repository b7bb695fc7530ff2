#!/usr/bin/python3
"""Types the page first-hour.md, and that of a new project: see run."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy")]

import page  # noqa: E402
from local import cluster, processes  # noqa: E402
from local.servers import connects  # noqa: E402

PORTS = (9080, 9180, 9280)
BUILD_S = 1800  # a build on a busy machine
START_S = 600
COMMAND_S = 60
READY = "Ctrl-C ends all"


class Typist:
    """Types one command after the other into shells in `folder`. One that stays runs on, each in a terminal of its own."""

    def __init__(self, folder, scratch, environment=None):
        self.folder, self.scratch, self.environment = folder, scratch, environment
        self.count = 0

    def report(self, command, began, what):
        print(f"{self.count}. {command}\n   {time.monotonic() - began:.1f} s {what}", flush=True)

    def stay(self, command, is_up, what, timeout_s):
        self.count += 1
        began = time.monotonic()
        log = self.scratch / f"{self.folder.name}-{self.count}.log"
        process = processes.Process(f"{self.folder.name}-{self.count}", ["bash", "-c", f"exec {command}"], log, cwd=self.folder, env=self.environment).start()
        processes.wait_until(lambda: is_up(log), what, timeout_s, alive=process)
        self.report(command, began, f"until {what}")
        return process

    def run(self, command):
        self.count += 1
        began = time.monotonic()
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
                              timeout=COMMAND_S)
        self.report(command, began, done.stdout.strip())
        if done.returncode != 0:
            raise processes.Failure(f"it ended with {done.returncode}: {done.stderr}")
        return done.stdout


def json_values(text):
    """All JSON values of a text, one behind the other."""
    decoder, values = json.JSONDecoder(), []
    while text.strip():
        value, end = decoder.raw_decode(text.lstrip())
        values.append(value)
        text = text.lstrip()[end:]
    return values


def make_clone(scratch, build):
    """A clone as a reader has it. With `build`, its deploy/dev runs those programs."""
    clone = scratch / "makegood"
    subprocess.run(["git", "clone", "--quiet", str(page.REPOSITORY), str(clone)], check=True)
    if build is not None:
        (clone / "deploy" / "dev").write_text(f'#!/bin/sh\nexec "{build}/bin/makegood" dev --migrations deploy/postgres "$@"\n', encoding="ascii")
    return clone


def type_page(scratch, build):
    files, commands = page.read()
    clone = make_clone(scratch, build)
    for name, text in files.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text, encoding="utf-8")
    began = time.monotonic()
    typist = Typist(clone, scratch)
    service, dev, *rest = commands
    shop = typist.stay(service, lambda _log: connects(9080), "the service listens", START_S)
    makegood = typist.stay(dev, lambda log: READY in log.read_text(encoding="utf-8"), "all is ready", BUILD_S)
    answers = [typist.run(command) for command in rest]
    printed = re.findall(r"^  (curl .*)$", pathlib.Path(makegood.log_path).read_text(encoding="utf-8"), re.MULTILINE)
    sample = json_values("".join(subprocess.run(["bash", "-c", line], cwd=clone, capture_output=True, text=True, check=True).stdout
                                 for line in printed))[-1]
    assert sample["state"] == "processed", f"the shop does not take the order that is printed: {printed}, {sample}"
    good, dear = json_values(answers[-1])
    assert good["state"] == "processed" and good["output"] == {"charge": "good.charge.do"}, good
    assert dear["state"] == "compensated" and dear["cause"]["step"] == "charge" and dear["cause"]["status"] == 422, dear
    assert "the card is declined" in json.dumps(dear["cause"]), dear
    for line in ("good processed", "dear compensated"):
        processes.wait_until(lambda line=line: line in shop.tail(1000), f"the webhook brings {line}", COMMAND_S, alive=shop)
    assert len(commands) <= page.COMMANDS_MAX, f"the page has {len(commands)} commands"
    print(f"{len(commands)} commands in {time.monotonic() - began:.1f} s")
    end(makegood)
    shop.kill()
    return clone


def end(makegood):
    pids = processes.descendants(makegood.pid)
    makegood.ask_to_end()
    assert makegood.wait_end(60) == 0, makegood.tail()
    assert not [pid for pid in pids if processes.is_alive(pid)], "it has left processes"


def type_project(scratch, programs, migrations):
    """A project of `makegood init`, by its own page."""
    folder, language = scratch / "project", "node" if shutil.which("node") else "python"
    environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", MAKEGOOD_MIGRATIONS=str(migrations))
    began = time.monotonic()
    Typist(scratch, scratch, environment).run(f"makegood init {language} project")
    typist = Typist(folder, scratch, environment)
    answers = []
    for command in page.read_project(folder):
        if command.endswith(" 9080"):
            shop = typist.stay(command, lambda _log: connects(9080), "the service listens", START_S)
        elif command.startswith("makegood dev "):
            makegood = typist.stay(command, lambda log: READY in log.read_text(encoding="utf-8"), "all is ready", START_S)
        else:
            answers.append(typist.run(command))
    good, dear = next(values for values in map(json_values, answers[1:]) if len(values) == 2)
    assert good["state"] == "processed" and good["output"]["charge"], good
    assert dear["state"] == "compensated" and dear["cause"]["code"] == "card_declined", dear
    end(makegood)
    shop.kill()
    print(f"a project of its own in {time.monotonic() - began:.1f} s")


def main(words):
    build = pathlib.Path(words[1]).resolve() if words[:1] == ["--build"] and len(words) == 2 else None
    if words and build is None:
        print("usage: tests/first_hour/run [--build DIR]", file=sys.stderr)
        return 2
    taken = [port for port in PORTS if connects(port)]
    if taken:
        print(f"tests/first_hour/run: skipped: another program listens at port {taken[0]}")
        return 0
    processes.end_on_signals()
    scratch = cluster.make_scratch("makegood-first-")
    scratch.chmod(0o755)
    try:
        clone = type_page(scratch, build)
        type_project(scratch, build / "bin" if build else clone / "build/demo/bin", clone / "deploy/postgres")
        return 0
    except (processes.Failure, AssertionError) as failure:
        print(f"first_hour: {failure}", file=sys.stderr)
        processes.show_logs(scratch)
        return 1
    finally:
        processes.end_all()
        cluster.remove_scratch(scratch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
