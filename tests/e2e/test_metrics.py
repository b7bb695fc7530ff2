"""The metrics of the three services: they follow Prometheus' conventions, and their numbers are true."""

import re
import subprocess

from harness import PAIRS, scenario

# The metrics that dashboards and alerts of each kind of process use: one that is renamed breaks them.
OF_ALL = ("makegood_build_info", "makegood_broker_up", "makegood_deliveries_total", "makegood_redeliveries_total",
          "makegood_publish_confirm_seconds", "makegood_loop_lag_seconds", "process_cpu_seconds_total", "process_open_fds",
          "process_max_fds", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_start_time_seconds")
OF = {
    "scheduler": ("makegood_orders_total", "makegood_submissions_total", "makegood_statuses_sent_total", "makegood_attempts_total",
                  "makegood_outcomes_total", "makegood_expirations_total", "makegood_step_seconds", "makegood_batch_causes",
                  "makegood_commit_seconds", "makegood_duplicates_total", "makegood_stale_total", "makegood_queue_messages",
                  "makegood_queue_oldest_age_seconds", "makegood_store_sessions"),
    "supervisor": ("makegood_supervisor_leading", "makegood_supervisor_epoch", "makegood_sweep_seconds", "makegood_sweep_lag_seconds",
                   "makegood_invariant_violations", "makegood_invariant_violations_found_total", "makegood_alerts",
                   "makegood_statuses_owed", "makegood_order_oldest_age_seconds"),
    "agent": ("makegood_agent_in_flight", "makegood_agent_concurrency", "makegood_agent_breaker_state", "makegood_agent_call_seconds"),
}


@scenario(**PAIRS)
def scraped_metrics_keep_to_prometheus_conventions_and_are_true(s):
    """Would catch: a metric against Prometheus' conventions, one that is gone, or a number that differs from the orders'."""
    processed = [s.client.submit(payload={"n": n}) for n in range(3)]
    turned_back = s.client.submit(payload={"behaviour": {"carrier": "decline"}})
    for order in processed:
        s.client.wait_status(order, "processed")
    s.client.wait_status(turned_back, "compensated")
    s.client.publish(b"{", message_id="no-order", reply_to=s.client.queue)
    s.client.wait_message(lambda body, _: body["status"] == "rejected", "the refusal")

    leader = s.wait(lambda: next((one for one in s.cluster.supervisors if one.series("makegood_statuses_owed") is not None), None),
                    "a supervisor has counted what is open")
    # A scheduler has series of a workflow and its services from its first order of it on.
    scheduler = next(one for one in s.cluster.schedulers if one.series("makegood_orders_total") is not None)
    for kind, process in {"scheduler": scheduler, "supervisor": leader, "agent": s.cluster.agents[0]}.items():
        text = process.page()
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30, check=False)
        said = done.stdout + done.stderr
        assert done.returncode == 0 and not said.strip(), f"promtool check metrics of the {kind}: {said}"
        types = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
        assert not set(OF_ALL + OF[kind]) - types, f"the {kind} does not tell {set(OF_ALL + OF[kind]) - types}"
        assert process.series("process_resident_memory_bytes") > 1e6 and process.series("process_open_fds") > 3
        assert process.series("process_cpu_seconds_total") > 0

    def total(name, **labels):
        return sum(one.series(name, **labels) or 0 for one in s.cluster.schedulers)

    assert total("makegood_submissions_total", outcome="accepted") == 4
    assert total("makegood_submissions_total", outcome="rejected") == 1
    assert total("makegood_orders_total", workflow="three", state="processed") == 3
    assert total("makegood_orders_total", workflow="three", state="compensating") == 1
    assert total("makegood_orders_total", workflow="three", state="compensated") == 1
    assert total("makegood_attempts_total", service="carrier", kind="do") >= 4
    assert total("makegood_attempts_total", service="payment", kind="undo") == 1
    assert total("makegood_outcomes_total", service="carrier", outcome="done") == 3
    assert total("makegood_outcomes_total", service="carrier", outcome="permanent") == 1
    assert total("makegood_step_seconds_count", service="inventory") == 5  # four reservations, one undone
    s.wait(lambda: total("makegood_statuses_sent_total", status="processed") == 3, "the statuses are counted")
    assert total("makegood_commit_seconds_count") > 0 and total("makegood_batch_causes_sum") >= 4 * 4
    assert leader.series("makegood_supervisor_epoch") == s.rows("SELECT epoch FROM supervisor_leader")[0]["epoch"]
    assert leader.series("makegood_invariant_violations") == 0


@scenario(**PAIRS, long="graces, elections and patience pass in real time")
def contents_of_database_and_queues_are_reported_by_the_leader(s):
    """Would catch: an order, an alert or a message that waits without a figure that shows it."""
    s.expects_open_orders = True
    s.remote("carrier").switch("decline")
    s.remote("payment").switch("undo-refuse", on="undo")
    stuck = s.client.submit()
    s.wait_state(stuck, "error")
    for agent in s.cluster.agents_of("payment"):
        agent.ask_to_end()
        agent.wait_end()
    waiting = s.client.submit()
    s.wait_step(waiting, "charge", "waiting")

    def leader_says(name, **labels):
        for one in s.cluster.supervisors:
            value = one.series(name, **labels)
            if value is not None:
                return value
        return 0

    s.wait(lambda: leader_says("makegood_orders", workflow="three", state="processing") == 1, "the open order is counted")
    s.wait(lambda: leader_says("makegood_alerts", alert="undo_failed") == 1, "the open alert is counted")
    assert leader_says("makegood_order_oldest_age_seconds", state="processing") > 0
    s.client.publish(b"not a reply", routing_key="dead.letters")
    s.wait(lambda: leader_says("makegood_queue_messages", queue="dead.letters") >= 1, "the dead letter is seen")
    s.wait(lambda: leader_says("makegood_queue_oldest_age_seconds", queue="dead.letters") > 0, "its age is told")
