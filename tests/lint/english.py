#!/usr/bin/python3
"""english.py [--table | --find FOLDER | --idioms]: comments, documents and names of tests keep to plain technical English.

Counts, for each 1,000 words of comments and of prose, the words by which a text turns processes into persons and facts into riddles.
Code, quoted names (`like_this`) and text in quotation marks do not count. --table prints the counts of each folder; --find prints
each place of one folder; --idioms prints each place of an idiom. Without an option these are errors: a folder above a bound, more
idioms than the tree has had, and a test whose name has such a word or begins as a riddle.
"""

import collections
import functools
import io
import pathlib
import re
import subprocess
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Each is at most 0.1 in the comments of raft, pgbouncer, OpenSMTPD and dqlite; a text that needs one now and then has room for it.
BOUND = 0.5
ROWS = {
    "what": r"what(?:ever)?",
    "say": r"sa(?:y|ys|id)",
    "nobody": r"(?:no|some|any)body",
    "tell": r"(?:tells?|told)",
    "who": r"(?:who|whom|whoever|whose)",
    "hear": r"(?:hears?|heard|obeys?|obeyed)",
}
# Turns of phrase that another language has. Their numbers in the whole tree may only fall: a change that lowers one lowers it here.
# A request may wait behind another, and a service stands behind a proxy: most of those that are left.
IDIOMS = {
    "of": (r"(?:^|(?<=[.;|*] ))Of [^.:;|]{1,120}: ", 0),
    "is none": (r"(?<!there )\b(?:is|are|was|were) none\b", 0),
    "comes again": (r"\b(?:com(?:es?|ing)|came) again\b", 0),
    "stands still": (r"\b(?:stands?|stood|standing) still\b", 0),
    "more seldom": (r"\bmore seldom\b", 0),
    "behind": (r"\bbehind\b", 126),
    "beside": (r"\bbeside\b", 6),
}
# Names of tests: in C, in scripts, and of scenarios.
NAMED = re.compile(r"START_TEST\((\w+)\)|^ +def (test_\w+)\(self|^@scenario\(.*?^def (\w+)\(", re.MULTILINE | re.DOTALL)
RIDDLE = re.compile(r"^(?:test_)?(?:what|who|whom|whoever|whatever)_|(?:^|_)(?:says?|said|tells?|told|hears?|heard|obeys?|obeyed"
                    r"|(?:no|some|any)bodys?)(?:_|$)")
GROUPS = ("common/base", "common/client", "common/core", "common/expr", "common/io", "common/json", "common/service", "common/serving", "common/wire",
          "common/workflow", "services/agent", "services/agents", "services/cli", "services/console", "services/dev", "services/gateway",
          "services/operator", "services/scheduler", "services/supervisor", "services", "proto/clients/c", "proto", "deploy",
          "tests/bench", "tests/chaos", "tests/console", "tests/e2e", "tests/fuzz", "tests/integration", "tests/lint", "tests/matrix", "tests/model",
          "tests/sim", "tests/unit", "tests", "common", "")
# A migration that was applied must not change: its SHA-256 is compared.
SKIPPED = re.compile(r"tests/lint/english\.py$|\.patch$|/node_modules/|^LICENSE$|deploy/postgres/\d{4}_")
C_LIKE = re.compile(r"\.(?:c|h|def|js|mjs|css|pml)$|\.h\.in$")
HASHED = re.compile(r"\.(?:yml|yaml|conf|service|timer|cmake|txt|sh|env)$|Dockerfile$|/run$|/demo$|/build$|/install$")
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(/\*.*?\*/|//[^\n]*)', re.DOTALL)
HASH_TOKEN = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*")
SQL_TOKEN = re.compile(r"'(?:[^']|'')*'|(--[^\n]*)")
CONTINUED = re.compile(r"\s*\n\s*(?:\*|//|#|--)?\s*")  # a comment's next line
QUOTED = re.compile(r"`[^`]*`|\"[^\"\n]*\"|“[^”]*”|https?://\S+")


def python_comments(text):
    """Comments and docstrings."""
    is_begin = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and is_begin):
                yield token.start[0], token.string
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                is_begin = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    except (tokenize.TokenError, IndentationError):
        return


def matched(pattern, text):
    for found in pattern.finditer(text):
        comment = found.group(1) if pattern.groups else found.group()
        if comment:
            yield text.count("\n", 0, found.start()) + 1, comment


