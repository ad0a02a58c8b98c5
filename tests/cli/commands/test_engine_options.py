"""The options with which commands of the pipeline choose their engine."""

import click
import pyarrow
import pytest
from click.testing import CliRunner

from fakebroker.analysis.pipeline import extras
from fakebroker.analysis.pipeline.engine_choice import Work
from fakebroker.analysis.pipeline.extras import MissingExtra, need_extra
from fakebroker.cli.commands.engine_options import EngineChoice, chosen_engine, engine_options


def little() -> Work:
    """Work for the embedded engine."""
    return Work(1, 150, "MB of input")


@click.command()
@click.argument("words", nargs=-1)
@engine_options
def command(words: tuple[str, ...], choice: EngineChoice) -> None:
    """A command."""
    click.echo(f"{words} {choice.engine} {choice.master} {choice.conf}")
    with chosen_engine(choice._replace(engine="embedded"), little) as (engine, _):
        click.echo(engine.name)


def run(*arguments: str) -> tuple[int, str]:
    """What the command answers."""
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output


def test_the_engine_is_chosen_by_default() -> None:
    """Without options the amount of work decides; Spark would use all cores. The command's own arguments stay."""
    assert run("a", "b") == (0, "('a', 'b') auto local[*] ()\nembedded\n")
    assert "A command." in run("--help")[1]


def test_master_and_settings_are_handed_on() -> None:
    """--master and --conf are Spark's; a setting may have an equals sign in its value."""
    given = run("--master", "spark://h:7077", "--conf", "a.b=1", "--conf", "c=d=e", "--engine", "embedded")

    assert given == (0, "() embedded spark://h:7077 (('a.b', '1'), ('c', 'd=e'))\nembedded\n")


@pytest.mark.parametrize("wrong", [["--conf", "a"], ["--conf", "=1"], ["--engine", "flink"]])
def test_what_is_no_option_is_refused(wrong: list[str]) -> None:
    """A setting without a value and an unknown engine are refused, by name."""
    code, output = run(*wrong)

    assert code == 2
    assert wrong[1] in output


def test_a_missing_extra_is_one_line_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the libraries there is one line, with the command that installs them and the way without Spark."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pyspark" else object())

    need_extra("history")
    with pytest.raises(MissingExtra, match=r"^this needs pyspark: pip install '.*\[spark\]'.*--engine embedded$"):
        need_extra("spark")
    with pytest.raises(click.ClickException, match="pyspark"), chosen_engine(EngineChoice("spark"), little):
        pass


def test_without_any_library_the_engine_that_was_chosen_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that was followed is not repeated by the next run."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None)  # noqa: ARG005 - of no name

    for engine, extra in (("spark", "spark"), ("embedded", "history"), ("auto", "history")):
        said = pytest.raises(click.ClickException, match=rf"pip install '.*\[{extra}\]'")
        with said, chosen_engine(EngineChoice(engine), little):
            pass


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(28, "No space left on device", "out/part.parquet"), "out/part.parquet: No space left on device"),
        (pyarrow.ArrowInvalid("Parquet magic bytes not found\nmore"), "cannot be read: Parquet magic bytes not found"),
    ],
)
def test_a_full_disk_and_a_damaged_file_are_reported_in_a_line(error: Exception, sentence: str) -> None:
    """What the system or Arrow says of a file is one line and exit code 1, not a stack trace."""
    with pytest.raises(click.ClickException) as raised, chosen_engine(EngineChoice("embedded"), little):
        raise error
    assert raised.value.message.endswith(sentence)


def test_the_choice_is_said_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Which engine, and why; nothing is said of one that was asked for."""
    with chosen_engine(EngineChoice(), little) as (engine, _):
        assert engine.name == "embedded"
    with chosen_engine(EngineChoice("embedded"), little):
        pass

    assert capsys.readouterr().err == "engine: embedded (1 MB of input; up to 150 need no Spark)\n"


@pytest.mark.parametrize("options", [["--master", "spark://h:7077"], ["--conf", "a.b=1"]])
def test_options_of_spark_choose_spark(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """--master and --conf are of no use to the embedded engine, however little there is to do."""
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pyspark" else object())

    @click.command()
    @engine_options
    def with_little(choice: EngineChoice) -> None:
        with chosen_engine(choice, little):
            pass

    assert "this needs pyspark" in CliRunner().invoke(with_little, options).output
