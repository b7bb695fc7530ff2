#!/usr/bin/python3
"""long.py BUILD-FOLDER: each name in tests/long is that of a test, so that a renamed test does not change its part unnoticed."""

import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).resolve().parents[1] / "long"


def alternatives(expression):
    """The expression once for each alternative of its group."""
    found = re.fullmatch(r"(.*)\((.*)\)(.*)", expression)
    return [found[1] + each + found[3] for each in found[2].split("|")] if found else [expression]


def main():
    listed = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-N"], check=True, capture_output=True, text=True).stdout
    names = re.findall(r"Test +#\d+: (\S+)", listed)
    lines = [line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    unknown = [each for line in lines for each in alternatives(line) if not any(re.search(each, name) for name in names)]
    for each in unknown:
        print(f"tests/long: no test is called {each}")
    return 1 if unknown or not names else 0


if __name__ == "__main__":
    sys.exit(main())
