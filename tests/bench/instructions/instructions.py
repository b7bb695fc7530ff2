#!/usr/bin/python3
"""instructions.py FOLDER [--write | --guard]: instructions an order costs in the scheduler and in the agent, against bounds.json.

Times vary on a machine that others use; counts of instructions do not. The programs in FOLDER put recorded orders through the real
handlers, over fakes; callgrind counts. Each runs twice, for few and for more waves of orders: the difference is the orders' cost,
without the start. "own" is the services' code with core, base and wire. "libraries" is the libraries' work for it (memory, hashes,
text), including the little that the fakes cause. The cost of common/io and libcurl is not in it. A count above its bound is red.
One well below it is red, too, so that a gain is kept: --write renews the bounds. --guard counts the same orders with a condition at
their second step, and prints the condition's cost.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BOUNDS = HERE / "bounds.json"
# Another compiler or library of the same Debian moves counts by less; a loop over a message's bytes by more.
MARGIN = 0.04
FEW, MORE = 2, 6  # waves
ORDERS_OF_WAVE = {"scheduler": 64, "agent": 16}
SERVICE = {"service": "bench", "url": "http://127.0.0.1:1"}
WORKFLOW = ROOT / "tests/bench/bench.workflow.json"
GUARD = "payload.total > 100"  # true of the recorded order
# The plainest code of the libraries, the same on each processor.
ENV = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX,-ERMS,-FSRM,-SSSE3,-SSE4_1,-SSE4_2", "OPENSSL_ia32cap": "0"}

COST = re.compile(r"[+*\-\d]\S* (\d+)")
NAMED = re.compile(r"(c?)f[lie]=\((\d+)\)(?: (.*))?")  # c: the file of a function that is called


def counts(path):
    """Instructions by the place of their source: ours, the fakes', else a library's. Format: valgrind's manual, 'Callgrind Format'.
    """
    names, found = {}, collections.Counter()
    where, is_call = "libraries", False
    for line in path.read_text(encoding="utf-8").splitlines():
        named = NAMED.match(line)
        if named:
            callee, number, name = named.groups()
            if name is not None:
                names[number] = name
            where = where if callee else place_of(names[number])
        elif line.startswith("calls="):
            is_call = True  # the next line counts the callee, which is counted at its own place
        elif COST.match(line):
            if not is_call:
                found[where] += int(COST.match(line).group(1))
            is_call = False
    return found


def place_of(name):
    path = os.path.relpath(os.path.realpath(name), ROOT)
    if path.startswith(("services/", "common/")):
        return "own"
    return "fakes" if path.startswith("tests/") else "libraries"


def count(program, given, waves, scratch):
    out = scratch / "callgrind"
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, given, str(waves)],
                          env={**os.environ, **ENV}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return counts(out)


def measure_one(folder, service, given, scratch):
    few, more = (count(folder / f"makegood-bench-counted-{service}", given, waves, scratch) for waves in (FEW, MORE))
    return {part: round((more[part] - few[part]) / (MORE - FEW) / ORDERS_OF_WAVE[service]) for part in ("own", "libraries")}


def measure(folder):
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        (scratch / "service.json").write_text(json.dumps(SERVICE), encoding="utf-8")
        given = {"scheduler": WORKFLOW, "agent": scratch / "service.json"}
        return {service: measure_one(folder, service, given[service], scratch) for service in ORDERS_OF_WAVE}


def measure_guard(folder):
    """Prints the scheduler's counts without and with the guard; the agent sees none of it."""
    guarded = json.loads(WORKFLOW.read_text(encoding="utf-8"))
    guarded["steps"][1]["when"] = GUARD
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        (scratch / "guarded.json").write_text(json.dumps(guarded), encoding="utf-8")
        plain, more = (measure_one(folder, "scheduler", given, scratch) for given in (WORKFLOW, scratch / "guarded.json"))
    for part, before in plain.items():
        print(f"scheduler  {part:10} {before:8} instructions an order, {more[part]:8} with {GUARD!r}: "
              f"{more[part] - before:+} ({more[part] / before - 1:+.1%})")


def main(words):
    if not words or words[1:] not in ([], ["--write"], ["--guard"]):
        sys.exit(__doc__.splitlines()[0])
    if words[1:] == ["--guard"]:
        measure_guard(pathlib.Path(words[0]))
        return 0
    found = measure(pathlib.Path(words[0]))
    if words[1:]:
        BOUNDS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    bounds = json.loads(BOUNDS.read_text(encoding="utf-8"))
    is_bad = False
    for service, parts in found.items():
        for part, now in parts.items():
            change = now / bounds[service][part] - 1
            verdict = "as before"
            if abs(change) > MARGIN:
                is_bad = True
                verdict = "DEARER" if change > 0 else "cheaper: keep the gain"
            print(f"{service:10} {part:10} {now:8} instructions an order, {change:+.1%} of {bounds[service][part]}: {verdict}")
    if is_bad:
        print(f"If it must be so, renew the bounds: {pathlib.Path(__file__).relative_to(ROOT)} {words[0]} --write\n"
              "What changed: callgrind_annotate of both versions, or tests/bench/profile.py --callgrind (tests/bench/README.md).")
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
