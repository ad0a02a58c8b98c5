"""See the package."""

import argparse
import sys

from tools.distribution import __doc__ as about
from tools.distribution import lowest
from tools.distribution.building import OUT, ROOT, build
from tools.distribution.tag import tag_problems
from tools.distribution.trying import extras, interpreter, pythons, supported, try_all


def main() -> int:
    """Build or try; the status is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="wheels and sdists into dist/, checked")
    trying = commands.add_parser("try", help="the wheels of dist/ in clean environments")
    trying.add_argument("python", nargs="*", help="interpreters [default: all that there are]")
    trying.add_argument("--extra", action="append", choices=extras(), help="repeatable [default: all]")
    trying.add_argument("--lowest", action="store_true", help="with the lowest versions that pyproject.toml allows")
    commands.add_parser("lowest", help="an environment for the tests, with the lowest versions").add_argument(
        "python", nargs="?", help="an interpreter [default: the oldest that there is]"
    )
    commands.add_parser("check-tag", help="what does not have the version of a tag").add_argument("tag")
    arguments = parser.parse_args()
    if arguments.command == "build":
        return _build()
    if arguments.command == "check-tag":
        return _report(tag_problems(arguments.tag))
    if arguments.command == "lowest":
        return _lowest(arguments.python or pythons()[0])
    return _try(arguments.python, arguments.extra, is_lowest=arguments.lowest)


def _build() -> int:
    wrong = build()
    for each in sorted(OUT.iterdir()):
        print(f"{each.stat().st_size:12,}  {each.relative_to(ROOT)}")
    return _report(wrong)


def _report(wrong: list[str]) -> int:
    for text in wrong:
        print(f"wrong: {text}")
    return int(bool(wrong))


def _lowest(python: str) -> int:
    lowest.set_up(python)
    found = lowest.installed()
    for name, wanted in (line.split("==") for line in lowest.constraints()):
        print(f"{name:20} {wanted:10} {found.get(name, 'not installed: of an extra that the tests leave out')}")
    return 0


def _try(names: list[str], wanted: list[str] | None, *, is_lowest: bool) -> int:
    """Without names, Pythons that this machine lacks are said and left out; a name that leads nowhere fails."""
    found = {name: interpreter(name) for name in names or supported()}
    missing = [name for name, path in found.items() if path is None]
    for name in missing:
        print(f"{name} is not tried: this machine has no such interpreter", flush=True)
    failed = len(missing) if names else 0
    for trial in try_all(list(filter(None, found.values())), wanted or extras(), is_lowest=is_lowest):
        print(f"Python {trial.python:8} {trial.extra:12} {'FAILED' if trial.why else 'ok'}", flush=True)
        if trial.why:
            print(trial.why)
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
