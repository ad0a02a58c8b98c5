"""What went wrong in Spark, in a line: the cause, instead of the stack of the Java process."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from fakebroker.protocol.errors import Unavailable

_LONGEST: Final = 400
_OUT_OF_MEMORY: Final = (
    "OutOfMemoryError",
    "Java heap space",
    "GC overhead limit",
    "Not enough memory",
    "Insufficient driver memory",
)
_MORE_MEMORY: Final = "Spark ran out of memory: give it more, e.g. --conf spark.driver.memory=8g"


class SparkFailure(Unavailable):
    """Something failed in Spark; says what, in a line."""


def not_shared(folder: Path) -> SparkFailure:
    """What to raise when files that workers wrote into a folder are not there."""
    return SparkFailure(f"{folder.parent} is not shared by all machines of the cluster: write to a shared folder")


@contextmanager
def as_spark_failure() -> Iterator[None]:
    """Turn what Spark raises into SparkFailure, with the whole story as its cause."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise SparkFailure(cause_of(_with_causes(error), type(error).__name__)) from error


def _with_causes(error: Exception) -> str:
    """The text of an exception, and of those of Java that caused it: some of them say no more than where it was."""
    text, cause = str(error), getattr(error, "_cause", None)
    while cause is not None:
        text, cause = f"{text}\nCaused by: {cause}", getattr(cause, "_cause", None)
    return text


def cause_of(text: str, kind: str = "") -> str:
    """The cause in the text of an exception of Spark: the last error of Python in it, else the innermost of Java's."""
    if any(sign in text for sign in _OUT_OF_MEMORY):
        return _MORE_MEMORY
    if kind in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError", "Py4JNetworkException"):
        return f"the Java process of Spark died. Perhaps {_MORE_MEMORY[0].lower()}{_MORE_MEMORY[1:]}"
    if "JAVA_GATEWAY_EXITED" in text:
        return "Spark's Java did not start; its message is above. Check --master and --conf"
    if "All masters are unresponsive" in text or "Failed to connect to master" in text:
        return "the Spark master does not answer: check --master"
    if "stopped SparkContext" in text:
        return "the Spark master does not answer, or ended this application: check --master"
    if "Traceback (most recent call last)" in text:
        lines = [line.strip() for line in text.splitlines()]
        # An error of ours may have any name, one of Python's ends as they do.
        errors = [
            line for line in lines if re.match(r"(fakebroker\.[\w.]+|[\w.]*(Error|Exception|Failure)\b.*):", line)
        ]
        raised = [line for line in errors if not line.startswith(("org.", "java.", "py4j.", "pyspark.errors"))]
        if raised:
            return _short(re.sub(r"^[\w.]+\.(?=\w+:)", "", raised[-1]))
    causes = re.findall(r"Caused by: (.+)", text) or re.findall(r"^: (.+)", text, re.MULTILINE)
    return _short(causes[-1] if causes else text.strip().splitlines()[0] if text.strip() else kind)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
