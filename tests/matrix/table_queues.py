"""Table b: each queue × deletion, purge, policies of others, a lost right, alarms, a cancelled consumer."""

import json

import pika
from engine import Cell

POLICIES = {"expires": 2000, "message-ttl": 1, "overflow": "drop-head", "max-length": 1, "max-length-bytes": 10, "delivery-limit": 1,
            "dead-letter-exchange": "nowhere", "dead-letter-routing-key": "nowhere"}
CONSUMED = ("orders.intake", "orders.intake.high", "orders.signals", "scheduler.replies", "scheduler.commands", "agent.")
SHORT_S = 4.0


def queues(bench):
    return sorted(name for name in bench.servers.rabbit.ctl("list_queues", "name").split()
                  if not name.startswith("amq.") and not name.startswith("makegood.control"))


def policy(queue, key):
    definition = {key: POLICIES[key]}
    if key == "overflow":
        definition["max-length"] = 1
    pattern = "^" + queue.replace(".", "\\.") + "$"

    def begin(bench, _one):
        bench.servers.rabbit.ctl("set_policy", "--priority", "1", "--apply-to", "queues", "matrix", pattern, json.dumps(definition))
    return begin


def clear_policy(bench):
    if "matrix" in bench.servers.rabbit.ctl("list_policies"):
        bench.servers.rabbit.ctl("clear_policy", "matrix")


def delete(queue):
    return lambda bench, _one: bench.servers.rabbit.ctl("delete_queue", queue)


def again(queue):
    """Deleted, and made again at once: each consumer is cancelled."""
    def begin(bench, _one):
        bench.servers.rabbit.ctl("delete_queue", queue)
        bench.apply()
    return begin


def purge(queue):
    def begin(bench, _one):
        for _ in range(3):
            bench.post()
        bench.servers.rabbit.ctl("purge_queue", queue)
    return begin


def deny(column, queue):
    """All of Makegood's processes are one user here; a right counts from the next use on."""
    allowed = f"^(?!{queue.replace('.', chr(92) + '.')}$).*"

    def begin(bench, _one):
        bench.servers.rabbit.set_permissions("guest", ".*", ".*" if column == "no right to read" else allowed,
                                             allowed if column == "no right to read" else ".*")
        if column == "no right to read":  # the right is read when a consumer begins
            bench.servers.rabbit.ctl("close_all_connections", "matrix", timeout_s=60)
    return begin


def allow(bench):
    bench.servers.rabbit.set_permissions("guest", ".*", ".*", ".*")


def ctl(*words):
    return lambda bench, *_: bench.servers.rabbit.ctl(*words)


def remake(bench):
    bench.apply()


def check_bound(queue):
    def check(bench):
        try:
            bench.client.depth(queue)
        except pika.exceptions.AMQPError as error:
            raise AssertionError(f"{queue}: {error}") from None
    return check


def cells(bench):
    found = [Cell("b", "broker", "memory alarm", "all", begin=ctl("set_vm_memory_high_watermark", "absolute", "1MB"),
                  end=ctl("set_vm_memory_high_watermark", "0.4")),
             Cell("b", "broker", "disk alarm", "all", begin=ctl("set_disk_free_limit", "1000000GB"),
                  end=ctl("set_disk_free_limit", "50MB"))]
    for queue in queues(bench):
        found.append(Cell("b", queue, "deleted", "all", begin=delete(queue), end=remake, needs_telling=True, may_lose=True))
        is_consumed = queue.startswith(CONSUMED) or queue.endswith(".webhook")
        found.append(Cell("b", queue, "consumer cancelled", "-", begin=again(queue), may_lose=True, check=check_bound(queue),
                          reason="" if is_consumed else "no process of ours consumes it"))
        found.append(Cell("b", queue, "purged", "-", begin=purge(queue), may_lose=True))
        for key in POLICIES:
            found.append(Cell("b", queue, f"policy {key}", "-", begin=policy(queue, key), end=clear_policy, hold_s=SHORT_S))
        for column in ("no right to read", "no right to write"):
            used = is_consumed if column == "no right to read" else queue in CONSUMED or queue.startswith("agent.")
            found.append(Cell("b", queue, column, "all", begin=deny(column, queue), end=allow,
                              reason="" if used else "orders do not need it"))
    return found
