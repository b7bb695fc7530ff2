"""The page deploy/docs/first-hour.md: the files that a reader writes, and the commands that a reader types."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "deploy" / "docs" / "first-hour.md"
FILE = re.compile(r"<!-- write: (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS_MAX = 5


def read():
    """({path: text}, [command])"""
    text = PAGE.read_text(encoding="utf-8")
    return dict(FILE.findall(text)), [line for block in SHELL.findall(text) for line in block.splitlines()]
