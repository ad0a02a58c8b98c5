"""Patterns in the syntax of RE2: what they match, what is refused, and that none takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.re2.pattern import MAX_REMEMBERED, InvalidPattern, Pattern, compile_pattern
from fakebroker.broker.core.re2.syntax import MAX_NESTED, MAX_PARTS, Fault
from fakebroker.protocol.pace import Pace
from tests.support.work_counter import calls_of, operations_of


def steps_and_match(pattern: Pattern, text: str, states_per_step: int = 5_000) -> tuple[int, bool]:
    """How many steps a match took, and what came out."""
    steps, matching = 1, pattern.fullmatch(text, Pace(states_per_step))
    while True:
        try:
            next(matching)
        except StopIteration as end:
            return steps, end.value
        steps += 1


def matches(pattern: str, text: str) -> bool:
    return steps_and_match(compile_pattern(pattern), text)[1]


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("a|", ""),
        ("a.c", "aéc"),
        ("(?s).", "\n"),
        ("a+?b??", "aa"),
        ("x{2,3}", "xxx"),
        ("x{2,}", "xxxx"),
        ("x{,2}", "x{,2}"),
        ("(?:ab)*(?P<n>c)(?<m>d)", "ababcd"),
        ("[a-c]-[]x]-[^a]", "b-]-\n"),
        ("[-a]+", "-a"),
        (r"[\d\-[:upper:]]+", "7-X"),
        (r"\x41\x{1F600}\101\.\t", "A\U0001f600A.\t"),
        (r"\Qa.b*\Ec", "a.b*c"),
        (r"\Qa.", "a."),
        (r"\pL\p{Lu}\PN\p{^Nd}[\pN]", "éÉxx7"),
        ("(?i)straße[k]", "STRAßEK"),
        ("(?i)a(?-i)b|C", "Ab"),
        ("(?i:a)b", "Ab"),
        (r"\Aa\b \bb\z", "a b"),
        (r"(?m)a$\n^b", "a\nb"),
        ("a*(?:)*", "aa"),
        ("^*a$+", "a"),
    ],
)
def test_what_matches(pattern: str, text: str) -> None:
    """As in RE2: a text between two signs, classes by name and number, flags, places."""
    assert matches(pattern, text)


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a", "ab"),
        ("b", "ab"),
        (".", "\n"),
        ("a$", "a\n"),
        (r"\d", "٣"),
        (r"\w", "é"),
        ("x{2,3}", "xxxx"),
        ("x{2,3}", "x"),
        ("(?i)[^a]", "A"),
        (r"a\Bb\b.", "ab-c"),
        (r"a\b", "ab"),
        ("(?i)a(?-i)b", "AB"),
        ("(?:(?i)a)b", "aB"),
        ("a$b", "a\nb"),
    ],
)
def test_what_does_not_match(pattern: str, text: str) -> None:
    """Digits and words are those of ASCII, and the end is the very end."""
    assert not matches(pattern, text)


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize(
    "pattern",
    [
        *("[", "[]", "[b-a]", "[[:no:]]", r"[a-\d]", "*", "a**", "a{2}{3}", "a|*", "(", ")", "a)", "(?P<n>a)(?P<n>b)"),
        *("(?=p)", "(?<!x)a", "(?#a)", "(?P=n)", r"(p)\1", r"\p{Greek}", r"\pX", "\\", r"\Z", r"\h", r"\x{110000}"),
        *("a{1001}", "a{2,1}", "a{99999999999}", "(a{100}){11}", "a{1000}" * 11, "(?:(?:){10}){1000}" * 9),
        *("(" * (MAX_NESTED + 1) + ")" * (MAX_NESTED + 1), "a{" + "9" * 30_000 + "}", "(" * 30_000),
    ],
)
def test_what_is_refused(pattern: str) -> None:
    """What RE2 cannot read either, and what is too large."""
    with pytest.raises(InvalidPattern):
        compile_pattern(pattern)


@pytest.mark.parametrize("part", ["a", "[a-z]", "ab|", "(a)", "a?", r"\d"])
def test_what_is_too_large_is_not_read_to_its_end(part: str) -> None:
    """The rest of it costs nothing: that may be 32 KB in each request."""
    short, long = part * MAX_PARTS + "$", part * MAX_PARTS * 20 + "$"

    def refused(pattern: str) -> None:
        with pytest.raises(InvalidPattern, match="too large"):
            compile_pattern(pattern)

    assert calls_of(lambda: refused(long)) < 1.1 * calls_of(lambda: refused(short))


def test_groups_may_be_nested_deep() -> None:
    """With repetitions and alternatives each, and the machine does not double with each."""
    pattern = "(?:" * MAX_NESTED + "a" + "|b)+" * MAX_NESTED

    assert matches(pattern, "abab")
    assert not matches(pattern, "abac")


@pytest.mark.rules("DX-3")
@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*", "(a|aa)+$", "(.*a){100}", "(?:a?){500}a{500}", "(a*)*b", "[aaab]{0,1000}"]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """Such as would take ages where one way is tried after the other: the steps are bounded by states by characters."""
    steps, is_match = steps_and_match(compile_pattern(pattern), "a" * 2000 + "!")

    assert not is_match
    assert steps <= 2001 * 2 * 1000 // 5000


@pytest.mark.rules("DX-3")
def test_a_match_lets_others_have_their_turn() -> None:
    """Of a pattern whose ways are never the same ones twice, every character costs many states, and little is kept."""
    pattern = compile_pattern("(a|b)*a(a|b){300}")
    text = "".join("ab"[(each * each // 7) % 2] for each in range(1500))

    steps, is_match = steps_and_match(pattern, text)

    assert is_match is (text[-301] == "a")
    assert steps > 10
    assert pattern._remembered <= MAX_REMEMBERED


def test_a_class_of_many_parts_is_looked_at_once() -> None:
    """However many characters, ranges and classes stand between two brackets: a pattern may have 32 KB of them."""
    few, many = (compile_pattern(f"(?i)[^{part * 1_000}]*") for part in ("!", r"!a-d\d\PN[:^print:]"))
    assert calls_of(lambda: steps_and_match(few, "中")) < 100
    assert calls_of(lambda: steps_and_match(many, "中")) < 100


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("(?:a?){500}", ["a"] * 100),
        ("(?:.|" + "|" * 2_000 + ")*", ["".join(chr(0x4E00 + each) for each in range(100))]),
    ],
)
def test_all_states_that_are_looked_at_count(pattern: str, texts: list[str]) -> None:
    """Also those at the end of each text; and of parts without characters there is one to look at, not thousands."""
    compiled, pace = compile_pattern(pattern), Pace(500)
    matching = (step for text in texts for step in compiled.fullmatch(text, pace))
    assert max(operations_of(lambda: next(matching, None)) for _ in range(20)) < 3 * 500 * 100


_PARTS = st.recursive(
    st.sampled_from(["a", "b", ".", "[^a]", "[ab]", "^", "$", r"\b", r"\B", "c"]),
    lambda inner: st.one_of(
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"])),
    ),
    max_leaves=8,
)


@pytest.mark.rules("DX-3")
@given(_PARTS, st.text("abc-\n", min_size=1, max_size=6))
def test_it_matches_what_another_matcher_matches(pattern: str, text: str) -> None:
    """What Python's `re` says of patterns that both read alike."""
    expected = re.compile(pattern.replace("$", r"\Z"), re.ASCII).fullmatch(text) is not None

    assert matches(pattern, text) is expected


