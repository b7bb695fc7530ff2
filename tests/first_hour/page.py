"""The page deploy/docs/first-hour.md, and the page of a new project: the files that a reader writes, and the commands that a reader types."""

import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "deploy" / "docs" / "first-hour.md"
FILE = re.compile(r"<!-- write: (\S+) -->\n```\w+\n(.*?)```\n", re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS_MAX = 5


def commands_of(text):
    return [line for block in SHELL.findall(text) for line in block.splitlines()]


def read():
    """({path: text}, [command])"""
    text = PAGE.read_text(encoding="utf-8")
    return dict(FILE.findall(text)), commands_of(text)


def read_project(folder, program):
    """(the command that starts the service in this language, [command]), of a project of `makegood init`"""
    text = (folder / "README.md").read_text(encoding="utf-8")
    return re.search(rf"`({program} service[^`]*)`", text).group(1), commands_of(text)
