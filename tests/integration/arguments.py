#!/usr/bin/python3
"""arguments.py MAKEGOOD SOURCE: each word and each option of each verb, with values that no user means.

The table is made of the tool's own help, so a new verb or option is on it by itself. Every value is taken or refused at once: an
exit code of the manual page, a refusal in one line on standard error, nothing in either output that steers a terminal, and no
order, workflow, service or queue other than before. Would catch: a crash, a hang, an argument that is repeated raw, a value of
another type that is taken for a number.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cli import DONE, ERROR, NOT_FOUND, SOURCE, TOOL, UNAVAILABLE, USAGE, World, environment  # noqa: E402

AT_ONCE = 3
RUN_S = 40  # far above the time-out that each run is given, for a busy machine
CODES = range(7)
STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
VALUES = {
    "nothing": b"", "an escape sequence": b"\x1b[31mX\x1b]0;T\x07", "a C1 sequence": "\x9b31m".encode(), "a turn of direction": "a\u202eb\u061c".encode(),
    "no UTF-8": b"\xff\xc3(", "a line end": b"a\nmakegood: all is well", "100,000 letters": b"x" * 100_000, "depth": b"[" * 50_000,
    "a format": b"%s%n%999999d", "a quote": b"' OR 1=1; --", "a path": b"../../../etc/shadow", "NaN": b"NaN", "a number below 0": b"-1",
    "40 digits": b"9" * 40, "a blank": b" ",
}
# Values that are good at some place: there the run may do its work.
MAY_BE_GOOD = {"NaN", "a number below 0", "a format", "a quote", "a blank", "40 digits", "nothing"}
# Verbs that run until a signal, or for half a minute, or that start programs: they check their configuration only.
ONLY_CHECKED = {"init", "console", "gateway", "dev", "agents", "bulk run", "agent test", "client test", "service test"}
GOOD = {"FILE": "{folder}/workflow.json", "FILE...": "{folder}/workflow.json", "FILE|NAME": "{folder}/workflow.json", "CASES": "{folder}/cases.json",
        "ORDER": "good", "ORDER...": "good", "STEP": "good", "NOUN": "order", "VERB": "list", "TEXT": "good", "NAME": "good", "VERSION": "1", "A": "{folder}/workflow.json", "B": "{folder}/workflow.json", "ALERT...": "1",
        "NUMBER": "1", "SERVICE": "shop", "SCHEDULE": "good", "URL": "http://127.0.0.1:1", "BULK": "00000000-0000-0000-0000-000000000001", "FOLDER...": "{folder}",
        "COMMAND...": "true", "resume|compensate|cancel": "cancel", "bash|zsh|fish": "bash", "node|python": "node", "FOLDER": "{folder}/shop"}
NEVER_A_NUMBER = {"an escape sequence", "a C1 sequence", "a turn of direction", "no UTF-8", "a line end", "100,000 letters", "depth", "a format",
                  "a quote", "a path", "NaN", "40 digits", "a blank", "nothing"}


def help_of(*words):
    return subprocess.run([TOOL, *words, "--help"], capture_output=True, text=True, check=True, env=environment()).stdout


def verbs():
    """{"order show": (["ORDER"], {"--timeout": "DURATION"})}; of alternatives, the first words."""
    found = {}
    for line in help_of().splitlines():
        match = re.match(r"  ([a-z]+)(?: ([a-z-]+))?(?=\s)", line)
        if match:
            name = " ".join(filter(None, match.groups()))
            text = help_of(*name.split())
            usage = re.match(rf"usage: makegood {name}(.*?)(?: \[options\])?$", text, re.M).group(1).split(" | ")[0]
            options = dict(re.findall(r"^  (?:-\w, )?(--[a-z-]+) (\S+)", text, re.M))
            options.update(re.findall(r"^  \S.* or (--[a-z-]+) (\S+)", text, re.M))
            found[name] = [word.strip("[]") for word in usage.split()], options
    return found


class Table:
    """Each case is (what it is, the words of the tool, the value's name, the kind of its place)."""

    def __init__(self, folder):
        self.folder, self.cases, self.known = folder, [], verbs()
        seen = set()
        for verb, (places, options) in self.known.items():
            good = [GOOD[place].format(folder=folder) for place in places]
            if verb == "schedule load":
                good = [f"{folder}/schedule.json"]
            needed = ["--reason", "a test"] if "--reason" in options else []
            checked = ["--check-config"] if verb in ONLY_CHECKED else []
            bound = ["--timeout", "2s"] if "--timeout" in options else []
            for name, value in VALUES.items():
                for at, place in enumerate(places):
                    words = [*verb.split(), *needed, *checked, *bound, "--", *good[:at], value, *good[at + 1:]]
                    self.cases.append((f"{verb} {place}: {name}", words, name, place))
                for option, kind in options.items():
                    if (option, kind) not in seen or option == "--by":
                        words = [*verb.split(), *needed, *checked, *([] if option == "--timeout" else bound), option, value, "--", *good]
                        self.cases.append((f"{verb} {option}: {name}", words, name, kind))
            seen.update(options.items())


def faults_of(case):
    title, words, name, kind = case
    try:
        done = subprocess.run([TOOL, *words], env=environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_S, check=False)
    except subprocess.TimeoutExpired:
        return [f"{title}: no end within {RUN_S} s"]
    found = []
    for stream, data in (("output", done.stdout), ("error", done.stderr)):
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            found.append(f"{title}: standard {stream} is no UTF-8: {error}")
            text = data.decode(errors="replace")
        if STEERS.search(text):
            found.append(f"{title}: standard {stream} steers a terminal: {text[:200]!r}")
        if len(text) > 20_000 and "--man" not in words:
            found.append(f"{title}: standard {stream} has {len(text)} characters")
    error = done.stderr.decode(errors="replace")
    if done.returncode not in CODES:
        found.append(f"{title}: exit code {done.returncode}: {error[:600]}")
    elif done.returncode in (USAGE, NOT_FOUND, UNAVAILABLE) and not error.strip():
        found.append(f"{title}: exit code {done.returncode} without a line: {error[:300]!r}")
    elif done.returncode == USAGE and len(error.splitlines()) > 3:
        found.append(f"{title}: a refusal of {len(error.splitlines())} lines: {error[:300]!r}")
    if name == "no UTF-8" and done.returncode != USAGE:
        found.append(f"{title}: exit code {done.returncode} for another encoding: {error[:300]!r}")
    if kind in ("N", "DURATION", "TIME", "BYTES", "VERSION", "NUMBER", "ALERT...") and name in NEVER_A_NUMBER and done.returncode == DONE:
        found.append(f"{title}: taken as a {kind}")
    return found


def state():
    """Everything that a refused argument must not change."""
    return [World.sql(f"SELECT * FROM {table} ORDER BY 1") for table in ("workflow", "orders", "order_event")]


def prepare(folder):
    workflow = {"workflow": "good", "version": 1, "complete_within": "1m",
                "steps": [{"step": "one", "service": "shop", "do": {"method": "POST", "path": "/one", "body": {}}, "undo": "none"}]}
    (folder / "workflow.json").write_text(json.dumps(workflow), encoding="utf-8")
    cases = {"workflow": "good", "answers": {"one": [{"status": 200, "body": {}}]},
             "cases": [{"case": "all is well", "payload": {}, "expect": {"end": "processed"}}]}
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    schedule = {"schedule": "good", "workflow": "good", "every": "1h"}
    (folder / "schedule.json").write_text(json.dumps(schedule), encoding="utf-8")
    for words in (("db", "migrate", "--migrations", SOURCE / "deploy" / "postgres"), ("workflow", "load", folder / "workflow.json"),
                  ("schedule", "load", folder / "schedule.json", "--reason", "a test"), ("broker", "apply", "--service", "shop")):
        subprocess.run([TOOL, *words], env=environment(), check=True, capture_output=True)


def main():
    findings = []
    with tempfile.TemporaryDirectory(prefix="makegood_arguments.") as name:
        os.chdir(name)  # a file that is made by a wrong argument ends with it
        World.make()
        try:
            prepare(pathlib.Path(name))
            table, before = Table(name), state()
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                for found in pool.map(faults_of, table.cases):
                    findings += found
            if state() != before:
                findings.append("an order or a workflow is another one than before")
        finally:
            World.drop()
    for finding in findings:
        print(finding)
    print(f"{len(table.cases)} cases of {len(table.known)} verbs, {len(findings)} findings")
    return DONE if not findings and len(table.cases) > 1000 else ERROR


if __name__ == "__main__":
    sys.exit(main())
