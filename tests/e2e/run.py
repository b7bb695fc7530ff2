#!/usr/bin/python3
"""run.py NAME runs one end-to-end scenario; run.py --list prints their names; run.py --labels prints each with its labels.

A scenario with long="why" has the label long; with portable=True, too, the label long-portable in its place.
"""

import ast
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy")]


def mark_of(node):
    """The call of @scenario on a function, or None."""
    for mark in getattr(node, "decorator_list", ()):
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "scenario":
            return mark
    return None


def labels_of(name, mark):
    """e2e, and long or long-portable."""
    given = {option.arg: option.value for option in mark.keywords if option.arg in ("long", "portable")}
    values = {option: value.value if isinstance(value, ast.Constant) else None for option, value in given.items()}
    if not all(values.values()):
        raise SystemExit(f"{name}: long is a reason in quotation marks, and portable is True, or they are left out")
    if "long" not in values:
        return ["e2e"]
    return ["e2e", "long-portable" if "portable" in values else "long"]


def scenarios(name=""):
    """{name: (module, labels)} of all scenarios, found without running anything; with a name, only the files that have it are parsed."""
    found = {}
    for path in sorted(HERE.glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body if f"def {name}" in text else ():
            mark = mark_of(node) if isinstance(node, ast.FunctionDef) else None
            if mark:
                if node.name in found:
                    raise SystemExit(f"{path.name}: there are two scenarios {node.name}")
                found[node.name] = path.stem, labels_of(node.name, mark)
    return found


def main(words):
    if words == ["--list"]:
        print("\n".join(scenarios()))
        return 0
    if words == ["--labels"]:
        print("\n".join(" ".join([name, *labels]) for name, (_, labels) in scenarios().items()))
        return 0
    known = scenarios(words[0]) if len(words) == 1 else {}
    if len(words) != 1 or words[0] not in known:
        print(__doc__, file=sys.stderr)
        return 2
    return getattr(importlib.import_module(known[words[0]][0]), words[0])()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
