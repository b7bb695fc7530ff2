#!/usr/bin/python3
"""laws.py: every law that the tree cites is one of common/core/README.md, and is followed by its name there.

A citation is "law 5, attempt fence". Each guard that the page names for a law is a test or an invariant below tests/.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "common/core/README.md"
FOLDERS = ("common", "deploy", "proto", "services", "tests")
SKIPPED = (
    "tests/lint/laws.py",
)
LAWS = 15
GAP = r"(?:[\s*#]|//|--)+"  # words of a comment may be on several lines
CITED = re.compile(rf"\blaws?{GAP}(\d+)", re.IGNORECASE)
LISTED = re.compile(rf"\blaws{GAP}\d", re.IGNORECASE)
HEADING = re.compile(r"^### Law (\d+), (.+)$", re.MULTILINE)
GUARDS = re.compile(r"^Guards: .+$", re.MULTILINE)


def texts():
    """Every text file of the tree, by its path."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    for path in [ROOT / "README.md", *paths]:
        name = str(path.relative_to(ROOT))
        if path.is_file() and not name.startswith(SKIPPED) and "node_modules" not in path.parts:
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # an input of a fuzzer, a picture


def check_citations(name, text, laws):
    for found in CITED.finditer(text):
        place = f"{name}:{text.count(chr(10), 0, found.start()) + 1}"
        law = laws.get(int(found.group(1)))
        if LISTED.match(found.group()):
            yield f"{place}: cite each law by itself: \"law 5, attempt fence, and law 6, database clock\""
        elif law is None:
            yield f"{place}: common/core/README.md has no law {found.group(1)}"
        elif not re.match("," + GAP + GAP.join(map(re.escape, law.split())) + r"(?![\w-])", text[found.end():]):
            yield f"{place}: the name is missing or wrong: law {found.group(1)}, {law}"


def check_guards(text, sources):
    rows = GUARDS.findall(text)
    if len(rows) != LAWS:
        yield f"common/core/README.md: {len(rows)} lines of guards for {LAWS} laws"
    for guard in (guard for row in rows for guard in re.findall(r"`([\w.]+)`", row)):
        word = re.escape(guard.rsplit(".", 1)[-1])
        if not re.search(rf"START_TEST\({word}\)|^def {word}\(|\"{word}\"|/test_{word}\.c$|/{word}\.py$", sources, re.MULTILINE):
            yield f"common/core/README.md: no test and no invariant is called {guard}"


def main():
    page = PAGE.read_text(encoding="utf-8")
    headings = HEADING.findall(page)
    laws = {int(number): law for number, law in headings}
    findings = []
    if [int(number) for number, _ in headings] != list(range(1, LAWS + 1)):
        findings.append(f"common/core/README.md: the laws are not 1 to {LAWS}, in order, each once")
    sources, files = "", 0
    for name, text in texts():
        files += 1
        findings += check_citations(name, text, laws)
        if name.startswith("tests/") and name.endswith((".c", ".h", ".py")):
            sources += f"\n{name}\n{text}"
    findings += check_guards(page, sources)
    print("\n".join(findings) or f"{files} files cite the laws rightly")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
