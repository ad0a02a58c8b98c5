"""The container engine and the image that it builds, once for a run."""

import fcntl

import pytest

from tests.support.containers import IMAGE, Engine, NoEngineError, find_engine


@pytest.fixture(scope="session")
def engine() -> Engine:
    """Skips where no engine works."""
    try:
        return find_engine()
    except NoEngineError as error:
        pytest.skip(f"THE IMAGE IS NOT TESTED: needs an engine and a base, see `make setup-image` ({error})")


@pytest.fixture(scope="session")
def image(engine: Engine, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> str:
    """The id of the image, built once for all workers of a run."""
    shared = tmp_path_factory.getbasetemp() if worker_id == "master" else tmp_path_factory.getbasetemp().parent
    with (shared / "image").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
        file.seek(0)
        if not (built := file.read()):
            earlier = engine.try_call("image", "inspect", IMAGE, "--format", "{{.Id}}").stdout.strip()
            built = engine.build(IMAGE)
            if earlier not in ("", built):
                engine.try_call("rmi", earlier)  # unless a container of another run still uses it
            file.write(built)
        return built
