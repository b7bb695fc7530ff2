#!/usr/bin/python3
"""with_servers.py [--note TEXT] -- COMMAND…: runs a command beside one private PostgreSQL and one private RabbitMQ.

The command finds them in MAKEGOOD_TEST_PG_DSN, MAKEGOOD_TEST_AMQP_URL and, over TLS, MAKEGOOD_TEST_AMQPS_URL with the files
MAKEGOOD_TEST_TLS_CA, MAKEGOOD_TEST_TLS_CERT and MAKEGOOD_TEST_TLS_KEY; programs that use this package find the whole
description in MAKEGOOD_TEST_SERVERS (see `attach` in servers.py). Ends as the command ends, and prints TEXT then.
"""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from local import cluster, processes, servers  # noqa: E402


def main(words):
    note = words[1] if words[:1] == ["--note"] and len(words) > 2 else None
    words = words[2:] if note is not None else words
    if words[:1] != ["--"] or len(words) < 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    processes.end_on_signals()
    scratch = cluster.make_scratch()
    child = None
    try:
        both = servers.Servers(scratch, tls=True).start()
        description = scratch / "servers.json"
        servers.describe(both, description)
        environment = processes.plain_environment()
        environment.update({name: os.environ[name] for name in os.environ if name.startswith("MAKEGOOD_")})
        environment["MAKEGOOD_TEST_PG_DSN"] = both.postgres.dsn
        environment["MAKEGOOD_TEST_AMQP_URL"] = both.rabbit.url
        environment["MAKEGOOD_TEST_AMQPS_URL"] = both.rabbit.tls_url
        environment["MAKEGOOD_TEST_TLS_CA"] = str(both.tls.ca)
        for name, path in zip(("CERT", "KEY"), both.tls.of("client")):
            environment[f"MAKEGOOD_TEST_TLS_{name}"] = str(path)
        environment["MAKEGOOD_TEST_SERVERS"] = str(description)
        child = subprocess.Popen(words[1:], env=environment)
        status = child.wait()
        if note:
            print(note)
        return status
    except processes.Failure as failure:
        print(f"with_servers: {failure}", file=sys.stderr)
        return 1
    finally:
        if child is not None and child.poll() is None:
            child.terminate()
            child.wait()
        processes.end_all()
        cluster.remove_scratch(scratch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
