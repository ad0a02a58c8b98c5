"""compose.yaml, played by a container engine that need not know Docker Compose: as far as our examples use it."""

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.support.containers import Container, Engine

_KNOWN = {"image", "build", "ports", "environment", "profiles", "depends_on", "command", "volumes"}


class ComposeFile:
    """The services of a file.

    Args:
        content: The parsed file.
        folder: The folder of the file, to which its paths are relative.
        images: The images to take for those that the file names.
    """

    def __init__(self, content: Mapping[str, Any], folder: Path, images: Mapping[str, str]) -> None:
        self.services: dict[str, dict[str, Any]] = content["services"]
        self._folder, self._images = folder, images
        unknown = {key for service in self.services.values() for key in service} - _KNOWN
        assert not unknown, f"keys of services that are not played: {sorted(unknown)}"

    @classmethod
    def read(cls, path: Path, images: Mapping[str, str]) -> "ComposeFile":
        """The services of a file on disk."""
        return cls(yaml.safe_load(path.read_text()), path.parent, images)

    @contextmanager
    def up(self, engine: Engine) -> Iterator[dict[str, Container]]:
        """Start all services, those of profiles as well, each when those that it depends on are healthy.

        A service finds those before it by their names. Published ports are on 127.0.0.1, at numbers of the system's
        choosing. At the end all are removed.
        """
        network = f"fakebroker-test-{os.getpid()}"
        with ExitStack() as stack:
            engine.call("network", "create", network)
            stack.callback(engine.try_call, "network", "rm", "-f", network)
            started: dict[str, Container] = {}
            for name in self._in_order():
                for needed in self.services[name].get("depends_on", {}):
                    started[needed].wait_until_healthy()
                image, options, command = self._run(name)
                hosts = [f"--add-host={each}:{container.address}" for each, container in started.items()]
                running = engine.running(image, *command, options=["--network", network, *hosts, *options])
                started[name] = stack.enter_context(running)
            yield started

    def _in_order(self) -> list[str]:
        """The names, each after those that it depends on."""
        ordered: list[str] = []
        while len(ordered) < len(self.services):
            free = [
                name
                for name, service in self.services.items()
                if name not in ordered and set(service.get("depends_on", {})) <= set(ordered)
            ]
            assert free, "services depend on each other"
            ordered += free
        return ordered

    def _run(self, name: str) -> tuple[str, list[str], list[str]]:
        """The image, the options and the command to run a service with."""
        service = self.services[name]
        options = [f"--env={key}={value}" for key, value in service.get("environment", {}).items()]
        options += [f"--publish=127.0.0.1::{port.split(':')[-1]}" for port in service.get("ports", [])]
        for volume in service.get("volumes", []):
            source, _, rest = volume.partition(":")
            options.append(f"--volume={(self._folder / source).resolve()}:{rest}")
        command = service.get("command", [])
        words = shlex.split(command) if isinstance(command, str) else command
        # Compose puts the values of its own variables in place of $NAME, and makes $$ a dollar sign.
        return self._images[service["image"]], options, [word.replace("$$", "$") for word in words]
