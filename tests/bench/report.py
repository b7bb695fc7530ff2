"""The table of measured figures beside their targets, the two lists of an order's costs, and the pictures."""

TARGET_RATE = 1700        # more than the fastest of the systems compared, on the machine they were measured on
TARGET_HTTP_RATE = 1500   # orders through one gateway, on the machine that carries everything else, too
NOISE = 0.05              # others took more of the machine than this: the figure is marked


def spread(run):
    """The least and the most of several runs, if there were several."""
    least, most = (f"{run[end]:.0f}" for end in ("min", "max"))
    return f" ({least} to {most})" if least != most else ""


def rows(found):
    """(figure, target, measured text, ok: True, False or None) of each measurement."""
    table = []

    def add(figure, target, text, ok):
        table.append((figure, target, text, ok))

    limit, run = found.get("limit"), found.get("throughput")
    if limit:
        add("limit of broker and database", "", f"{limit['orders_per_s']:.0f}/s, {limit['cpu_ms_per_order']:.2f} ms CPU an order",
            None)
    if run:
        add("sustained throughput", f"above {TARGET_RATE}/s", f"{run['orders_per_s']:.0f}/s{spread(run)}",
            run["orders_per_s"] > TARGET_RATE)
        if limit:
            add("  ratio to the limit", "at least 0.80", f"{run['ratio_to_limit']:.2f}", run["ratio_to_limit"] >= 0.8)
        add("CPU of all processes per order", "at most 1.0 ms", f"{run['cpu_ms_per_order']:.2f} ms",
            run["cpu_ms_per_order"] <= 1.0)
        worst = max(run["memory_mb"].items(), key=lambda item: item[1])
        add("memory at saturation", "at most 64 MB", f"{worst[1]:.0f} MB ({worst[0]})", worst[1] <= 64)
    for name, what, targets in (("latency_50", "50/s", {"p50_ms": 14, "p99_ms": 30}),
                                ("latency_half", "half the throughput ({rate:.0f}/s)", {"p99_ms": 100})):
        for share, target in targets.items() if name in found else ():
            at = found[name]
            limits = f" (the limit's: {at['limit'][share]:.1f} ms)" if "limit" in at else ""
            add(f"latency at {what.format(rate=at['rate'])}, {share[:3]}", f"at most {target} ms", f"{at[share]:.1f} ms{limits}",
                at[share] <= target)
        at = found.get(name, {})
        for share, most in (("p50_ms", 1.3), ("p99_ms", 1.5)) if "limit" in at else ():
            ratio = at[share] / at["limit"][share]
            add(f"  {share[:3]} to the limit's", f"at most {most}", f"{ratio:.2f}", ratio <= most)
    rest = found.get("idle")
    if rest:
        worst = max(rest["memory_mb"].items(), key=lambda item: item[1])
        add("memory idle", "at most 20 MB", f"{worst[1]:.0f} MB ({worst[0]})", worst[1] <= 20)
        worst = max(rest["cpu_percent"].items(), key=lambda item: item[1])
        add("idle CPU of a process", "at most 0.2 % of a core", f"{worst[1]:.2f} % ({worst[0]})", worst[1] <= 0.2)
    if found.get("start"):
        worst = max(found["start"].items(), key=lambda item: item[1]["median_ms"])
        add("start to ready", "at most 200 ms", f"{worst[1]['median_ms']:.0f} ms ({worst[0]}; max {worst[1]['max_ms']:.0f})",
            worst[1]["median_ms"] <= 200)
    grown = found.get("growth")
    if grown:
        what = f"with {grown['finished']} finished, {grown['open']} open"
        add(f"throughput {what}", "at least 0.9 of empty", f"{grown['ratio']:.2f}", grown["ratio"] >= 0.9)
        if not grown["sweeps"]:
            add("  a sweep", "under 50 ms", "there was none", False)
        else:
            most = grown["sweep_max_ms"]  # None: above the highest bound that is counted
            most_text = "some above all bounds" if most is None else f"none above {most:.0f} ms"
            add("  a sweep", "under 50 ms", f"mean {grown['sweep_mean_ms']:.1f} ms, {most_text}", most is not None and most <= 50)
    held = found.get("parked")
    if held:
        late, taken = held["with"]["late"], held["with"]["percent_of_a_core"]["sessions"]
        add(f"throughput beside {held['parked']} parked orders", "at least 0.95 of without", f"{held['ratio']:.2f}",
            held["ratio"] >= 0.95)
        add("  a deadline of 2 s is judged", "under 0.5 s late",
            f"{late['median_ms']:.0f} ms, at most {late['max_ms']:.0f} (without: {held['without']['late']['max_ms']:.0f})",
            late["max_ms"] < 500)
        add("  PostgreSQL for the supervisor", "under 5 % of a core",
            f"{taken:.1f} % (without: {held['without']['percent_of_a_core']['sessions']:.1f})", taken < 5)
        add("  when the gate opens", "", f"{held['drain']['orders_per_s']:.0f}/s, deadlines at most "
            f"{held['drain']['late']['max_ms']:.0f} ms late", None)
    bursts = found.get("memory")
    if bursts:
        peaks = ", ".join(f"{name} {mb}" for name, mb in sorted(bursts["peak_mb"].items()))
        how = "limit enforced" if bursts["is_enforced"] else "limit not enforced here"
        add(f"largest memory (MiB) of a process: {bursts['orders']} orders of 250 KB, {bursts['refused']} submissions of 1 MiB, "
            f"{bursts['requests']} requests of 4 MB", "200 of 256", f"{peaks}; {how}", max(bursts["peak_mb"].values()) <= 200)
    waits = found.get("approvals")
    if waits:
        add_approvals(add, waits)
    debts = found.get("owed")
    if debts:
        cost = {name: debts[name]["sessions"] for name in ("without", "with", "all_due")}
        add(f"PostgreSQL for a sweep, with {debts['owed']} events owed to queues that are gone", "under 5 ms",
            f"{cost['with']:.1f} ms (without: {cost['without']:.1f}; all queues due at once: {cost['all_due']:.1f})", cost["with"] < 5)
    hour = found.get("hour")
    if hour:
        sizes = ", ".join(f"{name} {last:.0f}" for name, (_, last) in hour["bytes_per_order"].items() if last >= 1)
        add(f"bytes an order in the tables, after an hour of {hour['rate']}/s", "as after a quarter of it",
            f"{hour['growth']:.2f} times; {sizes}", hour["growth"] <= 1.05)
    wide = found.get("scale")
    if wide:
        rates = {name: run["orders_per_s"] for name, run in wide.items()}
        first = next(iter(rates.values()))
        add("a second process", "never lowers throughput", ", ".join(f"{name}: {rate:.0f}/s" for name, rate in rates.items()),
            min(rates.values()) >= 0.97 * first)
    killed = found.get("kill")
    if killed:
        add("throughput with an agent killed every 5 s", "at least 0.8 of that without",
            f"{killed['ratio']:.2f}, {killed['kills']} kills, {killed['not_processed']} orders not processed",
            killed["ratio"] >= 0.8 and killed["not_processed"] == 0)
    late = found.get("slow")
    if late:
        for one in late["runs"]:
            carried = "" if one["by_little"] < late["saturated_orders_per_s"] else f" (the machine: {late['saturated_orders_per_s']:.0f})"
            add(f"remote of {one['delay_ms']} ms, {one['calls']} calls at once", f"Little's law: {one['by_little']:.0f}/s{carried}",
                f"{one['orders_per_s']:.0f}/s, {one['in_flight_median']} in flight, at most {one['in_flight_max']}",
                one["ratio"] >= 0.9)
    door = found.get("gateway")
    if door:
        at, crowded = door["paced"], door["crowded"]
        add("orders over HTTP through one gateway", f"at least {TARGET_HTTP_RATE}/s",
            f"{door['orders_per_s']:.0f}/s to their ends; {door['posts_per_s']:.0f} POSTs/s; the gateway "
            f"{door['cpu_ms']['gateway']:.2f} ms CPU each, {door['memory_mb']:.0f} MB", door["orders_per_s"] >= TARGET_HTTP_RATE)
        add(f"  a POST at {at['rate']}/s, p99", "under 20 ms", f"{at['p99_ms']:.1f} ms (p50 {at['p50_ms']:.1f})", at["p99_ms"] < 20)
        add(f"  the same beside {crowded['idle']} idle connections", "under 20 ms",
            f"{crowded['p99_ms']:.1f} ms; {crowded['idle_closed']} of them closed; {door['crowded_memory_mb']:.0f} MB",
            crowded["p99_ms"] < 20)
        beside = door["beside_lists"]
        add(f"  the same while another client lists {beside['orders']} orders", "under 50 ms above alone",
            f"p99 {beside['listed']['p99_ms']:.1f} ms, alone {beside['quiet']['p99_ms']:.1f}; {beside['pages_per_s']:.0f} pages/s",
            beside["above_ms"] < 50)
    return table


