"""What serving needs is loaded when clients have come, or when descriptors run out: no client pays for it."""

import os
import subprocess
import sys
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import fakebroker
from fakebroker.protocol.wire.registry import APIS
from fakebroker.serve.net import preload

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts the descriptors in /proc")

# A broker in a process of its own, as this test is the only one that may use up descriptors and start without modules.
WITHOUT_DESCRIPTORS = """
import os, resource, socket, struct, sys
from fakebroker import FakeBroker

def ask(client, frame):
    client.sendall(struct.pack(">i", len(frame)) + frame)
    (size,) = struct.unpack(">i", client.recv(4, socket.MSG_WAITALL))
    return client.recv(size, socket.MSG_WAITALL)

# name: [frame, ...] of one request for each version, made beforehand: nothing is left to open a file with
requests = eval(sys.stdin.read())
with FakeBroker() as broker:
    listener = broker.listeners[0]
    client = socket.create_connection((listener.host, listener.port), timeout=30)
    ask(client, requests["Heartbeat"][0])
    assert "fakebroker.broker.apis.describe_log_dirs" not in sys.modules
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, used + 20))
    hogs = []
    try:
        while True:
            hogs.append(socket.socket())
    except OSError:
        pass
    # Nothing is taken or given back while the broker finds that it cannot accept this one, and loads what is missing.
    hogs[-1].connect((listener.host, listener.port))
    broker.wait(lambda: "fakebroker.broker.apis.describe_log_dirs" in sys.modules or None, 20, lambda: "not loaded")
    try:
        while True:  # what the broker kept back is taken, too
            hogs.append(os.dup(0))
    except OSError:
        pass
    before = set(sys.modules)
    for name, frames in requests.items():
        for version, frame in enumerate(frames):
            answer = ask(client, frame)
            assert len(answer) > 4, (name, version)
    print(len(requests), "APIs answered")
    print("loaded late:", *sorted(set(sys.modules) - before))
    assert broker.errors == [], broker.errors
    sys.stdout.flush()
    os.closerange(max(used, 3) + 1, used + 40)
    os._exit(0)
"""


def requests_of_all_apis() -> dict[str, list[bytes]]:
    """A frame for every version of every API that is answered at once."""
    from fakebroker.broker.engine.dispatch import versions_served
    from fakebroker.broker.release import release
    from fakebroker.protocol.wire.frame import encode_request

    fields: dict[str, dict[str, Any]] = {
        "Produce": {"acks": 1},
        "ApiVersions": {"client_software_name": "t", "client_software_version": "1"},
        "DescribeAcls": {"resource_type_filter": 1, "operation": 1, "permission_type": 1},
    }
    frames = {}
    for key, (low, high) in versions_served(release("4.3")).items():
        api = APIS[key]
        request = api.request(**fields.get(api.name, {}))
        frames[api.name] = [encode_request(request, version, 7, "test") for version in range(low, high + 1)]
    return frames


@needs_proc
def test_every_api_is_answered_without_a_descriptor_left() -> None:
    """Descriptors run out right after the first client: what is missing is loaded by the one that was kept back."""
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_DESCRIPTORS],
        input=repr(requests_of_all_apis()),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert f"{len(APIS)} APIs answered\nloaded late:\n" in run.stdout
    assert "cannot accept a connection" in run.stderr


# What the programs below begin with: the reserved descriptor is one of /dev/null.
BEGINNING = """
import asyncio, os, resource, socket, sys, time
from fakebroker import FakeBroker
from fakebroker.serve.net import preload

def reserved():
    found = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{fd}") == os.devnull
        except OSError:
            pass  # that of the listing
    return found - BEFORE

BEFORE = 0
BEFORE = reserved()
"""


def modules_after(code: str) -> set[str]:
    """Our modules that a process has loaded which runs the code; the process must end well."""
    code += "\nprint(*(name for name in sys.modules if name.startswith('fakebroker.')))\n"
    command = [sys.executable, "-c", BEGINNING + code]
    run = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, run.stderr[-3000:]
    return set(run.stdout.split())


def all_modules() -> set[str]:
    """The modules that requests may need."""
    root = str(Path(fakebroker.__file__).parent)
    packages = [
        (package, walk_packages([f"{root}/{package}"], f"fakebroker.{package}.")) for package in preload.PACKAGES
    ]
    return {found.name for _, each in packages for found in each}


@needs_proc
def test_a_step_that_finds_no_descriptor_takes_the_one_kept_back() -> None:
    """Without a new client nobody calls accept(): the next step notices, and everything is loaded nevertheless."""
    loaded = modules_after("""
preload.FIRST_AFTER_S = 0
steps, loop = preload.Preload(), asyncio.new_event_loop()
steps.prepare()
assert reserved() == 1
used = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, used + 20))
hogs = []
try:
    while True:
        hogs.append(os.dup(1))
except OSError:
    pass
steps.begin(loop)
loop.run_until_complete(asyncio.sleep(0))  # one turn of the loop: one step
for fd in hogs:
    os.close(fd)
assert reserved() == 0
loop.close()
""")

    assert all_modules() - loaded == set()


@needs_proc
def test_after_a_while_everything_is_loaded() -> None:
    """A module at a time, once a client has come; then the spare descriptor is given back. Nothing before."""
    loaded = modules_after("""
preload.FIRST_AFTER_S = preload.PAUSE_S = 0
with FakeBroker() as broker:
    assert "fakebroker.broker.apis.heartbeat" not in sys.modules
    assert reserved() == 1
    listener = broker.listeners[0]
    client = socket.create_connection((listener.host, listener.port))
    while reserved():  # no event says it
        time.sleep(0.01)
    client.close()
""")

    assert all_modules() - loaded == set()


@needs_proc
def test_a_broker_that_is_stopped_early_loads_no_more() -> None:
    """The spare descriptor is given back, and the rest stays unloaded."""
    loaded = modules_after("""
preload.FIRST_AFTER_S = 3600
with FakeBroker() as broker:
    listener = broker.listeners[0]
    client = socket.create_connection((listener.host, listener.port))
    broker.wait(lambda: broker._engine.connections or None, 60, lambda: "no client")
    assert reserved() == 1
client.close()
assert reserved() == 0
""")

    assert "fakebroker.broker.apis.describe_log_dirs" not in loaded


@needs_proc
def test_no_descriptor_is_kept_once_all_is_loaded() -> None:
    """The second broker of a process has nothing to load."""
    modules_after("""
steps = preload.Preload()
steps.prepare()
assert reserved() == 1
steps.finish()
with FakeBroker() as broker:
    assert reserved() == 0
""")
