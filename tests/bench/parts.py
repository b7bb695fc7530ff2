"""The parts of the benchmark: each measures one thing on the stage and returns plain numbers."""

import collections
import json
import math
import threading
import time

import counters
import stage
from local import processes

IN_FLIGHT = 512        # orders a closed client keeps under way: enough that no part of the system ever waits for the client
WARM_ORDERS = 3000     # caches, plans, pools and the JIT of the broker
SAMPLE_PERIOD_S = 0.25

Plan = collections.namedtuple("Plan", "limit_s saturation_s runs latency_s idle_s starts finished open parked owed curve"
                          " large_orders refused large_requests")
FULL = Plan(limit_s=20, saturation_s=20, runs=3, latency_s=60, idle_s=30, starts=10, finished=1_000_000, open=100_000,
            parked=1_000_000, owed=1_000_000, curve=(0.1, 0.25, 0.5, 0.7, 0.85, 0.95), large_orders=10_000, refused=1_000, large_requests=200)
QUICK = Plan(limit_s=6, saturation_s=8, runs=1, latency_s=10, idle_s=5, starts=2, finished=50_000, open=5_000, parked=50_000,
             owed=100_000, curve=(0.5,), large_orders=1_000, refused=300, large_requests=60)

# How the limit may batch; the best of these is the limit.
LIMIT_SETTINGS = (
    {"--in-flight": 512, "--batch": 256, "--sessions": 2, "--connections": 128},
    {"--in-flight": 512, "--batch": 512, "--sessions": 4, "--connections": 128},
    {"--in-flight": 1024, "--batch": 512, "--sessions": 2, "--connections": 128},
)


class Machine:
    """The share of the machine that other programs took; a figure measured beside others does not count."""

    def __init__(self):
        self.begin = self.read()

    @staticmethod
    def read():
        with open("/proc/stat", encoding="ascii") as stat:
            fields = [int(word) for word in stat.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]

    def others(self, ours_s):
        total, idle = (now - begin for now, begin in zip(self.read(), self.begin))
        total_s, busy_s = total * counters.TICK_S, (total - idle) * counters.TICK_S
        return max(0.0, busy_s - ours_s) / total_s if total_s else 0.0


def server_pids(on):
    return {"postgres": [on.postgres.process.pid], "rabbitmq": [on.rabbit.process.pid], "remote": [on.remote.pid]}


def makegood_pids(made):
    return {"scheduler": [each.pid for each in made.schedulers], "agent": [each.pid for each in made.agents],
            "supervisor": [each.pid for each in made.supervisors]}


def cost(spent, orders):
    """Milliseconds of CPU per order, by process and in all."""
    each = {name: round(seconds / orders * 1000, 4) for name, seconds in spent.items()}
    each["all"] = round(sum(spent.values()) / orders * 1000, 4)
    return each


def per_order(values, orders):
    return {name: round(value / orders, 4) for name, value in values.items() if value}


def let_pass(seconds):
    """Idleness takes time: there is no event to wait for."""
    threading.Event().wait(seconds)


# ---- sizes ----

def sizes(on, made):
    """Bytes of each kind of message, from copies of one order's messages."""
    import pika  # only here: the rest runs without it

    parameters = pika.URLParameters(made.url)
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        taps = {}
        for kind, exchange, key in (("submission", "makegood.intake", "orders.intake"),
                                    ("request", "makegood.requests", f"agent.{stage.SERVICE}.requests"),
                                    ("reply", f"makegood.replies.{stage.SERVICE}", "scheduler.replies")):
            taps[kind] = channel.queue_declare("", exclusive=True).method.queue
            channel.queue_bind(taps[kind], exchange, key)
        on.run("load", "--url", made.url, "--orders", 3, "--in-flight", 1)
        bodies = {kind: channel.basic_get(queue, auto_ack=True)[2] for kind, queue in taps.items()}
    found = {kind: len(body) for kind, body in bodies.items()}
    found["call"] = len(json.dumps(json.loads(bodies["request"])["request"]["body"], separators=(",", ":")))
    found["payload"] = len(json.dumps(json.loads(bodies["submission"])["payload"], separators=(",", ":")))
    rows = on.postgres.psql("SELECT max(length(statuses::text)) - 2 FROM order_event WHERE statuses IS NOT NULL", made.place)
    found["status"] = int(rows[0][0])
    return found


