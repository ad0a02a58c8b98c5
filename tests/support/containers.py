"""A container engine, docker or podman, and the image that it builds of the Dockerfile.

`scripts/set-up-image` gets what is needed; without it `find_engine` says what is missing.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.support.eventually import eventually
from tests.support.image import ROOT, Dockerfile

# As in scripts/set-up-image.
BASES = ("docker.io/library/python:3.13-slim", "localhost/fakebroker-base:debian13")
IMAGE = "localhost/under-test/fakebroker"
TIMEOUT_S = 170
_LIMITS = ("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=8192:8192")  # podman's own may exceed what root may set
_CONFIGURATION = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=8192:8192"]
cgroupns = "{cgroups}"
[engine]
{runtime}
"""
_PROBE = 'FROM scratch\nHEALTHCHECK --start-interval=1s CMD ["true"]\n'


class NoEngineError(Exception):
    """No container engine works on this machine; the text has the reason of each."""


@dataclass(frozen=True)
class Engine:
    """A program that builds images and runs containers.

    Args:
        program: The command and its global options.
        build_options: What `build` needs besides.
        run_options: What `run` needs besides.
        base: The image that ours is built on.
    """

    program: tuple[str, ...]
    build_options: tuple[str, ...] = ()
    run_options: tuple[str, ...] = ()
    base: str = ""

    def call(self, *arguments: str) -> str:
        """What a command prints. Raises AssertionError with the errors of one that fails."""
        ended = self.try_call(*arguments)
        assert ended.returncode == 0, f"{self.program[0]} {arguments[0]}: {ended.stderr[-3000:]}"
        return ended.stdout.strip()

    def try_call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A command that may fail."""
        return subprocess.run([*self.program, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S)

    def build(self, tag: str) -> str:
        """Build the image of the Dockerfile. Returns its id.

        Older engines do not know the option --start-interval of HEALTHCHECK; they get the Dockerfile without it.
        """
        text = (ROOT / "Dockerfile").read_text()
        if self._built(_PROBE, "-t", f"{tag}-probe").returncode:
            text = re.sub(r" --start-interval=\S+", "", text)
        else:
            self.try_call("rmi", f"{tag}-probe")
        ended = self._built(text, "-t", tag, "--build-arg", f"BASE={self.base}")
        assert ended.returncode == 0, ended.stderr[-3000:]
        return self.call("image", "inspect", tag, "--format", "{{.Id}}")

    def _built(self, text: str, *options: str) -> "subprocess.CompletedProcess[str]":
        """The end of a build of the text of a Dockerfile, with the files of this repository."""
        command = [*self.program, "build", *self.build_options, *options, "-f", "-", str(ROOT)]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S)

    @contextmanager
    def api(self, folder: Path) -> Iterator[dict[str, str]]:
        """The environment in which Testcontainers finds this engine's API; podman serves it from a folder for that."""
        shared = {
            "TESTCONTAINERS_RYUK_DISABLED": "true",
            "TESTCONTAINERS_HUB_IMAGE_NAME_PREFIX": IMAGE.removesuffix("fakebroker"),
        }
        if self.program[0] == "docker":
            yield shared
            return
        configuration, place = folder / "containers.conf", folder / "podman.sock"
        runtime = 'runtime = "runc"' if "runc" in self.program else ""
        configuration.write_text(_CONFIGURATION.format(runtime=runtime, cgroups="host" if runtime else "private"))
        command = [self.program[0], "system", "service", "--time=0", f"unix://{place}"]
        with subprocess.Popen(command, env={**os.environ, "CONTAINERS_CONF": str(configuration)}) as process:
            try:
                eventually(place.exists)
                connection = {"DOCKER_HOST": f"unix://{place}", "TESTCONTAINERS_HOST_OVERRIDE": "localhost"}
                yield {**shared, **connection, "TESTCONTAINERS_CONNECTION_MODE": "docker_host"}
            finally:
                process.terminate()

    @contextmanager
    def running(self, image: str, *command: str, options: Sequence[str] = ()) -> Iterator["Container"]:
        """A container of an image, which is removed at the end."""
        container = Container(self, self.call("run", "-d", *self.run_options, *options, image, *command).split()[-1])
        try:
            yield container
        finally:
            self.try_call("rm", "-f", container.id)


@dataclass(frozen=True)
class Container:
    """A container that was started."""

    engine: Engine
    id: str

    @property
    def state(self) -> dict[str, Any]:
        """What the engine says about it."""
        found: dict[str, Any] = json.loads(self.engine.call("container", "inspect", self.id))[0]
        return found

    @property
    def address(self) -> str:
        """Its IP address in its network."""
        networks: dict[str, dict[str, str]] = self.state["NetworkSettings"]["Networks"] or {}
        found = [network["IPAddress"] for network in networks.values()]
        return found[0] if found else str(self.state["NetworkSettings"]["IPAddress"])

    def address_of(self, port: int) -> str:
        """Where a published port is reached on this machine."""
        return self.engine.call("port", self.id, str(port)).splitlines()[0].replace("0.0.0.0", "127.0.0.1")

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """A command inside it."""
        return self.engine.try_call("exec", self.id, *command)

    def end(self) -> int:
        """Send SIGTERM. Returns the status of the process when it has ended."""
        self.engine.call("kill", "--signal", "TERM", self.id)
        return int(self.engine.call("wait", self.id))

    @property
    def log(self) -> str:
        """What its process has printed."""
        ended = self.engine.try_call("logs", self.id)
        return ended.stdout + ended.stderr

    @property
    def is_healthy(self) -> bool:
        """What the command of the image's health check finds; engines without systemd do not run it by themselves."""
        return self.run(*Dockerfile().health_check).returncode == 0

    def wait_until_healthy(self) -> None:
        """Until the health check succeeds. Raises AssertionError if it never does, or the container ends."""
        eventually(lambda: self.is_healthy or not self.state["State"]["Running"])
        assert self.is_healthy, self.log


_PODMAN_BUILD = ("--isolation", "chroot", "--format", "docker", "--layers=false")  # OCI images have no health check
_PODMAN_RUN = ("--health-interval", "disable", *_LIMITS)
CANDIDATES = (
    Engine(("docker",)),
    Engine(("podman",), _PODMAN_BUILD, _PODMAN_RUN),
    Engine(("podman", "--runtime", "runc"), _PODMAN_BUILD, (*_PODMAN_RUN, "--cgroupns", "host")),  # old cgroups
)


def find_engine() -> Engine:
    """The first engine that runs a container of a base image. Raises NoEngineError."""
    reasons = []
    for each in CANDIDATES:
        try:
            return _with_base(each)
        except NoEngineError as error:
            reasons.append(f"{' '.join(each.program)}: {error}")
    raise NoEngineError("; ".join(reasons))


def _with_base(engine: Engine) -> Engine:
    if shutil.which(engine.program[0]) is None:
        raise NoEngineError("not on the PATH")
    if (ended := engine.try_call("info")).returncode:
        raise NoEngineError(_last_line(ended.stderr))
    bases = [base for base in BASES if engine.try_call("image", "inspect", base).returncode == 0]
    if not bases:
        raise NoEngineError("has no base image")
    if (ended := engine.try_call("run", "--rm", *engine.run_options, bases[0], "true")).returncode:
        raise NoEngineError(_last_line(ended.stderr))
    return replace(engine, base=bases[0])


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
