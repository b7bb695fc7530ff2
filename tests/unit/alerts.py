#!/usr/bin/python3
"""alerts.py SOURCE-FOLDER: each rule of Prometheus fires in its case, and is silent in a healthy system.

The series of a healthy system are written down once. Each rule has a case: the series that differ. In this case the rule
fires alone, with its text for people. Would catch: a rule that never fires (a label that does not match) or always does; a
text that cannot be expanded; a rule without a test or without a place in the runbook. promtool (Debian's package prometheus)
evaluates the rules. tests/observability/run shows that real processes produce these series; here only its list of rules is
checked for gaps.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import yaml

SOURCE = pathlib.Path(sys.argv[1])
RULES = SOURCE / "deploy" / "observability" / "alerts.yml"
RUNBOOK = "deploy/docs/alerts.md"
STEP_S, SAMPLES = 15, 120  # half an hour
RULES_EACH_S = 30          # as often as the shortest time that a rule waits: promtool's work is proportional to it
EVALUATED_AT = "29m"

SCHEDULER = 'job="makegood",part="scheduler",instance="10.0.0.1:9100"'
LEADER = 'job="makegood",part="supervisor",instance="10.0.0.2:9100"'
STANDBY = 'job="makegood",part="supervisor",instance="10.0.0.3:9100"'
AGENT = 'job="makegood",part="agent-payment",instance="10.0.0.4:9100"'
GATEWAY = 'job="makegood",part="gateway",instance="10.0.0.5:9280"'
PROCESSES = (SCHEDULER, LEADER, STANDBY, AGENT)
WHERE = {"job": "makegood", "part": "scheduler", "instance": "10.0.0.1:9100"}


def always(value):
    return f"{value}x{SAMPLES}"


def lately(value):
    """For five minutes: too short for the rule about alerts of any kind that stay open."""
    return f"0x{SAMPLES - 20} {value}x20"


def rising(by):
    return f"0+{by}x{SAMPLES}"


def born(value):
    """A series that begins five minutes before the end."""
    return f"_x100 {value}x{SAMPLES - 100}"


def each(name, value):
    return {f"{name}{{{labels}}}": value for labels in PROCESSES}


def histogram(name, labels, below):
    """A rising histogram whose observations lie below `below`, or above all bounds."""
    bounds = ("0.01", "1", "2.5", "+Inf")
    rise = bounds.index(below)
    return {f'{name}_bucket{{{labels},le="{bound}"}}': rising(9 if i >= rise else 0) for i, bound in enumerate(bounds)}


WELL = {
    f'makegood_agents_file_refused{{{AGENT},service="parcels"}}': always(0),
    **each("up", always(1)),
    **each("makegood_broker_up", always(1)),
    **each("process_open_fds", always(40)),
    **each("process_max_fds", always(1024)),
    **each("makegood_metrics_overflow_total", always(0)),
    f"makegood_store_sessions{{{SCHEDULER}}}": always(1),
    f"makegood_store_sessions{{{LEADER}}}": always(1),
    f"makegood_standstill_seconds{{{SCHEDULER}}}": always(0),
    f"makegood_supervisor_leading{{{LEADER}}}": always(1),
    f"makegood_supervisor_leading{{{STANDBY}}}": always(0),
    f"makegood_sweep_lag_seconds{{{LEADER}}}": always(0.4),
    f"makegood_sweep_longest_seconds{{{LEADER}}}": always(0.05),
    f"makegood_invariant_violations{{{LEADER}}}": always(0),
    f"makegood_overdue_held_back{{{LEADER}}}": always(0),
    f'makegood_alerts{{{LEADER},alert="order_error"}}': always(0),
    f'makegood_alerts{{{LEADER},alert="bulk_stopped"}}': always(0),
    f'makegood_alerts{{{LEADER},alert="retention_stands"}}': always(0),
    f'makegood_alerts{{{LEADER},alert="schedule_missed"}}': always(0),
    f'makegood_alerts{{{LEADER},alert="line_held"}}': always(0),
    f'makegood_alerts{{{LEADER},alert="signal_unmatched"}}': always(0),
    f"makegood_schedule_lag_seconds{{{LEADER}}}": always(2),
    f'makegood_alerts{{{LEADER},alert="statuses_given_up"}}': always(0),
    f"makegood_statuses_owed{{{LEADER}}}": always(0),
    f"makegood_status_owed_oldest_age_seconds{{{LEADER}}}": always(0),
    f'makegood_orders_total{{{SCHEDULER},workflow="w",state="error"}}': always(3),  # of yesterday
    f"makegood_scheduler_orders_aside{{{SCHEDULER}}}": always(0),
    f"makegood_poisoned_total{{{SCHEDULER}}}": always(0),
    f"makegood_impossible_total{{{SCHEDULER}}}": always(0),
    f'makegood_attempts_total{{{SCHEDULER},service="payment",kind="do"}}': rising(100),
    f'makegood_expirations_total{{{SCHEDULER},service="payment"}}': rising(1),
    f'makegood_agent_breaker_state{{{AGENT},service="payment"}}': always(0),
    f'makegood_agent_mute{{{AGENT},service="payment"}}': always(0),
    f'makegood_clock_skew_seconds{{{AGENT}}}': always(-0.02),
    f'makegood_queue_messages{{{LEADER},queue="dead.letters"}}': always(0),
    f'makegood_queue_messages{{{LEADER},queue="orders.intake"}}': always(50),
    f'makegood_queue_oldest_age_seconds{{{LEADER},queue="orders.intake"}}': always(900),  # the bound of a process that does not consume it
    f'makegood_queue_oldest_age_seconds{{{SCHEDULER},queue="orders.intake"}}': always(1.5),
    f'makegood_queue_messages{{{SCHEDULER},queue="agent.payment.requests"}}': always(20),
    f'makegood_queue_consumers{{{SCHEDULER},queue="agent.payment.requests"}}': always(2),
    f'makegood_queue_oldest_age_seconds{{{SCHEDULER},queue="agent.payment.requests"}}': always(2),
    f'makegood_webhook_queue_up{{{GATEWAY},client="shop"}}': always(1),
    f'makegood_webhook_failing_seconds{{{GATEWAY},client="shop"}}': always(0),
    f'makegood_webhook_oldest_age_seconds{{{GATEWAY},client="shop"}}': always(0.4),
    f'makegood_webhook_failing_seconds{{{GATEWAY},client="other"}}': lately(200),
    "rabbitmq_alarms_memory_used_watermark": always(0),
    "rabbitmq_alarms_free_disk_space_watermark": always(0),
    **histogram("makegood_store_call_seconds", SCHEDULER, "0.01"),
    **histogram("makegood_publish_confirm_seconds", SCHEDULER, "0.01"),
    **histogram("makegood_loop_lag_seconds", SCHEDULER, "0.01"),
}

# rule: the series that differ (None: the series is gone), the labels of the alert, its summary.
CASES = {
    "MakegoodPartDown": ({f"up{{{AGENT}}}": always(0)}, {"job": "makegood", "part": "agent-payment", "instance": "10.0.0.4:9100"},
                         "agent-payment at 10.0.0.4:9100 does not answer"),
    "MakegoodServiceFileRefused": ({f'makegood_agents_file_refused{{{AGENT},service="parcels"}}': always(1)}, {"service": "parcels"},
                                   "the service file of parcels is not used"),
    "MakegoodNoScheduler": ({f"up{{{SCHEDULER}}}": None}, {}, "no scheduler runs"),
    "MakegoodWebhookUnread": ({f'makegood_webhook_queue_up{{{GATEWAY},client="shop"}}': always(0)}, {"client": "shop"},
                              "no gateway reads the webhook queue of shop"),
    "MakegoodWebhookBehind": ({f'makegood_webhook_oldest_age_seconds{{{GATEWAY},client="shop"}}': always(180)}, {"client": "shop"},
                              "the webhook of shop is slow: its oldest status has waited for 3m 0s"),
    "MakegoodStandstill": ({f"makegood_standstill_seconds{{{SCHEDULER}}}": always(40)}, WHERE,
                           "scheduler at 10.0.0.1:9100 has ended no work for 40s, and some waits"),
    "MakegoodAgentMute": ({f'makegood_agent_mute{{{AGENT},service="payment"}}': always(1)}, {"service": "payment", "instance": "10.0.0.4:9100"},
                          "the agent of payment at 10.0.0.4:9100 cannot publish replies"),
    "MakegoodNoLeader": ({f"makegood_supervisor_leading{{{LEADER}}}": always(0)}, {}, "no supervisor leads"),
    "MakegoodTwoLeaders": ({f"makegood_supervisor_leading{{{STANDBY}}}": always(1)}, {}, "2 supervisors report that they lead"),
    "MakegoodBrokerAway": ({f"makegood_broker_up{{{SCHEDULER}}}": always(0)}, WHERE,
                           "scheduler at 10.0.0.1:9100 cannot use RabbitMQ"),
    "MakegoodStoreAway": ({f"makegood_store_sessions{{{SCHEDULER}}}": always(0)}, WHERE,
                          "scheduler at 10.0.0.1:9100 has no session of PostgreSQL"),
    "MakegoodOrdersInError": ({f'makegood_orders_total{{{SCHEDULER},workflow="w",state="error"}}': rising(1)}, {},
                              "orders went into error in the last 10 minutes"),
    "MakegoodAlertOpen": ({f'makegood_alerts{{{LEADER},alert="order_error"}}': always(7)}, {"alert": "order_error"},
                          "7 alerts order_error are open, and have been for 15 minutes"),
    "MakegoodBulkStopped": ({f'makegood_alerts{{{LEADER},alert="bulk_stopped"}}': lately(1)}, {}, "1 bulk actions stopped because of failures"),
    "MakegoodLineHeld": ({f'makegood_alerts{{{LEADER},alert="line_held"}}': lately(1)}, {}, "an order in error holds up others of its key"),
    "MakegoodSignalUnmatched": ({f'makegood_alerts{{{LEADER},alert="signal_unmatched"}}': lately(1)}, {},
                                "a signal with a key has been kept for a day, and no order takes it"),
    "MakegoodScheduleMissed": ({f'makegood_alerts{{{LEADER},alert="schedule_missed"}}': lately(1)}, {},
                               "1 schedules made no order for a slot"),
    "MakegoodScheduleLate": ({f"makegood_schedule_lag_seconds{{{LEADER}}}": lately(90)}, {},
                             "a slot of a schedule waits for its order since 1m 30s"),
    "MakegoodRetentionStands": ({f'makegood_alerts{{{LEADER},alert="retention_stands"}}': lately(1)}, {},
                                "ended orders are not moved to the archive"),
    "MakegoodDeadLetters": ({f'makegood_queue_messages{{{LEADER},queue="dead.letters"}}': always(2)}, {},
                            "2 messages were dead-lettered"),
    "MakegoodOrdersAside": ({f"makegood_scheduler_orders_aside{{{SCHEDULER}}}": always(2)}, {},
                            "2 orders wait because the database refuses their rows"),
    "MakegoodPoisoned": ({f"makegood_poisoned_total{{{SCHEDULER}}}": rising(1)}, {},
                         "a message cannot be stored"),
    "MakegoodImpossible": ({f"makegood_impossible_total{{{SCHEDULER}}}": rising(1)}, {},
                           "an event occurred that no correct run causes"),
    "MakegoodInvariantViolation": ({f"makegood_invariant_violations{{{LEADER}}}": always(3)}, {},
                                   "3 open orders have no running step, wait or deadline"),
    "MakegoodMassExpiry": ({f"makegood_overdue_held_back{{{LEADER}}}": always(250)}, {}, "250 overdue attempts are held back"),
    "MakegoodSweepLate": ({f"makegood_sweep_lag_seconds{{{LEADER}}}": always(45)}, {},
                          "deadlines are judged 45 s late"),
    "MakegoodSweepSlow": ({f"makegood_sweep_longest_seconds{{{LEADER}}}": always(5)}, {}, "a sweep takes 5 s"),
    "MakegoodExpirations": ({f'makegood_expirations_total{{{SCHEDULER},service="payment"}}': rising(50)}, {"service": "payment"},
                            "50% of the attempts at payment end without a reply"),
    "MakegoodBreakerOpen": ({f'makegood_agent_breaker_state{{{AGENT},service="payment"}}': always(1)}, {"service": "payment"},
                            "service payment is down for most of its agents"),
    "MakegoodClockSkew": ({f"makegood_clock_skew_seconds{{{AGENT}}}": always(-1.5)},
                          {"job": "makegood", "part": "agent-payment", "instance": "10.0.0.4:9100"},
                          "the clock of agent-payment at 10.0.0.4:9100 is off by 1.5 s"),
    "MakegoodBacklog": ({f'makegood_queue_messages{{{LEADER},queue="orders.intake"}}': always(20000)}, {"queue": "orders.intake"},
                        "20000 messages wait in orders.intake"),
    "MakegoodQueueOld": ({f'makegood_queue_oldest_age_seconds{{{SCHEDULER},queue="orders.intake"}}': None},
                         {"queue": "orders.intake"}, "messages wait in orders.intake for up to 15m 0s"),
    "MakegoodServiceBehind": ({f'makegood_queue_oldest_age_seconds{{{SCHEDULER},queue="agent.payment.requests"}}': always(90)},
                              {"queue": "agent.payment.requests"}, "requests wait in agent.payment.requests for up to 1m 30s"),
    "MakegoodServiceUnserved": ({f'makegood_queue_consumers{{{SCHEDULER},queue="agent.payment.requests"}}': always(0)},
                                {"queue": "agent.payment.requests"}, "no agent consumes agent.payment.requests"),
    "MakegoodStatusesOwed": ({f"makegood_status_owed_oldest_age_seconds{{{LEADER}}}": always(3600)}, {},
                             "a status has not reached its client for 1h 0m 0s"),
    "MakegoodFiguresMissing": ({f"makegood_statuses_owed{{{LEADER}}}": None}, {},
                               "the leading supervisor cannot count open orders and alerts"),
    "MakegoodSlowStore": (histogram("makegood_store_call_seconds", SCHEDULER, "+Inf"), {},
                          "one database call in a hundred takes longer than 2.5 s"),
    "MakegoodSlowBroker": (histogram("makegood_publish_confirm_seconds", SCHEDULER, "+Inf"), {},
                           "one confirm in a hundred takes longer than 2.5 s"),
    "MakegoodLoopLate": (histogram("makegood_loop_lag_seconds", SCHEDULER, "+Inf"), {"part": "scheduler", "instance": "10.0.0.1:9100"},
                         "the loop of scheduler at 10.0.0.1:9100 is late by 2.5 s"),
    "MakegoodDescriptorsShort": ({f"process_open_fds{{{SCHEDULER}}}": always(921.6)}, WHERE,
                                 "scheduler at 10.0.0.1:9100 has used 90% of its file descriptors"),
    "MakegoodMetricsOverflow": ({f"makegood_metrics_overflow_total{{{SCHEDULER}}}": rising(1)}, {},
                                "a process has more metric series than its limit"),
    "MakegoodWebhookFailing": ({f'makegood_webhook_failing_seconds{{{GATEWAY},client="shop"}}': lately(600)}, {"client": "shop"},
                               "the webhook of shop has taken no status for 10m 0s"),
    "RabbitMQAlarm": ({"rabbitmq_alarms_memory_used_watermark": always(1)}, {}, "RabbitMQ holds publishers back"),
}


# The same rules, for a series that begins with the failure, or that changes all the time.
NEW_SCHEDULER = 'job="makegood",part="scheduler",instance="10.0.0.9:9100"'
ELSE = {"MakegoodOrdersInError": {f'makegood_orders_total{{{SCHEDULER},workflow="new",state="error"}}': born(1)},
        "MakegoodBreakerOpen": {f'makegood_agent_breaker_state{{{AGENT},service="payment"}}': " ".join(["1 2 2"] * 41)},
        "MakegoodPoisoned": {f"makegood_poisoned_total{{{NEW_SCHEDULER}}}": born(1)},
        "MakegoodImpossible": {f"makegood_impossible_total{{{NEW_SCHEDULER}}}": born(1)},
        "MakegoodMetricsOverflow": {f"makegood_metrics_overflow_total{{{NEW_SCHEDULER}}}": born(400)}}


def expectation(rule, case):
    _, labels, summary = case
    annotations = {**rule["annotations"], "summary": summary}
    return {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": annotations}


def group_of(name, series, rules, firing=None):
    """One test group of promtool: the series, and the expectation that only `firing`, or no rule, fires."""
    looked_at = [{"eval_time": EVALUATED_AT, "alertname": rule,
                  **({"exp_alerts": [expectation(rules[rule], CASES[rule])]} if rule == firing else {})} for rule in rules]
    return {"name": name, "interval": f"{STEP_S}s", "alert_rule_test": looked_at,
            "input_series": [{"series": key, "values": value} for key, value in series.items() if value is not None]}


def promtool(*words):
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=220, check=False)
    return [] if done.returncode == 0 else [f"promtool {words[0]} {words[1]}:\n{done.stdout}{done.stderr}"]


def runbook_findings(rules):
    text = (SOURCE / RUNBOOK).read_text(encoding="utf-8")
    section = text.split("\n## Rules\n", 1)[-1].split("\n## ", 1)[0]
    headings = re.findall(r"^### (\w+)$", section, re.MULTILINE)
    for name in sorted(set(rules) ^ set(headings)):
        yield f"{RUNBOOK}: the page and the rules do not both have {name}"
    for name, rule in rules.items():
        if rule["annotations"].get("runbook_url") != f"{RUNBOOK}#{name.lower()}":
            yield f"{name}: its runbook_url is not {RUNBOOK}#{name.lower()}"


def real_findings():
    """Empty if tests/observability/run makes each rule fire with real processes."""
    done = subprocess.run(["/usr/bin/python3", SOURCE / "tests" / "observability" / "observe.py", "--list"], capture_output=True, text=True,
                          timeout=60, check=False)
    return [] if done.returncode == 0 else [f"tests/observability/run --list:\n{done.stdout}{done.stderr}"]


def main():
    rules = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]}
    findings = list(runbook_findings(rules)) + promtool("check", "rules", RULES)
    findings += [f"there is no test of the rule {name}" for name in sorted(set(rules) ^ set(CASES))]
    findings += real_findings()
    if not findings:
        groups = [group_of("all is well", WELL, rules)]
        groups += [group_of(name, {**WELL, **CASES[name][0]}, rules, firing=name) for name in rules]
        groups += [group_of(f"{name}, else", {**WELL, **different}, rules, firing=name) for name, different in ELSE.items()]
        for name, (different, *_) in CASES.items():
            findings += [f"{name}: {key} is no series of a system that is well" for key in different if key not in WELL]
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "tests.yml"
            path.write_text(yaml.safe_dump({"rule_files": [str(RULES.resolve())], "evaluation_interval": f"{RULES_EACH_S}s",
                                            "tests": groups}, sort_keys=False), encoding="utf-8")
            findings += promtool("test", "rules", path)
    for finding in findings:
        print(finding)
    print(f"{len(rules)} rules, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
