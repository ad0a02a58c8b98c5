"""See the package. Prints a line for each chapter and the differences; the status says whether there were any."""

import argparse
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from fakebroker.protocol.listeners import Address
from tools.differential import __doc__ as about
from tools.differential.chapters import CHAPTERS
from tools.differential.worker import Result, Worker


def play(job: tuple[str, Address, Address, int, str, int]) -> Result:
    """Play one chapter, in a process of its own."""
    chapter, reference, subject, seed, out, steps = job
    return Worker(chapter, reference, subject, seed, Path(out)).play(steps)


def address_of(text: str) -> Address:
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    return Address(host, int(port))


def main() -> int:
    """Play every chapter, two at a time."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference", type=address_of, help="HOST:PORT of the broker that is right")
    parser.add_argument("subject", type=address_of, help="HOST:PORT of the broker that is judged")
    parser.add_argument("--steps", type=int, default=20_000, help="requests in all [default: 20000]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chapter", action="append", choices=list(CHAPTERS), help="repeatable [default: all]")
    parser.add_argument("--out", type=Path, help="folder for recordings of differences")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    out = arguments.out or Path(tempfile.mkdtemp(prefix="differential-"))
    out.mkdir(parents=True, exist_ok=True)
    chapters = arguments.chapter or list(CHAPTERS)
    each = arguments.steps // len(chapters)
    jobs = [(name, arguments.reference, arguments.subject, arguments.seed, str(out), each) for name in chapters]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(play, jobs))
    for result in results:
        print(
            f"{result.chapter}: {result.steps} steps in {result.histories} histories, "
            f"{len(result.differences)} differences{result.why_not and f'; not played: {result.why_not}'}"
        )
        for found in result.differences:
            print(f"  {found.text}\n    {found.file}")
        for text in result.not_again:
            print(f"  once: {text}")
    return int(any(result.differences for result in results))


if __name__ == "__main__":
    sys.exit(main())
