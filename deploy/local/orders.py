"""Orders to post to the sample services, each with what should become of it."""

import collections
import json
import pathlib
import uuid

from .processes import Failure

# The behaviour that an order requests of the remotes (deploy/sample/README.md), and the state in which it must end.
Kind = collections.namedtuple("Kind", "name share behaviour meant")
MIX = (
    Kind("plain", 11, None, "processed"),
    Kind("payment declines", 2, {"payment": "decline"}, "compensated"),
    Kind("carrier declines", 1, {"carrier": "decline"}, "compensated"),
    Kind("carrier declines, refund fails once", 1, {"carrier": "decline", "payment": "undo-fail:1"}, "compensated"),
    Kind("payment is down for two tries", 1, {"payment": "unavailable:2"}, "processed"),
    Kind("payment says come back later", 1, {"payment": "too-many:1"}, "processed"),
    Kind("inventory acts, then drops the line", 1, {"inventory": "drop"}, "processed"),
    Kind("carrier acts, answers late", 1, {"carrier": "slow:1500"}, "processed"),
    Kind("payment acts late", 1, {"payment": "late:800"}, "processed"),
)
FROM_FILE = Kind("from the file", 1, None, "processed")

GOODS = (("Queso Cabrales", "14.00"), ("Tofu", "18.60"), ("Mozzarella di Giovanni", "34.80"), ("Rössle Sauerkraut", "45.60"),
         ("Chef Anton's Gumbo Mix", "21.35"), ("Gravad lax", "26.00"), ("Côte de Blaye", "263.50"))


class Line:
    """One submission: its id, its bytes, and what should become of it."""

    def __init__(self, order_id, text, kind):
        self.order_id, self.text, self.kind = order_id, text, kind


def mixed_lines(count):
    """Orders of all kinds, evenly mixed; prices keep their trailing zeros, because money does."""
    wheel = [kind for kind in MIX for _ in range(kind.share)]
    lines = []
    for number in range(count):
        kind = wheel[number * 7 % len(wheel)]
        items = []
        for place in range(1 + number % 3):
            name, price = GOODS[(number + place) % len(GOODS)]
            items.append(f'{{"product": {json.dumps(name, ensure_ascii=False)}, "quantity": {1 + number % 4}, "unit_price": {price}}}')
        fields = [f'"order_number": {10000 + number}', f'"items": [{", ".join(items)}]', f'"total": {number % 90 + 10}.50',
                  '"currency": "EUR", "carrier": "Federal Shipping"',
                  '"ship_to": {"name": "Étienne \\"Ti\\" Dupré", "city": "Reims", "region": null, "postal_code": "51100"}']
        if kind.behaviour is not None:
            fields.append(f'"behaviour": {json.dumps(kind.behaviour)}')
        order_id = f"demo-{number + 1:05}"
        lines.append(Line(order_id, f'{{"order_id": "{order_id}", "workflow": "fulfilment", "payload": {{{", ".join(fields)}}}}}', kind))
    return lines


def file_lines(path):
    """Submissions from a file. One without an id is given one; nothing else of its bytes is touched."""
    lines = []
    for number, text in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not text.strip():
            continue
        try:
            submission = json.loads(text)
        except ValueError as error:
            raise Failure(f"{path}:{number}: this is not JSON: {error}") from None
        if not isinstance(submission, dict) or "workflow" not in submission:
            raise Failure(f"{path}:{number}: a submission is an object with a workflow")
        order_id = submission.get("order_id")
        if order_id is None:
            order_id = str(uuid.uuid4())
            text = f'{{"order_id": "{order_id}", ' + text.lstrip()[1:]
        lines.append(Line(order_id, text, FROM_FILE))
    return lines
