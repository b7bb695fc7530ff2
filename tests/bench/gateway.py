"""Orders over HTTP, through one gateway beside everything else on this machine."""

import contextlib
import hashlib
import http.client
import json
import threading
import time

import counters
import parts
import stage
from local import processes

CLIENT, TOKEN = "bench", "the token of the benchmark"
LISTER, LISTER_TOKEN = "lister", "the token of another client"
LISTED = 100_000       # orders of the other client, whose lists are read without a pause
LISTERS = 4            # its connections
CONNECTIONS = 64       # keep-alive connections of a closed client
RATE = 50              # POSTs a second of an open one
IDLE_CONNECTIONS = 5000
ENDED = "SELECT count(*) FROM order_process WHERE process_state = 'processed'"


def start(made):
    """A gateway on the cluster, for one client without a rate of its own."""
    made.tool("broker", "apply", "--service", stage.SERVICE, "--client", CLIENT, "--client", LISTER)
    tokens = made.scratch / "tokens"
    tokens.write_text("".join(f"submit,read,cancel {client} {hashlib.sha256(token.encode()).hexdigest()}\n"
                              for client, token in ((CLIENT, TOKEN), (LISTER, LISTER_TOKEN))), encoding="ascii")
    port = processes.free_port()
    argv = [made.bin / "makegood", "gateway", "--listen", f"127.0.0.1:{port}", "--tokens-file", tokens, "--client-rate", "1000000"]
    process = processes.Process("gateway", argv, made.scratch / "gateway.log", http_port=port, env=made.tool_env)
    return process.start().wait_ready(), port


def post(on, made, port, orders, *words):
    """Posts orders and awaits their ends; what it took for each."""
    before, began = ended(on, made), time.monotonic()
    found = on.run("post", "--port", port, "--token", TOKEN, "--orders", orders, *words)
    if found["refused"]:
        raise processes.Failure(f"the gateway refused {found['refused']} of {orders} orders")
    processes.wait_until(lambda: ended(on, made) - before == orders, "all orders end", timeout_s=600)
    return {**found, "seconds": time.monotonic() - began}


def ended(on, made):
    return int(on.postgres.psql(ENDED, made.place)[0][0])


def closed(on, plan, made, door, port):
    """As many as the gateway takes: POSTs a second, and orders a second up to the end of the last one."""
    rate = post(on, made, port, parts.WARM_ORDERS, "--connections", CONNECTIONS)
    orders = max(parts.WARM_ORDERS, int(rate["orders"] / rate["seconds"] * plan.saturation_s))
    machine = parts.Machine()
    cpu = counters.Cpu({**parts.server_pids(on), **parts.makegood_pids(made), "gateway": [door.pid]})
    found = post(on, made, port, orders, "--connections", CONNECTIONS)
    spent, _ = cpu.spent()
    spent["load"] = found["cpu_s"]
    return {"posts_per_s": found["posts_per_s"], "orders_per_s": round(orders / found["seconds"], 1),
            "cpu_ms": parts.cost(spent, orders), "memory_mb": round(counters.rss_mb(door.pid), 1),
            "others": round(machine.others(sum(spent.values())), 3)}


def paced(on, plan, made, port, idle=0):
    """The time from a POST's due moment to its answer."""
    path = made.scratch / "posts"
    found = post(on, made, port, int(RATE * plan.latency_s), "--rate", RATE, "--samples", path, "--idle", idle)
    samples = sorted(int(line) / 1000 for line in path.read_text(encoding="ascii").split())
    return {"rate": RATE, "idle": idle, "idle_closed": found["idle_closed"],
            **{name: round(counters.percentile(samples, share), 2) for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99), ("max_ms", 1.0))}}


def list_all(port, stop, pages):
    """Reads the other client's orders page by page, and from the newest again, without a pause."""
    connection, path = http.client.HTTPConnection("127.0.0.1", port, timeout=60), "/v1/orders"
    while not stop.is_set():
        connection.request("GET", path, headers={"Authorization": f"Bearer {LISTER_TOKEN}"})
        answer = connection.getresponse()
        page = json.loads(answer.read())
        if answer.status != 200 or (not page["orders"] and path == "/v1/orders"):
            raise processes.Failure(f"a list of orders was answered with {answer.status}: {page}")
        pages.append(len(page["orders"]))
        path = f"/v1/orders?cursor={page['next']}" if page.get("next") else "/v1/orders"
    connection.close()


@contextlib.contextmanager
def listing(port):
    """Another client lists meanwhile, on each of its connections; yields the sizes of the pages that it has read."""
    stop, pages, failures = threading.Event(), [], []

    def run():
        try:
            list_all(port, stop, pages)
        except (processes.Failure, OSError, ValueError, http.client.HTTPException) as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(LISTERS)]
    for thread in threads:
        thread.start()
    try:
        yield pages
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise processes.Failure(f"another client could not list its orders: {failures[0]}")


def beside_lists(on, plan, made, port):
    """POSTs of one client, by turns alone and beside another's lists; of each the run whose p99 is the median."""
    parts.fill(on, made, LISTED, 0)
    on.postgres.psql(f"UPDATE orders SET client = '{LISTER}' WHERE order_id IN (SELECT order_id FROM order_process"
                     " WHERE locked_by = 'bench' AND reply_to IS NULL AND version = 4)", made.place)
    on.postgres.psql("VACUUM ANALYZE", made.place)
    quiet, listed, pages_per_s = [], [], []
    for _ in range(max(3, plan.runs)):
        quiet.append(paced(on, plan, made, port))
        began = time.monotonic()
        with listing(port) as pages:
            listed.append(paced(on, plan, made, port))
        pages_per_s.append(len(pages) / (time.monotonic() - began))
    middle = len(quiet) // 2
    of = [sorted(runs, key=lambda run: run["p99_ms"])[middle] for runs in (quiet, listed)]
    return {"orders": LISTED, "pages_per_s": round(sorted(pages_per_s)[middle], 1), "quiet": of[0], "listed": of[1],
            "above_ms": round(of[1]["p99_ms"] - of[0]["p99_ms"], 2)}


def gateway(on, plan):
    made = on.cluster_at("gateway").start()
    door, port = start(made)
    runs = [closed(on, plan, made, door, port) for _ in range(plan.runs)]
    found = {**parts.median_run(runs), "runs": [run["orders_per_s"] for run in runs], "paced": paced(on, plan, made, port),
             "crowded": paced(on, plan, made, port, IDLE_CONNECTIONS), "crowded_memory_mb": round(counters.rss_mb(door.pid), 1)}
    found["beside_lists"] = beside_lists(on, plan, made, port)
    door.terminate()
    on.leave(made)
    return found