def noise(found):
    """Parts during which others took more of the machine than a figure allows."""
    noisy = []

    def walk(name, value):
        if isinstance(value, dict):
            if value.get("others", 0) > NOISE:
                noisy.append(f"{name} ({value['others']:.0%})")
            for key, inner in value.items():
                walk(f"{name} {key}".strip(), inner)
        elif isinstance(value, list):
            for number, inner in enumerate(value, 1):
                walk(f"{name} {number}", inner)

    walk("", found)
    return noisy


LOOK_MAX_S = 2.0  # of a look at a list


def add_approvals(add, waits):
    """Rows of a million orders that wait for a signal."""
    rest, late = waits["rest"], waits["late"]
    add(f"throughput beside {waits['waiting']} orders that wait for a signal", "at least 0.95 of without",
        f"{waits['ratio']:.2f}, of {len(waits['pairs'])} pairs", waits["ratio"] >= 0.95)
    add("  a sweep, mean", "under 5 ms", f"{rest['with']['sweep_mean_ms']:.1f} ms (without: {rest['without']['sweep_mean_ms']:.1f})",
        rest["with"]["sweep_mean_ms"] < 5)
    add("  a deadline of 2 s is judged", "under 0.5 s late", f"{late['with']['median_ms']:.0f} ms, at most {late['with']['max_ms']:.0f} "
        f"(without: {late['without']['max_ms']:.0f})", late["with"]["max_ms"] < 500)
    add("  PostgreSQL for the supervisor", "under 5 % of a core",
        f"{rest['with']['percent_of_a_core']['sessions']:.1f} % (without: {rest['without']['percent_of_a_core']['sessions']:.1f})",
        rest["with"]["percent_of_a_core"]["sessions"] < 5)
    add("  a signal by key, to its answer", "", f"{waits['signals']['median_ms']:.0f} ms, at most {waits['signals']['max_ms']:.0f}", None)
    name, slowest = max(waits["looks"].items(), key=lambda item: item[1]["median_s"])
    add("  the slowest look of a person", f"under {LOOK_MAX_S:g} s", f"{slowest['median_s']:.2f} s: {name}", slowest["median_s"] < LOOK_MAX_S)


