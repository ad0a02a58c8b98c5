"""See the package."""

import argparse
import sys

from tools.distribution import __doc__ as about
from tools.distribution.building import OUT, ROOT, build
from tools.distribution.trying import extras, pythons, try_all


def main() -> int:
    """Build or try; the status is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="wheels and sdists into dist/, checked")
    trying = commands.add_parser("try", help="the wheels of dist/ in clean environments")
    trying.add_argument("python", nargs="*", help="interpreters [default: all that there are]")
    trying.add_argument("--extra", action="append", choices=extras(), help="repeatable [default: all]")
    arguments = parser.parse_args()
    return _build() if arguments.command == "build" else _try(arguments.python, arguments.extra)


def _build() -> int:
    wrong = build()
    for each in sorted(OUT.iterdir()):
        print(f"{each.stat().st_size:12,}  {each.relative_to(ROOT)}")
    for text in wrong:
        print(f"wrong: {text}")
    return int(bool(wrong))


def _try(interpreters: list[str], wanted: list[str] | None) -> int:
    failed = 0
    for trial in try_all(interpreters or pythons(), wanted or extras()):
        print(f"Python {trial.python:8} {trial.extra:12} {'FAILED' if trial.why else 'ok'}", flush=True)
        if trial.why:
            print(trial.why)
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
