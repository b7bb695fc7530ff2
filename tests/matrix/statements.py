"""The statements of the store, read from its .sql files and the C sources, so that a new one is a new row without a change here."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A declaration, a member of one that is tried in parts (store/pass_by.h), or a row of a table: a name, then text or a macro of it.
NAMED = re.compile(r'\{\s*"([a-z][a-z0-9_]+)",\s*(?:"[A-Z\s]|[A-Z][A-Z_]+)')
FOLDERS = ("common/io/store", "services/operator", "services/supervisor", "services/console", "services/gateway", "services/scheduler")


def places():
    """{statement: its places}; by the name under which a session prepares it."""
    found = collections.defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.c")):
            text = path.read_text(encoding="utf-8")
            if "mg_sql" in text or "MG_SQL_" in text:
                for name in NAMED.findall(text):
                    found[name].append(str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "common/io/store/sql").glob("*.sql")):
        found[path.stem].append(str(path.relative_to(ROOT)))
    return found


def names():
    """{statement: its file}"""
    return {name: files[0] for name, files in places().items()}


if __name__ == "__main__":
    for each, place in names().items():
        print(each, place)
