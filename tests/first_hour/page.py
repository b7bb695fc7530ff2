"""The shell blocks of a page, and the files that a page asks its reader to write.

A block is typed by a test as it stands, or has the line `<!-- not typed: REASON -->` above it; tests/lint/typed.py counts those.
"""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FIRST_HOUR = "deploy/docs/first-hour.md"
FILE = re.compile(r"<!-- write: (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
SHELL = re.compile(r"^(?:<!-- not typed: ([^>]+) -->\n)?^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS_MAX = 5


def text_of(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def reasons_of(text):
    """The reasons of the blocks that no test types."""
    return [reason for reason, _ in SHELL.findall(text) if reason]


def commands_of(text):
    """The commands of the other blocks, each in one line."""
    blocks = [block for reason, block in SHELL.findall(text) if not reason]
    return [line for block in blocks for line in re.sub(r" *\\\n *", " ", block).splitlines()]


def read():
    """({path: text}, [command])"""
    text = text_of(FIRST_HOUR)
    return dict(FILE.findall(text)), commands_of(text)


def read_project(folder):
    """The commands of a project of `makegood init`."""
    return commands_of((folder / "README.md").read_text(encoding="utf-8"))
