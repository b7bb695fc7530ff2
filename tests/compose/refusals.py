"""Clients and servers that are refused over TLS, and the texts on both sides."""

import re
import time
from collections import namedtuple

from local import processes

from system import COMMAND_S, run

# `settings`: the fault in the environment of the operator's tool; `said`: the tool's required text, with an error as exit code;
# `logged`: the server's required log text.
Refusal = namedtuple("Refusal", "what words settings said server logged")
OTHER, EXPIRED = "/wrong/other", "/wrong/expired"

REFUSALS = (
    Refusal("a certificate of another authority", ("broker", "check"),
            {"MAKEGOOD_AMQP_CERT_FILE": f"{OTHER}/cert.pem", "MAKEGOOD_AMQP_KEY_FILE": f"{OTHER}/key.pem"},
            r"certificate|unknown ca|TLS", "rabbitmq", r"(?i)unknown.ca|bad.certificate"),
    Refusal("an expired certificate", ("broker", "check"),
            {"MAKEGOOD_AMQP_CERT_FILE": f"{EXPIRED}/cert.pem", "MAKEGOOD_AMQP_KEY_FILE": f"{EXPIRED}/key.pem"},
            r"expired", "rabbitmq", r"(?i)expired"),
    Refusal("a wrong password", ("broker", "check"), {"MAKEGOOD_AMQP_URL_FILE": "/wrong/amqp-url"},
            r"(?i)password|refused", "rabbitmq", r"PLAIN login refused: user 'operator' - invalid credentials"),
    Refusal("a user without the permission", ("broker", "apply"), {},
            r"(?i)permission|right|refused", "rabbitmq", r"(?i)refused for user 'operator'"),
    Refusal("a server that another authority vouches for", ("broker", "check"), {"MAKEGOOD_AMQP_CA_FILE": f"{OTHER}/ca.pem"},
            r"(?i)certificate", "rabbitmq", r"TLS server: .* Fatal - "),  # Erlang logs no more about a client that disconnects
    Refusal("plaintext", ("broker", "check"), {"MAKEGOOD_AMQP_URL_FILE": "/wrong/plaintext-url"}, r"amqps|plaintext", None, None),
    Refusal("a wrong password, PostgreSQL", ("db", "status"), {"MAKEGOOD_PG_DSN_FILE": "/wrong/pg-dsn"},
            r"password authentication failed", "postgres", r'password authentication failed for user "makegood_operator"'),
    Refusal("an expired certificate, PostgreSQL", ("db", "status"), {"MAKEGOOD_PG_DSN_FILE": "/wrong/pg-dsn-expired"},
            r"expired", "postgres", r"(?i)certificate verify failed|expired"),
    Refusal("a role without the permission, PostgreSQL", ("db", "migrate", "--migrations", "/usr/share/makegood/migrations"), {},
            r"role makegood_operator: permission denied for schema public;.* owner", "postgres", r"permission denied|must be owner"),
)

# Made alongside the right ones, by the one container that may; each for the account of Makegood.
MAKE_WRONG = """
set -e
certs=/usr/share/makegood/make-dev-certs kept=/volumes/setup/tls
$certs /tmp/other --client operator && cp -r /tmp/other/operator /wrong/other
$certs $kept --expired expired && cp -r $kept/expired /wrong/expired && rm -r $kept/expired
url=$(cat /volumes/operator/amqp-url) dsn=$(cat /volumes/operator/pg-dsn)
echo "$url" | sed 's/:[0-9a-f]*@/:0123456789abcdef@/' >/wrong/amqp-url
echo "$url" | sed 's/^amqps:/amqp:/; s/:5671/:5672/' >/wrong/plaintext-url
echo "$dsn" | sed 's/password=[0-9a-f]*/password=0123456789abcdef/' >/wrong/pg-dsn
echo "$dsn" | sed 's|sslcert=[^ ]*|sslcert=/wrong/expired/cert.pem|; s|sslkey=[^ ]*|sslkey=/wrong/expired/key.pem|' >/wrong/pg-dsn-expired
chown -R 10001:10001 /wrong
"""


def show(system, say):
    folder = system.folder / "wrong"
    folder.mkdir()
    system.compose("run", "--rm", "-T", "--no-deps", "-v", f"{folder}:/wrong", "--entrypoint", "bash", "setup", "-c", MAKE_WRONG)
    operator = system.compose("run", "-d", "--no-deps", "-v", f"{folder}:/wrong:ro", "--entrypoint", "sleep", "operator", "infinity").stdout.strip()
    for refusal in REFUSALS:
        settings = [word for name, value in refusal.settings.items() for word in ("-e", f"{name}={value}")]
        began_at = int(time.time())
        done = run(["docker", "exec", *settings, operator, "makegood", *refusal.words], check=False)
        said = next((line for line in (done.stderr + done.stdout).splitlines() if re.search(refusal.said, line)), None)
        if done.returncode == 0 or said is None:
            raise processes.Failure(f"{refusal.what}: `makegood {' '.join(refusal.words)}` ended with {done.returncode} and said\n"
                                    f"{done.stdout}{done.stderr}")
        say(f"  {refusal.what} ({done.returncode})\n    {said.strip()}")
        if refusal.server is not None:
            (container,) = system.containers(refusal.server)
            heard = processes.wait_until(lambda: line_of(system, container, began_at, refusal.logged),
                                         f"the log of {refusal.server} tells of {refusal.what}", COMMAND_S)
            say(f"    {refusal.server}: {heard}")
    run(["docker", "rm", "-f", operator])


def line_of(system, container, since, pattern):
    text = system.log_of(container, since)
    return next((re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text.splitlines() if re.search(pattern, line)), None)
