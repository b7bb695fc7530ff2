"""TLS to RabbitMQ and PostgreSQL: everything works over it, and faults are reported clearly on both sides."""

import pathlib
import subprocess

from harness import PAIRS, scenario
from local import processes, servers
from test_faults import check_all, check_told, load_long, submit_mixed, wait_some_ended


def check_no_plaintext(s):
    """Checks that all of Makegood's open connections are encrypted."""
    plain = s.rows("SELECT application_name FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
                   " WHERE application_name LIKE 'makegood%%' AND NOT ssl")
    assert not plain, plain
    lines = s.servers.rabbit.ctl("list_connections", "ssl", "client_properties").splitlines()
    ours = [line for line in lines if '"makegood"' in line]
    assert ours and all(line.startswith("true") for line in ours), lines


@scenario(tls=True, **PAIRS, long="a broker dies, or all runs once more over TLS")
def a_killed_broker_comes_back_over_tls_and_nothing_is_lost(s):
    """Would catch: bytes that OpenSSL holds and the loop does not read, a send that blocks, a connection made without TLS."""
    load_long(s)
    check_no_plaintext(s)
    orders = submit_mixed(s)
    wait_some_ended(s, orders)
    rabbit = s.servers.rabbit
    rabbit.kill()
    s.wait(lambda: not any(scheduler.is_ready() for scheduler in s.cluster.schedulers), "schedulers say that they are not ready")
    rabbit.restart()
    s.clients.clear()
    del s.client
    for process in s.cluster.all:
        process.wait_ready(60)
    check_no_plaintext(s)
    check_all(s, orders)
    more = submit_mixed(s, 10)
    check_all(s, more)
    check_told(s, more)


class Log:
    """A server's log from now on."""

    def __init__(self, *paths):
        self.paths = paths
        self.sizes = [path.stat().st_size for path in paths]

    def text(self):
        texts = []
        for path, size in zip(self.paths, self.sizes):
            with open(path, "rb") as file:
                file.seek(size)
                texts.append(file.read().decode(errors="replace"))
        return "".join(texts)


def run_plain(s, name, *words, **env):
    return subprocess.run([s.cluster.bin / name, *words], env={**processes.plain_environment(), **env},
                          capture_output=True, text=True, check=False, timeout=30)


def check_refusal(s, log_paths, what, words, told, logged, code, env):
    """The tool's one line on stderr holds all of `told`, and the server's log one of `logged`."""
    log = Log(*log_paths)
    done = run_plain(s, "makegood", *words, **env)
    assert done.returncode == code, (what, done)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and all(part in lines[0] for part in told), f"{what}: {lines}, expected {told}"
    assert "disable server certificate verification" not in lines[0], f"{what}: {lines}"
    if logged:
        processes.wait_until(lambda: any(part in log.text() for part in logged),
                             f"{what}: the server's log says one of {logged}", 10)


