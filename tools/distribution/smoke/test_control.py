"""The HTTP API, as a separate process serves it."""

import json
import subprocess
import sys
import urllib.request

FAKEBROKER = (sys.executable, "-m", "fakebroker")


def test_the_clock_is_read_over_http():
    options = ["--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]
    with subprocess.Popen([*FAKEBROKER, "serve", *options], stdout=subprocess.PIPE, text=True) as serving:
        try:
            url = next(line.split()[-1] for line in serving.stdout if "control on" in line)
            with urllib.request.urlopen(f"{url}/clock") as answer:
                assert "now" in json.load(answer)
        finally:
            serving.terminate()
