#!/usr/bin/python3
"""units.py RELEASE-BUILD: the installed systemd units are valid and well closed.

A keyword unknown to systemd is only a warning in a log, and a sandbox with a hole still works, so neither would be noticed. The
build's prefix is a folder of its own, so this also checks that the units follow the prefix.
"""

import os
import pathlib
import subprocess
import sys

UNITS = ("makegood-scheduler@1.service", "makegood-agent@payment.service", "makegood-agents.service", "makegood-supervisor.service",
         "makegood-console.service", "makegood-gateway.service", "makegood-migrate.service", "makegood-retain.service", "makegood-retain.timer",
         "makegood.target")
# systemd's measure, times ten: 0 is closed, 100 open. The rest is the network, the purpose of the services.
EXPOSURE_MAX = 12


def run(words, environment):
    return subprocess.run([str(word) for word in words], env=dict(os.environ, **environment), capture_output=True, text=True,
                          check=False)


def main(words):
    if len(words) != 1:
        print("usage: units.py RELEASE-BUILD", file=sys.stderr)
        return 2
    folder = pathlib.Path(words[0]).resolve()
    done = run(["cmake", "--install", folder], {})
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    # The empty part at the end stands for systemd's own units and man's own pages.
    environment = {"SYSTEMD_UNIT_PATH": f"{folder}/root/lib/systemd/system:", "MANPATH": f"{folder}/root/share/man:", "LC_ALL": "C"}
    findings = []
    for unit in UNITS:
        done = run(["systemd-analyze", "verify", unit], environment)
        ours = [line for line in (done.stdout + done.stderr).splitlines() if "akegood" in line]
        if done.returncode != 0 or ours:
            findings += ours or [f"{unit}: {done.stderr}"]
        if unit.endswith(".service"):
            done = run(["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE_MAX}", unit], environment)
            if done.returncode != 0:
                findings.append(f"{unit} is open to more than {EXPOSURE_MAX / 10}:\n{done.stdout}{done.stderr}")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
