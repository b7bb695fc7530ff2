"""The live screen of the tool, on a terminal of its own."""

import contextlib
import json
import signal

from harness import scenario, step
from local import processes
from terminal import Terminal


@contextlib.contextmanager
def top(s, width=80, height=24):
    env = {**processes.plain_environment(), **s.cluster.env, **s.cluster.tool_env}
    terminal = Terminal([s.cluster.bin / "makegood", "top"], env, width, height)
    try:
        yield terminal
    finally:
        terminal.close()


def has(*texts):
    """A condition on lines: one of them begins with each text, or has all its words in this order."""
    def look(lines):
        return all(any(words_in(line, text.split()) for line in lines) for text in texts)
    return look


def words_in(line, words):
    rest = iter(line.split())
    return all(word in rest for word in words)


@scenario(long="graces, elections and patience pass in real time")
def the_screen_shows_orders_and_alerts_as_they_change(s):
    """Would catch: a figure that is never shown, a key that does nothing, a screen that is wrong at another size."""
    s.load_workflow("stops", [step("charge", "payment")], on_failure="error")
    with top(s) as terminal:
        terminal.wait(lambda lines: lines[0].startswith("well"), "it is well")
        terminal.wait(has("carrier serving", "payment serving", "orders.intake 0", "FAILED none", "ALERTS none"), "all is shown")
        s.remote("payment").switch("decline")
        order = s.client.submit("stops", {"n": 1})
        s.wait_state(order, "error")
        terminal.wait(lambda lines: lines[0].startswith("NOT WELL: 1 alert open"), "the alert is seen")
        terminal.wait(has("alerts order_error 1", "1 stops charge payment"), "the failure is seen")
        terminal.press("\t")
        terminal.wait(lambda lines: lines[-1].startswith(f"> makegood order explain {order.order_id}"), "its row leads on")
        terminal.press("1\x1bOB\x1bOB")  # the list of services, two down, by xterm's key codes
        s.pause_service("payment", "too many declines")
        terminal.wait(has("payment paused"), "the pause is seen")
        terminal.wait(lambda lines: lines[-1].startswith("> makegood service resume payment"), "its row leads on")
        waiting = s.client.submit("stops", {"n": 2})
        terminal.wait(has("pending stops " + waiting.order_id), "the order that waits is among the oldest")
        terminal.wait(has("orders 1 open,"), "it is counted")
        terminal.resize(40, 10)
        terminal.wait(lambda lines: lines[5].startswith("SERVICE") and lines[9].startswith("> makegood service resume payment"),
                      "the chosen list is on the small screen")
        terminal.resize(100, 40)
        terminal.wait(lambda lines: len(lines) == 40 and lines[39].startswith("> makegood service"), "all is on the large one")
        s.remote("payment").switch("order")
        s.cluster.tool("service", "resume", "payment", "--reason", "it takes cards again")
        s.cluster.tool("order", "resume", order.order_id, "--reason", "it takes cards again")
        terminal.wait(lambda lines: lines[0].startswith("well"), "it is well again")
        s.wait_state(order, "processed")
        s.wait_state(waiting, "processed")
        terminal.press("q")
        assert terminal.end() == 0, terminal


@scenario(long="processes as systemd, a terminal and a crowd see them")
def the_terminal_is_given_back_however_the_screen_ends(s):
    """Would catch: a shell without an echo, a cursor that is gone, after a kill or an interrupt."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, None):
        with top(s, 40, 10) as terminal:
            terminal.wait(lambda lines: lines[0] != "" and lines[9].startswith(">"), "the screen is there")
            if number is None:
                terminal.press("\x03")  # control-C, which the terminal turns into a signal
            else:
                terminal.popen.send_signal(number)
            assert terminal.end() == 0, terminal


@scenario(own_servers=True, long="graces, elections and patience pass in real time")
def a_lost_database_is_shown_and_found_again(s):
    """Would catch: a screen that ends, or still shows "well", when the database is gone."""
    with top(s) as terminal:
        terminal.wait(lambda lines: lines[0].startswith("well"), "it is well")
        s.servers.postgres.kill()
        terminal.wait(lambda lines: lines[0].startswith("NOT WELL: no database"), "the loss is seen")
        terminal.wait(has("servers database away, broker answers"), "the broker is still there")
        s.servers.postgres.restart()
        terminal.wait(lambda lines: lines[0].startswith("well"), "it is well again", 90)
        s.servers.rabbit.kill()
        terminal.wait(lambda lines: "no broker" in lines[0], "the loss is seen")
        s.servers.rabbit.restart()
        terminal.wait(lambda lines: lines[0].startswith("well"), "it is well again", 120)
        terminal.press("q")
        assert terminal.end() == 0, terminal


@scenario(long="processes as systemd, a terminal and a crowd see them")
def without_a_terminal_it_is_printed_once(s):
    """Would catch: escape sequences in a file, or a loop in a cron job."""
    s.wait(lambda: s.cluster.tool("top").stdout.startswith("well"), "it is well")
    printed = s.cluster.tool("top").stdout
    assert "\x1b" not in printed and has("carrier serving", "FAILED none", "orders.intake 0")(printed.splitlines()), printed
    told = json.loads(s.cluster.tool("top", "-o", "json").stdout)
    assert told["is_well"] and told["why"] == "", told
    assert {row["service"] for row in told["services"]} == {"inventory", "payment", "carrier"}, told
    assert {"queue": "orders.intake", "messages": 0, "consumers": 1} in told["queues"], told
    assert told["leader"][0]["holder"] and told["failures"] == told["oldest"] == [], told
