"""What a broker measures, and for how long it throttles."""

import tracemalloc

import pytest

from fakebroker.broker.core.quotas.client_quotas import ClientQuotas, make_entity
from fakebroker.broker.core.quotas.meters import Meters
from fakebroker.broker.core.quotas.rates import Window

WINDOW = Window(11, 1000)
PRODUCED, PERCENT, MUTATIONS = "producer_byte_rate", "request_percentage", "controller_mutation_rate"


def meters(**limits: float) -> tuple[Meters, ClientQuotas]:
    """Of a broker where every client id has these quotas."""
    quotas = ClientQuotas(lambda _entity: None)
    quotas.alter(make_entity({"client-id": None}), limits)
    return Meters(quotas, WINDOW, WINDOW), quotas


def throttle_ms(of: Meters, key: str, value: float, now_ms: int = 0, client_id: str = "app") -> int:
    violation = of.record(key, "ANONYMOUS", client_id, value, now_ms)
    return 0 if violation is None else violation.throttle_ms


@pytest.mark.rules("QU-8")
def test_the_throttle_time_brings_the_rate_down_to_the_quota() -> None:
    """As much time as it takes until the rate over the window is allowed again."""
    of, _ = meters(producer_byte_rate=1000)

    assert throttle_ms(of, PRODUCED, 10_000) == 0
    assert throttle_ms(of, PRODUCED, 2500) == 2500
    assert throttle_ms(of, PRODUCED, 0, now_ms=2500) == 2000  # two full seconds became some of the ten
    assert throttle_ms(of, PRODUCED, 0, now_ms=4500) == 2000
    assert throttle_ms(of, PRODUCED, 0, now_ms=12_500) == 0


@pytest.mark.rules("QU-10", "QU-12")
def test_time_of_requests_throttles_for_a_second_at_most() -> None:
    """And so do connections."""
    of, quotas = meters(request_percentage=0.1)
    quotas.alter(make_entity({"ip": None}), {"connection_creation_rate": 1})

    assert throttle_ms(of, PERCENT, 100) == 1000
    refused = [of.connection("10.0.0.1", 0) for _ in range(40)]
    assert [violation is None for violation in refused] == [True] * 10 + [False] * 30
    assert refused[-1] is not None
    assert refused[-1].throttle_ms == 1000  # a refused connection is not counted, or it would never get in


def test_what_nobody_has_a_quota_for_is_not_measured() -> None:
    """Other keys, and other clients where quotas are of named ones."""
    of, quotas = meters(producer_byte_rate=1)

    assert of.record("consumer_byte_rate", "ANONYMOUS", "app", 1e9, 0) is None
    quotas.alter(make_entity({"client-id": None}), {PRODUCED: None})
    assert of.record(PRODUCED, "ANONYMOUS", "app", 1e9, 0) is None
    quotas.alter(make_entity({"client-id": "other"}), {PRODUCED: 1})
    assert of.record(PRODUCED, "ANONYMOUS", "app", 1e9, 0) is None


def test_what_was_taken_back_does_not_count() -> None:
    """As of a Fetch that is not answered with records."""
    of, _ = meters(producer_byte_rate=1000)
    assert throttle_ms(of, PRODUCED, 20_000) == 10_000
    of.take_back(PRODUCED, "ANONYMOUS", "app", 20_000, 0)

    assert throttle_ms(of, PRODUCED, 10_000) == 0


def test_how_much_a_client_may_do_at_once() -> None:
    """The quota of ten seconds; without a quota whatever it likes."""
    of, quotas = meters(producer_byte_rate=1000)

    assert of.most_in_window(PRODUCED, "ANONYMOUS", "app") == 10_000
    assert of.most_in_window(PERCENT, "ANONYMOUS", "app") is None
    quotas.alter(make_entity({"client-id": None}), {PRODUCED: None})
    assert of.most_in_window(PRODUCED, "ANONYMOUS", "app") is None


@pytest.mark.rules("QU-13")
def test_times_of_more_than_24_days_wrap_as_in_kafka() -> None:
    """They are numbers of 32 bits with a sign; one below zero is no throttling."""
    of, _ = meters(producer_byte_rate=1)

    assert throttle_ms(of, PRODUCED, 2_000_000) == 2_000_000_000 - 10_000
    assert throttle_ms(of, PRODUCED, 1_000_000) < 0
    assert throttle_ms(meters(producer_byte_rate=5e-324)[0], PRODUCED, 1) == -1