@pytest.mark.rules("CGX-2")
@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("(?=a)b", Fault.PERL_SYNTAX),
        ("a(?", Fault.PERL_SYNTAX),
        ("(?i-)a", Fault.PERL_SYNTAX),
        ("(?P=n)", Fault.PERL_SYNTAX),
        (r"(a)\1", Fault.ESCAPE),
        (r"\x{110000}", Fault.ESCAPE),
        (r"[a-\d]", Fault.ESCAPE),
        (r"[\b]", Fault.ESCAPE),
        (r"\E", Fault.ESCAPE),
        ("[", Fault.MISSING_BRACKET),
        ("[[:alpha:]", Fault.MISSING_BRACKET),
        ("[]", Fault.MISSING_BRACKET),
        ("[z-a]", Fault.CHARACTER_RANGE),
        ("[[:foo:]]", Fault.CHARACTER_RANGE),
        (r"\pX", Fault.CHARACTER_RANGE),
        (r"\p{", Fault.CHARACTER_RANGE),
        (r"\p", Fault.CHARACTER_RANGE),
        ("*", Fault.NOTHING_TO_REPEAT),
        ("a|*", Fault.NOTHING_TO_REPEAT),
        ("(?i)*", Fault.NOTHING_TO_REPEAT),
        ("{2}", Fault.NOTHING_TO_REPEAT),
        ("a**", Fault.NESTED_REPETITION),
        ("a*??", Fault.NESTED_REPETITION),
        ("a{2}{3}", Fault.NESTED_REPETITION),
        ("a{1001}", Fault.REPEAT_COUNT),
        ("a{2,1}", Fault.REPEAT_COUNT),
        ("a{99999999999}", Fault.REPEAT_COUNT),
        ("(a", Fault.MISSING_PARENTHESIS),
        ("(?i:a", Fault.MISSING_PARENTHESIS),
        ("a)", Fault.STRAY_PARENTHESIS),
        ("(?P<n", Fault.NAMED_CAPTURE),
        ("(?<=a)b", Fault.NAMED_CAPTURE),
        ("(?P<>a)", Fault.NAMED_CAPTURE),
        ("(?P<n>a)(?P<n>b)", Fault.DUPLICATE_NAME),
        ("\\", Fault.TRAILING_BACKSLASH),
        ("[\\", Fault.TRAILING_BACKSLASH),
    ],
)
def test_what_is_wrong_with_a_pattern(pattern: str, fault: Fault) -> None:
    """As RE2/J says it, and a Kafka with it."""
    with pytest.raises(InvalidPattern) as caught:
        compile_pattern(pattern)

    assert (caught.value.fault, str(caught.value)) == (fault, fault.value)
