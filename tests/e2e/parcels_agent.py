#!/usr/bin/python3
"""An agent by the Python library, for tests: notes each call in a ledger. Usage: parcels_agent.py AMQP-URL LEDGER [CA [CERT KEY]]

The body of a do decides: "refuse", "raise", "hold" (until the file LEDGER.go exists or its time is over), or anything else.
"""
import json
import logging
import pathlib
import ssl
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "proto" / "clients" / "python"))
from makegood import Absent, Agent, Done, Permanent, Transient  # noqa: E402  pylint: disable=wrong-import-position

POLL_S = 0.02
URL, LEDGER = sys.argv[1], pathlib.Path(sys.argv[2])
GO = pathlib.Path(f"{LEDGER}.go")
done = set()


def note(request):
    line = json.dumps({"kind": request.kind, "key": request.idempotency_key, "order": request.order_id, "attempt": request.attempt,
                       "again": request.is_redelivered, "trace": request.traceparent, "at": time.monotonic()})
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")


def deliver(request):
    note(request)
    if request.body == "refuse":
        return Permanent("no_such_street", "the parcel has no address")
    if request.body == "raise" and request.attempt == 1:
        raise RuntimeError("the first attempt fails")
    while request.body == "hold" and not GO.exists() and request.time_left() > 0:
        time.sleep(POLL_S)
    done.add(request.idempotency_key)
    return Done({"parcel": request.body}) if request.time_left() > 0 else Transient(text="the time is over")


def recall(request):
    note(request)
    if request.do_key not in done:
        return Absent()
    done.remove(request.do_key)
    return Done()


context = ssl.create_default_context(cafile=sys.argv[3]) if len(sys.argv) > 3 else None
if context and len(sys.argv) > 5:
    context.load_cert_chain(*sys.argv[4:6])
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
Agent("parcels", url=URL, do=deliver, undo=recall, verify=lambda request: Done() if request.do_key in done else Absent(), concurrency=4,
      ssl_context=context).run()