def prose(text):
    """A document without its blocks of code."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def comments(name, text):
    """Pairs of line and text."""
    if name.endswith((".md", ".tsv")):
        return prose(text)
    if name.endswith(".py") or re.match("#!.*python3", text):
        return python_comments(text)
    if C_LIKE.search(name):
        return matched(C_TOKEN, text)
    if name.endswith(".sql"):
        return matched(SQL_TOKEN, text)
    if HASHED.search(name) or text.startswith("#!"):
        return matched(HASH_TOKEN, text)
    return ()


def group_of(name):
    return next(group for group in GROUPS if name.startswith(group + "/") or group == "")


@functools.cache
def files():
    """{path: text} of all that is read."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True,
                           text=True).stdout.split("\n")
    found = {}
    for name in names:
        path = ROOT / name
        if name and not SKIPPED.search(name) and path.is_file() and not path.is_symlink():
            try:
                found[name] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue  # an input of a fuzzer, a picture
    return found


def texts():
    for name, text in files().items():
        for line, comment in comments(name, text):
            yield name, line, QUOTED.sub(" ` ", comment)


def idioms():
    """Each place of an idiom: its name, the file, the line and the words around it."""
    for name, line, comment in texts():
        for idiom, (pattern, _) in IDIOMS.items():
            text = CONTINUED.sub(" ", comment)
            for found in re.finditer(pattern, text):
                yield idiom, name, line, text[max(0, found.start() - 60):found.end() + 60]


def riddles():
    """Each name of a test that has a word of ROWS, or begins as a riddle."""
    for name, text in files().items():
        if name.startswith("tests/") and name.endswith((".c", ".py")):
            for groups in NAMED.findall(text):
                test = "".join(groups)
                if RIDDLE.search(test):
                    yield f"{name}: {test}"


def count():
    counts = collections.defaultdict(collections.Counter)
    for name, _, comment in texts():
        group = counts[group_of(name)]
        group["words"] += len(re.findall(r"[A-Za-z][A-Za-z'’-]*", comment))
        for row, pattern in ROWS.items():
            group[row] += len(re.findall(rf"\b{pattern}\b", comment, re.IGNORECASE))
    return counts


def table(counts):
    print(f"{'per 1,000 words':22}{'words':>8}" + "".join(f"{row:>8}" for row in ROWS))
    total = sum(counts.values(), collections.Counter())
    for group, found in [*sorted(counts.items()), ("all", total)]:
        shares = "".join(f"{1000 * found[row] / max(found['words'], 1):8.2f}" for row in ROWS)
        print(f"{group or '(top)':22}{found['words']:8}{shares}")


def find(wanted):
    pattern = re.compile(rf"\b(?:{'|'.join(ROWS.values())})\b", re.IGNORECASE)
    for name, line, comment in texts():
        if name.startswith(wanted):
            for offset, part in enumerate(comment.split("\n")):
                if pattern.search(part):
                    print(f"{name}:{line + offset}: {part.strip()}")


def check_bounds(counts):
    for group, found in sorted(counts.items()):
        for row in ROWS:
            # A folder of few words has room for one.
            if found[row] > max(1, BOUND * found["words"] / 1000):
                yield (f"{group or 'the top level'}: {found[row]} × \"{row}\" in {found['words']} words, {BOUND} of 1,000 are the most;"
                       f" places: tests/lint/english.py --find {group}")


def check_idioms():
    counts = collections.Counter(idiom for idiom, *_ in idioms())
    for idiom, (_, most) in IDIOMS.items():
        if counts[idiom] > most:
            yield f"{counts[idiom]} × \"{idiom}\", {most} are the most; places: tests/lint/english.py --idioms"


def main():
    if sys.argv[1:2] == ["--find"]:
        find(sys.argv[2])
        return 0
    if sys.argv[1:] == ["--idioms"]:
        for idiom, name, line, words in idioms():
            print(f"{idiom}: {name}:{line}: {words}")
        return 0
    if sys.argv[1:] == ["--table"]:
        table(count())
        return 0
    findings = [*check_bounds(count()), *check_idioms(), *(f"{riddle}: name the fact" for riddle in riddles())]
    print("\n".join(findings) or "plain")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
