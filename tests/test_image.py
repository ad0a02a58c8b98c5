"""The container image, without a container engine: what is copied installs and serves, and its health check is right.

`tests/image` builds and runs the image itself where an engine is.
"""

import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from tests.support.image import ROOT, Dockerfile, copy_context, is_in_context

NO_CONNECTION = r"NewConnectionError|NameResolutionError|ConnectTimeoutError"
NO_NETWORK = re.compile(f"{NO_CONNECTION}|No matching distribution found")


def test_what_the_wheel_includes_is_copied(tmp_path: Path) -> None:
    """Each file that pyproject.toml names is in the context and is copied; tests are not."""
    copy_context(tmp_path)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    for name in (*wheel["packages"], *wheel["force-include"], project["project"]["readme"], "pyproject.toml"):
        assert (tmp_path / name).exists(), name
    assert not is_in_context("tests/test_image.py")
    assert not is_in_context("fakebroker/__pycache__/cli.pyc")
    assert is_in_context("fakebroker/cli/http/app.py")


def test_its_labels_are_those_of_the_package() -> None:
    """Version and licence."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    labels = Dockerfile().labels
    for label, field in (("title", "name"), ("version", "version"), ("licenses", "license")):
        assert labels[f"org.opencontainers.image.{label}"] == project[field]


def test_a_missing_extra_is_one_that_an_image_can_be_built_with() -> None:
    """Every extra that the image has exists; errors name the argument of the build with them, for there is no pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = Dockerfile().build_arguments["EXTRAS"]
    assert set(extras.split(",")) == {"control", "scenario", "tls"}
    assert set(extras.split(",")) < project["optional-dependencies"].keys()
    assert Dockerfile().environment["FAKEBROKER_IMAGE_EXTRAS"] == "$EXTRAS"
    assert "[$EXTRAS]" in Dockerfile().all("RUN")[0]


@contextmanager
def serving(program: list[str], options: list[str], ready: Path) -> Iterator[str]:
    """A broker with the environment of the image, on free ports: its first address. At the end it is stopped."""
    options = [re.sub(r"^0\.0\.0\.0:\d+$", "0.0.0.0:0", word) for word in options]
    if "--advertise" in options:  # a port that the test cannot know
        at = options.index("--advertise")
        del options[at : at + 2]
    environment = {"FAKEBROKER_READY_FILE": str(ready), "FAKEBROKER_CONTROL_TOKEN": "test"}
    with subprocess.Popen([*program, *options], env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if "--control" in options:
                assert process.stdout.readline().startswith("fakebroker control on ")
                assert process.stdout.readline().startswith("fakebroker page on ")
            while not is_healthy(ready):
                assert process.poll() is None
            yield re.findall(r"[\d.]+:\d+", line)[0].replace("0.0.0.0", "127.0.0.1")
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def is_healthy(ready: Path) -> bool:
    """What the image's health check finds."""
    check = subprocess.run(Dockerfile().health_check, env={"FAKEBROKER_READY_FILE": str(ready)}, capture_output=True)
    assert check.returncode in (0, 1, 2)
    return check.returncode == 0


OWN_OPTIONS = [["serve", "--listen", "127.0.0.1:0"], ["serve", "--listen", "127.0.0.1:0", "--nodes", "3"]]


@pytest.mark.parametrize("options", [Dockerfile().command, *OWN_OPTIONS])
def test_health_is_that_of_the_broker_whatever_its_options_are(options: list[str], tmp_path: Path) -> None:
    """Healthy from when clients are served to the end; a file that a killed process left makes nothing healthy."""
    ready = tmp_path / "ready"
    assert Dockerfile().health_check[0] == "/bin/sh"  # and no Python, which takes 0.1 s of a core each time
    assert not is_healthy(ready)
    ended = subprocess.Popen(["true"])
    ended.wait()
    ready.write_text(f"{ended.pid}\n")
    assert not is_healthy(ready)
    with serving([sys.executable, "-m", "fakebroker"], options, ready):
        assert is_healthy(ready)
    assert not ready.exists()


def test_a_ready_file_that_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    """One line and status 2, before anything is served."""
    command = [sys.executable, "-m", "fakebroker", "serve", "--listen", "127.0.0.1:0"]
    shown = subprocess.run(
        [*command, "--ready-file", str(tmp_path / "none" / "ready")], capture_output=True, text=True, timeout=30
    )
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
    assert "--ready-file: cannot write" in shown.stderr


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.timeout(600)
def test_what_is_copied_installs_and_serves(tmp_path: Path) -> None:
    """As the image is built: in a folder with the copied files alone, into an environment of its own."""
    source, home, ready = tmp_path / "src", tmp_path / "venv", tmp_path / "ready"
    source.mkdir()
    copy_context(source)
    venv.create(home, with_pip=True)
    (install,) = re.findall(r"/opt/fakebroker/bin/(pip install .*?) &&", Dockerfile().all("RUN")[0])
    words = shlex.split(install.replace("$EXTRAS", Dockerfile().build_arguments["EXTRAS"]))[1:]
    shown = subprocess.run([home / "bin" / "pip", *words], cwd=source, capture_output=True, text=True)
    if shown.returncode and NO_NETWORK.search(shown.stderr):
        pytest.skip("no package index can be reached")
    assert shown.returncode == 0, shown.stderr[-2000:]
    shutil.rmtree(source)
    with serving([str(home / "bin" / "fakebroker")], Dockerfile().command, ready) as bootstrap:
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap})
        producer.produce("orders", b"a")
        assert producer.flush(30) == 0
        assert is_healthy(ready)


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_each_dependency_has_a_wheel_for_the_platform(machine: str, tmp_path: Path) -> None:
    """The base has no compiler, so the image can be built only for platforms that every dependency has a wheel for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = Dockerfile().build_arguments["EXTRAS"].split(",")
    needed = [*project["dependencies"], *(each for extra in extras for each in project["optional-dependencies"][extra])]
    platforms = [f"--platform=manylinux{each}_{machine}" for each in ("2014", "_2_17", "_2_28", "_2_34")]
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--target", tmp_path,
         "--only-binary=:all:", "--python-version=3.13", *platforms, *needed], capture_output=True, text=True,
    )  # fmt: skip
    if shown.returncode and re.search(NO_CONNECTION, shown.stderr):
        pytest.skip("no package index can be reached")
    assert shown.returncode == 0, shown.stderr[-2000:]
