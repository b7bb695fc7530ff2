"""The schemas of the tool's answers (proto/cli): one file for each verb that prints JSON.

Here they are strict: a member that no schema describes is a fault. For readers the schemas are open, as members may be added."""

import json
import pathlib
import re
import urllib.parse

from jsonschema import Draft202012Validator, RefResolver

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
CLI = PROTO / "cli"
CLOSED = {"unevaluatedProperties": False}


def name_of(verb):
    return verb.replace(" ", "-") + ".schema.json"


def verbs_with_schema():
    return {path.name.removesuffix(".schema.json").replace("-", " ", 1) for path in CLI.glob("*.schema.json")}


def verbs(ask):
    """{verb: (forms of --output, their description)} from the tool itself; ask(*words) returns the tool's output."""
    found = {}
    for line in ask("--help").splitlines():
        match = re.match(r"  ([a-z]+(?: [a-z-]+)?)(?=\s)", line)
        if match:
            option = re.search(r"^ +-o, --output ([a-z|]+)\n(.*?)(?=^ +-|\Z)", ask(*match[1].split(), "--help"), re.M | re.S)
            found[match[1]] = (option[1].split("|"), " ".join(option[2].split())) if option else ([], "")
    return found


def close(node, is_own):
    """Closes each object below `node`. One outside proto/cli stays open itself, as verbs add members to it."""
    if isinstance(node, list):
        for value in node:
            close(value, is_own)
    elif isinstance(node, dict):
        if "properties" in node and is_own:
            node.update(CLOSED)
        for key, value in node.items():
            if key in ("properties", "$defs"):
                for member in value.values():
                    close(member, True)
            elif key in ("items", "anyOf", "oneOf"):
                close(value, True)


def load(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    is_own = path.parent == CLI
    close(schema, is_own)
    if is_own and schema.get("$ref", "").startswith("../"):
        schema.update(CLOSED)
    return schema


STORE = {path.as_uri(): load(path) for folder in (PROTO, CLI) for path in sorted(folder.glob("*.schema.json"))}


def is_list(verb):
    """Whether the verb prints any number of answers: an array, or a line for each."""
    uri = (CLI / name_of(verb)).as_uri()
    schema = STORE[uri]
    while "$ref" in schema:
        uri = urllib.parse.urljoin(uri, schema["$ref"])
        schema = STORE[uri]
    return schema.get("type") == "array"


def faults(verb, text, is_lines=False):
    """What is wrong with the verb's standard output in the form json, or jsonl."""
    uri = (CLI / name_of(verb)).as_uri()
    value = [json.loads(line) for line in text.split("\n")[:-1]] if is_lines else json.loads(text)
    if is_lines and not is_list(verb):
        if len(value) != 1:
            return [f"{len(value)} lines"]
        value = value[0]
    validator = Draft202012Validator(STORE[uri], resolver=RefResolver(uri, STORE[uri], store=STORE))
    return [f"/{'/'.join(map(str, error.absolute_path))}: {error.message[:400]}" for error in validator.iter_errors(value)]
