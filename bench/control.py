"""The HTTP API: start to healthy, a round trip, a broker for each POST."""

import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection

ROUND_TRIPS, BROKERS = 500, 50
Row = Callable[[str, list[float], float, str], str]


def rows(rounds: int, row: Row) -> list[str]:
    """A row for each number."""
    healthy, trips, brokers = [], [], []
    for _ in range(rounds):
        began = time.perf_counter()
        process, control = _serve()
        _ask(control, "GET", "/healthz")
        healthy.append((time.perf_counter() - began) * 1000)
        _ask(control, "GET", "/clock")
        trips.append(_median_ms(ROUND_TRIPS, control, "GET", "/clock"))
        brokers.append(_median_ms(BROKERS, control, "POST", "/brokers", {}))
        control.close()
        process.terminate()
        process.wait()
    return [
        row("`fakebroker serve --control`, start to healthy", healthy, 1000, "ms"),
        row("HTTP round trip, `GET /clock`", trips, 2, "ms"),
        row("`POST /brokers`: a broker that accepts clients", brokers, 10, "ms"),
    ]


def _serve() -> tuple["subprocess.Popen[str]", HTTPConnection]:
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0", "--control", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    process.stdout.readline()
    found = re.search(r"http://([^:]+):(\d+)", process.stdout.readline())
    assert found
    return process, HTTPConnection(found[1], int(found[2]))


def _median_ms(times: int, control: HTTPConnection, verb: str, path: str, body: object = None) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        _ask(control, verb, path, body)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def _ask(control: HTTPConnection, verb: str, path: str, body: object = None) -> None:
    headers = {} if body is None else {"Content-Type": "application/json"}
    control.request(verb, path, None if body is None else json.dumps(body), headers)
    answer = control.getresponse()
    answer.read()
    assert answer.status < 300
