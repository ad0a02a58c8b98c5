"""The command line where no extra is installed, which is what `pip install fakebroker` brings."""

import subprocess
import sys
import tomllib

from fakebroker.cli.exit_status import ExitStatus
from tests.support.image import ROOT

# What an extra brings: everything installed but the package, its five dependencies and the standard library.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {known!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""
MODULES = {"google-crc32c": "google_crc32c"}
EVERY_HELP = """
import click
from fakebroker.cli.main import main
def helps(command, words):
    with command.make_context(words[-1], [], resilient_parsing=True) as ctx:
        print(*words)
        assert command.get_help(ctx).startswith("Usage")
        if isinstance(command, click.Group):
            for name in command.list_commands(ctx):
                helps(command.get_command(ctx, name), [*words, name])
helps(main, ["fakebroker"])
"""


def run(code: str) -> str:
    """What Python prints without the packages of any extra."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [each.partition(">")[0] for each in needed]
    known = ["fakebroker", *(MODULES.get(name, name) for name in names)]
    command = [sys.executable, "-c", WITHOUT.format(known=known) + code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_help_of_every_command_is_shown_without_an_extra() -> None:
    """`fakebroker --help` is the first thing that a newcomer tries."""
    shown = run(EVERY_HELP).splitlines()
    assert "fakebroker ctl clock advance" in shown
    assert "fakebroker pipeline run" in shown


def test_a_shell_controls_a_broker_without_an_extra() -> None:
    """`fakebroker ctl` asks by the standard library: here it finds that no broker answers."""
    ask = "from fakebroker.cli.main import main\ntry:\n    main(['ctl', '--url', 'http://127.0.0.1:1', 'clock'])\n"
    assert run(f"{ask}except SystemExit as end:\n    print(end.code)\n") == f"{ExitStatus.UNAVAILABLE}\n"
