#!/usr/bin/python3
"""packages.py FOLDER: tries the Debian packages in FOLDER on a bare Debian 12, by the commands of deploy/package/README.md.

Covers the facts that only a booted system shows. The units start in their sandboxes; systemd gets the services' notifications and
restarts dead or hung ones; an upgrade disturbs nothing; a purge leaves nothing.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy"))
from local.processes import Failure, end_of, wait_until  # noqa: E402

SUITE = "bookworm"
UNITS = ["makegood-scheduler@1", "makegood-scheduler@2", "makegood-supervisor", "makegood-console",
         "makegood-agent@inventory", "makegood-agent@payment", "makegood-agent@carrier"]
WATCHDOG = "2s"  # the units have 30s; the test need not wait so long
BOOT_S, INSTALL_S = 300, 900  # on a slow machine


def blocks_of_page():
    """The blocks of commands of the page, by heading."""
    page = (ROOT / "deploy/package/README.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)[1:]
    return {heading: re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
            for heading, text in zip(parts[::2], parts[1::2])}


PAGE = blocks_of_page()


def say(text):
    print(f"packages: {text}", flush=True)


def check(is_so, text):
    if not is_so:
        raise Failure(text)
    say(f"ok: {text}")


class Machine:
    """A Debian in a folder; first a tree to install into, then a booted system."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.log = open(folder / "boot.log", "wb")  # pylint: disable=consider-using-with
        self.nspawn = self.leader = None

    def make(self):
        # The mirror of this machine's APT; where APT has another release, debootstrap's default.
        mirror = self.call("apt-get", "indextargets", "--format", "$(SITE)", f"Codename: {SUITE}").stdout.split()[:1]
        self.call("debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus", SUITE, self.root, *mirror)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        (self.root / "etc/hostname").write_text("bare\n", encoding="ascii")
        (self.root / "etc/hosts").write_text("127.0.0.1 localhost bare\n", encoding="ascii")
        policy = self.root / "usr/sbin/policy-rc.d"  # nothing starts before the boot
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
        policy.chmod(0o755)
        (self.root / "etc/apt/apt.conf.d/90yes").write_text('APT::Get::Assume-Yes "true";\n', encoding="ascii")

    @staticmethod
    def call(*words, timeout_s=INSTALL_S, check_code=True):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout_s, check=False)
        if check_code and done.returncode != 0:
            raise Failure(f"{' '.join(map(str, words))} ended with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done

    def install(self, script):
        """Runs a shell script in the tree, with the network of the machine that the test runs on."""
        mounts = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" env -i ' \
                 'PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C sh -ec "$1"'
        return self.call("unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, self.root, script).stdout

    def boot(self):
        (self.root / "usr/sbin/policy-rc.d").unlink()
        words = ["systemd-nspawn", "--quiet", "--keep-unit", "--register=no", "--private-network", "--boot", "-D", str(self.root)]
        self.nspawn = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log,  # pylint: disable=consider-using-with
                                       stderr=subprocess.STDOUT)
        wait_until(lambda: self.nspawn.poll() is not None or self.find_leader(), "the machine's first process runs", BOOT_S)
        if self.nspawn.poll() is not None:
            return False
        self.leader = self.find_leader()
        wait_until(lambda: self.nspawn.poll() is not None or self.run("systemctl is-system-running", check_code=False).stdout.strip()
                   in ("running", "degraded"), "the machine has booted", BOOT_S)
        return self.nspawn.poll() is None

    def find_leader(self):
        """The machine's first process, once it is systemd: before that nspawn has children that only prepare it."""
        for child in pathlib.Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children").read_text(encoding="ascii").split():
            comm = pathlib.Path(f"/proc/{child}/comm")
            if comm.exists() and comm.read_text(encoding="ascii").strip() == "systemd":
                return child
        return None

    def run(self, script, check_code=True, timeout_s=INSTALL_S):
        """Runs a shell script in the booted system."""
        return self.call("nsenter", "--target", self.leader, "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                         "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "sh", "-ec", f"cd /root\n{script}", check_code=check_code, timeout_s=timeout_s)

    def follow(self, heading, which=None):
        """Runs the page's commands under a heading, or one block of them."""
        blocks = PAGE[heading] if which is None else [PAGE[heading][which]]
        return "".join(self.run(block).stdout for block in blocks)

    def property(self, unit, name):
        return self.run(f"systemctl show --property={name} --value '{unit}'").stdout.strip()

    def journal(self, unit):
        return self.run(f"journalctl --no-pager --output=cat --unit='{unit}'").stdout

    def end(self):
        if self.nspawn and self.nspawn.poll() is None:
            self.nspawn.terminate()  # nspawn asks its system to halt
            try:
                self.nspawn.wait(60)
            except subprocess.TimeoutExpired:
                self.nspawn.kill()
                self.nspawn.wait()
        self.log.close()


def prepare(machine, packages):
    say(f"making a bare Debian ({SUITE})")
    machine.make()
    for path in [*packages, *(ROOT / "proto/clients/c").glob("example_*.c")]:
        shutil.copy(path, machine.root / "root")
    say("installing PostgreSQL and RabbitMQ of Debian; fetching what the packages depend on")
    machine.install("apt-get -q update; apt-get -q install --no-install-recommends postgresql rabbitmq-server openssl gcc libc6-dev pkg-config;"
                    "apt-get -q install --download-only /root/*.deb")


def install(machine):
    machine.follow("Install")
    check(machine.run("systemctl list-units --no-legend --all 'makegood*.service'").stdout.strip() == "", "installing starts nothing")
    check(machine.property("makegood.target", "UnitFileState") == "enabled", "makegood.target is enabled")
    completed = machine.run("""bash -c '. /usr/share/bash-completion/completions/makegood
        COMP_WORDS=(makegood order expo) COMP_CWORD=2; _makegood; echo "${COMPREPLY[@]}"'""").stdout.strip()
    check(completed == "export", "bash completes the tool's verbs")
    failed = machine.run("systemctl start makegood-scheduler@1", check_code=False)
    check(failed.returncode != 0 and "secrets/scheduler/amqp-url" in machine.journal("makegood-scheduler@1"),
          "without secrets a scheduler ends and says which file is missing")
    check(machine.property("makegood-scheduler@1", "NRestarts") == "0", "a mistake in the configuration is not tried again")
    machine.run("systemctl reset-failed 'makegood*'")


def start(machine):
    machine.follow("Users, roles and secrets")
    machine.follow("Services and workflows")
    for unit in UNITS:
        machine.run(f"install -d /etc/systemd/system/{unit}.service.d; "
                    f"printf '[Service]\\nWatchdogSec={WATCHDOG}\\n' >'/etc/systemd/system/{unit}.service.d/watchdog.conf'")
    machine.run("systemctl daemon-reload")
    told = machine.follow("Start")
    check("processed" in told, "the page's commands configure and start everything, and an order goes through")
    check_all_run(machine, "every unit has told systemd that it is up")
    told = machine.follow("Look after it")
    check(all(f"{unit}.service" in told for unit in UNITS), "the page's commands show all units, the journal, health and alerts")


def check_all_run(machine, text):
    wait_until(lambda: all(machine.property(unit, "ActiveState") == "active" and machine.property(unit, "StatusText") == "ready"
                           for unit in UNITS), "all units ready", 60)
    check(True, text)


def submit(machine, text):
    machine.run("""sed '1s/"order_id": "first", //' order.json >next.json""")
    done = machine.run("makegood order submit next.json --wait --timeout 60s --config /etc/makegood/operator.conf", check_code=False)
    check(done.returncode == 0, f"{text}{'' if done.returncode == 0 else ': ' + done.stdout + done.stderr}")


def look_into_sandbox(machine):
    for unit, folder in (("makegood-scheduler@1", "scheduler"), ("makegood-agent@payment", "agent-payment")):
        pid = machine.property(unit, "MainPID")
        check(machine.run(f"ls /proc/{pid}/root/etc/makegood/secrets").stdout.split() == [folder],
              f"{unit} sees its own secrets and nobody else's")
        status = machine.run(f"cat /proc/{pid}/status").stdout
        values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        check(int(values["CapBnd"], 16) == 0 and values["NoNewPrivs"] == "1" and values["Seccomp"] == "2" and "0" not in values["Uid"].split(),
              f"{unit} has no privilege, can get none, and a filter of system calls")
        check(re.search(r"Max core file size +0 +0 ", machine.run(f"cat /proc/{pid}/limits").stdout), f"{unit} leaves no core file")


def disturb(machine):
    pid = machine.property("makegood-scheduler@1", "MainPID")
    machine.run("sed -i s/password=.*/password=renewed/ /etc/makegood/secrets/scheduler/pg-dsn; cd /; runuser -u postgres -- psql -X -q -c \"ALTER ROLE makegood_scheduler PASSWORD 'renewed'\" postgres;"
                "systemctl reload 'makegood-scheduler@*'")
    wait_until(lambda: all("read again" in machine.journal(f"makegood-scheduler@{number}") for number in (1, 2)), "the reload", 30)
    machine.run("cd /; runuser -u postgres -- psql -X -q -c \"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE usename = 'makegood_scheduler'\" postgres")
    check_all_run(machine, "systemctl reload renews a password; connections made after it use the new one")
    check(machine.property("makegood-scheduler@1", "MainPID") == pid, "and the process is the same")
    submit(machine, "an order goes through after it")

    machine.run(f"kill -KILL {pid}")
    wait_until(lambda: machine.property("makegood-scheduler@1", "NRestarts") == "1", "the restart of the killed scheduler", 60)
    check_all_run(machine, "a killed scheduler is started again")

    pid = machine.property("makegood-scheduler@2", "MainPID")
    machine.run(f"kill -STOP {pid}")
    wait_until(lambda: machine.property("makegood-scheduler@2", "NRestarts") == "1", "the watchdog", 60)
    check("watchdog" in machine.journal("makegood-scheduler@2").lower(), "a scheduler that hangs is ended by the watchdog")
    check_all_run(machine, "and started again")
    submit(machine, "an order goes through after all that")

    machine.run("systemctl stop makegood.target")
    wait_until(lambda: all(machine.property(unit, "ActiveState") in ("inactive", "failed") for unit in UNITS), "all units stopped", 90)
    check(all(machine.property(unit, "Result") == "success" for unit in UNITS),
          "makegood.target stops all of them, each with exit code 0")
    machine.run("systemctl start makegood.target")
    check_all_run(machine, "and starts all of them")


def develop(machine):
    """With the C library alone, by its own packages."""
    machine.run("apt-get -q install --no-install-recommends ./libmakegood*.deb")
    machine.run("for name in client agent; do cc -std=c11 -Wall -Wextra -Werror $(pkg-config --cflags makegood) -o example_$name "
                "example_$name.c $(pkg-config --libs makegood); done")
    check("libmakegood.so.0" in machine.run("ldd ./example_client ./example_agent").stdout, "programs are built with libmakegood")
    refused = machine.run("timeout 60 ./example_client amqp://client-none:wrong@127.0.0.1:5672/makegood", check_code=False)
    check(refused.returncode == 1 and "broker" in refused.stderr, f"and one of them asks the broker: {refused.stderr.strip()}")
    check(machine.run("ls /usr/share/man/man3/libmakegood.3*").stdout != "", "the manual is installed")
    machine.run("apt-get -q purge 'libmakegood*'")


def upgrade(machine):
    """To packages that differ only in a higher version."""
    pids = {unit: machine.property(unit, "MainPID") for unit in UNITS}
    machine.run("systemctl stop makegood-scheduler@2; echo 'drain-timeout = 11s' >>/etc/makegood/scheduler.conf")
    pids["makegood-scheduler@2"] = "0"
    machine.run("for package in makegood*.deb; do dpkg-deb -R $package new; sed -i 's/^Version: .*/&+next/' new/DEBIAN/control;"
                "dpkg-deb -b new $package; rm -r new; done")
    told = machine.follow("Upgrade", 0)
    versions = machine.run("dpkg-query -W -f '${Version}\\n' 'makegood*'").stdout.split()
    check(versions and all("+next" in version for version in versions), "a higher version is installed over the old one")
    check({unit: machine.property(unit, "MainPID") for unit in UNITS} == pids, "what ran goes on, what was stopped stays so")
    check("the old version still runs" in told, "and the installation says that the old version runs")
    check("11s" in machine.run("cat /etc/makegood/scheduler.conf").stdout, "the administrator's configuration is kept")
    machine.follow("Upgrade", 1)
    check_all_run(machine, "one after the other they run again")
    check(not set(pids.values()) & {machine.property(unit, "MainPID") for unit in UNITS}, "in new processes")
    submit(machine, "an order goes through after the upgrade")


def remove(machine):
    machine.run("apt-get -q remove makegood-agent")
    check([machine.property(unit, "ActiveState") for unit in UNITS] == ["active"] * 4 + ["inactive"] * 3,
          "without makegood-agent the agents are gone and nothing else")
    machine.follow("Remove", 0)
    check(machine.run("systemctl list-units --no-legend 'makegood*'; find /usr /lib -name '*makegood*' -print").stdout == "",
          "remove leaves no program and no unit")
    check("11s" in machine.run("cat /etc/makegood/scheduler.conf").stdout, "but the configuration")
    machine.follow("Install")
    machine.run("systemctl start makegood.target")
    check_all_run(machine, "installed again, all go on where they were")


def purge(machine):
    for unit in UNITS:  # files of the test itself
        machine.run(f"rm -r '/etc/systemd/system/{unit}.service.d'")
    told = machine.follow("Remove", 1)
    check("orders and messages are kept" in told, "purge says where the data is")
    left = machine.run("find / -xdev '(' -path /proc -o -path /sys -o -path /root -o -path /var/cache/apt -o -path /var/log ')' -prune "
                       "-o -name '*makegood*' -print").stdout.split()
    check(not left, f"purge leaves nothing behind{': ' + ' '.join(left) if left else ''}")
    check(machine.run("getent passwd makegood || getent group makegood || true").stdout == "", "the user is gone")
    check(machine.run("systemctl list-units --no-legend --all 'makegood*'").stdout.strip() == "", "no unit is left")
    check("processed" in machine.run("cd /; runuser -u postgres -- psql -X -At -c 'SELECT DISTINCT process_state FROM order_process' "
                                     "makegood").stdout, "the orders are still in PostgreSQL")


def main(words):
    if len(words) != 1:
        print("usage: packages.py FOLDER", file=sys.stderr)
        return 2
    packages = sorted(pathlib.Path(words[0]).glob("*makegood*.deb"))
    if not packages:
        print(f"packages: no packages in {words[0]}; deploy/package/build makes them", file=sys.stderr)
        return 2
    folder = pathlib.Path(tempfile.mkdtemp(prefix="makegood-packages-", dir="/var/tmp"))
    machine = Machine(folder)
    code = 1
    try:
        prepare(machine, packages)
        say("booting it")
        if not machine.boot():
            say("skipped: systemd cannot be booted here:\n" + end_of(folder / "boot.log"))
            code = 0
        else:
            for step in (install, start, look_into_sandbox, disturb, develop, upgrade, remove, purge):
                step(machine)
            say("all is as it should be")
            code = 0
    except (Failure, AssertionError) as failure:
        say(f"FAILED: {failure}")
        if machine.leader and machine.nspawn.poll() is None:
            print(machine.run("journalctl --no-pager --lines=80 --unit='makegood*'; systemctl --no-pager list-units --all 'makegood*'",
                              check_code=False).stdout)
    finally:
        machine.end()
        if os.environ.get("MAKEGOOD_TEST_KEEP"):
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