def table(found):
    lines = rows(found)
    widths = [max(len(line[i]) for line in lines + [("figure", "target", "measured", None)]) for i in range(3)]
    text = [f"{'figure':<{widths[0]}}  {'target':<{widths[1]}}  {'measured':<{widths[2]}}"]
    marks = {True: "", False: "  <-- missed", None: ""}
    text += [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:<{widths[2]}}{marks[ok]}".rstrip() for a, b, c, ok in lines]
    return "\n".join(text)


# ---- the cost of an order ----

MESSAGES = (("messages_received_total", "messages published"), ("messages_received_confirm_total", "  with a confirm"),
            ("messages_delivered_total", "messages delivered"), ("messages_acknowledged_total", "messages acked"),
            ("messages_redelivered_total", "messages redelivered"))
ROWS = ("orders inserted", "order_process inserted", "order_process updated", "order_process hot", "order_step inserted",
        "order_step updated", "order_step hot", "order_event inserted", "order_event updated", "rows fetched", "commits",
        "wal records", "wal full pages", "wal bytes", "wal syncs", "blocks hit", "blocks read")


def lists(found):
    """The cost of an order: Makegood's and the limit's, from the same counters."""
    limit = found.get("limit", {}).get("counted", {})
    run = found.get("throughput", {}).get("counted", {})
    if not limit and not run:
        return ""
    text = [f"{'an order costs':<34}{'Makegood':>12}{'limit':>12}"]

    def line(name, kind, key):
        mine, bare = run.get(kind, {}).get(key, 0), limit.get(kind, {}).get(key, 0)
        if mine or bare:
            text.append(f"{name:<34}{mine:>12.3f}{bare:>12.3f}")

    for key, name in MESSAGES:
        line(name, "messages", key)
    for key in ROWS:
        line(key, "rows", key)
    for name, part in (("throughput", "Makegood"), ("limit", "limit")):
        if name in found:
            spent = found[name]["cpu_ms_by_process"]
            text.append(f"CPU in ms, {part}: " + ", ".join(f"{key} {value:.3f}" for key, value in spent.items()))
    if found.get("sizes"):
        text.append("bytes of a message: " + ", ".join(f"{kind} {size}" for kind, size in found["sizes"].items()))
    for name, value in sorted(run.get("metrics", {}).items()):
        if any(word in name for word in ("_batch_", "_causes_total", "store_calls", "published_total", "agent_calls")):
            text.append(f"  {name:<88}{value:>10.4f}")
    return "\n".join(text)


