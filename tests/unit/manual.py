#!/usr/bin/python3
"""manual.py BIN-FOLDER: every executable's manual page can be read, and agrees with --help.

Both come from the same tables. Would catch: a table that one of them does not print, a verb without a line, and a text that
roff takes for a request of its own.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PAGES = {"makegood": 1, "makegood-scheduler": 8, "makegood-agent": 8, "makegood-supervisor": 8}
PARTS = ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "ENVIRONMENT", "EXIT STATUS", "FILES", "SEE ALSO")
SECRETS = ("--amqp-url", "--pg-dsn")


def run(*words, **more):
    environment = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="400", SOURCE_DATE_EPOCH="0", **more)
    return subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True, check=False)


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


@functools.cache
def helps(program):
    """All texts of --help: of the program itself, and of its verbs."""
    texts = [run(program, "--help").stdout]
    for line in texts[0].splitlines():
        verb = re.match(r"  ([a-z]+(?: [a-z-]+)?)\s", line)
        if verb and program.name == "makegood":
            texts.append(run(program, *verb.group(1).split(), "--help").stdout)
    return texts


def look(program, section, folder):
    findings = []
    printed = run(program, "--man")
    page = folder / f"{program.name}.{section}"
    page.write_text(printed.stdout, encoding="utf-8")
    if printed.returncode != 0 or printed.stdout != run(program, "--man").stdout:
        findings.append("--man fails, or prints something else each time")
    checks = [run("man", "--warnings", "--encoding=UTF-8", "-l", page)]
    if shutil.which("mandoc"):
        checks.append(run("mandoc", "-T", "lint", "-W", "warning", page))
    for done in checks:
        complaints = (done.stderr + (done.stdout if done.args[0] == "mandoc" else "")).strip()
        if done.returncode != 0 or complaints:
            findings.append(f"{' '.join(done.args)}: {complaints}")
    text = re.sub(r".\b", "", checks[0].stdout) if "\b" in checks[0].stdout else checks[0].stdout
    findings += [f"has no {part}" for part in PARTS if not re.search(rf"^{part}$", text, re.M)]
    told = set().union({"--help", "--man", "--version"}, *(options_in(help_text) for help_text in helps(program)))
    findings += [f"does not explain {name}, which --help does" for name in sorted(told - options_in(text))]
    findings += [f"explains {name}, which --help does not" for name in sorted(options_in(text) - told)
                 if name not in {secret + "-file" for secret in SECRETS}]
    of_verbs = [options_in(help_text) for help_text in helps(program)[1:]]
    common = set.intersection(*[options for options in of_verbs if "--context" in options] or [set()])
    for help_text, options in zip(helps(program)[1:], of_verbs, strict=True):
        usage = re.match(r"usage: makegood ([a-z]+(?: [a-z-]+)?)", help_text).group(1)
        line = re.search(rf"^\s+{usage}\b.*", text, re.M)
        findings += [] if line else [f"does not name the verb {usage}"]
        findings += [f"does not give {usage} its {name}" for name in sorted(options - common)
                     if line and name not in options_in(line.group())]
    return [f"{page.name}: {finding}" for finding in findings]


def main(words):
    with tempfile.TemporaryDirectory() as folder:
        findings = [finding for name, section in PAGES.items()
                    for finding in look(pathlib.Path(words[0]) / name, section, pathlib.Path(folder))]
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
