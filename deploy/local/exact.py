"""Compares bytes: did a value arrive as it was submitted, digit for digit?

Works on JSON text, not on parsed values, and shares no code with Makegood's own renderer.
"""

import json

decoder = json.JSONDecoder()
BLANKS = " \t\r\n"


def skip(text, at):
    while text[at] in BLANKS:
        at += 1
    return at


def members(text, at):
    """(name or index, start, end) of each member of the object or array at `at`."""
    is_object, index = text[at] == "{", 0
    at = skip(text, at + 1)
    while text[at] not in "}]":
        if is_object:
            name, at = decoder.raw_decode(text, at)
            at = skip(text, skip(text, at) + 1)
        else:
            name, index = str(index), index + 1
        end = decoder.raw_decode(text, at)[1]
        yield name, at, end
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)


def find(text, pointer):
    """The piece of `text` at an RFC 6901 pointer, or None."""
    start = skip(text, 0)
    end = decoder.raw_decode(text, start)[1]
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if text[start] not in "{[":
            return None
        for name, member_start, member_end in members(text, start):
            if name == token:
                start, end = member_start, member_end
                break
        else:
            return None
    return text[start:end]


def references(template, pointer=""):
    """(place in the body, what it refers to) of each string of a template that is one whole reference."""
    if isinstance(template, dict):
        for name, value in template.items():
            yield from references(value, pointer + "/" + name.replace("~", "~0").replace("/", "~1"))
    elif isinstance(template, list):
        for index, value in enumerate(template):
            yield from references(value, f"{pointer}/{index}")
    elif isinstance(template, str) and template.startswith("${") and template.find("}") == len(template) - 1:
        yield pointer, template[2:-1]


def differences(template, submission, body):
    """Compares a received body with the submission its template refers to: (values compared, those that differ)."""
    compared, wrong = 0, []
    for place, reference in references(template):
        if not reference.startswith("/payload"):
            continue
        meant, came = find(submission, reference), find(body, place)
        compared += 1
        if meant != came:
            wrong.append(f"{reference}: submitted {meant!r}, received {came!r}")
    return compared, wrong
