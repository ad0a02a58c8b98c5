"""`ssl.principal.mapping.rules`: the rules, compared with what the class of Kafka 4.3.1 made of the same ones."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.principal_mapping import NoRuleApplies, PrincipalMapping
from fakebroker.protocol.errors import SettingError

# Rules, the name in a certificate, and the principal's name that Kafka's class gave.
MAPPED = [
    ("DEFAULT", "CN=alice,OU=x", "CN=alice,OU=x"),
    ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=alice,OU=ServiceUsers,O=x", "alice"),
    ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT", "CN=alice,OU=Admin", "CN=alice,OU=Admin"),
    ("RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L", "CN=Alice,OU=Ops,O=X", "alice@ops"),
    ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "CN=alice,OU=x", "ALICE"),
    ("RULE:CN=(.*)/$1/L , DEFAULT", "CN=Bob", "bob"),
    ("RULE:CN=(.*)/$1/,RULE:X/Y/U", "CN=Bob", "Bob"),
    ("RULE:CN=(.*)/$2/", "CN=Bob", "$2"),
    ("RULE:CN=(.*)/$12/", "CN=Bob", "Bob2"),
    ("RULE:CN=(.*)/$1\\/x/", "CN=Bob", "Bob/x"),
    ("RULE:CN=(.*)\\/(.*)/$2-$1/", "CN=Bob/x", "x-Bob"),
    ("RULE:CN=(.*)/$0!/", "CN=Bob", "CN=Bob!"),
    ("RULE:CN=(.*)/\\$1/", "CN=Bob", "$1"),
    ("RULE:CN=(.*)/a\\\\b/", "CN=Bob", "a\\b"),
    ("RULE:CN=(.*)/a\\b/", "CN=Bob", "ab"),
    ("DEFAULT,DEFAULT", "CN=Bob", "CN=Bob"),
    (",,DEFAULT", "CN=Bob", "CN=Bob"),
    ("RULE:a,b/c,d/", "a,b", "c,d"),
    ("RULE:CN=(.*?),.*/$1,2/,DEFAULT", "CN=Bob,OU=x", "Bob,2"),
    ("RULE:.*//", "CN=Bob", ""),
    ("RULE:.*/x/", "CN=Bob", "xx"),
    ("RULE:(.*)/x$1/", "CN=Bob", "xCN=Bobx"),
    ("RULE:CN=(?<n>.*)/${n}/", "CN=Bob", "Bob"),
    ("  DEFAULT  ,  RULE:X/Y/  ", "CN=Bob", "CN=Bob"),
    ("RULE:CN=\\w+/x/", "CN=Bob", "x"),
    ("RULE:CN=(.*)/$1$1/", "CN=Bob", "BobBob"),
    ("RULE:CN=(.*)/ $1 /", "CN=Bob", " Bob "),
    ("RULE:CN=(.*)/$1/L", "CN=ÄİX", "äi̇x"),
    ("RULE:(CN)=(B)(.*)/$11/", "CN=Bob", "CN1"),
    ("RULE:(CN)=(B)(.*)/$3$2$4/", "CN=Bob", "obB$4"),
    ("RULE:(?i)^cn=(SRE|é)$/$1/", "CN=sre", "sre"),
    ("RULE:(?i)^cn=(SRE|é)$/$1/", "CN=é", "é"),
    ("RULE:(?i)^cn=([^k]+)$/$1/", "CN=\u212a", "\u212a"),
    ("RULE:(?s)^CN=(\\w+).*$/$1/", "CN=admin\u2028x", "admin"),
    ("RULE:CN=(\\w+)\\s(\\w+)/$1$2/", "CN=a\x0bb", "ab"),
    ("RULE:CN=([]a]+)([&-]*)/$1-$2/", "CN=a]a&-", "a]a-&-"),
]
# Rules, and a name to which Kafka's class said that none applies.
NOT_MAPPED = [
    ("", "CN=alice"),
    ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=alice,OU=Admin"),
    (",", "CN=Bob"),
    ("RULE:/x/", "CN=Bob"),
    ("RULE://", "CN=Bob"),
    ("RULE:B/x/", "CN=Bob"),
    ("RULE: CN=(.*)/$1/", "CN=Bob"),
    ("RULE:^CN=(\\w+).*$/$1/", "CN=admin\u2028x"),
    ("RULE:^CN=(\\w+).*$/$1/", "CN=admin\rx"),
    ("RULE:^CN=(\\w+).*$/$1/", "CN=admin\x85x"),
    ("RULE:^CN=(\\w+).*$/$1/", "CN=admin\u2029x"),
    ("RULE:(?i)^cn=KAFKA,ou=x$/admin/", "CN=\u212aafka,OU=x"),
    ("RULE:(?i)^cn=sre$/admin/", "CN=\u017fre"),
    ("RULE:(?i)^cn=É$/admin/", "CN=é"),
    ("RULE:CN=(\\S+)/$1/", "CN=a\x0bb"),
]
# What is no rule, and what Kafka's class said of it.
NO_RULES = [
    ("RULE:CN=(.*)", "Invalid rule: `RULE:CN=(.*)`, unmatched substring: `RULE:CN=(.*)`"),
    ("RULE:CN=(.*)/$1", "Invalid rule: `RULE:CN=(.*)/$1`, unmatched substring: `RULE:CN=(.*)/$1`"),
    ("RULE:CN=(.*)/$1/X", "Invalid rule: `RULE:CN=(.*)/$1/X`, unmatched substring: `X`"),
    ("RULE:CN=(.*)/$1/LU", "Invalid rule: `RULE:CN=(.*)/$1/LU`, unmatched substring: `U`"),
    ("RULE:CN=(.*)/$1/L X", "Invalid rule: `RULE:CN=(.*)/$1/L X`, unmatched substring: ` X`"),
    ("DEFAULT/L", "Invalid rule: `DEFAULT/L`, unmatched substring: `/L`"),
    ("default", "Invalid rule: `default`, unmatched substring: `default`"),
    ("foo", "Invalid rule: `foo`, unmatched substring: `foo`"),
    ("foo,DEFAULT", "Invalid rule: `foo`, unmatched substring: `foo`"),
    ("RULE:CN=(.*)/$1/L RULE:X/Y/", "Invalid rule: `RULE:CN=(.*)/$1/L RULE:X/Y/`, unmatched substring: ` RULE:X/Y/`"),
    ("RULE:CN=(.*)/$1/ DEFAULT", "Invalid rule: `RULE:CN=(.*)/$1/ DEFAULT`, unmatched substring: ` DEFAULT`"),
    ("RULE:CN=(.*)/$1\\/L", "Invalid rule: `RULE:CN=(.*)/$1\\/L`, unmatched substring: `RULE:CN=(.*)/$1\\/L`"),
    ("RULE:CN=(.*)/$1/l", "Invalid rule: `RULE:CN=(.*)/$1/l`, unmatched substring: `l`"),
    ("rule:CN=(.*)/$1/", "Invalid rule: `rule:CN=(.*)/$1/`, unmatched substring: `rule:CN=(.*)/$1/`"),
    ("DEFAULT extra", "Invalid rule: `DEFAULT extra`, unmatched substring: ` extra`"),
    ("RULE:CN=(.*)/$1/LDEFAULT", "Invalid rule: `RULE:CN=(.*)/$1/LDEFAULT`, unmatched substring: `DEFAULT`"),
]
# What Java finds out when it compiles the pattern, or when it first puts a group into a replacement.
NO_PATTERNS = [
    "RULE:CN=(.*)/a$/",
    "RULE:[/x/",
    "RULE:(CN=.*/$1/",
    "RULE:a,b/$1/",
    "RULE:CN=(.*)/$$1/",
    "RULE:CN=(.*)/$/",
    "RULE:CN=(.*)/$a/",
    "RULE:CN=(.*)/$1x$/L",
    "RULE:(CN)=\\1/x/",
    "RULE:CN=(?=a)(.*)/$1/",
]


@pytest.mark.parametrize(("rules", "subject", "name"), MAPPED)
def test_rules_give_what_they_give_in_kafka(rules: str, subject: str, name: str) -> None:
    """Groups, letters, commas and slashes inside of a rule, backslashes, empty rules."""
    assert PrincipalMapping(rules).name_of(subject) == name


@pytest.mark.parametrize(("rules", "subject"), NOT_MAPPED)
def test_a_name_that_no_rule_applies_to_has_no_principal(rules: str, subject: str) -> None:
    """The error names the certificate and the setting."""
    with pytest.raises(NoRuleApplies, match=r"ssl\.principal\.mapping\.rules") as caught:
        PrincipalMapping(rules).name_of(subject)
    assert subject in str(caught.value)


@pytest.mark.parametrize(("rules", "problem"), NO_RULES)
def test_what_is_no_rule_is_named_as_in_kafka(rules: str, problem: str) -> None:
    """With the part that is wrong."""
    with pytest.raises(SettingError) as caught:
        PrincipalMapping(rules)
    assert str(caught.value) == f"ssl.principal.mapping.rules: {problem}"


@pytest.mark.parametrize("rules", NO_PATTERNS)
def test_what_would_fail_for_every_client_is_refused_at_once(rules: str) -> None:
    """A pattern that is none, and a replacement that names a group which there is not."""
    with pytest.raises(SettingError, match="Invalid rule: `RULE:"):
        PrincipalMapping(rules)


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("CN=([a-z&&[^x]]+)", "&& in a class of characters"),
        ("CN=([a-z[0-9]]+)", "[ in a class of characters"),
        ("CN=([[:alpha:]]+)", "[ in a class of characters"),
        ("CN=([A-[a]]+)", "[ in a class of characters"),
        ("(?U)CN=(.*)", "the flag U"),
        ("(?m)CN=(.*)$", "the flag m"),
        ("CN=(?s-m:(.*))", "the flag m"),
        (r"CN=(\w+)\b.*", r"\b"),
        (r"CN=(\w+)\B.*", r"\B"),
        (r"CN=(\v+)", r"\v"),
        (r"CN=([\v]+)", r"\v"),
        (r"(C)(N)=\12", r"\1"),
        (r"CN=\0123", r"\0"),
        ("CN=(a{02})", "{"),
        ("CN=(a{,2})", "{"),
        ("CN=(?P<n>.*)", "(?P<"),
        (r"CN=(\p{^L}+)", r"\p{^"),
        (r"CN=(\P{Any}+)", r"\P{Any}"),
        (r"(?i)CN=([a\p{Lu}]+)", "\\p of small or capital letters under the flag i"),
        ("CN=(a*)*.*", "a repetition of what may be empty"),
        ("CN=(?:a|(?:b?c?){2})*", "a repetition of what may be empty"),
    ],
)
def test_what_java_understands_in_another_way_is_refused(pattern: str, what: str) -> None:
    """Such a rule would say that somebody else is the client; the error names the part."""
    with pytest.raises(SettingError) as caught:
        PrincipalMapping(f"DEFAULT,RULE:{pattern}/$1/")
    expected = f"`, its pattern has {what}, which Java understands in another way than RE2: it is not served"
    assert str(caught.value).endswith(expected)


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\u2029", "\r\n"])
def test_no_rule_applies_to_a_line_end_at_the_end(end: str) -> None:
    """For Java a `$` may stand in front of it, so such a name is refused where a rule has one, whatever comes next."""
    rules = PrincipalMapping("RULE:CN=x/y/,RULE:(?s)CN=(\\w+)$./$1/,DEFAULT")
    with pytest.raises(NoRuleApplies):
        rules.name_of(f"CN=admin{end}")
    assert PrincipalMapping("RULE:(?s)CN=(\\w+).+/$1/").name_of(f"CN=admin{end}") == "admin"


@pytest.mark.parametrize("pattern", ["^CN=(([a-z]+)+)$", "^CN=(.*)(.*)(.*)(.*)(.*)$", "CN=(a|a)*", "(a{1,300})*"])
def test_a_costly_pattern_takes_no_longer_than_another(pattern: str) -> None:
    """Java and Python would never end."""
    with pytest.raises(NoRuleApplies):
        PrincipalMapping(f"RULE:{pattern}/$1/L").name_of(f"CN={'a' * 900}\n!")


def test_names_and_rules_are_bounded() -> None:
    """Their product is the time that they take. DEFAULT takes no time."""
    long = f"CN={'a' * 1000}"
    with pytest.raises(NoRuleApplies, match=r"at most 1,000 characters, and that of the certificate has 1,003: CN=aaa"):
        PrincipalMapping("RULE:(.*)/x/,DEFAULT").name_of(long)
    assert PrincipalMapping("DEFAULT").name_of(long) == long
    with pytest.raises(SettingError, match="its patterns have more than 1,000 states together"):
        PrincipalMapping(",".join(["RULE:CN=(.{100})/$1/"] * 10))
    with pytest.raises(SettingError, match="it has 10,001 characters; at most 10,000 are served"):
        PrincipalMapping("," * 10_001)
    assert PrincipalMapping(f"RULE:(a)/${'9' * 9_900}/").name_of("a") == "$" + "9" * 9_900


@given(st.text(alphabet="RULE:DEFAULT,/$1\\()x ", max_size=40), st.text(max_size=10))
def test_any_text_is_rules_or_is_refused(rules: str, subject: str) -> None:
    """Nothing else is raised, and what comes out is text."""
    with suppress(SettingError, NoRuleApplies):
        assert isinstance(PrincipalMapping(rules).name_of(subject), str)