# ---- the limit ----

def limit_words(on, made, found, setting):
    words = ["--url", made.url, "--dsn", made.dsn, "--port", on.remote_port]
    for name, size in found.items():
        words += [f"--{name}", size]
    for name, value in setting.items():
        words += [name, value]
    return words


def limit(on, plan, found):
    """The best of some settings, then `runs` runs of it; with its CPU and its effects on the servers' counters."""
    made = on.cluster_at("limit")
    made.prepare()
    tried, best, best_rate = [], LIMIT_SETTINGS[0], 0.0
    settings = LIMIT_SETTINGS if plan.runs > 1 else LIMIT_SETTINGS[1:2]
    on.run("limit", *limit_words(on, made, found, best), "--orders", WARM_ORDERS)
    for setting in settings:
        rate = on.run("limit", *limit_words(on, made, found, setting), "--orders", WARM_ORDERS)["orders_per_s"]
        tried.append({"setting": setting, "orders_per_s": rate})
        if rate > best_rate:
            best, best_rate = setting, rate
    orders = max(WARM_ORDERS, int(best_rate * plan.limit_s))
    runs = []
    for _ in range(plan.runs):
        on.postgres.psql("CHECKPOINT", "postgres")
        machine, cpu = Machine(), counters.Cpu(server_pids(on))
        rows, messages = counters.Postgres(on.postgres, made.place), counters.Rabbit(on.rabbit)
        result = on.run("limit", *limit_words(on, made, found, best), "--orders", orders)
        spent, _ = cpu.spent()
        spent["limit"] = result["cpu_s"]
        runs.append({"orders_per_s": result["orders_per_s"], "cpu_ms": cost(spent, orders),
                     "transitions_per_commit": round(result["transitions"] / result["commits"], 1),
                     "others": round(machine.others(sum(spent.values())), 3),
                     "rows": per_order(rows.spent(), orders), "messages": per_order(messages.spent(), orders)})
    on.drop(made.place)
    middle = median_run(runs)
    return {"orders_per_s": middle["orders_per_s"], "runs": [run["orders_per_s"] for run in runs], "setting": best,
            "tried": tried, "cpu_ms_per_order": middle["cpu_ms"]["all"], "cpu_ms_by_process": middle["cpu_ms"],
            "transitions_per_commit": middle["transitions_per_commit"], "others": middle["others"],
            "counted": {"rows": middle["rows"], "messages": middle["messages"]}}


