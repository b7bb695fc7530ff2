"""Sweeps that take longer than a gap: deadlines are still judged, and an alert is raised."""

import slow_sweeps
from harness import PAIRS, scenario, step

LAG_S = 3.5       # longer than --gap, which is 3 s
LATE_S = 30.0     # the sweep that has begun, or the next one, finds the deadline: 7 s; and the machine may be busy


@scenario(**PAIRS, long="graces, elections and patience pass in real time")
def a_slow_sweep_judges_deadlines_and_is_alerted(s):
    """Would catch: a sweep that counts its own duration as a gap, so that the grace of deadlines never ends."""
    database = s.rows("SELECT current_database() AS name")[0]["name"]
    s.load_workflow("short", [step("reserve", "inventory", complete_within="2s", retry={"attempts": 2, "backoff": "50ms"})])
    slow_sweeps.begin(s.servers.postgres, database, LAG_S)
    s.wait(lambda: s.alerts("slow_sweep"), "the alert is open", 30)
    for agent in s.cluster.agents_of("inventory"):
        agent.pause()
    order = s.client.submit("short")
    # Not that the next attempt begins: agents that stay frozen for 15 s count as away, and then the step waits for them.
    s.wait(lambda: s.rows("SELECT FROM order_event WHERE order_id = %s AND cause_kind = 'overdue'", order.order_id),
           "the deadline is judged", 2.0 + LATE_S)
    slow_sweeps.end(s.servers.postgres, database)
    for agent in s.cluster.agents_of("inventory"):
        agent.resume()
    s.wait_state(order, "processed")
    s.wait(lambda: s.alerts("slow_sweep")[0]["closed_at"], "the alert is closed", 40)
