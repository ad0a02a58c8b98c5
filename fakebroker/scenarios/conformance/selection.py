"""Which cases a broker can be judged by: what they need against what it has."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from fakebroker.broker.settings import SettingError, Settings, Source
from fakebroker.scenarios.conformance.cases import Case
from fakebroker.scenarios.conformance.needs import COUNTS_FOR, OF_CLUSTER_SIZE, Needs, counts, is_named_by, needs_of
from fakebroker.scenarios.conformance.survey import Survey
from fakebroker.scenarios.conformance.verdicts import Result, Verdict

# Without CreateTopics a topic is made by asking for it; what is said of topics then depends on the broker's defaults.
_ABOUT_TOPICS = frozenset({"Metadata", "DescribeTopicPartitions", "DescribeConfigs"})


@dataclass(frozen=True)
class Conditions:
    """How a broker is there for the cases.

    Attributes:
        survey: What it has.
        is_own: Whether it was started for these cases, and nobody else uses it.
        settings: Those that it was started with, if it was; they are believed where it does not show them.
        has_login: Whether it was started with the listener and the users of recordings with a login.
        can_control: Whether its brokers can be stopped and started.
    """

    survey: Survey
    is_own: bool = False
    settings: frozenset[tuple[str, str]] = frozenset()
    has_login: bool = False
    can_control: bool = False


def why_not(case: Case, conditions: Conditions) -> Result | None:
    """Why a case cannot be played, None if it can."""
    needs, survey = needs_of(case), conditions.survey
    if missing := _not_served(needs, survey):
        return Result(case, Verdict.NOT_SERVED, missing)
    if more := _needs_more(needs, conditions):
        return Result(case, Verdict.NEEDS_MORE, more)
    if settings := _other_settings(needs, conditions):
        return Result(case, Verdict.NEEDS_SETTINGS, settings)
    return None


def _not_served(needs: Needs, survey: Survey) -> str:
    missing = [f"{api} v{version}" for api, version in sorted(needs.versions) if not survey.serves(api, version)]
    if missing:
        return f"ApiVersions does not list {_listed(missing)}"
    if "CreateTopics" in survey.versions or not needs.creates:
        return ""
    if needs.topic_configs or needs.apis & _ABOUT_TOPICS:
        return "ApiVersions does not list CreateTopics"
    return ""


def _needs_more(needs: Needs, conditions: Conditions) -> str:
    survey = conditions.survey
    if needs.nodes > len(survey.nodes):
        return f"{needs.nodes} brokers"
    if needs.nodes == 1 and len(survey.nodes) > 1:
        return "a single broker"
    if needs.control and not conditions.can_control:
        return "control over brokers: they are stopped and started"
    if needs.login and not conditions.has_login:
        return "a listener with the logins of the recording"
    if needs.broker_wide and not conditions.is_own:
        return f"a broker of its own, or --exclusive: it {needs.broker_wide}"
    if taken := sorted(needs.fixed_topics & survey.topics):
        return f"that the topic {taken[0]} is not there: it is not ours"
    return ""


def _other_settings(needs: Needs, conditions: Conditions) -> str:
    """The settings that the broker has not, as far as it shows them."""
    given, shown = dict(conditions.settings), conditions.survey.settings
    wanted = {**_defaults_that_count(needs.apis), **needs.settings}
    wrong = []
    for name, value in wanted.items():
        have = shown.get(name, given.get(name))
        if have is None and name in needs.settings:
            wrong.append(f"{name}={value}")
        elif have is not None and have != value:
            wrong.append(f"{name}={value} (it is {have})")
    return _listed(wrong)


def _defaults_that_count(apis: frozenset[str]) -> dict[str, str]:
    known = _kafka_defaults().items()
    return {name: value for name, value in known if name != OF_CLUSTER_SIZE and counts(name, apis)}


@cache
def _kafka_defaults() -> dict[str, str]:
    """The defaults of the settings that decide how groups behave."""
    settings = Settings(profile="kafka")
    found: dict[str, str] = {}
    for name in settings.names():
        if any(is_named_by(each, name) for each in COUNTS_FOR):
            try:
                last = [each for each in settings.synonyms(name) if each.source == Source.DEFAULT]
            except SettingError:
                continue
            if last and last[0].value is not None:
                found[name] = last[0].value
    return found


def _listed(names: Iterable[str]) -> str:
    """At most three, and how many more."""
    found = list(names)
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