def median_run(runs):
    return sorted(runs, key=lambda run: run["orders_per_s"])[(len(runs) - 1) // 2]


# ---- saturation ----

class Watch:
    """Peaks of memory and of the calls in flight while something runs."""

    def __init__(self, made):
        self.made, self.rss, self.in_flight = made, collections.Counter(), []
        self.over, self.failure = threading.Event(), None
        self.thread = threading.Thread(target=self.look_on, daemon=True)
        self.thread.start()

    def look_on(self):
        try:
            self.look()
        except Exception as failure:  # pylint: disable=broad-except  # end() reports it
            self.failure = failure

    def look(self):
        while not self.over.wait(SAMPLE_PERIOD_S):
            for process in self.made.all:
                self.rss[process.name] = max(self.rss[process.name], counters.rss_mb(process.pid))
            self.in_flight.append(int(sum(value for agent in self.made.agents for name, value in counters.metrics(agent).items()
                                          if name.startswith("makegood_agent_in_flight"))))

    def end(self):
        self.over.set()
        self.thread.join()
        if self.failure is not None:
            raise self.failure
        return {name: round(value, 1) for name, value in self.rss.items()}


def settle_counts(on, made):
    """Waits until a session of PostgreSQL has flushed its counters. It does so at a commit at least a second after the last flush.
    """
    let_pass(1.1)
    on.run("load", "--url", made.url, "--orders", 2, "--in-flight", 1)


def counted_rows(on, made):
    settle_counts(on, made)
    return counters.Postgres(on.postgres, made.place)


def saturate(on, made, orders, in_flight=IN_FLIGHT, look=False):
    """One closed run with all that it cost."""
    before = {process.name: counters.metrics(process) for process in made.all}
    rows, messages = counted_rows(on, made), counters.Rabbit(on.rabbit)
    machine, cpu = Machine(), counters.Cpu({**server_pids(on), **makegood_pids(made)})
    watch = Watch(made) if look else None
    result = on.run("load", "--url", made.url, "--orders", orders, "--in-flight", in_flight, "--skip", in_flight)
    spent, wall_s = cpu.spent()
    memory = watch.end() if look else {}
    spent["load"] = result["cpu_s"]
    own = {}
    for process in made.all:
        for name, value in counters.metrics(process).items():
            if "_bucket" not in name and value != before[process.name].get(name, 0):
                own[f"{process.name} {name}"] = value - before[process.name].get(name, 0)
    others = round(machine.others(sum(spent.values())), 3)
    through = messages.spent()
    settle_counts(on, made)
    return {"orders_per_s": result["orders_per_s"], "cpu_ms": cost(spent, orders),
            "cores": round(sum(spent.values()) / wall_s, 2), "others": others,
            "memory_mb": memory, "in_flight_median": sorted(watch.in_flight)[len(watch.in_flight) // 2] if look else None,
            "in_flight_max": max(watch.in_flight) if look else None,
            "rows": per_order(rows.spent(), orders), "messages": per_order(through, orders),
            "metrics": per_order(own, orders)}


def warm(on, made, in_flight=IN_FLIGHT):
    """Returns the rate of the last thousands, which sizes the next run."""
    on.run("load", "--url", made.url, "--orders", WARM_ORDERS, "--in-flight", in_flight)
    rate = on.run("load", "--url", made.url, "--orders", WARM_ORDERS, "--in-flight", in_flight)["orders_per_s"]
    on.postgres.psql("CHECKPOINT", "postgres")
    return rate


def throughput(on, plan, made):
    orders = max(WARM_ORDERS, int(warm(on, made) * plan.saturation_s))
    runs = [saturate(on, made, orders, look=True) for _ in range(plan.runs)]
    middle = median_run(runs)
    rates = sorted(run["orders_per_s"] for run in runs)
    return {"orders_per_s": middle["orders_per_s"], "min": rates[0], "max": rates[-1],
            "cpu_ms_per_order": middle["cpu_ms"]["all"], "cpu_ms_by_process": middle["cpu_ms"], "cores": middle["cores"],
            "others": middle["others"], "memory_mb": middle["memory_mb"],
            "counted": {name: middle[name] for name in ("rows", "messages", "metrics")}}


# ---- idle, start ----

def idle(plan, made):
    let_pass(2)
    pids = makegood_pids(made)
    cpu = counters.Cpu(pids)
    begin = {process.name: counters.switches(process.pid) for process in made.all}
    let_pass(plan.idle_s)
    spent, wall_s = cpu.spent()
    return {"cpu_percent": {name: round(100 * seconds / wall_s / len(pids[name]), 3) for name, seconds in spent.items()},
            "wakeups_per_s": {process.name: round((counters.switches(process.pid)[0] - begin[process.name][0]) / wall_s, 1)
                              for process in made.all},
            "memory_mb": {process.name: round(counters.rss_mb(process.pid), 1) for process in made.all},
            "own_memory_mb": {process.name: round(counters.memory_mb(process.pid), 1) for process in made.all}}


def starts(plan, made):
    """Milliseconds from exec to the first /readyz of 200, servers being up."""
    found = {}
    for process in (made.schedulers[0], made.agents[0], made.supervisors[0]):
        taken = []
        for _ in range(plan.starts):
            process.terminate()
            began = time.monotonic()
            process.start()
            process.wait_ready()
            taken.append((time.monotonic() - began) * 1000)
        found[process.name] = {"median_ms": round(sorted(taken)[len(taken) // 2], 1), "max_ms": round(max(taken), 1)}
    return found


# ---- growth ----

FILL = (stage.HERE / "fill.sql").read_text(encoding="utf-8")


def fill(on, made, finished, still_open):
    """Orders as if they had come through the system, of the benchmark's workflow."""
    text = FILL
    for name, value in (("finished", finished), ("open", still_open), ("workflow", "'bench'"), ("repeats", 31)):
        text = text.replace(f":{name}", str(value))
    on.postgres.psql(text, made.place)


def growth(on, plan, empty_rate):
    """Throughput on full tables beside empty ones, in one run: the same orders, before and after filling."""
    made = on.cluster_at("growth").start()
    orders = max(WARM_ORDERS, int((empty_rate or warm(on, made)) * plan.saturation_s))
    warm(on, made)
    empty = saturate(on, made, orders)
    began = time.monotonic()
    fill(on, made, plan.finished, plan.open)
    fill_s = time.monotonic() - began
    on.postgres.psql("VACUUM ANALYZE", made.place)
    on.postgres.psql("CHECKPOINT", "postgres")
    warm(on, made)
    before = counters.metrics(made.supervisors[0])
    full = saturate(on, made, orders)
    after = counters.metrics(made.supervisors[0])
    sweeps = {name: after[name] - before.get(name, 0) for name in after if name.startswith("makegood_sweep_seconds")}
    count = sum(value for name, value in sweeps.items() if name.startswith("makegood_sweep_seconds_count"))
    total = sum(value for name, value in sweeps.items() if name.startswith("makegood_sweep_seconds_sum"))
    size = on.postgres.psql("SELECT relname, pg_total_relation_size(oid) / 1048576 FROM pg_class WHERE relkind = 'r'"
                            " AND relname IN ('orders', 'order_process', 'order_step', 'order_event')", made.place)
    on.leave(made)
    return {"finished": plan.finished, "open": plan.open, "fill_s": round(fill_s, 1),
            "empty_orders_per_s": empty["orders_per_s"], "full_orders_per_s": full["orders_per_s"],
            "ratio": round(full["orders_per_s"] / empty["orders_per_s"], 3),
            "cpu_ms": {"empty": empty["cpu_ms"], "full": full["cpu_ms"]},
            "sweep_mean_ms": round(total / count * 1000, 2) if count else None, "sweeps": count,
            "sweep_max_ms": sweep_bound(after, before), "table_mb": {name: int(mb) for name, mb in size}}


def sweep_bound(after, before):
    """The bucket of the slowest sweep, an upper bound of its duration; None: longer than the last bound."""
    bound = 0.0
    last = 0.0
    for name in sorted((name for name in after if name.startswith("makegood_sweep_seconds_bucket")), key=bucket_of):
        now = after[name] - before.get(name, 0)
        if now > last:
            bound, last = bucket_of(name), now
    return round(bound * 1000, 2) if math.isfinite(bound) else None


def bucket_of(name):
    text = name.split('le="', 1)[1].split('"', 1)[0]
    return math.inf if text == "+Inf" else float(text)


# ---- parked orders ----

PARKED = (stage.HERE / "parked.sql").read_text(encoding="utf-8")
LATE_ORDERS, LATE_PERIOD_S = 30, 0.2
DRAIN_S = 10


def one_step(name, service, **fields):
    return {"workflow": name, "version": 1, "complete_within": "2h", "on_failure": "error", "steps": [
        {"step": "call", "service": service, "complete_within": "60s", "undo": "none", **fields,
         "do": {"method": "POST", "path": "/calls", "body": {"order": "${/order_id}"}}}]}


def load_workflow(made, definition):
    path = made.scratch / f"{definition['workflow']}.json"
    path.write_text(json.dumps(definition), encoding="utf-8")
    made.tool("workflow", "load", path)


def lateness(on, made):
    """How late a deadline of 2 s is judged. The requests of these orders are taken and never answered; the orders come at an even
    pace."""
    import pika  # as in sizes

    prefix = f"late-{time.monotonic_ns()}"
    with pika.BlockingConnection(pika.URLParameters(made.url)) as connection:
        channel = connection.channel()
        channel.basic_consume("agent.silent.requests", lambda *_: None)
        for number in range(LATE_ORDERS):
            body = json.dumps({"order_id": f"{prefix}-{number}", "workflow": "late", "payload": {}})
            channel.basic_publish("makegood.intake", "orders.intake", body, pika.BasicProperties(delivery_mode=2))
            connection.sleep(LATE_PERIOD_S)
        sql = ("SELECT extract(epoch FROM e.at - s.at) * 1000 - 2000 FROM order_event e JOIN order_event s USING (order_id) "
               f"WHERE e.order_id LIKE '{prefix}%' AND e.cause_kind = 'overdue' AND s.cause_kind = 'submitted'")
        deadline = time.monotonic() + 60
        while len(found := on.postgres.psql(sql, made.place)) < LATE_ORDERS and time.monotonic() < deadline:
            connection.sleep(0.5)
    late = sorted(float(row[0]) for row in found)
    if len(late) < LATE_ORDERS:
        raise processes.Failure(f"of {LATE_ORDERS} deadlines {len(late)} were judged within a minute")
    return {"median_ms": round(late[len(late) // 2], 1), "max_ms": round(late[-1], 1), "all_ms": [round(each) for each in late],
            "sweep_longest_ms": round(counters.metrics(made.supervisors[0])["makegood_sweep_longest_seconds"] * 1000, 1)}


def sweeping(on, made, seconds):
    """The share of a core that the supervisor and its sessions take without other work."""
    sql = f"SELECT pid FROM pg_stat_activity WHERE datname = '{made.place}' AND application_name LIKE 'makegood-supervisor%'"
    pids = [int(row[0]) for row in on.postgres.psql(sql, "postgres")]
    cpu = counters.Cpu({"sessions": pids, "supervisor": [made.supervisors[0].pid]})
    let_pass(seconds)
    spent, wall_s = cpu.spent()
    return {name: round(100 * taken / wall_s, 2) for name, taken in spent.items()}


def parked_state(on, plan, made, orders):
    runs = [saturate(on, made, orders) for _ in range(plan.runs)]
    middle = median_run(runs)
    on.postgres.psql("CHECKPOINT", "postgres")
    return {"orders_per_s": middle["orders_per_s"], "runs": [run["orders_per_s"] for run in runs], "cpu_ms": middle["cpu_ms"],
            "others": middle["others"], "late": lateness(on, made), "percent_of_a_core": sweeping(on, made, plan.idle_s)}


def drain(on, made):
    """The gate opens: orders of the parked service that end in a second, while deadlines go on."""
    path = made.scratch / "service-parked.json"
    path.write_text(json.dumps({"service": "parked", "url": on.remote_url}), encoding="utf-8")
    agent = made.make("agent", "agent-parked-1", "--service", path)
    made.agents.append(agent.start().wait_ready())
    made.tool("service", "resume", "parked", "--reason", "the gate opens")
    count = "SELECT count(*) FROM order_process WHERE workflow = 'parked' AND process_state = 'processed'"
    let_pass(1)  # until all agents have received it
    first, began = int(on.postgres.psql(count, made.place)[0][0]), time.monotonic()
    late = lateness(on, made)
    let_pass(max(0.0, DRAIN_S - (time.monotonic() - began)))
    ended = int(on.postgres.psql(count, made.place)[0][0]) - first
    return {"orders_per_s": round(ended / (time.monotonic() - began), 1), "late": late}


def parked(on, plan):
    """A healthy service beside one that is paused, with no order parked and with many."""
    made = on.cluster_at("parked").start()
    made.tool("broker", "apply", "--service", stage.SERVICE, "--service", "parked", "--service", "silent")
    load_workflow(made, one_step("parked", "parked"))
    load_workflow(made, one_step("late", "silent", complete_within="2s", retry={"attempts": 1}))
    made.tool("service", "pause", "parked", "--reason", "the gate is closed")
    orders = max(WARM_ORDERS, int(warm(on, made) * plan.saturation_s))
    found = {"parked": plan.parked, "without": parked_state(on, plan, made, orders)}
    on.postgres.psql(PARKED.replace(":parked", str(plan.parked)), made.place)
    on.postgres.psql("VACUUM ANALYZE", made.place)
    on.postgres.psql("CHECKPOINT", "postgres")
    warm(on, made)
    found["with"] = parked_state(on, plan, made, orders)
    found["ratio"] = round(found["with"]["orders_per_s"] / found["without"]["orders_per_s"], 3)
    found["drain"] = drain(on, made)
    on.leave(made)
    return found


HOUR_S, HOUR_RATE, HOUR_LOOK_S = 3600, 100, 300
SIZES = """SELECT relname, pg_table_size(oid), pg_indexes_size(oid), (SELECT count(*) FROM orders) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"""


def hour(on):
    """Bytes per order of each table and of its indices, every five minutes of an hour's open load."""
    made = on.cluster_at("hour").start()
    failures, looks = [], []

    def post():
        try:
            on.run("load", "--url", made.url, "--orders", HOUR_S * HOUR_RATE, "--rate", HOUR_RATE, "--timeout-s", 2 * HOUR_S)
        except processes.Failure as failure:
            failures.append(failure)

    client = threading.Thread(target=post, daemon=True)
    client.start()
    while client.is_alive():
        client.join(HOUR_LOOK_S)
        looks.append({name: {"table": int(table), "indices": int(indices), "orders": int(orders)}
                      for name, table, indices, orders in on.postgres.psql(SIZES, made.place)})
    on.leave(made)
    if failures:
        raise failures[0]
    settled, last = looks[len(looks) // 4], looks[-1]
    per_order = {name: [round((at[name]["table"] + at[name]["indices"]) / at[name]["orders"], 1) for at in (settled, last)]
                 for name in last}
    return {"rate": HOUR_RATE, "looks": looks, "bytes_per_order": per_order,
            "growth": round(sum(each[1] for each in per_order.values()) / sum(each[0] for each in per_order.values()), 3)}


# ---- scale-out, killed agents, slow remote ----

SHAPES = ((1, 1), (2, 1), (2, 2))  # schedulers, agents


def count_of(what, count):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def scale(on, plan):
    """By turns, there and back, so that effects of time, such as larger tables, weigh on all alike."""
    made = on.cluster_at("scale").start()
    orders = max(WARM_ORDERS, int(warm(on, made) * plan.saturation_s))
    runs = {shape: [] for shape in SHAPES}
    for turn in range(plan.runs):
        for shape in SHAPES if turn % 2 == 0 else reversed(SHAPES):
            made.resize(*shape)
            runs[shape].append(saturate(on, made, orders))
    on.leave(made)
    middle = {shape: median_run(found) for shape, found in runs.items()}
    return {f"{count_of('scheduler', schedulers)}, {count_of('agent', agents)}": {
        **{name: middle[schedulers, agents][name] for name in ("orders_per_s", "cpu_ms", "others")},
        "runs": [run["orders_per_s"] for run in runs[schedulers, agents]]} for schedulers, agents in SHAPES}


KILL_PERIOD_S = 5


def kill(on, plan):
    """Throughput while one of two agents is killed every five seconds and started again at once; and nothing is lost."""
    made = on.cluster_at("kill", agents=2).start()
    orders = max(WARM_ORDERS, int(warm(on, made) * max(plan.saturation_s, 3 * KILL_PERIOD_S)))
    calm = saturate(on, made, orders)
    found, kills = {}, 0
    client = threading.Thread(target=lambda: found.update(saturate(on, made, orders)), daemon=True)
    client.start()
    while client.is_alive():
        client.join(KILL_PERIOD_S)
        if client.is_alive():
            agent = made.agents[kills % 2]
            agent.kill()
            agent.start()  # from this thread: the end of the thread that starts a process would end the process
            agent.wait_ready()
            kills += 1
    open_orders = int(on.postgres.psql("SELECT count(*) FROM order_process WHERE process_state <> 'processed'", made.place)[0][0])
    on.leave(made)
    if "orders_per_s" not in found:
        raise processes.Failure("with agents killed, not all orders ended")
    return {"kills": kills, "calm_orders_per_s": calm["orders_per_s"], "orders_per_s": found["orders_per_s"],
            "ratio": round(found["orders_per_s"] / calm["orders_per_s"], 3), "not_processed": open_orders,
            "others": calm["others"]}  # the CPU of killed agents is lost to the count


# Milliseconds a call takes, and calls that one agent may have in flight. 2,000 in flight at 200 ms are 3,333 orders/s, more than
# two cores carry: there the machine is the bound. At 1 s they are 667, and Little's law is the bound.
SLOW = ((200, 200), (200, 2000), (1000, 2000))
SLOW_SURPLUS = 1.5     # orders under way for each slot: all slots taken, and some orders on their way between two calls


def slow(on, plan, saturated):
    """A slow remote: the rate beside that of Little's law and the machine's limit, and the calls in flight."""
    if not saturated:
        made = on.cluster_at("quick").start()
        saturated = warm(on, made)
        on.leave(made)
    found = {"saturated_orders_per_s": saturated, "runs": []}
    for delay_ms, calls in SLOW:
        on.start_remote(delay_ms)
        made = on.cluster_at("slow", concurrency=calls).start()
        by_little = calls / (delay_ms / 1000) / 3
        meant = min(by_little, saturated)
        in_flight = int(SLOW_SURPLUS * calls)
        orders = max(WARM_ORDERS, int(meant * plan.saturation_s))
        result = saturate(on, made, orders + 2 * in_flight, in_flight, look=True)
        found["runs"].append({"delay_ms": delay_ms, "calls": calls, "by_little": round(by_little, 1), "ratio":
                              round(result["orders_per_s"] / meant, 3),
                              **{name: result[name] for name in ("orders_per_s", "in_flight_median", "in_flight_max", "cpu_ms",
                                                                 "cores", "others", "memory_mb")}})
        on.leave(made)
    on.start_remote()
    return found


# ---- owed statuses ----

OWED = (stage.HERE / "owed.sql").read_text(encoding="utf-8")
CLIENTS, QUEUES = 200, 5000


def sweep_cost(on, made, seconds):
    """The time of PostgreSQL and the supervisor for one sweep with all its questions, in ms of a core."""
    before = counters.metrics(made.supervisors[0])["makegood_sweeps_total"]
    percent = sweeping(on, made, seconds)
    sweeps = counters.metrics(made.supervisors[0])["makegood_sweeps_total"] - before
    return {name: round(share / 100 * seconds * 1000 / sweeps, 2) for name, share in percent.items()}


def owed(on, plan):
    """A sweep's cost with nothing owed, with many statuses owed to queues that are gone, and with all those queues due."""
    made = on.cluster_at("owed").start()
    warm(on, made)
    found = {"owed": plan.owed, "without": sweep_cost(on, made, plan.idle_s)}
    sql = OWED
    for name, value in (("owed", plan.owed), ("queues", QUEUES), ("clients", CLIENTS)):
        sql = sql.replace(f":{name}", str(value))
    on.postgres.psql(sql, made.place)
    on.postgres.psql("VACUUM ANALYZE", made.place)
    on.postgres.psql("CHECKPOINT", "postgres")
    found["with"] = sweep_cost(on, made, plan.idle_s)
    on.postgres.psql("UPDATE reply_queue SET ask_at = now()", made.place)
    found["all_due"] = sweep_cost(on, made, plan.idle_s)
    on.leave(made)
    return found