# ---- pictures ----

def pictures(found, folder):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    curve = found.get("latency_curve")
    if curve:
        figure, axes = pyplot.subplots(figsize=(7, 4))
        for name in ("p50_ms", "p99_ms", "p999_ms"):
            axes.plot([point["rate"] for point in curve], [point[name] for point in curve], marker="o", label=name[:-3])
        axes.set(xlabel="orders/s offered (open load)", ylabel="submit to processed, ms", yscale="log",
                 title="latency against load")
        axes.legend()
        figure.savefig(folder / "latency.png", dpi=120, bbox_inches="tight")
    if found.get("scale"):
        figure, axes = pyplot.subplots(figsize=(7, 4))
        axes.bar(list(found["scale"]), [run["orders_per_s"] for run in found["scale"].values()])
        if found.get("limit"):
            axes.axhline(found["limit"]["orders_per_s"], linestyle="--", color="black", label="limit")
            axes.legend()
        axes.set(ylabel="orders/s", title="throughput against processes")
        figure.savefig(folder / "scale.png", dpi=120, bbox_inches="tight")
    bars = {name: found[key]["cpu_ms_by_process"] for key, name in (("limit", "limit"), ("throughput", "Makegood")) if key in found}
    if bars:
        figure, axes = pyplot.subplots(figsize=(7, 4))
        bottoms = dict.fromkeys(bars, 0.0)
        parts = [part for part in ("postgres", "rabbitmq", "remote", "load", "limit", "agent", "scheduler", "supervisor")
                 if any(part in spent for spent in bars.values())]
        for part in parts:
            values = [spent.get(part, 0) for spent in bars.values()]
            axes.bar(list(bars), values, bottom=list(bottoms.values()), label=part)
            bottoms = {name: bottoms[name] + value for name, value in zip(bottoms, values)}
        axes.set(ylabel="ms of CPU an order", title="CPU by process")
        axes.legend()
        figure.savefig(folder / "cpu.png", dpi=120, bbox_inches="tight")
