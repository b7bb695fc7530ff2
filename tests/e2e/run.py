#!/usr/bin/python3
"""run.py NAME runs one end-to-end scenario; run.py --list prints their names."""

import ast
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy")]


def is_scenario(node):
    for mark in getattr(node, "decorator_list", ()):
        called = mark.func if isinstance(mark, ast.Call) else mark
        if isinstance(called, ast.Name) and called.id == "scenario":
            return True
    return False


def scenarios(name=""):
    """{name: module} of all scenarios, found without running anything; with a name, only the files that have it are parsed."""
    found = {}
    for path in sorted(HERE.glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body if f"def {name}" in text else ():
            if isinstance(node, ast.FunctionDef) and is_scenario(node):
                if node.name in found:
                    raise SystemExit(f"{path.name}: there are two scenarios {node.name}")
                found[node.name] = path.stem
    return found


def main(words):
    if words == ["--list"]:
        print("\n".join(scenarios()))
        return 0
    known = scenarios(words[0]) if len(words) == 1 else {}
    if len(words) != 1 or words[0] not in known:
        print(__doc__, file=sys.stderr)
        return 2
    return getattr(importlib.import_module(known[words[0]]), words[0])()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
