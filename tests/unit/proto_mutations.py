#!/usr/bin/python3
"""Every member of every message and file × wrong type, size, encoding, control characters and absence: proto_mutations.py SOURCE WIRE_VERDICT

The table is made of the valid examples, so a new member is on it with its example. A value that an independent validator of the
schema refuses is refused by the C reader, too, and every refusal is one line that steers no terminal. Would catch: a reader that
takes a value of another type for its default, that crashes, or that repeats its input raw.
"""
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from jsonschema import Draft202012Validator

SOURCE, TOOL = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PROTO = SOURCE / "proto"
MESSAGES = ("submission", "request", "reply", "service_report", "status", "command", "command_result", "alert", "service_control", "workflow",
            "cases", "schedule", "service")
STEERS = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LINE_MAX = 700
EXAMPLES_MAX = 12  # of a message; the largest
# A status with an odd cause is still a status, and its client waits for it; the parts are read where they are texts.
FORGIVEN = re.compile(r"status \w+ /cause/")
ABSENT, MISSPELT = object(), object()
VALUES = {"null": None, "true": True, "5": 5, "-1": -1, "0.5": 0.5, "40 digits": 10**39, "nothing": "", "a blank": " ", "300 letters": "x" * 300,
          "an escape sequence": "\x1b[31mX\x07", "a turn of direction": "a\u202e\u061cb", "a C1 control": "a\x9bb", "a NUL": "a\0b",
          "a half": "\ud800", "a line end": "a\nb", "a list": [], "an object": {}, "a list of itself": [[[[]]]], "absence": ABSENT,
          "a misspelt member": MISSPELT}
# A wrong byte anywhere: (name, bytes before, bytes after)
BYTES = (("a byte order mark", b"\xef\xbb\xbf", b""), ("no UTF-8", b'{"\xff": 1,', b"}"), ("a second value", b"", b" {}"), ("an open end", b"[", b""),
         ("50,000 levels", b"[" * 50000, b""), ("UTF-16", b"\xff\xfe{\0", b""), ("a NUL behind", b"", b"\0"))


def places(value, path=()):
    yield path
    for key, member in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(value, dict) or key == 0:  # the elements of a list are alike
            yield from places(member, (*path, key))


def mutated(example, path, value):
    """None: this place has no such mutation."""
    whole = {"": copy.deepcopy(example)}
    holder, key = whole, ""
    for step in path:
        holder, key = holder[key], step
    if value is MISSPELT:
        if not isinstance(holder[key], dict):
            return None
        holder[key]["no_such_membre"] = 1
    elif value is ABSENT:
        if holder is whole:
            return None
        del holder[key]
    else:
        holder[key] = value
    return whole[""]


class Verdicts:
    def __init__(self, folder):
        self.folder, self.cases = pathlib.Path(folder), []

    def add(self, message, title, data, is_valid):
        path = self.folder / f"{len(self.cases)}.json"
        path.write_bytes(data)
        self.cases.append((message, title, path, is_valid))

    def faults(self):
        for message in MESSAGES:
            own = [case for case in self.cases if case[0] == message]
            for first in range(0, len(own), 500):
                yield from self.judge(message, own[first:first + 500])

    @staticmethod
    def judge(message, some):
        # files that a service file names are found next to the examples
        run = subprocess.run([TOOL, *[part for _, _, path, _ in some for part in (message, path)]], cwd=PROTO / "examples" / message,
                             capture_output=True, check=False)
        lines = run.stdout.decode(errors="surrogateescape").split("\n")[:-1]
        if run.returncode != 0 or len(lines) != len(some):
            yield f"{some[min(len(lines), len(some) - 1)][1]}: {len(lines)} verdicts of {len(some)}, exit code {run.returncode}: {run.stderr[-800:]}"
            return
        for (_, title, _, is_valid), line in zip(some, lines):
            if line == "ok" and not is_valid and not FORGIVEN.match(title):
                yield f"{title}: the schema refuses it, the reader takes it"
            if STEERS.search(line) or re.search("[\ud800-\udfff]", line) or len(line) > LINE_MAX:
                yield f"{title}: {line[:200]!r}"


def main():
    with tempfile.TemporaryDirectory(prefix="proto_mutations.") as folder:
        verdicts = Verdicts(folder)
        for message in MESSAGES:
            validator = Draft202012Validator(json.loads((PROTO / f"{message}.schema.json").read_text(encoding="utf-8")))
            paths = sorted((PROTO / "examples" / message / "valid").glob("*.json"), key=lambda path: -path.stat().st_size)
            seen = set()
            for path in paths[:EXAMPLES_MAX]:
                example = json.loads(path.read_text(encoding="utf-8"))
                for place in places(example):
                    kind = tuple("*" if isinstance(key, int) else key for key in place)
                    if kind in seen:
                        continue
                    seen.add(kind)
                    for name, value in VALUES.items():
                        wrong = mutated(example, place, value)
                        if wrong is not None:
                            title = f"{message} {path.stem} /{'/'.join(map(str, place))}: {name}"
                            verdicts.add(message, title, json.dumps(wrong).encode(), validator.is_valid(wrong))
            whole = paths[0].read_bytes()
            for name, before, after in BYTES:
                verdicts.add(message, f"{message} {paths[0].stem}: {name}", before + whole + after, False)
        faults = list(verdicts.faults())
    for fault in faults:
        print("FAULT", fault)
    print(f"{len(verdicts.cases)} mutations of {len(MESSAGES)} schemas, {len(faults)} faults")
    return 1 if faults or len(verdicts.cases) < 5000 else 0


sys.exit(main())
