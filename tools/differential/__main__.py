"""See the package. Prints a line for each chapter and the differences; the status says whether there were any."""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from multiprocessing import Pool, TimeoutError
from multiprocessing.pool import IMapIterator
from pathlib import Path

from fakebroker.protocol.errors import Unavailable
from tools.differential import __doc__ as about
from tools.differential.brokers import Running, running
from tools.differential.chapters import CHAPTERS
from tools.differential.played import PLAYED, Play, keep
from tools.differential.warming import warm
from tools.differential.worker import Part, Result, Worker, common_versions

STEPS_A_PART = 1_000
NOT_STARTED = 3
ENDED = 143


def play(part: Part) -> Result:
    """Play a part, in a process of its own."""
    return Worker(part).play()


def _end_with_sigterm() -> None:
    """Let SIGTERM end a worker at once. The handler of the parent would raise in the middle of what it does."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def parts(
    chapters: Iterable[str], steps: int, seed: int, pair: tuple[Running, Running], asked_for: tuple[str, str], out: Path
) -> Iterator[Part]:
    """What is played: each chapter in parts with seeds of their own."""
    reference, subject = pair
    settings = tuple((reference.settings or {}).items())
    names = list(chapters)
    tag = f"{time.time_ns() // 100_000_000:x}-"[3:]
    each = max(1, steps // len(names))
    count = -(-each // STEPS_A_PART)
    for number in range(count):
        for name in names:
            yield Part(
                name, tag, seed * 1000 + number, -(-each // count), reference.address, subject.address, asked_for,
                str(reference) if reference.version else "",
                settings, out,
            )  # fmt: skip


def main() -> int:
    """Start the pair, play every chapter, print what came of it."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ENDED))  # and with it the brokers
    out = arguments.out or Path(tempfile.mkdtemp(prefix="differential-"))
    out.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    with ExitStack() as stack:
        try:
            pair = (
                stack.enter_context(running(arguments.reference)),
                stack.enter_context(running(arguments.subject)),
            )
        except (Unavailable, ValueError) as error:
            print(f"differential: {error}", file=sys.stderr)
            return NOT_STARTED
        for broker in pair:
            warm(broker.address, common_versions(broker.address))
        pool = stack.enter_context(Pool(arguments.jobs, _end_with_sigterm))  # ended with the block
        chapters = arguments.chapter or list(CHAPTERS)
        asked_for = (arguments.reference, arguments.subject)
        every = parts(chapters, arguments.steps, arguments.seed, pair, asked_for, out)
        found = Play(str(pair[0]), str(pair[1]), arguments.seed)
        for result in until(began_s + arguments.minutes * 60, pool.imap_unordered(play, every)):
            found.add(result)
            for line in lines_of(result):
                print(line, flush=True)
    found.seconds = round(time.monotonic() - began_s)
    for line in found.lines():
        print(line)
    if arguments.keep:
        keep(found, arguments.keep)
    return int(any(chapter.kinds for chapter in found.chapters.values()))


def until(end_s: float, results: "IMapIterator[Result]") -> Iterator[Result]:
    """Results as they come, until a time of the monotonic clock; parts that are under way then do not count."""
    while (left_s := end_s - time.monotonic()) > 0:
        try:
            yield results.next(left_s)
        except (StopIteration, TimeoutError):
            return


def lines_of(result: Result) -> Iterator[str]:
    """What came of a part."""
    if result.why_not:
        yield f"{result.chapter}: not played: {result.why_not}"
    else:
        yield f"{result.chapter}: {result.steps} steps, differences: {len(result.differences)}"
    for found in result.differences:
        yield f"{result.chapter}: {found.text}\n    {found.file}"
    for found in result.once:
        yield f"{result.chapter}: once: {found.text}\n    {found.file}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.differential", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("reference", nargs="?", default="kafka-4.3.1", help="the broker that is right")
    parser.add_argument("subject", nargs="?", default="fakebroker", help="the broker that is judged")
    parser.add_argument("--steps", type=int, default=20_000, help="requests in all [default: 20000]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chapter", action="append", choices=list(CHAPTERS), help="repeatable [default: all]")
    parser.add_argument("--out", type=Path, help="folder for recordings of differences")
    parser.add_argument("--jobs", type=int, default=6, help="parts played at a time [default: 6]")
    parser.add_argument("--minutes", type=float, default=600, help="end then; parts under way do not count")
    parser.add_argument(
        "--keep",
        type=Path,
        nargs="?",
        const=PLAYED,
        metavar="FILE",
        help="add the result to a file [default: played.json, which the scoreboard shows]",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
