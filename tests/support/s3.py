"""An S3 on this machine for tests: moto's, in a process of its own, since Delta's library holds Python's lock."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final, NamedTuple

BUCKET: Final = "lake"
_ALL_ALLOWED: Final = "inf"


class S3(NamedTuple):
    """A running S3 with an empty bucket."""

    url: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which clients find it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def deny(self) -> None:
        """Refuse every request from now on: nobody has rights."""
        self._send("POST", "moto-api/reset-auth", b"0")

    def allow(self) -> None:
        """Ask nobody for rights."""
        self._send("POST", "moto-api/reset-auth", _ALL_ALLOWED.encode())

    def make_bucket(self) -> None:
        """Make the bucket, with nothing in it."""
        self._send("POST", "moto-api/reset")
        self._send("PUT", BUCKET)

    def _send(self, method: str, path: str, data: bytes = b"") -> None:
        headers = {"Content-Type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/{path}", data, headers, method=method)).close()


@contextmanager
def running_s3() -> Iterator[S3]:
    """An S3 that lives as long as the block."""
    program = "from moto.server import main; main(['-H', '127.0.0.1', '-p', '0'])"
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        found = next(filter(None, (re.search(r"Running on (http\S+)", line) for line in server.stderr)))
        reader = Thread(target=server.stderr.read)  # else the server waits once the pipe is full of its log
        reader.start()
        try:
            yield S3(found[1])
        finally:
            server.kill()
            reader.join()
