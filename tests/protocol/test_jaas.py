"""The options of a login module."""

import pytest

from fakebroker.protocol.jaas import jaas_options

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('username="alice" password="secret";', {"username": "alice", "password": "secret"}),
        ("username=alice password=secret;", {"username": "alice", "password": "secret"}),
        ('user_a = "b c" x="";', {"user_a": "b c", "x": ""}),
        (r'password="a\"b\\c";', {"password": r'a"b\c'}),
        ('user_a="b\u00a0" user_\u00a0c=d\u2003;', {"user_a": "b\u00a0", "user_\u00a0c": "d\u2003"}),
        ('\x01x\x0b=\x1f"y"', {"x": "y"}),
        (r'password="a\tb\61\0612\400\q"', {"password": "a\tb112 0q"}),
        ('user_a="x" /* user_b="y" */ user_c="z";', {"user_a": "x", "user_c": "z"}),
        ('user_a="x" // user_b="y"\n user_c="/*z";', {"user_a": "x", "user_c": "/*z"}),
        ('user_a="x" / user_b="y"\n /*/ user_d="*"/ **/user_c=z;', {"user_a": "x", "user_c": "z"}),
        ('user_a="x" /* user_b="y"', {"user_a": "x"}),
        (r"""user_a='x" \'user_b="y"' user_c="'";""", {"user_a": 'x" \'user_b="y"', "user_c": "'"}),
        ("user_a=b/* user_c=d */ user_e=f;", {"user_a": "b", "user_e": "f"}),
        ("user_a=b// user_c=d\n user_e=f;", {"user_a": "b", "user_e": "f"}),
        ('user_a="b user_c=d \n user_e=f;', {"user_a": "b user_c=d ", "user_e": "f"}),
        ("user_a='b user_c=d \r user_e=f;", {"user_a": "b user_c=d ", "user_e": "f"}),
        ('user_a="b\\\n user_c=d" user_e=f;', {"user_a": "b\n user_c=d", "user_e": "f"}),
        ('user_a=/**/"b user_c=d" user_e=f;', {"user_a": "b user_c=d", "user_e": "f"}),
        ("user_a=b' user_c=d ' user_e=f;", {"user_a": "b", "user_e": "f"}),
        ('user_a=b"c user_d=e" user_e=f;', {"user_a": "b", "user_e": "f"}),
        ("""'user_a'=b "user_c" = 'd' user_e=f;""", {"user_a": "b", "user_c": "d", "user_e": "f"}),
        ("user_a= user_b=c;", {"user_a": "user_b"}),
        ("user_a=; user_b=c;", {"user_b": "c"}),
        ('user_a="b', {"user_a": "b"}),
        ("", {}),
        ('broken="', {"broken": ""}),
    ],
)
def test_options_are_read(options: str, expected: dict[str, str]) -> None:
    """With quotes and without, blanks around the sign, which are those of Java, and escapes; not those in remarks."""
    assert jaas_options(f"{MODULE} {options}") == expected


@pytest.mark.parametrize(
    "piece",
    ["a", "a ", "=", 'a="', "a=", '\\"', 'a="\\', " ", 'x="\\"', '"', "/*", "/", "*/", "x='", "x='\\'", "/*x=", "\n/"],
)
def test_a_megabyte_is_read_in_one_pass(piece: str) -> None:
    """A client may set it. A text that is looked at again from each of its characters would take hours."""
    assert isinstance(jaas_options(piece * (1_000_000 // len(piece))), dict)
