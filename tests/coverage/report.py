"""The table of executed lines and branches, from clang's counts; exit 1 if the core has a branch that never ran.

A branch is one way of one condition, so that each operand of && and
 counts twice, and a macro's in each of its uses. Ways that no correct program takes do not count. One is the way out of an
assertion: clang looks into no macro of the system's. Another leads past all cases of a switch: -Wswitch-enum enforces every word of
an enumeration. The last is the enumeration's end, a label `case MG_…_COUNT`.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ["common/core", "common/json", "common/expr", "common/wire", "common/workflow", "common/service", "common/base", "common/io", "common/serving",
         "services/scheduler", "services/agent", "services/supervisor",
         "services/console", "services/gateway", "services/operator", "services/cli", "services"]
WHOLE = "common/core"  # every branch of it, both ways
SENTINEL = re.compile(r"case MG_\w+_COUNT$")


def export(folder):
    merged = folder / "all.profdata"
    subprocess.run(["llvm-profdata", "merge", "-o", merged, *(folder / "counts").glob("*.profraw")], check=True)
    # Programs for the count of instructions are compiled with other options and run elsewhere: their code would look like code of
    # its own.
    programs = sorted(path for path in (folder / "bin").iterdir() if path.is_file() and "-counted-" not in path.name)
    objects = [word for path in programs[1:] for word in ("-object", path)]
    told = subprocess.run(["llvm-cov", "export", "-instr-profile", merged, programs[0], *objects,
                           ROOT / "common", ROOT / "services"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(told.stdout)["data"][0]["files"]


class Source:
    """The executed parts of one file, over all programs that contain it."""

    def __init__(self, told):
        self.path = pathlib.Path(told["filename"])
        self.text = self.path.read_text(encoding="utf-8").split("\n")
        self.name = str(self.path.relative_to(ROOT))
        self.lines = told["summary"]["lines"]
        self.branches = {}
        for line, column, line_end, column_end, is_true, is_false, *_ in told["branches"]:
            words = self.text[line - 1][column - 1:column_end - 1 if line_end == line else None]
            before = self.text[line - 1][:column - 1].rstrip()
            if before.endswith("switch (") or SENTINEL.match(words):
                continue
            if words.startswith("case ") or words == "default":
                is_false = 1  # the false way of a case is another case's way
            self.add(line, column, words, is_true, is_false)
        for macro in told["expansions"]:
            line, column, _, column_end, *_ = macro["source_region"]
            for _, _, _, _, is_true, is_false, *_ in macro["branches"]:
                self.add(line, column, self.text[line - 1][column - 1:column_end - 1], is_true, is_false)

    def add(self, line, column, words, is_true, is_false):
        """Several branches at one place count separately."""
        turn = 0
        while (line, column, words, turn) in self.branches:
            turn += 1
        self.branches[(line, column, words, turn)] = (is_true, is_false)

    def part(self):
        return next(part for part in PARTS if self.name.startswith(part + "/"))

    def missing(self):
        return [(line, words, word) for (line, _, words, _), ways in sorted(self.branches.items())
                for word, count in zip(("true", "false"), ways) if count == 0]


def percent(found, total):
    """Rounded down: 100 means all of them."""
    return f"{1000 * found // total / 10 if total else 100:g} %"


def table(sources):
    rows = ["| part | lines | run | branches | run |", "|---|---|---|---|---|"]
    total = [0, 0, 0, 0]
    for part in PARTS:
        of_part = [source for source in sources if source.part() == part]
        lines, lines_run = (sum(source.lines[key] for source in of_part) for key in ("count", "covered"))
        branches = sum(2 * len(source.branches) for source in of_part)
        branches_run = sum(sum(count > 0 for count in ways) for source in of_part for ways in source.branches.values())
        rows.append(f"| {part} | {lines} | {percent(lines_run, lines)} | {branches} | {percent(branches_run, branches)} |")
        total = [old + new for old, new in zip(total, (lines, lines_run, branches, branches_run))]
    rows.append(f"| all | {total[0]} | {percent(total[1], total[0])} | {total[2]} | {percent(total[3], total[2])} |")
    return "\n".join(rows)


def write(path, text):
    whole = path.read_text(encoding="utf-8")
    before, mark, rest = whole.partition("<!-- coverage -->\n")
    _, end, after = rest.partition("<!-- /coverage -->")
    if not mark or not end:
        sys.exit(f"{path}: the marks <!-- coverage --> and <!-- /coverage --> are not in it; put them where the table belongs")
    path.write_text(f"{before}{mark}{text}\n{end}{after}", encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    sources = [source for source in map(Source, export(folder)) if source.name.endswith(".c")]
    if not any(source.branches for source in sources if source.part() == WHOLE):
        sys.exit(f"there are no branches in {WHOLE}: is {folder} built for this?")
    text = table(sources)
    failed = folder / "Testing" / "Temporary" / "LastTestsFailed.log"
    if failed.exists():
        count = len(failed.read_text(encoding="utf-8").splitlines())
        text += f"\n\nIn this run {count} tests failed; of them only counts what they reached."
    print(text)
    if sys.argv[2:3] == ["--write"]:
        write(ROOT / sys.argv[3], text)
    left = [f"{source.name}:{line}: {words}: never {way}" for source in sources if source.part() == WHOLE
            for line, words, way in source.missing()]
    for line in left:
        print(f"not run: {line}")
    return 1 if left else 0


sys.exit(main())