@pytest.mark.rules("QU-7", "QU-11")
def test_mutations_are_refused_in_strict_versions_and_throttled_in_others() -> None:
    """Who owes tokens has to wait; strictly before more is done, else afterwards."""
    of, _ = meters(controller_mutation_rate=2)

    def mutate(partitions: int, now_ms: int, *, is_strict: bool) -> tuple[bool, int]:
        may, violation = of.mutation("ANONYMOUS", "app", partitions, now_ms, is_strict=is_strict)
        return may, 0 if violation is None else violation.throttle_ms

    assert mutate(30, 0, is_strict=True) == (True, 0)
    assert mutate(1, 0, is_strict=True) == (False, 4000)
    assert mutate(2, 0, is_strict=False) == (True, 5000)
    assert mutate(1, 4999, is_strict=True) == (False, 1)
    assert mutate(1, 5001, is_strict=True) == (True, 0)


def test_idle_meters_are_dropped_when_there_are_many() -> None:
    """Any number of client ids takes bounded memory, and those that count are kept."""
    of, _ = meters(producer_byte_rate=1000)
    for number in range(3000):
        throttle_ms(of, PRODUCED, 20_000, now_ms=number * 100, client_id=f"app-{number}")

    assert len(of._rates) <= 1024
    assert throttle_ms(of, PRODUCED, 0, now_ms=2999 * 100, client_id="app-2999") == 10_000


@pytest.mark.rules("QU-8")
def test_clients_that_are_gone_leave_no_meters_behind() -> None:
    """However many client ids there were, their meters go when they have nothing to say any more."""
    of, _ = meters(producer_byte_rate=1000, controller_mutation_rate=1)
    for number in range(5000):
        throttle_ms(of, PRODUCED, 1, now_ms=number * 100, client_id=f"app-{number}")
        of.mutation("ANONYMOUS", f"app-{number}", 1, number * 100, is_strict=True)

    assert len(of._rates) <= 1024
    assert len(of._buckets) <= 1024


def test_a_rate_that_counts_is_not_forgotten() -> None:
    """A client beyond its quota still is when it has come with very many other ids."""
    of, _ = meters(producer_byte_rate=1000)
    assert throttle_ms(of, PRODUCED, 20_000) == 10_000
    for number in range(3000):
        throttle_ms(of, PRODUCED, 1, client_id=f"app-{number}")

    assert throttle_ms(of, PRODUCED, 0) == 10_000


def test_an_owed_token_is_not_forgotten() -> None:
    """A client that owes tokens still does when the meters of very many others were dropped."""
    of, _ = meters(controller_mutation_rate=1)
    of.mutation("ANONYMOUS", "debtor", 1000, 0, is_strict=True)
    for number in range(3000):
        of.mutation("ANONYMOUS", f"app-{number}", 1, number * 100, is_strict=True)

    may, _ = of.mutation("ANONYMOUS", "debtor", 1, 300_000, is_strict=True)
    assert not may


def test_long_client_ids_are_not_kept() -> None:
    """A client that has another id of 32 KB with each request takes no more than others do."""
    of, _ = meters(producer_byte_rate=1000, controller_mutation_rate=1)
    tracemalloc.start()
    for number in range(1000):
        client_id = f"{number:08}" * 4000
        throttle_ms(of, PRODUCED, 1, client_id=client_id)
        of.mutation("ANONYMOUS", client_id, 1, 0, is_strict=True)
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept_bytes < 1_200_000


def test_long_client_ids_are_measured_apart() -> None:
    """Each by itself, however much of them is the same."""
    of, _ = meters(producer_byte_rate=1000, controller_mutation_rate=1)
    one, other = "c" * 32_000 + "1", "c" * 32_000 + "2"

    assert [throttle_ms(of, PRODUCED, 8000, client_id=client_id) for client_id in (one, other, one)] == [0, 0, 6000]
    assert of.mutation("ANONYMOUS", one, 1000, 0, is_strict=True)[0]
    assert not of.mutation("ANONYMOUS", one, 1, 0, is_strict=True)[0]
    assert of.mutation("ANONYMOUS", other, 1, 0, is_strict=True)[0]
