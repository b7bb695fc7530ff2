#!/usr/bin/python3
"""codes.py SOURCE: the page of codes has each word of the code's tables, once, of the right kinds and in order.

Would catch: a reason, an error or a rejection that is added or removed and that no reader can look up.
"""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
ROW = re.compile(r"^\| `(\w+)` \| ([a-z, ]+) \|", re.MULTILINE)
NO_REASON = {"none"}


def read(name):
    return (SOURCE / name).read_text(encoding="utf-8")


def words():
    """{code: kinds}, of the tables of the core, of the agent's own codes, and of the refusals of a submission."""
    table, intake = read("common/core/words.def"), read("services/scheduler/intake.c")
    found = {}
    sources = {
        "call": re.findall(r'^MG_ERROR_REASON\(\w+, "(\w+)"', table, re.MULTILINE)
        + [code for folder in ("common/serving", "services/agent") for path in sorted((SOURCE / folder).glob("*.c"))
           for code in re.findall(r'mg_verdict_code_set\([^;]*"(\w+)"\)', path.read_text(encoding="utf-8"))],
        "reason": re.findall(r'^MG_REASON\(\w+, "(\w+)"', table, re.MULTILINE),
        "rejection": re.findall(r'^#define REFUSED_\w+ +"(\w+)"', intake, re.MULTILINE)
        + re.findall(r'^#define MG_ADMISSION_LINE_FULL "(\w+)"', read("common/workflow/admission.h"), re.MULTILINE)
        + ["requirement", "expression"],  # by mg_admission_judge, with the reasons of the same names
    }
    for kind, codes in sources.items():
        for code in codes:
            found.setdefault(code, set()).add(kind)
    return {code: kinds for code, kinds in found.items() if code not in NO_REASON}


class Codes(unittest.TestCase):
    def test_the_page_has_each_code(self):
        rows = ROW.findall(read("deploy/docs/codes.md"))
        self.assertEqual(sorted(code for code, _ in rows), [code for code, _ in rows])
        self.assertEqual(len(rows), len(dict(rows)), "a code has two rows")
        self.assertEqual(words(), {code: set(kinds.split(", ")) for code, kinds in rows})

    def test_the_page_has_each_number(self):
        """Exit codes of the tool, and statuses of the gateway's problems."""
        text = read("deploy/docs/codes.md")
        codes, statuses = ([int(number) for row in re.findall(r"^\| (\d[\d, ]*) \|", part, re.MULTILINE) for number in row.split(", ")]
                           for part in text.split("## Exit codes of the tool")[1].split("## Statuses of the gateway"))
        self.assertEqual([int(number) for number in re.findall(r"MG_EXIT_\w+ = (\d+)", read("services/cli/cli.h"))], codes)
        self.assertEqual([int(number) for number in re.findall(r'\{(\d+), "\w', read("common/io/http/probe_mhd.c"))], sorted(statuses))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
