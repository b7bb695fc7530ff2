#!/usr/bin/python3
"""typed.py: every command in a shell block of a page is typed by a test, or has the reason why none can type it.

TYPED names the test of each page. A test reads the page by tests/first_hour/page.py, so a changed command is typed as it is now. The
number of blocks that no test types may only fall, and a change that lowers it lowers it here.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "first_hour"))

import page  # noqa: E402

FOLDERS = (".github", "common", "deploy", "proto", "services", "tests")
NOT_TYPED_MAX = 42
SERVERS = "tests/e2e/test_pages.py"
TYPED = {
    "README.md": "tests/e2e/test_readme.py",
    "deploy/docs/agent-test.md": SERVERS,
    "deploy/docs/agents.md": SERVERS,
    "deploy/docs/bulk.md": SERVERS,
    "deploy/docs/client-test.md": SERVERS,
    "deploy/docs/console.md": SERVERS,
    "deploy/docs/dead-letters.md": SERVERS,
    "deploy/docs/dev.md": SERVERS,
    "deploy/docs/first-hour.md": "tests/first_hour/page.py",
    "deploy/docs/gateway.md": SERVERS,
    "deploy/docs/install.md": SERVERS,
    "deploy/docs/managed.md": SERVERS,
    "deploy/docs/observe.md": SERVERS,
    "deploy/docs/recipes.md": "tests/unit/examples.py",
    "deploy/docs/retention.md": SERVERS,
    "deploy/docs/schedules.md": SERVERS,
    "deploy/docs/service-checklist.md": "tests/unit/examples.py",
    "deploy/docs/service-test.md": SERVERS,
    "deploy/docs/services.md": SERVERS,
    "deploy/docs/start.md": SERVERS,
    "deploy/docs/troubleshooting.md": SERVERS,
    "deploy/docs/waiting.md": SERVERS,
    "deploy/docs/workflow-simulate.md": "tests/unit/examples.py",
    "deploy/docs/workflow-test.md": "tests/unit/examples.py",
    "deploy/examples/project/README.md": SERVERS,
    "deploy/package/README.md": "tests/packages/packages.py",
    "deploy/rabbitmq/README.md": SERVERS,
}


def pages():
    return ["README.md", *sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.md")
                                 if "node_modules" not in path.parts)]


def findings():
    reasons = 0
    for name in pages():
        text = page.text_of(name)
        commands = page.commands_of(text)
        reasons += len(page.reasons_of(text))
        if commands and name not in TYPED:
            yield f"{name}: no test types `{commands[0]}`: name the test in TYPED, or its reason above the block"
        if name in TYPED and not commands:
            yield f"{name}: TYPED names a test, and the page has no command for it"
        if name in TYPED and f'{pathlib.PurePath(name).name}"' not in (ROOT / TYPED[name]).read_text(encoding="utf-8"):
            yield f"{name}: {TYPED[name]} does not read it"
    for name in sorted(set(TYPED) - set(pages())):
        yield f"{name}: TYPED names it, and there is no such page"
    if reasons != NOT_TYPED_MAX:
        yield f"{reasons} blocks are typed by no test, NOT_TYPED_MAX says {NOT_TYPED_MAX}; it may only fall"


def main():
    found = list(findings())
    print("\n".join(found) or f"all commands are typed, but those of {NOT_TYPED_MAX} blocks with a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
