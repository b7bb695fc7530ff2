"""The example of the front page, run exactly as printed."""

import json
import subprocess

from harness import DEADLINE_S, scenario
from local import cluster, processes

HERE = cluster.REPOSITORY / "tests" / "e2e"


@scenario(services=("payment",))
def the_examples_of_the_readme_run(s):
    """Would catch: examples of the front page that do not work together."""
    s.cluster.tool("broker", "apply", "--service", "greeting")
    assert s.cluster.tool("workflow", "load", HERE / "hello.json").stderr == ""  # no warning of a service without a queue
    agent = processes.Process("python-agent", ["/usr/bin/python3", HERE / "python_agent.py", s.url],
                              s.scratch / "python-agent.log").start()
    s.wait(lambda: s.client.consumers("agent.greeting.requests") == 1, "the agent consumes")
    services = json.loads(s.cluster.tool("service", "list", "-o", "json").stdout)
    assert [row["state"] for row in services if row["service"] == "greeting"] == ["serving"], services  # without any report
    done = subprocess.run(["/usr/bin/python3", HERE / "python_client.py", s.url, "hello", '{"name": "Ada", "amount": 14.00}'],
                          capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    words = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and [word[1:3] for word in words] == [["1", "accepted"], ["2", "processed"]], done
    entry = s.remote("payment").entry(f"{words[0][0]}.charge.do")
    assert json.loads(entry["body"])["text"] == "Hello, Ada" and "14.00" in entry["body"], entry
    assert done.stdout.endswith("{'greeting': 'Hello, Ada', 'charged': Decimal('14.00')}\n"), done.stdout
    s.remote("payment").switch("decline", on="do")
    order = s.client.submit("hello", {"name": "Bob", "amount": 1})
    s.client.wait_status(order, "compensated")
    assert s.step_state(order, "greet") == "undone"
    agent.terminate()