@scenario(tls=True, schedulers=0, agents=0, supervisors=0, services=(), long="a broker dies, or all runs once more over TLS")
def faults_of_tls_to_the_broker_are_reported_clearly(s):
    """Would catch: "SSL error"; a certificate that should have been refused."""
    rabbit, ours = s.servers.rabbit, s.servers.tls.make("--expired", "old")
    others = servers.Certificates(s.scratch / "others").make("--host", "server", "--client", "client")
    paths = [path for path in (rabbit.folder / "log").glob("*.log") if path.stat().st_size > 0]
    url, at = rabbit.tls_url, f"127.0.0.1:{rabbit.tls_port}"
    rabbit.add_user("stranger", "stranger")
    rabbit.ctl("add_vhost", "elsewhere")

    def refused(what, told, logged=(), code=1, url=url, ca=ours.ca, own=None, words=("broker", "check", "--service", "payment")):
        certificate, key = own or ours.of("client")
        env = {"MAKEGOOD_AMQP_CA_FILE": str(ca), "MAKEGOOD_AMQP_CERT_FILE": str(certificate),
               "MAKEGOOD_AMQP_KEY_FILE": str(key), "MAKEGOOD_AMQP_URL": url}
        check_refusal(s, paths, what, words, told, logged, code, env)

    # RabbitMQ cannot always read the client's verdict on its certificate: in TLS 1.3, OpenSSL sends it before it encrypts, which
    # Erlang 25 logs as "Bad Record MAC". Makegood's side then gives the reason.
    alert = ("SERVER ALERT", "CLIENT ALERT")
    refused("unknown CA", [at, "CN=server", "CN=Makegood CA for trying", str(others.ca), "--amqp-ca-file"], alert, ca=others.ca)
    refused("the system's CAs", [at, "is not in the system's CAs", "--amqp-ca-file"], alert, ca="")
    refused("another host", ["127.0.0.2:", "CN=server", "localhost", "not for 127.0.0.2"], alert,
            url=url.replace("127.0.0.1", "127.0.0.2"))
    rabbit.use_certificate("old")
    refused("expired", [at, "the broker's certificate (CN=old) expired on "], alert)
    rabbit.use_certificate("server")
    refused("no certificate of ours", [at, "requires a client certificate", "--amqp-cert-file"], ["Certificate required"],
            own=("", ""))
    refused("our certificate of another CA", [at, "refuses our certificate", str(others.of("client")[0])], ["Unknown CA"],
            own=others.of("client"))
    refused("our certificate expired", [at, str(ours.of("old")[0]), "expired on ", "renew it"], ["Certificate Expired"],
            own=ours.of("old"))
    refused("password", [at, "guest", "user or password is wrong"], ["user 'guest' - invalid credentials"],
            url=url.replace(":guest@", ":nonsense@"))
    refused("no right on the vhost", [at, "stranger", "elsewhere", "set_permissions"],
            ["access to vhost 'elsewhere' refused for user 'stranger'"],
            url=rabbit.tls_url_of("elsewhere").replace("guest:guest", "stranger:stranger"))
    rabbit.set_permissions("stranger", "^$", "^$", "^$")
    refused("no right on a queue", ["stranger", "orders.rejected", "the right to read"],
            ["queue 'orders.rejected' in vhost '/' refused for user 'stranger'"],
            words=("dead", "list", "--queue", "orders.rejected"), url=url.replace("guest:guest", "stranger:stranger"))
    refused("TLS to the plain port", [f"127.0.0.1:{rabbit.port}", "does not use TLS", "5671"], ["bad_header"],
            url=url.replace(str(rabbit.tls_port), str(rabbit.port)))
    refused("plaintext to the TLS port", [at, "if this is its port for TLS, use amqps://"], ["SERVER ALERT"], code=6,
            url=rabbit.url.replace(str(rabbit.port), str(rabbit.tls_port)))


