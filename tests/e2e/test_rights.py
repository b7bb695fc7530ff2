"""Rights that are missing at run time: one clear line names user, right and object; no restart is needed once they are granted."""

import json
import secrets
import urllib.parse

from harness import scenario, step

TOLD_S = 15.0
WRITES = "^makegood\\.replies\\.inventory$"


def lines_with(process, words):
    with open(process.log_path, encoding="utf-8", errors="replace") as log:
        return [line for line in log if words in line and '"level":"debug"' not in line]


def wait_unready(s, process, *parts):
    def look():
        status, text = process.get("/readyz")
        return status == 503 and all(part in text for part in parts)
    s.wait(look, f"/readyz of {process.name} says {parts}")


def new_user(s, configure, write, read):
    """A user of the broker with these rights; its name and the URL with it."""
    name = "user-" + secrets.token_hex(4)
    s.servers.rabbit.add_user(name, name)
    grant(s, name, configure, write, read)
    return name, s.url.replace("guest:guest", f"{name}:{name}")


def grant(s, name, configure, write, read):
    vhost = urllib.parse.unquote(s.url.rsplit("/", 1)[1])
    s.servers.rabbit.set_permissions(name, configure, write, read, vhost)


@scenario(agents=0, long="each change waits until a service has noticed it")
def a_right_missing_at_the_broker_is_named_once_and_found_when_granted(s):
    """Would catch: a refusal that is logged at each retry, a service that is ready nevertheless, a restart that is needed."""
    s.load_workflow("one", [step("reserve", "inventory")])
    name, s.cluster.access.url = new_user(s, "", "", "^agent\\.inventory\\.")
    agent = s.cluster.make_agent("inventory", 1).start()
    s.cluster.agents.append(agent)
    order = s.client.submit("one")
    wait_unready(s, agent, "makegood.replies.inventory", name, "the right to write")
    connects = agent.metric("makegood_broker_connects_total")
    s.wait(lambda: agent.metric("makegood_broker_connects_total") >= connects + 3, "it has tried again three times")
    wait_unready(s, agent, "makegood.replies.inventory", name, "the right to write")
    said = [line for line in lines_with(agent, "the right to write") if json.loads(line)["message"] == "broker not available"]
    assert len(said) == 1, said
    grant(s, name, "", WRITES, "^agent\\.inventory\\.")
    agent.wait_ready()
    s.wait_state(order, "processed")

    grant(s, name, "", WRITES, "")
    agent.kill()
    s.ends_badly.add(agent.name)
    agent.start()
    wait_unready(s, agent, "agent.inventory.requests", name, "the right to read")
    grant(s, name, "", WRITES, "^agent\\.inventory\\.")
    agent.wait_ready()


@scenario(schedulers=0, services=("inventory", "payment", "carrier"), long="each change waits until a service has noticed it")
def a_right_missing_in_the_database_is_named_once_and_found_when_granted(s):
    """Would catch: the same in the database; a scheduler that is ready and cannot store anything."""
    role = "role_" + secrets.token_hex(4)
    s.rows(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role};"
           f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}; REVOKE INSERT ON order_event FROM {role}; SELECT 1")
    s.cluster.access.dsn = s.dsn.replace(f"makegood:{s.servers.postgres.password}", f"{role}:{role}")
    scheduler = s.cluster.make("scheduler", "scheduler-1").start().wait_ready()
    s.cluster.schedulers.append(scheduler)
    order = s.client.submit("three")
    wait_unready(s, scheduler, f"role {role}", "permission denied for table order_event", "makegood db migrate")
    failures = scheduler.metric("makegood_store_call_failures_total")
    s.wait(lambda: scheduler.metric("makegood_store_call_failures_total") >= failures + 3, "it has tried again three times")
    assert len(lines_with(scheduler, "the database denies a permission that this service needs")) == 1
    assert len(lines_with(scheduler, "order_event")) <= 2  # one for the state, one for the first batch
    s.rows(f"GRANT INSERT ON order_event TO {role}; SELECT 1")
    s.wait_state(order, "processed")
    scheduler.wait_ready()
    assert len(lines_with(scheduler, "the database grants the permissions")) == 1


@scenario(long="alerts, pauses and time-outs pass in real time")
def a_right_revoked_from_a_process_at_work_is_found_by_doctor(s):
    """Would catch: "all checks good" and no alert, while a process is not ready, since it lacks a right that orders seldom need."""
    role = "role_" + secrets.token_hex(4)
    s.rows(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'; GRANT ALL ON ALL TABLES IN SCHEMA public TO {role};"
           f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}; GRANT ALL ON ALL FUNCTIONS IN SCHEMA public TO {role}; SELECT 1")
    s.cluster.access.dsn = s.dsn.replace(f"makegood:{s.servers.postgres.password}", f"{role}:{role}")
    for process in (*s.cluster.schedulers, *s.cluster.supervisors):
        process.terminate()
        s.others.append(s.cluster.remake(process).start().wait_ready())
    s.cluster.access.dsn = s.dsn
    s.wait(lambda: s.cluster.tool("doctor", check=False).returncode == 0, "doctor finds all well")
    for table in ("reply_queue", "service_state", "operator_alert"):
        s.rows(f"REVOKE SELECT ON {table} FROM {role}; SELECT 1")
        s.wait(lambda table=table: f"permission denied for table {table}" in s.cluster.tool("doctor", check=False).stdout,
               f"doctor names {table}", TOLD_S)
        s.rows(f"GRANT SELECT ON {table} TO {role}; SELECT 1")
    s.wait(lambda: s.cluster.tool("doctor", check=False).returncode == 0, "doctor finds all well again")
