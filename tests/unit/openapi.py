#!/usr/bin/python3
"""openapi.py SOURCE-FOLDER: proto/openapi.yaml describes what the gateway has.

Would catch: a route or a status of the gateway's table that the contract does not declare, or the other way round; an example that
its own schema refuses; a reference to nothing; a state of orders that the contract does not know.
"""

import json
import pathlib
import re
import sys

import jsonschema
import yaml

SOURCE = pathlib.Path(sys.argv[1])
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def table():
    """{(method, path): statuses} of the gateway's routes."""
    text = (SOURCE / "services" / "gateway" / "routes.c").read_text(encoding="utf-8")
    body = re.search(r"ROUTES\[\] = \{(.*?)\n\};", text, re.S).group(1)
    lines = re.findall(r'\{"([A-Z]+)",\s*"([^"]+)",[^"]*"([0-9 ]+)",\s*"([a-z ]*)"\}', body)
    assert len(lines) == body.count('{"'), "a line of the table that this test cannot read"
    return {(method, path): set(statuses.split()) | set(parameters.split()) for method, path, statuses, parameters in lines}


def declared(contract):
    return {(method.upper(), path): set(operation["responses"]) | {one["name"] for one in operation.get("parameters", ()) if one.get("in") == "query"}
            for path, item in contract["paths"].items() for method, operation in item.items() if method in METHODS}


def resolve(contract, node):
    """The node with every reference replaced; those to other files are those of proto/."""
    if isinstance(node, list):
        return [resolve(contract, part) for part in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if reference is None:
        return {name: resolve(contract, part) for name, part in node.items()}
    file, _, pointer = reference.partition("#")
    target = json.loads((SOURCE / "proto" / file).read_text(encoding="utf-8")) if file else contract
    for name in pointer.split("/")[1:]:
        target = target[name]
    if file:
        return target
    return resolve(contract, target)


def faults(contract, node, where):
    """The examples that their schema refuses, and schemas that are none."""
    found = []
    if isinstance(node, list):
        for number, part in enumerate(node):
            found += faults(contract, part, f"{where}/{number}")
    if isinstance(node, dict):
        if "schema" in node:
            schema = resolve(contract, node["schema"])
            jsonschema.Draft202012Validator.check_schema(schema)
            if "example" in node and node.get("in") != "header":  # that one is quoted, as a structured field
                found += [f"{where}: {error.message}" for error in jsonschema.Draft202012Validator(schema).iter_errors(node["example"])]
        for name, part in node.items():
            found += faults(contract, part, f"{where}/{name}")
    return found


def main():
    contract = yaml.safe_load((SOURCE / "proto" / "openapi.yaml").read_text(encoding="utf-8"))
    found = []
    assert contract["openapi"] == "3.1.0" and contract["info"]["title"] and contract["info"]["version"], contract["info"]
    has, says = table(), declared(contract)
    for place in sorted(has.keys() | says.keys()):
        if has.get(place) != says.get(place):
            found.append(f"{' '.join(place)}: the gateway has {sorted(has.get(place, ()))}, the contract {sorted(says.get(place, ()))}")
    words = (SOURCE / "common" / "core" / "words.def").read_text(encoding="utf-8")
    states = set(re.findall(r'^MG_ORDER_STATE\([A-Z]+, "(\w+)",', words, re.M))
    if states != set(contract["components"]["schemas"]["State"]["enum"]):
        found.append(f"states: the core has {sorted(states)}")
    operations = [operation["operationId"] for item in contract["paths"].values() for name, operation in item.items() if name in METHODS]
    if len(set(operations)) != len(operations):
        found.append("an operationId twice")
    for path, item in contract["paths"].items():
        own = {resolve(contract, parameter)["name"] for parameter in item.get("parameters", ())}
        if own != set(re.findall(r"\{(\w+)\}", path)):
            found.append(f"{path}: its parameters are {sorted(own)}")
    found += faults(contract, contract, "")
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
