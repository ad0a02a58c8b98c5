"""Names with wildcards."""

from fakebroker.protocol.wildcards import MAX_LENGTH, is_like


def test_wildcards_are_those_of_the_shell() -> None:
    """Any text, one character, a set; letters are small or capital."""
    assert is_like("orders", "o*s")
    assert is_like("orders", "order?")
    assert is_like("orders", "[op]rders")
    assert not is_like("orders", "O*")


def test_a_long_pattern_matches_only_itself() -> None:
    """It would take the product of both lengths, and "[[[[" the square of its own."""
    long = "[" * 1_000_000
    assert not is_like("orders", long)
    assert is_like(long, long)
    assert not is_like("a" * 32_767, "*" + "a" * (MAX_LENGTH - 2) + "b")
    assert not is_like("a" * 32_767, "*a" * (MAX_LENGTH // 2 - 1) + "b")
