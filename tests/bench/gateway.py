"""Orders over HTTP, through one gateway beside everything else on this machine."""

import hashlib
import time

import counters
import parts
import stage
from local import processes

CLIENT, TOKEN = "bench", "the token of the benchmark"
CONNECTIONS = 64       # keep-alive connections of a closed client
RATE = 50              # POSTs a second of an open one
IDLE_CONNECTIONS = 5000
ENDED = "SELECT count(*) FROM order_process WHERE process_state = 'processed'"


def start(made):
    """A gateway on the cluster, for one client without a rate of its own."""
    made.tool("broker", "apply", "--service", stage.SERVICE, "--client", CLIENT)
    tokens = made.scratch / "tokens"
    tokens.write_text(f"submit,read,cancel {CLIENT} {hashlib.sha256(TOKEN.encode()).hexdigest()}\n", encoding="ascii")
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


def gateway(on, plan):
    made = on.cluster_at("gateway").start()
    door, port = start(made)
    runs = [closed(on, plan, made, door, port) for _ in range(plan.runs)]
    found = {**parts.median_run(runs), "runs": [run["orders_per_s"] for run in runs], "paced": paced(on, plan, made, port),
             "crowded": paced(on, plan, made, port, IDLE_CONNECTIONS), "crowded_memory_mb": round(counters.rss_mb(door.pid), 1)}
    door.terminate()
    on.leave(made)
    return found
