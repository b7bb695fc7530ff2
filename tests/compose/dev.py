"""The image of `makegood dev`, as deploy/docs/start.md runs it: the service and the workflow of the first hour."""

import contextlib
import json
import sys
import urllib.request

from local import processes
from system import BUILD_S, REPOSITORY, run

sys.path.insert(0, str(REPOSITORY / "tests" / "first_hour"))
import page  # noqa: E402  pylint: disable=wrong-import-position

START_S = 180.0
END_S = 60.0
STATE = "/var/lib/makegood-dev"
ORDERS = {"good": (14.5, "processed"), "dear": (140.5, "compensated")}  # by amount


def bridge():
    """The host's address in the engine's network, as containers find it under host.docker.internal."""
    (network,) = json.loads(run(["docker", "network", "inspect", "bridge"]).stdout)
    return network["IPAM"]["Config"][0]["Gateway"]


def write_files(folder, address):
    """The page's own files; the service listens where containers reach it."""
    host, port = address
    for name, text in page.read()[0].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace('("127.0.0.1", 9080)', f'("{host}", {port})'), encoding="utf-8")


@contextlib.contextmanager
def container(system, image, service_port, port):
    name = f"{system.project}-dev"
    run(["docker", "run", "-d", "--name", name, "-p", f"127.0.0.1:{port}:9280", "--add-host", "host.docker.internal:host-gateway",
         "-v", f"{system.folder}/first/workflows:/project/workflows", image,
         "--service", f"shop=http://host.docker.internal:{service_port}"])
    try:
        yield name
    finally:
        run(["docker", "rm", "-f", name], check=False)


def post(port, token, order_id, amount):
    """Posts an order as the page does, and returns its end."""
    def ask(path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/orders{path}", data=body and json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=END_S) as answer:
            return json.load(answer)

    ask("", {"order_id": order_id, "workflow": "purchase", "payload": {"item": "chair", "amount": amount}})
    return ask(f"/{order_id}?wait=30s")


def show(system, say):
    image = f"{system.project}-dev"
    run(["docker", "build", "-f", "deploy/Dockerfile", "--target", "dev", "-t", image, "."], cwd=system.folder, timeout_s=BUILD_S)
    service_port, port = processes.free_port(), processes.free_port()
    write_files(system.folder, (bridge(), service_port))
    shop = processes.Process("shop", ["/usr/bin/python3", system.folder / "first" / "shop.py"], system.folder / "shop.log").start()
    try:
        with container(system, image, service_port, port) as name:
            processes.wait_until(lambda: "Ctrl-C ends all" in run(["docker", "logs", name]).stdout, "all is ready", START_S, alive=shop)
            token = system.execute(name, "cat", f"{STATE}/token").stdout.strip()
            for order_id, (amount, state) in ORDERS.items():
                ended = post(port, token, order_id, amount)
                if ended["state"] != state:
                    raise processes.Failure(f"the order {order_id} did not end as {state}: {ended}\n{run(['docker', 'logs', name]).stdout}")
            run(["docker", "stop", "-t", "60", name])
            (state,) = system.inspect(name)
            if state["State"]["ExitCode"] != 0:
                raise processes.Failure(f"it ended with {state['State']['ExitCode']}\n{run(['docker', 'logs', name]).stdout}")
    finally:
        shop.ask_to_end()
        run(["docker", "rmi", "-f", image], check=False)
    say(f"  {len(ORDERS)} orders through the container to a service on the host; it ended by the engine's stop, in order")
