#!/usr/bin/python3
"""guards.py SOURCE: the lists of guards and the tests agree.

tests/guards.tsv has a line for each guard that was deleted once to find the tests that fail without it. Each line is complete, each
file that it names stands in the tree, and each test exists: a test of ctest, one function of it as TEST:FUNCTION, or a script by its
path. The tables of the simulator's mutations and of the model's guards have a row for each, and no other; a mutation takes out a
guard of a law. Would catch: a renamed test, after which a guard has none; a renamed file, after which nobody finds the code.
"""

import itertools
import pathlib
import re
import sys

import readme

COLUMNS = ["guard", "deleted code", "tests that turned red"]
TOPS = ("common", "deploy", "proto", "services", "tests")
C_TESTS, SCRIPT_TESTS = r"START_TEST\((\w+)\)", r"^(?:    )?def (test_\w+|\w+(?=\(\)))\("


def functions(source):
    """{test: names of its functions}: the tests in C, and those that are scripts with functions. Names that ctest makes from folders
    are listed with and without the folder."""
    found = {}
    for kind in ("unit", "integration", "matrix"):
        for path in (source / "tests" / kind).rglob("*"):
            if path.suffix in (".c", ".py"):
                stem = path.stem.removeprefix("test_")
                names = re.findall(C_TESTS if path.suffix == ".c" else SCRIPT_TESTS, path.read_text(encoding="utf-8"), re.MULTILINE)
                for test in (f"{kind}.{stem}", f"{kind}.{path.parent.name}_{stem}"):
                    found.setdefault(test, set()).update(names)
    return found


def check_list(source):
    tests, parts = readme.test_names(source), functions(source)
    paths = [str(path) for top in TOPS for path in (source / top).rglob("*.*")]
    lines = (source / "tests/guards.tsv").read_text(encoding="utf-8").splitlines()
    if lines[0].split("\t") != COLUMNS:
        yield f"guards.tsv:1: the columns are not {COLUMNS}"
    seen = set()
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(COLUMNS) or not all(cell.strip() for cell in cells):
            yield f"guards.tsv:{number}: not {len(COLUMNS)} cells with a text"
            continue
        if cells[0] in seen:
            yield f"guards.tsv:{number}: a second line for \"{cells[0]}\""
        seen.add(cells[0])
        for name in re.findall(r"`([\w/.-]+\.(?:c|h|def|js|mjs|pml|py|sh|sql|yml))`", cells[1]):
            if not any(path.endswith(f"/{name}") for path in paths):
                yield f"guards.tsv:{number}: there is no file {name}"
        for name in cells[2].split(" "):
            test, _, function = name.partition(":")
            if test.startswith("tests/") and (source / test).is_file():
                continue
            if test not in tests and test not in parts:
                yield f"guards.tsv:{number}: there is no test {test}"
            elif function and function not in parts.get(test, ()):
                yield f"guards.tsv:{number}: {test} has no function {function}"


def first_cells(page, head):
    """The first cells of the rows of the table whose first line begins so."""
    text = page.read_text(encoding="utf-8")
    lines = text[text.index(f"\n{head}"):].splitlines()[3:]
    return {line.split(" | ")[0].strip("| `") for line in itertools.takewhile(lambda line: line.startswith("| "), lines)}


def check_tables(source):
    patches = {path.stem for path in (source / "tests/sim/mutations").glob("*.patch")}
    model = (source / "tests/model/run").read_text(encoding="utf-8").split("\nGUARDS = {", 1)[1].split("\n}", 1)[0]
    for page, head, there in (("tests/sim/README.md", "| patch |", patches),
                              ("tests/model/README.md", "| guard | without it |", set(re.findall(r'^    "([^"]+)":', model, re.MULTILINE)))):
        for name in sorted(first_cells(source / page, head) ^ there):
            yield f"{page}: the table `{head}` {'lacks' if name in there else 'has one too many:'} {name}"
    for row in (source / "tests/sim/README.md").read_text(encoding="utf-8").split("\n| patch |", 1)[1].splitlines()[2:]:
        if row.startswith("| ") and not row.split(" | ")[1].startswith("law "):
            yield f"tests/sim/README.md: no law: {row}"


def main(words):
    if len(words) != 1:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    source = pathlib.Path(words[0]).resolve()
    findings = [*check_list(source), *check_tables(source)]
    print("\n".join(findings) or "each guard has its tests")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
