#!/usr/bin/python3
"""tool_words.py MAKEGOOD: the tool's answers without a server: aliases, the nearest verb, help, examples, contexts.

Would catch: an example that the tool refuses, a verb without one, a typing mistake without a hint, a server that is taken from
nowhere, and words on standard error for a reader that has left.
"""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
DONE, ERROR, USAGE, READER_GONE, UNAVAILABLE = 0, 1, 2, 141, 6
NEAREST = {"orders list2": "order list", "order chek": "workflow check", "order shwo x": "order show", "ordr list": "order list", "list orders": "order list",
           "workflow tset": "workflow test", "docter": "doctor", "versoin": "version", "services paus": "service pause", "serivce list": "service list"}
ALIASES = {"orders list": "order list", "order ls": "order list", "workflows ls": "workflow list", "schedules show": "schedule show", "alerts ack": "alert ack"}
NOT_PLURALS = ("doctors", "tops", "probes")
PROJECT = "export MAKEGOOD_AMQP_URL='amqp://guest:guest@127.0.0.1:1/'\nexport MAKEGOOD_PG_DSN='postgresql://x@127.0.0.1:1/x'\n"
findings = []


def run(*words, folder=None, env=None):
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKEGOOD_", "PG"))}
    return subprocess.run([TOOL, *words], cwd=folder or "/", env={**own, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)


def expect(is_so, what):
    if not is_so:
        findings.append(what)


def verbs():
    lines = re.findall(r"^  ([a-z]+)(?: ([a-z-]+))?(?=\s)", run("--help").stdout, re.M)
    return [" ".join(filter(None, line)) for line in lines]


class Help:
    """--help of a verb: its words, its options and its examples."""

    def __init__(self, verb):
        self.verb, self.text = verb, run(*verb.split(), "--help").stdout
        usage = re.match(rf"usage: makegood {verb}(.*?)(?: \[options\])?$", self.text, re.M).group(1)
        self.usages = [places.split() for places in usage.split(" | ")]
        self.takes_value = {name: bool(value) for name, value in re.findall(r"^  (?:-\w, )?(--[a-z-]+)( \S+)?", self.text.split("options:\n", 1)[1], re.M)}
        examples = self.text.split("\nexamples:\n", 1)[-1].split("\n\noptions:\n")[0] if "\nexamples:\n" in self.text else ""
        self.examples = re.findall(r"^  (makegood .*)$", examples, re.M)

    def words_of(self, words):
        """The words of an example that are no options, and no values of options."""
        found, rest = [], list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                return found + rest
            if not word.startswith("-"):
                found.append(word)
            elif "=" not in word and self.takes_value.get(word):
                rest.pop(0)
        return found

    def fits(self, count):
        def bounds(places):
            most = 64 if any("..." in place for place in places) else len(places)
            return len([place for place in places if not place.startswith("[")]), most
        return any(least <= count <= most for least, most in map(bounds, self.usages))


def examples_look(known):
    for verb in known:
        told = Help(verb)
        expect(told.examples, f"{verb}: no example")
        expect(run("help", *verb.split()).stdout == told.text, f"help {verb}: not what {verb} --help prints")
        for example in told.examples:
            words = shlex.split(example.replace("<(", "(").replace("(", " ").replace(")", " "))[1 + len(verb.split()):]
            at = words.index("--") if "--" in words else len(words)
            done = run(*verb.split(), *words[:at], "--print-config", *words[at:])
            expect(done.returncode == DONE and not done.stderr, f"{example}: {done.returncode} {done.stderr.strip()}")
            expect(told.fits(len(told.words_of(words))), f"{example}: the usage has other words")


def nearest_look():
    for words, meant in NEAREST.items():
        done = run(*words.split())
        expect(done.returncode == USAGE and f'did you mean "makegood {meant}"?' in done.stderr and len(done.stderr.splitlines()) == 1,
               f"{words}: {done.stderr.strip()}")
    for words, meant in ALIASES.items():
        expect(run(*words.split(), "--help").stdout == run(*meant.split(), "--help").stdout, f"{words} is not {meant}")
    for words in NOT_PLURALS:
        expect(run(*words.split()).returncode == USAGE, f"{words} is taken")
    early = run("--context", "far", "order", "list")
    expect(early.returncode == USAGE and "; options come after the verb; see makegood --help\n" in early.stderr,
           f"an option before the noun: {early.stderr.strip()}")
    expect("its verbs" in run("help", "orders").stdout, "help orders lists no verbs")
    expect(run("help", "nosuch").returncode == USAGE, "help nosuch is taken")
    versions = {run(*words).stdout for words in (["version"], ["--version"])}
    expect(len(versions) == 1 and re.fullmatch(r"makegood \d+\.\d+\.\d+(-\w+)?\n", next(iter(versions))), f"version: {versions}")


def contexts_look(folder):
    (folder / "project/.makegood").mkdir(parents=True)
    (folder / "project/below").mkdir()
    (folder / "project/.makegood/env").write_text(PROJECT, encoding="utf-8")
    (folder / "project/.makegood/env").chmod(0o600)
    for below in ("project", "project/below"):
        done = run("order", "list", folder=folder / below)
        expect(done.returncode == UNAVAILABLE and ".makegood/env of makegood dev" in done.stderr, f"in {below}: {done.stderr.strip()}")
        shown = run(folder=folder / below)
        expect(shown.returncode == DONE and "makegood dev" in shown.stdout and len(shown.stdout.splitlines()) <= 10, f"makegood alone in {below}: {shown}")
    done = run("order", "list", folder=folder / "project", env={"MAKEGOOD_PG_DSN": "postgresql://y@127.0.0.1:2/y"})
    expect("127.0.0.1:2" in done.stderr.replace('", port ', ":") and ".makegood" not in done.stderr, f"the environment: {done.stderr.strip()}")
    home = {"HOME": str(folder), "XDG_CONFIG_HOME": ""}
    (folder / ".config/makegood").mkdir(parents=True)
    (folder / ".config/makegood/contexts").write_text("[far]\nMAKEGOOD_PG_DSN = postgresql://z@127.0.0.1:3/z\n", encoding="utf-8")
    (folder / ".config/makegood/contexts").chmod(0o600)
    done = run("order", "list", "--context", "far", folder=folder / "project", env=home)
    expect(done.returncode == UNAVAILABLE and "context far of" in done.stderr, f"--context far: {done.stderr.strip()}")
    done = run("order", "list", "--context", "fra", folder=folder, env=home)
    expect(done.returncode == USAGE and 'did you mean "far"?' in done.stderr, f"--context fra: {done.stderr.strip()}")
    expect(run(folder=folder).returncode == USAGE, "makegood alone outside of a project")


def readers_look():
    """A reader that leaves early, as `head` does."""
    for words in (["--help"], ["--man"], ["completion", "bash"]):
        with subprocess.Popen([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/") as tool:
            tool.stdout.close()
            error = tool.stderr.read()
            expect(tool.wait(timeout=60) in (DONE, READER_GONE, -signal.SIGPIPE) and not error, f"{words}: {tool.returncode} {error!r}")


def main():
    known = verbs()
    examples_look(known)
    nearest_look()
    readers_look()
    with tempfile.TemporaryDirectory() as folder:
        contexts_look(pathlib.Path(folder))
    for finding in findings:
        print(finding)
    print(f"{len(known)} verbs, {len(findings)} findings")
    return 1 if findings or len(known) < 25 else 0


sys.exit(main())
