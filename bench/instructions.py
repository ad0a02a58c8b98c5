"""Instructions per request, counted by callgrind: the measure that does not depend on the machine or what else it does.

    make instructions [ARGS="--only fetch"]     compare with bench/instructions.json
    make instructions ARGS=--write              the counts of this run become the table

It fails when a case costs more than 3 % more than the table says. What is meant to cost more, or costs less now, goes
into the table on purpose. Counted are instructions in user space: nothing of the kernel, of cache misses and page
faults; see bench/counted.py for how. Two runs differ by less than 1 %.

The table is of one build of Python, which it names; with another one the counts are printed and nothing is compared.
Without valgrind nothing is counted, and a line says so.
"""

import argparse
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.counted_loop import CLIENTS_ALONE, HEARTBEAT_LOOP
from bench.pythons import ROOT, SYSTEM_PYTHON, fast_python, library_path

TABLE = ROOT / "bench" / "instructions.json"
MAX_GROWTH = 0.03

# glibc copies long blocks with one instruction, `rep movsb`, of which valgrind counts each byte as one.
NO_REP_MOVSB = "glibc.cpu.x86_rep_movsb_threshold=1000000000:glibc.cpu.x86_rep_stosb_threshold=1000000000"


def count(python: str, only: str) -> dict[str, int]:
    """Instructions per request by case, of the cases whose name contains `only`."""
    with tempfile.TemporaryDirectory(prefix="fakebroker-") as directory:
        command = ["valgrind", "--quiet", "--tool=callgrind", "--cache-sim=no", "--branch-sim=no"]
        command += ["--dump-before=getsid", f"--callgrind-out-file={directory}/profile.%p"]
        command += [python, "-B", "-m", "bench.counted", only]
        # A fixed environment: its size moves the stack, and the hash seed the order of what is looked up.
        environment = {"PYTHONPATH": library_path(), "PYTHONHASHSEED": "0", "GLIBC_TUNABLES": NO_REP_MOVSB}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"instructions: the counted process ended with status {done.returncode}")
        counts = {}
        for line in done.stdout.splitlines():
            pid, requests, name = line.split(" ", 2)
            # Profile 1 is what came before the first mark.
            once, twice = (_total(Path(directory, f"profile.{pid}.{part}")) for part in (2, 3))
            counts[name] = round((twice - once) / int(requests))
    clients = counts.pop(CLIENTS_ALONE, 0)
    if HEARTBEAT_LOOP in counts and clients:
        counts[HEARTBEAT_LOOP] -= clients
    return counts


def _total(profile: Path) -> int:
    found = re.search(r"^totals: (\d+)", profile.read_text(), re.M)
    assert found, profile
    return int(found[1])


def name_of(python: str) -> str:
    """What the counts depend on: which Python it is, where it is from, and its compiler."""
    code = (
        "import platform as p; print(p.python_implementation(), p.python_version(), p.python_compiler(), p.machine())"
    )
    text = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    return f"{text}, {'of the system' if python == SYSTEM_PYTHON else 'another build'}"


def judged(counts: Mapping[str, int], table: Mapping[str, int]) -> Iterator[tuple[str, bool]]:
    """A line for each case, and whether it is good."""
    for name, counted in counts.items():
        known = table.get(name)
        if known is None:
            yield f"{name:55} {counted:>11,}  NOT IN THE TABLE", False
            continue
        growth = (counted - known) / known
        remark = f"{growth:+7.1%}" if abs(growth) >= 0.0005 else "      ="
        if growth > MAX_GROWTH:
            remark += f"  MORE THAN {MAX_GROWTH:.0%}"
        elif growth < -MAX_GROWTH:
            remark += "  less: put it into the table, ARGS=--write"
        yield f"{name:55} {counted:>11,}  of {known:>11,} {remark}", growth <= MAX_GROWTH


def main() -> None:
    """Count, print, and compare or write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only the cases whose name contains this text")
    parser.add_argument("--write", action="store_true", help="write the counts into the table")
    parser.add_argument("--python", default=None, help="the interpreter to count with")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions: skipped, valgrind is not installed")
        return
    python = options.python or fast_python()
    name, counts = name_of(python), count(python, options.only)
    table: dict[str, Any] = json.loads(TABLE.read_text()) if TABLE.exists() else {"python": name, "instructions": {}}
    if options.write:
        kept = table["instructions"] if options.only and table["python"] == name else {}
        TABLE.write_text(json.dumps({"python": name, "instructions": {**kept, **counts}}, indent=2) + "\n")
        print(f"instructions: written, of {name}")
    elif table["python"] != name:
        print(f"instructions: the table is of {table['python']}; with {name} nothing is compared")
        for case, counted in counts.items():
            print(f"{case:55} {counted:>11,}")
    else:
        lines = list(judged(counts, table["instructions"]))
        print("\n".join(line for line, _ in lines))
        if not all(good for _, good in lines):
            raise SystemExit("instructions: more than the table allows; if it is meant, make instructions ARGS=--write")


if __name__ == "__main__":
    main()
