"""The work whose instructions `make instructions` counts: runs under callgrind, one forked process for each case.

    valgrind --tool=callgrind --dump-before=getsid ... python -m bench.counted [TEXT]

A case sends N requests, then 2N more. `mark` stands before, between and behind; callgrind writes a profile there, and
the difference of the two is what N requests cost, with everything left out that does not grow with their number. For
each case a line goes to stdout: the process id, N, and the name. bench/instructions.py reads it.
"""

import gc
import os
import sys
from collections.abc import Callable

from bench.counted_cases import CASES
from bench.counted_expiry import EXPIRY_CASES
from bench.counted_loop import LOOP_CASES
from fakebroker.cli.main import tune_garbage_collector

Run = Callable[[Callable[[], None]], int]  # calls its argument three times: before N, before 2N, at the end; returns N


def mark() -> None:
    """Have callgrind write what was counted since the last mark, and begin anew at zero.

    It does so before each call of the C function `getsid`, which nothing else calls.
    """
    gc.collect()
    os.getsid(0)


def count(name: str, run: Run) -> None:
    """Run one case in a process of its own: no case then depends on those before it."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        if status:
            raise SystemExit(f"{name}: failed, see above")
        return
    requests = run(mark)
    print(os.getpid(), requests, name, flush=True)
    os._exit(0)  # without what a process does at its end: it is slow under callgrind


def main() -> None:
    """Run the cases whose name contains the first argument."""
    wanted = sys.argv[1].lower() if len(sys.argv) > 1 else ""
    tune_garbage_collector()  # as `fakebroker serve` does
    runs: dict[str, Run] = {case.name: case.run for case in CASES}
    runs |= {case.name: case.run for case in (*EXPIRY_CASES, *LOOP_CASES)}
    for name, run in runs.items():
        if wanted in name.lower():
            count(name, run)


if __name__ == "__main__":
    main()
