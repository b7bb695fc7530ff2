#!/usr/bin/python3
"""limits.py SOURCE: each row of the page of limits has the value of its constant or of its option's default.

Would catch: a limit that is raised in the code and not on the page, or a row about a constant that is gone.
"""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
PAGE = SOURCE / "deploy" / "docs" / "limits.md"
ROW = re.compile(r"^\| [^|]+ \| (\d+)(?: (\w+))? \| `([\w-]+)` \|$", re.MULTILINE)
UNITS = {"KiB": 1024, "MiB": 1024 ** 2, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
ROWS_MIN = 40


def constants():
    """{name: text} of all macros with a value, continued lines joined."""
    found = {}
    for folder in ("common", "services"):
        for path in sorted((SOURCE / folder).rglob("*.[ch]")):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8").replace("\\\n", " "), flags=re.DOTALL)
            for name, value in re.findall(r"^#define (\w+)[ \t]+(.+)$", text, re.MULTILINE):
                found.setdefault(name, value)
    return found


def value_of(name, known):
    text = re.sub(r"U?INT64_C\((\w+)\)", r"\1", known[name].replace("(size_t)", "").replace("(int64_t)", ""))
    text = re.sub(r"\b(\d+)(?:[uU]|[uU]?[lL]{1,2})\b", r"\1", text)
    text = re.sub(r"\b[A-Z]\w+\b", lambda found: str(value_of(found.group(), known)), text)
    if not re.fullmatch(r"[\d\s()*+/-]+", text):
        raise ValueError(f"{name} is {text}")
    return eval(text.replace("/", "//"))  # noqa: S307 digits and operators only


class Limits(unittest.TestCase):
    def test_each_row_has_the_value_of_the_code(self):
        known = constants()
        options = (SOURCE / "services/scheduler/scheduler_main.c").read_text(encoding="utf-8")
        rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(rows), ROWS_MIN)
        for number, unit, name in rows:
            with self.subTest(name):
                if name.startswith("--"):
                    found = re.search(rf'\{{"{name[2:]}", \w+, &\w+, "(\d+)"', options)
                    self.assertIsNotNone(found, "the scheduler has no such option")
                    expected = int(found.group(1))
                else:
                    self.assertIn(name, known)
                    expected = value_of(name, known)
                self.assertEqual(expected, int(number) * UNITS.get(unit, 1))

    def test_each_row_is_read(self):
        lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ") and not line.startswith("| limited |")]
        self.assertEqual([], [line for line in lines if not ROW.match(line)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
