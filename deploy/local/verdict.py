"""The verdict on orders of orders.py, from the end of each order and the remotes' ledgers."""

import collections

from . import exact


def judge(lines, workflow, states, told, remotes):
    """Every defect found, as texts; and the numbers.

    `states` holds each order's state in the database, `told` the last status that its client received, both by order id;
    `remotes` holds the sample remotes by service name."""
    wrong = []
    entries = {name: remote.entries() for name, remote in remotes.items()}
    totals = collections.Counter()
    for remote in remotes.values():
        totals.update(remote.ledger_report()["totals"])
    compared = different = 0
    for line in lines:
        meant = line.kind.meant
        if told.get(line.order_id) != meant or states.get(line.order_id) != meant:
            wrong.append(f"order {line.order_id} ({line.kind.name}) is {states.get(line.order_id)}, its client was told "
                         f"{told.get(line.order_id)}, meant was {meant}")
        for step in workflow["steps"]:
            key = f"{line.order_id}.{step['step']}.do"
            entry = entries[step["service"]].get(key, {"state": "none", "effects": 0, "body": None})
            if meant == "processed" and (entry["state"], entry["effects"]) != ("done", 1):
                wrong.append(f"{key}: the ledger says {entry['state']}, {entry['effects']} effects; meant was done, 1 effect")
            if meant == "compensated" and entry["state"] == "done":
                wrong.append(f"{key}: the ledger says done; its order was compensated")
            if entry["body"] is not None:
                count, texts = exact.differences(step["do"].get("body"), line.text, entry["body"])
                compared += count
                different += len(texts)
                wrong += [f"{key}: {text}" for text in texts]
            elif meant == "processed" and "body" in step["do"]:
                wrong.append(f"{key}: the ledger holds no body to compare with what was submitted")
    if totals["keys_with_several_effects"] > 0:
        wrong.append(f"{totals['keys_with_several_effects']} keys had several effects")
    if len(states) != len(lines):
        wrong.append(f"there are {len(states)} orders in the database, {len(lines)} were submitted")
    meant_net = len(workflow["steps"]) * sum(line.kind.meant == "processed" for line in lines)
    if totals["net_effects"] != meant_net:
        wrong.append(f"the net effect of all orders is {totals['net_effects']}; meant was {meant_net}")
    return wrong, {"keys": totals["keys"], "requests": totals["do_requests"], "effects": totals["effects"],
                   "undos": totals["undos"], "net_effects": totals["net_effects"], "net_effects_meant": meant_net,
                   "keys_with_several_effects": totals["keys_with_several_effects"],
                   "values_compared": compared, "values_different": different}
