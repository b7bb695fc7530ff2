"""The example of the front page, run exactly as printed."""

import json

from harness import DEADLINE_S, scenario
from test_pages import Reader


@scenario(services=("payment",))
def the_examples_of_the_readme_run(s):
    """Would catch: examples of the front page that do not work together."""
    reader = Reader(s)
    apply, load, serve, post = reader.commands("README.md")
    reader.run(apply)
    assert "no queue" not in reader.run(f"{load} 2>&1")
    agent = reader.stay(serve.removesuffix(" &"), lambda _log: True, "the agent starts", DEADLINE_S)
    s.wait(lambda: s.client.consumers("agent.greeting.requests") == 1, "the agent consumes")
    services = json.loads(s.cluster.tool("service", "list", "-o", "json").stdout)
    assert [row["state"] for row in services if row["service"] == "greeting"] == ["serving"], services  # without any report
    printed = reader.run(post)
    words = [line.split() for line in printed.splitlines()]
    assert [word[1:3] for word in words] == [["1", "accepted"], ["2", "processed"]], printed
    entry = s.remote("payment").entry(f"{words[0][0]}.charge.do")
    assert json.loads(entry["body"])["text"] == "Hello, Ada" and "14.5" in entry["body"], entry
    assert printed.endswith("{'greeting': 'Hello, Ada', 'charged': Decimal('14.5')}\n"), printed
    s.remote("payment").switch("decline", on="do")
    order = s.client.submit("hello", {"name": "Bob", "amount": 1})
    s.client.wait_status(order, "compensated")
    assert s.step_state(order, "greet") == "undone"
    agent.terminate()
