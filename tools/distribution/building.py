"""The wheels and sdists of this checkout."""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.distribution.contents import difference, problems, sdist_problems

ROOT = Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "dist"
PROJECTS = (ROOT, ROOT / "recordings")


def build() -> list[str]:
    """Build everything into an empty `dist/`; what is wrong with it, in sentences."""
    OUT.mkdir(exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    wrong: list[str] = []
    for project in PROJECTS:
        wheel = _built(project, OUT, "--wheel")
        sdist = _built(project, OUT, "--sdist")
        wrong += [*problems(wheel), *sdist_problems(sdist)]
        with tempfile.TemporaryDirectory() as folder:  # what an installer without wheels would make
            from_sdist = _built(sdist, Path(folder), "--wheel")
            wrong += [f"{sdist.name}: its wheel has another {name}" for name in difference(wheel, from_sdist)]
    wrong += _metadata_problems()
    return wrong


def _built(source: Path, out: Path, kind: str) -> Path:
    """Build one file. Raises CalledProcessError."""
    if source.is_file():
        command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(source)]
    else:
        command = ["-m", "build", kind, "--outdir", str(out), str(source)]
    before = set(out.iterdir())
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    (made,) = set(out.iterdir()) - before
    return made


def _metadata_problems() -> list[str]:
    files = [str(each) for each in sorted(OUT.iterdir())]
    command = [sys.executable, "-m", "twine", "check", "--strict", *files]
    done = subprocess.run(command, capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"twine: {done.stdout.strip() or done.stderr.strip()}"]