@scenario(tls=True, schedulers=0, agents=0, supervisors=0, services=(), long="a broker dies, or all runs once more over TLS")
def faults_of_tls_to_the_database_are_reported_clearly(s):
    """Would catch: a certificate that should have been refused; an error without a remedy."""
    postgres, ours = s.servers.postgres, s.servers.tls.make("--expired", "old")
    others = servers.Certificates(s.scratch / "others").make("--host", "server", "--client", "client")
    dsn, at = postgres.tls_dsn, f'"127.0.0.1", port {postgres.port}'

    def refused(what, told, logged=(), code=6, dsn=dsn):
        check_refusal(s, [pathlib.Path(postgres.process.log_path)], what, ("db", "status", "--timeout", "2s"), told, logged,
                      code, {"MAKEGOOD_PG_DSN": dsn})

    def reload():
        """Waits until the server has read its settings again."""
        before = s.rows("SELECT pg_conf_load_time() AS at")[0]["at"]
        s.rows("SELECT pg_reload_conf()")
        s.database.close()
        s.wait(lambda: s.rows("SELECT pg_conf_load_time() AS at")[0]["at"] > before, "PostgreSQL has reloaded")

    refused("unknown CA", [at, "CN=server", "CN=Makegood CA for trying", str(others.ca)], ["unknown ca"],
            dsn=dsn.replace(str(ours.ca), str(others.ca)))
    for servers_asked in ("127.0.0.1", f"127.0.0.1:{postgres.port},127.0.0.1"):
        refused("no CA file", ["/nonexistent", "does not exist; put the CA's certificate there", "sslrootcert"],
                dsn=dsn.replace(str(ours.ca), "/nonexistent").replace("127.0.0.1", servers_asked))
    refused("another host", [at, '"server"', 'does not match host name "db"'],
            dsn=dsn.replace("127.0.0.1", "db") + "&hostaddr=127.0.0.1")
    postgres.use_certificate("old")
    reload()
    refused("expired", [at, "(CN=old) expired on "], ["certificate expired"])
    postgres.use_certificate("server")
    reload()
    refused("password", [at, 'user "makegood"', "see user and password"], ["password authentication failed"],
            dsn=dsn.replace(postgres.password, "nonsense"))
    s.database.close()
    (postgres.data / "pg_hba.conf").write_text("local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
                                               encoding="ascii")
    s.dsn = postgres.tls_dsn
    reload()
    refused("only TLS is let in", [at, "no encryption", "sslmode=verify-full"], ["no pg_hba.conf entry"],
            dsn=postgres.dsn + "?sslmode=disable")
    done = s.cluster.tool("db", "status")
    assert "schema_version" in done.stdout, done

    s.rows("CREATE ROLE stranger LOGIN PASSWORD 'stranger'; SELECT 1")
    refused("no right", ["role stranger", "permission denied for table", "makegood db migrate"], ["permission denied for table"],
            code=1, dsn=dsn.replace(f"makegood:{postgres.password}", "stranger:stranger"))

    def dsn_of(authority, name):
        certificate, key = authority.of(name)
        return f"{dsn}&sslcert={certificate}&sslkey={key}"

    (postgres.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n", encoding="ascii")
    postgres.set({"ssl_ca_file": postgres.take_ca()})
    s.dsn = dsn_of(ours, "client")
    reload()
    refused("no certificate of ours", [at, "name the client's with sslcert and sslkey"], ["requires a valid client certificate"])
    refused("our certificate of another CA", [at, "must come from a CA that the server trusts"], ["certificate verify failed"],
            dsn=dsn_of(others, "client"))
    refused("our certificate expired", [at, "renew the certificate in sslcert"], ["certificate verify failed"], dsn=dsn_of(ours, "old"))
    done = run_plain(s, "makegood", "db", "status", MAKEGOOD_PG_DSN=s.dsn)
    assert "schema_version" in done.stdout, done


@scenario(tls=True, schedulers=0, agents=0, supervisors=0, services=(), long="a broker dies, or all runs once more over TLS")
def certificates_are_read_again_at_each_connect(s):
    """Would catch: a service that needs a restart after its CA was renewed, or that repeats one log line in a loop."""
    others = servers.Certificates(s.scratch / "others").make("--host", "server")
    ca = s.scratch / "ca.pem"
    ca.write_bytes(others.ca.read_bytes())
    s.cluster.env["MAKEGOOD_AMQP_CA_FILE"] = str(ca)
    scheduler = s.cluster.make("scheduler", "scheduler-1").start()
    s.cluster.schedulers.append(scheduler)
    s.wait(lambda: "which is not in" in scheduler.get("/readyz")[1], "/readyz says that the CA is unknown")
    log = Log(*[path for path in (s.servers.rabbit.folder / "log").glob("*.log") if path.stat().st_size > 0])
    s.wait(lambda: log.text().count("ALERT") > 4, "it has tried again")
    said = [line for line in pathlib.Path(scheduler.log_path).read_text(encoding="utf-8").splitlines() if "which is not in" in line]
    assert len(said) == 1, said
    ca.write_bytes(s.servers.tls.ca.read_bytes())
    scheduler.wait_ready()


@scenario(schedulers=0, agents=0, supervisors=0, services=(), long="graces, elections and patience pass in real time")
def plaintext_leaves_the_machine_only_when_it_is_allowed(s):
    """Would catch: passwords and orders in plain text on a network, because an option was left out."""
    wrong = (({"MAKEGOOD_AMQP_URL": "amqp://u:p@rabbit.example/"}, "amqps://"),
             ({"MAKEGOOD_AMQP_URL": "amqp://u:p@10.0.0.1/"}, "amqps://"),
             ({"MAKEGOOD_PG_DSN": "host=db.example"}, "sslmode=verify-full"),
             ({"MAKEGOOD_PG_DSN": "host=127.0.0.1,db.example sslmode=require"}, "sslmode=verify-full"),
             ({"MAKEGOOD_PG_DSN": "postgresql://u:p@127.0.0.1/x?hostaddr=10.0.0.1&sslmode=verify-ca"}, "sslmode=verify-full"),
             ({"PGHOST": "db.example"}, "sslmode=verify-full"),
             ({"PGHOST": "db.example", "PGSSLMODE": "verify-full", "MAKEGOOD_PG_DSN": "service=x"}, "sslmode=verify-full"))
    right = ({"MAKEGOOD_AMQP_URL": "amqps://u:p@rabbit.example/"}, {"MAKEGOOD_AMQP_URL": "amqp://u:p@[::1]/"},
             {"MAKEGOOD_PG_DSN": "host=db.example sslmode=verify-full"}, {"MAKEGOOD_PG_DSN": "host=/run/postgresql,localhost"},
             {"PGHOST": "db.example", "PGSSLMODE": "verify-full"})
    for name in ("makegood-scheduler", "makegood-supervisor", "makegood"):
        words = ("db", "status") if name == "makegood" else ()
        for env, advice in wrong:
            done = run_plain(s, name, *words, "--check-config", **env)
            assert done.returncode == 2 and advice in done.stderr and "--allow-plaintext" in done.stderr, (name, env, done)
            assert "u:p" not in done.stderr, done
            done = run_plain(s, name, *words, "--check-config", "--allow-plaintext", **env)
            assert done.returncode == 0, (name, env, done)
        for env in right:
            done = run_plain(s, name, *words, "--check-config", **env)
            assert done.returncode == 0, (name, env, done)
