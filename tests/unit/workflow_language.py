#!/usr/bin/python3
"""workflow_language.py SOURCE: the page "Workflow language" against proto/workflow.schema.json.

Each table has a row for every member of the schema, and for no other. "needed" stands where the schema requires the member, and
a default is the schema's.
"""
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
PAGE = SOURCE / "deploy/docs/workflow-language.md"
SCHEMA = json.loads((SOURCE / "proto/workflow.schema.json").read_text(encoding="utf-8"))
SECTIONS = {"workflow": "The workflow", "step": "A step", "call": "A call", "retry": "Retries"}
# where a member's object is described; a member of a call may be an object of its own (retry of an undo)
PLACES = {"": "workflow", "/steps": "step", "/steps/do": "call", "/steps/verify": "call", "/steps/undo": "call",
          "/steps/retry": "retry", "/steps/undo/retry": "retry"}


class Member:
    def __init__(self):
        self.needed = self.seen = False
        self.defaults = set()


def resolved(node):
    while "$ref" in node:
        target = SCHEMA
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
    return node


def collect(node, place, members):
    """Members of the object `node` and of those in it; only the places of PLACES are described member by member."""
    node = resolved(node)
    for part in ("oneOf", "anyOf", "allOf"):
        for one in node.get(part, []):
            collect(one, place, members)
    if isinstance(node.get("items"), dict):
        collect(node["items"], place, members)
    for name, value in node.get("properties", {}).items():
        if place not in PLACES:
            continue
        value = resolved(value) if isinstance(value, dict) else {}
        member = members.setdefault((PLACES[place], name), Member())
        member.needed = member.needed or name in node.get("required", [])
        if "default" in value:
            member.defaults.add(json.dumps(value["default"]).strip('"'))
        collect(value, f"{place}/{name}", members)


def rows():
    text = PAGE.read_text(encoding="utf-8")
    for section, title in SECTIONS.items():
        part = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        if part is None:
            print(f"FAULT no section {title}")
            continue
        for name, needed, meaning in re.findall(r"^\| `([^`]+)` \| (yes)? ?\| (.+) \|$", part[1], re.M):
            yield section, name, needed == "yes", meaning


def main():
    members, faults, count = {}, [], 0
    collect(SCHEMA, "", members)
    for section, name, needed, meaning in rows():
        count += 1
        member = members.get((section, name))
        if member is None:
            faults.append(f"{SECTIONS[section]}: there is no member {name}")
            continue
        if member.seen:
            faults.append(f"{SECTIONS[section]}: {name} stands twice")
        member.seen = True
        if needed != member.needed:
            faults.append(f"{SECTIONS[section]}: {name} is {'' if member.needed else 'not '}needed")
        stated = meaning.partition("Default: ")[2]
        for default in member.defaults:
            if f"`{default}`" not in stated:
                faults.append(f"{SECTIONS[section]}: {name} has the default {default}")
        if "`" in stated and not member.defaults and not re.search(r"`\w+` where|where `", stated):
            faults.append(f"{SECTIONS[section]}: {name} has no default in the schema")
    faults += [f"{SECTIONS[section]}: {name} is not described" for (section, name), member in sorted(members.items())
               if not member.seen]
    for fault in faults:
        print("FAULT", fault)
    print(f"{count} rows, {len(members)} members, {len(faults)} faults")
    return 1 if faults or count < 30 else 0


sys.exit(main())
