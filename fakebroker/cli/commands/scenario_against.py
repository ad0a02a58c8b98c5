"""What `fakebroker scenario run --against` prints, and its exit status."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from fakebroker.cli.exit_status import ExitStatus, errors_end_the_command
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.durations import duration_ms
from fakebroker.scenarios.on_kafka.against import Comparison, How, Result, compare_all
from fakebroker.scenarios.on_kafka.kafka_steps import LONGEST_PASS_MS
from fakebroker.scenarios.on_kafka.kafka_world import KafkaWorld
from fakebroker.scenarios.script import Scenario

IN_PART = "in part"  # the same, but without some of what the story is made of


def run_against(
    files: Sequence[str],
    read: Callable[[Path], Scenario],
    kafka: ClientConfig,
    is_strict: bool = False,
    longest_pass: str | None = None,
    shows_transcripts: bool = False,
) -> None:
    """Play the files on the Kafka cluster and on fakebroker, print what came of it, end with the exit status.

    Args:
        read: Makes a scenario of a file.
        longest_pass: How long one step may let real time pass, as scenarios write durations.
        shows_transcripts: Whether to print what happened on the Kafka, too.

    Raises UsageError for a wrong duration, CommandError if no Kafka broker answers.
    """
    how = replace(_how(kafka, is_strict, longest_pass), keeps_transcript=shows_transcripts)
    found: list[Comparison] = []
    for each in compare_all([Path(file) for file in files], read, how):
        click.echo("\n".join([*lines_of(each), *([each.transcript] if each.transcript else [])]))
        found.append(each)
    click.echo(("\n" if len(found) > 1 else "") + summary_of(found, kafka.bootstrap))
    if exit_code(found):
        raise SystemExit(ExitStatus.FAILED)


def _how(kafka: ClientConfig, is_strict: bool, longest_pass: str | None) -> How:
    try:
        longest_pass_ms = LONGEST_PASS_MS if longest_pass is None else duration_ms(longest_pass)
    except ValueError as error:
        raise click.UsageError(f"--longest-pass: {longest_pass!r} {error}") from None
    with errors_end_the_command():
        KafkaWorld(kafka).close()
    return How(kafka, is_strict, longest_pass_ms)


def lines_of(comparison: Comparison) -> list[str]:
    """One scenario: a line, and below it what differs and what was left out."""
    detail = comparison.why
    if comparison.result in (Result.SAME, Result.DIFFERS):
        detail = f"{comparison.requests} requests in {comparison.took_s:.1f} s"
        if comparison.left_out:
            detail += f", {len(comparison.left_out)} of its steps left out"
        if comparison.is_second:
            detail += ", played again by itself"
    word = IN_PART if comparison.is_in_part else comparison.result.value
    lines = [f"{word:<8} {comparison.path}  {detail}"]
    lines += [f"    {each}" for each in _once(comparison.differences)]
    if comparison.result in (Result.SAME, Result.DIFFERS, Result.REFUSED):
        lines += [f"    left out: {each}" for each in comparison.left_out]
        lines += [f"    holds on neither: {each}" for each in _once(comparison.unmet)]
    return lines


def _once(texts: Iterable[str]) -> list[str]:
    """Each text once, with how often it is there: a step that is repeated differs in each of its turns."""
    return [text if count == 1 else f"{text} ({count} times)" for text, count in Counter(texts).items()]


def summary_of(comparisons: Iterable[Comparison], where: str) -> str:
    """The last line: how many scenarios went how."""
    all_of_them = list(comparisons)
    release = next((f" {each.release}" for each in all_of_them if each.release), "")
    counts = {result: sum(each.result is result for each in all_of_them) for result in Result}
    in_part = sum(each.is_in_part for each in all_of_them)
    same = f"{counts[Result.SAME] - in_part} as on Kafka{release} at {where}"
    parts = [same, f"{in_part} in part"] if in_part else [same]
    words = {
        Result.DIFFERS: "differ",
        Result.REFUSED: "refused",
        Result.CANNOT: "not playable there",
        Result.ERROR: "with errors",
    }
    parts += [f"{counts[result]} {word}" for result, word in words.items() if counts[result]]
    count = len(all_of_them)
    return f"{count} scenario{'s' if count != 1 else ''}: {', '.join(parts)}"


def exit_code(comparisons: Iterable[Comparison]) -> int:
    """0 when something was played, and all that was is the same; else 1."""
    results = {each.result for each in comparisons}
    return int(Result.SAME not in results or not results <= {Result.SAME, Result.CANNOT})
