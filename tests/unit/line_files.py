#!/usr/bin/python3
"""line_files.py MAKEGOOD: files of lines (tokens, webhooks, options, URLs) with each word replaced by values that nobody means.

`makegood gateway --check-config` and `makegood console --check-config` take each file or refuse it at once: exit code 0 or 2, a
refusal of one line that steers no terminal and shows no secret. Would catch: a crash, a hang, a file that is half read.
"""

import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
RUN_S = 30
STEERS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
DIGEST = hashlib.sha256(b"a token").hexdigest().encode()
SECRET = b"whsec_" + b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo="
LINES = {"tokens": [b"submit,read", b"shop", DIGEST], "console": [b"reader", b"otto", DIGEST], "webhooks": [b"shop", b"https://shop.example/hook", b"secret"],
         "secret": [SECRET]}
WORDS = {"nothing": b"", "an escape sequence": b"\x1b[31mX\x07", "a turn of direction": "a\u202eb".encode(), "no UTF-8": b"\xff\xfe", "a NUL": b"a\0b",
         "100,000 letters": b"x" * 100_000, "5": b"5", "a format": b"%s%n", "a quote": b"'", "a path": b"../../etc/shadow", "two": b"a b", "a comma": b",",
         "40 digits": b"9" * 40}
FILES = {"nothing": b"", "a byte order mark": b"\xef\xbb\xbf%s\n", "UTF-16": b"\xff\xfe%s", "carriage returns": b"%s\r\n", "no line end": b"%s", "NULs": b"\0" * 4096,
         "a line twice": b"%s\n%s\n", "2 MB": b"# " + b"x" * 2_000_000 + b"\n%s\n", "100,000 lines": b"\n" * 100_000 + b"%s\n", "a word more": b"%s word\n"}


def cases():
    for kind, words in LINES.items():
        for (at, _), (name, value) in itertools.product(enumerate(words), WORDS.items()):
            yield kind, f"{kind}, word {at + 1}: {name}", b" ".join([*words[:at], value, *words[at + 1:]]) + b"\n"
        for name, form in FILES.items():
            yield kind, f"{kind}: {name}", form.replace(b"%s", b" ".join(words))


def run(*words):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
    return subprocess.run([TOOL, *words, "--check-config"], stdin=subprocess.DEVNULL, capture_output=True, timeout=RUN_S, check=False, env=own)


def faults_of(folder, number, case):
    kind, title, data = case
    path, tokens = folder / f"{number}", folder / "tokens"
    path.write_bytes(data)
    if kind == "secret":
        path = folder / f"{number}.webhooks"
        path.write_bytes(b" ".join([*LINES["webhooks"][:2], str(number).encode()]) + b"\n")
    words = {"tokens": ("gateway", "--tokens-file", path), "console": ("console", "--tokens-file", path),
             "webhooks": ("gateway", "--tokens-file", tokens, "--webhooks-file", path),
             "secret": ("gateway", "--tokens-file", tokens, "--webhooks-file", path)}[kind]
    try:
        done = run(*words)
    except subprocess.TimeoutExpired:
        return [f"{title}: no end within {RUN_S} s"]
    text = (done.stdout + done.stderr).decode(errors="surrogateescape")
    found = []
    if title.endswith("a good one") and done.returncode != 0:
        found.append(f"{title}: {text}")
    if done.returncode not in (0, 1, 2) or (done.returncode == 0) != (not done.stderr):
        found.append(f"{title}: exit code {done.returncode}: {text[:300]!r}")
    if STEERS.search(text) or re.search("[\ud800-\udfff]", text) or len(done.stderr.splitlines()) > 1 or len(text) > 1500:
        found.append(f"{title}: {text[:300]!r}")
    if SECRET.decode() in text:
        found.append(f"{title}: the secret is shown")
    return found


def main():
    with tempfile.TemporaryDirectory(prefix="line_files.") as name:
        folder, table = pathlib.Path(name), list(cases())
        (folder / "tokens").write_bytes(b" ".join(LINES["tokens"]) + b"\n")
        (folder / "secret").write_bytes(SECRET + b"\n")
        for kind, words in LINES.items():
            table.append((kind, f"{kind}: a good one", b" ".join(words) + b"\n"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = [fault for faults in pool.map(lambda one: faults_of(folder, *one), enumerate(table)) for fault in faults]
    for fault in found:
        print("FAULT", fault)
    print(f"{len(table)} files, {len(found)} faults")
    return 1 if found or len(table) < 120 else 0


sys.exit(main())
