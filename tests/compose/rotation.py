"""deploy/compose/rotate, with orders on their way: after a rotation only the new secret is accepted; nothing is restarted."""

import re

import pika
import pika.exceptions

from local import cluster, processes

from system import PARTS, REPOSITORY, SERVERS, run

ROTATED = {"agent-payment": ("amqp-agent-payment",), "scheduler": ("amqp-scheduler", "pg-makegood_scheduler"),
           "postgres": ("pg-postgres",)}
AT_SIGHUP = "SIGHUP: files read again"
CERTIFICATES = "/run/secrets/makegood/tls"


def rotate(system, *names):
    run([system.folder / "deploy" / "compose" / "rotate", *names], env={**system.env, "COMPOSE": " ".join(system.program)})


def cut_all_sessions(system):
    """Every service has to log in anew."""
    (rabbitmq,) = system.containers("rabbitmq")
    system.execute(rabbitmq, "rabbitmqctl", "-q", "close_all_connections", "rotated")
    system.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'makegood%'")


def starts(system):
    return {container["Id"]: container["State"]["StartedAt"] for part in PARTS for container in system.inspect(*system.containers(part))}


def log_in_to_rabbitmq(client, user, password):
    try:
        pika.BlockingConnection(client.parameters_of(user, password)).close()
    except pika.exceptions.ProbableAuthenticationError:
        return False
    return True


def log_in_to_postgres(system, role, password):
    (postgres,) = system.containers("postgres")
    done = system.execute(postgres, "env", f"PGPASSWORD={password}", "psql", "-X", "-h", "postgres", "-U", role, "-d", "makegood",
                          "-c", "SELECT 1", check=False)
    if done.returncode != 0 and "password authentication failed" not in done.stderr:
        raise processes.Failure(f"{role} could not ask: {done.stderr}")
    return done.returncode == 0


def passwords(show, say):
    system, client = show.system, show.client
    old, before = system.secrets(), starts(system)
    with show.orders_on_their_way():
        rotate(system, *ROTATED)
        new = system.secrets()
        changed = {name for name, secret in new.items() if secret != old[name]}
        if changed != {name for names in ROTATED.values() for name in names}:
            raise processes.Failure(f"{', '.join(sorted(changed)) or 'nothing'} was rotated")
        for name in sorted(changed):
            kind, user = name.split("-", 1)
            for secret, is_right in ((old[name], False), (new[name], True)):
                is_let_in = log_in_to_rabbitmq(client, user, secret) if kind == "amqp" else log_in_to_postgres(system, user, secret)
                if is_let_in != is_right:
                    raise processes.Failure(f"{name}: the {'new' if is_right else 'old'} password was {'taken' if is_let_in else 'refused'}")
        cut_all_sessions(system)
    if starts(system) != before:
        raise processes.Failure("a container was started again")
    for part in PARTS:
        if AT_SIGHUP not in system.logs(part):
            raise processes.Failure(f"{part} was not told by SIGHUP")
    say(f"  rotated {', '.join(sorted(changed))}; the old ones are refused, all sessions were cut and came back with the new, "
        "no container was started again")
    show.crash_and_return("agents")


def serials(system):
    """The servers' certificates, seen from a scheduler, which reaches them all."""
    scheduler = system.containers("scheduler")[0]
    found = {}
    for name, words in (("scheduler", "127.0.0.1:9100"), ("rabbitmq", "rabbitmq:5671"), ("postgres", "postgres:5432 -starttls postgres")):
        script = (f"openssl s_client -connect {words} -CAfile {CERTIFICATES}/ca.pem -cert {CERTIFICATES}/cert.pem -key {CERTIFICATES}/key.pem "
                  "</dev/null 2>&1 | openssl x509 -noout -serial")
        match = re.search(r"serial=(\w+)", system.execute(scheduler, "bash", "-c", script, check=False).stdout)
        if match is None:
            raise processes.Failure(f"{name} shows no certificate")
        found[name] = match[1]
    return found


def certificates(show, say):
    system = show.system
    old, before = serials(system), starts(system)
    with show.orders_on_their_way():
        rotate(system, "certificates")
        new = serials(system)
        same = [name for name in new if new[name] == old[name]]
        if same:
            raise processes.Failure(f"{', '.join(same)}: the certificate is the old one")
        cut_all_sessions(system)
    if starts(system) != before:
        raise processes.Failure("a container was started again")
    say(f"  {', '.join(new)} show new certificates; all sessions were cut and came back, no container was started again")


def own_certificates(show, say):
    system = show.system
    made = system.folder / "own-certificates"
    hosts = ["postgres", "rabbitmq", *cluster.SERVICES, *(f"{part},makegood" for part in PARTS)]
    words = [word for name in hosts for word in ("--host", name)]
    run([REPOSITORY / "deploy" / "tls" / "make-dev-certs", made, *words, "--client", "roles,migrate,operator,gateway,client-sample",
         "--client", ",".join(f"agent-{name}" for name in cluster.SERVICES)])
    authority = (made / "ca.pem").read_text(encoding="ascii")
    system.compose("down", check=False)
    run(["bash", "-c", f"tar -C {made} -c . | {' '.join(system.program)} run --rm -T --no-deps setup certificates"], cwd=system.folder,
        env=system.env)
    system.up()
    system.wait_healthy(SERVERS + PARTS + cluster.SERVICES)
    show.connect()
    scheduler = system.containers("scheduler")[0]
    if system.execute(scheduler, "cat", f"{CERTIFICATES}/ca.pem").stdout != authority:
        raise processes.Failure("a scheduler has the certificates of another authority")
    before = serials(system)
    rotate(system, "certificates")
    if serials(system) != before:
        raise processes.Failure("certificates that were not made here were made anew")
    say("  all containers have the certificates that were given to setup; rotating leaves them as they are")
