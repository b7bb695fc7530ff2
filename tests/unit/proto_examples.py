#!/usr/bin/python3
"""Holds proto/, the C readers, the manual of alerts and core/words.def together.

Every schema is a valid JSON Schema. python3-jsonschema and C accept every valid example; messages that C only writes are
exempt for C. Both refuse every invalid one. C refuses errors beyond any schema (invalid_beyond_schema/). Every enum in the
schemas that names words.def has its words, in its order. The schemas of the tool's answers (cli/) refer to members that
exist. asyncapi.yaml names only files that exist. The manual has a remedy for every alert, and for no other word.
Usage: proto_examples.py SOURCE_DIR WIRE_VERDICT
"""
import json
import os
import re
import subprocess
import sys

from jsonschema import Draft202012Validator

SOURCE, TOOL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PROTO = os.path.join(SOURCE, "proto")
MESSAGES = ["submission", "request", "reply", "service_report", "status", "command", "command_result", "alert",
            "service_control", "workflow", "cases", "schedule", "service"]
# For other readers: C writes a dossier and never reads it. workflow_simulate.py has the tool read the profiles, by a workflow.
WRITTEN = ["dossier", "profile"]
faults = []


def words_of_core():
    words = {}
    with open(os.path.join(SOURCE, "common/core/words.def"), encoding="utf-8") as file:
        for family, word in re.findall(r'^MG_([A-Z_]+)\(\w+, "(\w+)"', file.read(), re.M):
            words.setdefault(family, []).append(word)
    return words


def check_enums(node, where, words):
    if isinstance(node, dict):
        comment = re.fullmatch(r"words\.def (subset )?([A-Z_]+)", str(node.get("$comment", "")))
        if comment:
            have, want = node["enum"], words[comment[2]]
            if not set(have) <= set(want) if comment[1] else have != want:
                faults.append(f"{where}: enum is {have}, words.def {comment[2]} has {want}")
        for key, value in node.items():
            check_enums(value, f"{where}/{key}", words)
    elif isinstance(node, list):
        for i, value in enumerate(node):
            check_enums(value, f"{where}/{i}", words)


def c_verdicts(message, paths):
    arguments = [part for path in paths for part in (message, path)]
    # files that a service file names are found next to the examples
    run = subprocess.run([TOOL] + arguments, cwd=os.path.join(PROTO, "examples", message), check=True,
                         capture_output=True, text=True)
    lines = run.stdout.split("\n")[:-1]
    assert len(lines) == len(paths), (message, run.stdout, run.stderr)
    return dict(zip(paths, lines))


def examples(message, kind):
    folder = os.path.join(PROTO, "examples", message, kind)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if name.endswith(".json")]


def check_message(message, words):
    with open(os.path.join(PROTO, message + ".schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    check_enums(schema, message, words)
    validator = Draft202012Validator(schema)
    count = 0
    for kind in ("valid", "invalid", "invalid_beyond_schema"):
        paths = examples(message, kind)
        if not paths and kind != "invalid_beyond_schema":
            faults.append(f"{message}: no {kind} examples")
        verdicts = c_verdicts(message, paths) if message not in WRITTEN else {}
        count += len(paths)
        for path in paths:
            short = os.path.relpath(path, PROTO)
            if message not in WRITTEN and (verdicts[path] == "ok") != (kind == "valid"):
                faults.append(f"{short}: C says: {verdicts[path]}")
            if kind == "invalid_beyond_schema":
                continue
            with open(path, encoding="utf-8") as file:
                errors = list(validator.iter_errors(json.load(file)))
            if (not errors) != (kind == "valid"):
                faults.append(f"{short}: the schema says: {[e.message for e in errors] or 'valid'}")
    return count


def check_samples():
    for message, folder in (("workflow", "deploy/sample/workflows"), ("cases", "deploy/sample/cases"),
                            ("service", "deploy/sample/services")):
        with open(os.path.join(PROTO, message + ".schema.json"), encoding="utf-8") as file:
            validator = Draft202012Validator(json.load(file))
        folder = os.path.join(SOURCE, folder)
        paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")]
        for path, verdict in c_verdicts(message, paths).items():
            with open(path, encoding="utf-8") as file:
                errors = [e.message for e in validator.iter_errors(json.load(file))]
            if errors or verdict != "ok":
                faults.append(f"{path}: {errors} {verdict}")


def references(node):
    if isinstance(node, dict):
        yield from [node["$ref"]] if "$ref" in node else []
        node = list(node.values())
    for value in node if isinstance(node, list) else ():
        yield from references(value)


def check_answers(words):
    """The schemas of the tool's answers: what they refer to is there, so a renamed member of the dossier is noticed."""
    folder = os.path.join(PROTO, "cli")
    names = sorted(os.listdir(folder))
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        check_enums(schema, "cli/" + name, words)
        if schema["$id"] != name:
            faults.append(f"cli/{name}: its $id is {schema['$id']}")
        for reference in references(schema):
            path, _, pointer = reference.partition("#")
            try:
                with open(os.path.join(folder, path or name), encoding="utf-8") as file:
                    node = json.load(file)
                for part in pointer.split("/")[1:]:
                    node = node[int(part)] if isinstance(node, list) else node[part]
            except (OSError, KeyError, IndexError) as error:
                faults.append(f"cli/{name}: {reference} leads nowhere: {error!r}")
    return len(names)


def check_asyncapi():
    with open(os.path.join(PROTO, "asyncapi.yaml"), encoding="utf-8") as file:
        text = file.read()
    named = set(re.findall(r"\./([a-z_]+\.schema\.json)", text))
    wanted = {message + ".schema.json" for message in MESSAGES if message not in ("workflow", "cases", "schedule", "service")}
    if named != wanted:
        faults.append(f"asyncapi.yaml names {sorted(named)}, the messages are {sorted(wanted)}")


def check_manual(words):
    with open(os.path.join(SOURCE, "deploy/docs/alerts.md"), encoding="utf-8") as file:
        section = file.read().split("\n## Alerts of Makegood\n", 1)[-1].split("\n## ", 1)[0]
    rows = re.findall(r"^### (\w+)$", section, re.M)
    if set(rows) != set(words["ALERT"]):
        faults.append(f"alerts.md has remedies for {sorted(set(rows))}, words.def ALERT has {sorted(words['ALERT'])}")


def main():
    words = words_of_core()
    count = sum(check_message(message, words) for message in MESSAGES + WRITTEN)
    folders = sorted(os.listdir(os.path.join(PROTO, "examples")))
    if folders != sorted(MESSAGES + WRITTEN):
        faults.append(f"examples/ has {folders}, the schemas are {sorted(MESSAGES + WRITTEN)}")
    check_samples()
    answers = check_answers(words)
    check_asyncapi()
    check_manual(words)
    for fault in faults:
        print("FAULT", fault)
    print(f"{count} examples of {len(MESSAGES + WRITTEN)} schemas, {len(faults)} faults")
    return 1 if faults or count < 200 or answers < 40 else 0


sys.exit(main())
