"""What serving needs is loaded when clients have come, or when descriptors run out: no client pays for it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import fakebroker
from fakebroker import FakeBroker
from fakebroker.apis.handlers import MODULES
from fakebroker.net import preload

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
    assert "fakebroker.apis.describe_log_dirs" not in sys.modules
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
    broker.wait(lambda: "fakebroker.apis.describe_log_dirs" in sys.modules or None, 20, lambda: "not loaded")
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
    from fakebroker.engine.dispatch import versions_served
    from fakebroker.release import release
    from fakebroker.wire.frame import encode_request
    from fakebroker.wire.registry import APIS

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


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts the descriptors in /proc")
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
    assert f"{len(MODULES)} APIs answered\nloaded late:\n" in run.stdout
    assert "cannot accept a client" in run.stderr


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts the descriptors in /proc")
def test_a_step_that_finds_no_descriptor_takes_the_one_kept_back() -> None:
    """Without a new client nobody calls accept(): the next step notices, and everything is loaded nevertheless."""
    code = """
import os, resource, socket, sys
from fakebroker import FakeBroker
from fakebroker.net import preload
preload.FIRST_AFTER_S = 3600  # the test takes the step
with FakeBroker() as broker:
    listener = broker.listeners[0]
    client = socket.create_connection((listener.host, listener.port), timeout=30)
    step = broker._server._preload
    broker.wait(lambda: step._next, 20, lambda: "no client")
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, used + 20))
    hogs = []
    try:
        while True:
            hogs.append(os.dup(0))
    except OSError:
        pass
    broker.call(lambda: step._step(None))
    print("all loaded:", preload._loaded)
    sys.stdout.flush()
    os._exit(0)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert run.stdout == "all loaded: True\n", run.stderr[-3000:]


def test_after_a_while_everything_is_loaded() -> None:
    """A module at a time, once a client has come; then the spare descriptor is given back. Nothing before."""
    code = """
import socket, sys, time
from pkgutil import walk_packages
import fakebroker
from fakebroker import FakeBroker
from fakebroker.net import preload
preload.FIRST_AFTER_S = preload.PAUSE_S = 0
with FakeBroker() as broker:
    started = set(sys.modules)
    assert "fakebroker.apis.heartbeat" not in started
    listener = broker.listeners[0]
    client = socket.create_connection((listener.host, listener.port))
    while not preload._loaded:
        time.sleep(0.01)
    assert broker._server._preload._spare_fd is None
    print(*sorted(name for name in sys.modules if name.startswith("fakebroker.")))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    root = str(Path(fakebroker.__file__).parent)
    ours = {
        found.name
        for package in preload.PACKAGES
        for found in walk_packages([f"{root}/{package}"], f"fakebroker.{package}.")
    }
    assert ours - set(run.stdout.split()) == set()


def test_a_broker_that_is_stopped_early_loads_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spare descriptor is given back, and no timer is left in the loop."""
    monkeypatch.setattr(preload, "_loaded", False)
    broker = FakeBroker()
    with broker:
        broker.call(lambda: broker._server._preload.begin(asyncio.get_running_loop()))
        spare = broker._server._preload._spare_fd
        timer = broker._server._preload._next
        assert spare is not None
        assert timer is not None
        os.fstat(spare)
    assert timer.cancelled()
    assert broker._server._preload._spare_fd is None
    assert not preload._loaded


def test_no_descriptor_is_kept_once_all_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second broker of a process has nothing to load."""
    monkeypatch.setattr(preload, "_loaded", True)
    with FakeBroker() as broker:
        assert broker._server._preload._spare_fd is None
