"""Table g: each statement that a verb, a page or a request runs × each class of SQLSTATE, a time-out, damaged rows.

The cells of a statement share their time: one question for each code. Each must end with an error that its caller sees."""

from engine import Cell
from readers import subjects
import wire

# Each writes one value that no program stores, into the row of an order that has ended.
DAMAGES = {
    "damaged moment of a step": ("UPDATE order_step SET complete_by = '-infinity' WHERE order_id = %s", "UPDATE order_step SET complete_by = NULL WHERE order_id = %s"),
    "damaged result": ("UPDATE order_step SET result = '{broken' WHERE order_id = %s AND step = 'charge'", "UPDATE order_step SET result = '{}' WHERE order_id = %s AND step = 'charge'"),
    "damaged payload": ("UPDATE orders SET payload = '{broken' WHERE order_id = %s", "UPDATE orders SET payload = '{\"customer\": \"c\"}' WHERE order_id = %s"),
    "damaged moment of an event": ("UPDATE order_event SET at = 'infinity' WHERE order_id = %s AND version = 1", "UPDATE order_event SET at = now() WHERE order_id = %s AND version = 1"),
    "lost payload": ("UPDATE orders SET revision = 7 WHERE order_id = %s", "UPDATE orders SET revision = 1 WHERE order_id = %s"),
}


def cells(bench, codes):
    found = []
    for name, asks in sorted(bench.asks.items()):
        keyed = [ask for ask, has_subject in asks if has_subject]
        for code in (*codes, wire.HANG):
            found.append(Cell("g", name, code, "all", asks=[ask for ask, _ in asks], rule=(name, code)))
            found.append(Cell("g", name, code, "one", asks=keyed, rule=(name, code), reason="" if keyed else "it reads for all: no parameter is of one row"))
        of_orders = [ask for ask, _ in asks if ask.kind in ("", "order")]
        for column in DAMAGES:
            found.append(Cell("g", name, column, "one", asks=of_orders, rule=(name, column), reason="" if of_orders else "it reads no row of an order"))
    return found
