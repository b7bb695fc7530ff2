"""An order's time at an open load, Makegood's beside the limit's."""

import counters
import parts

SLICES = 3  # odd, for a median


def measure(on, made, rate, seconds):
    """Open load; every order's time from its due time to its `processed`."""
    orders = max(50, int(rate * seconds))
    path = made.scratch / "samples"
    machine, cpu = parts.Machine(), counters.Cpu({**parts.server_pids(on), **parts.makegood_pids(made)})
    result = on.run("load", "--url", made.url, "--orders", orders, "--rate", rate, "--samples", path)
    spent, _ = cpu.spent()
    samples = sorted(int(line) / 1000 for line in path.read_text(encoding="ascii").split())
    return {"rate": round(rate, 1), "samples": len(samples), "cpu_ms": parts.cost(spent, orders),
            "others": round(machine.others(sum(spent.values()) + result["cpu_s"]), 3),
            **{name: round(counters.percentile(samples, share), 2) for name, share in
               (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99), ("p999_ms", 0.999), ("max_ms", 1.0))}}


def measure_limit(on, found, setting, rate, seconds):
    """The limit's time per order at an open load: servers and disk have a share in every latency."""
    made = on.cluster_at("limit")
    made.prepare()
    paced = {name: value for name, value in setting.items() if name != "--in-flight"}
    result = on.run("limit", *parts.limit_words(on, made, found, {**paced, "--rate": rate}), "--orders", int(rate * seconds))
    on.drop(made.place)
    return {"rate": round(rate, 1), **{name: round(result[name], 2) for name in ("p50_ms", "p99_ms")}}


def measure_beside(on, plan, made, rate, sizes, setting):
    """Makegood and the limit by turns, and the median of each: a disk that stalls affects one slice of either, and not the result.
    """
    own, limits = [], []
    for _ in range(SLICES):
        own.append(measure(on, made, rate, plan.latency_s / SLICES))
        if setting:
            limits.append(measure_limit(on, sizes, setting, rate, plan.latency_s / SLICES))
    found = {**own[0], "samples": sum(each["samples"] for each in own), "others": max(each["others"] for each in own),
             **medians(own), "max_ms": max(each["max_ms"] for each in own)}
    return {**found, "limit": {"rate": found["rate"], **medians(limits)}} if limits else found


def medians(slices):
    return {name: sorted(each[name] for each in slices)[len(slices) // 2] for name in slices[0] if name.endswith("_ms")
            and name != "cpu_ms"}
