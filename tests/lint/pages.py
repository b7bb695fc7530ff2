#!/usr/bin/python3
"""pages.py [--table]: the pages for users keep to short cells and short sentences.

A cell of a table and a sentence have at most 25 words; a code span counts as one. Older pages have longer ones: their numbers below
may only fall, and a change that lowers one lowers it here. --table prints the present numbers, --find PAGE the places.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS_MAX = 25
# Longer (cells, sentences) of pages that are older than the rule.
OLDER = {
    "README.md": (0, 1),
    "deploy/docs/agents.md": (0, 1),
    "deploy/docs/alerts.md": (0, 7),
    "deploy/docs/console.md": (5, 0),
    "deploy/docs/expressions.md": (0, 2),
    "deploy/docs/gateway.md": (6, 1),
    "deploy/docs/observe.md": (9, 2),
    "deploy/docs/schedules.md": (3, 6),
    "deploy/docs/security.md": (1, 1),
    "deploy/docs/service-test.md": (0, 1),
    "deploy/docs/waiting.md": (0, 1),
    "deploy/docs/workflow-simulate.md": (3, 0),
}
FENCE = re.compile(r"^```.*?^```$|<!--.*?-->", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`[^`]*`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<=[.:;?!])\s+")


def plain(text):
    return LINK.sub(r"\1", SPAN.sub("code", text))


def words(text):
    return len(re.findall(r"[\w’'-]+", text))


def longer(page):
    """The longer cells and the longer sentences of a page."""
    cells, sentences = [], []
    for line in FENCE.sub("", page.read_text(encoding="utf-8")).splitlines():
        if line.startswith("|"):
            cells += [cell.strip() for cell in plain(line.replace("\\|", " ")).split("|") if words(cell) > WORDS_MAX]
        elif not line.startswith("#"):
            sentences += [sentence for sentence in SENTENCE_END.split(plain(line)) if words(sentence) > WORDS_MAX]
    return cells, sentences


def pages():
    return {str(path.relative_to(ROOT)): path for path in [ROOT / "README.md", ROOT / "deploy/README.md",
                                                          *sorted((ROOT / "deploy/docs").glob("*.md"))]}


def findings():
    for name, path in pages().items():
        for kind, found, most in zip(("cells", "sentences"), longer(path), OLDER.get(name, (0, 0))):
            if len(found) > most:
                yield (f"{name}: {len(found)} {kind} have more than {WORDS_MAX} words, {most} are the most;"
                       f" places: tests/lint/pages.py --find {name}")


def main():
    if sys.argv[1:] == ["--table"]:
        for name, path in pages().items():
            counts = tuple(len(found) for found in longer(path))
            if counts != (0, 0):
                print(f'    "{name}": {counts},')
        return 0
    if sys.argv[1:2] == ["--find"]:
        print("\n".join(text for found in longer(ROOT / sys.argv[2]) for text in found))
        return 0
    found = list(findings())
    print("\n".join(found) or "short")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
