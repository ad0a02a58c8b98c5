"""How much work large subscriptions are."""

from fakebroker.broker.core.groups.modern.assignments import topic_ids_of
from fakebroker.broker.core.java_hash_map import JavaHashSet
from tests.support.work_counter import calls_of


def test_topics_that_do_not_exist_cost_little() -> None:
    """Only the names of existing topics are put in order, which is what costs: a few calls for each of the others."""
    names = [f"missing-{number}" for number in range(1000)]
    assert calls_of(lambda: topic_ids_of(names, lambda _name: None)) < 5 * len(names)


def test_the_order_is_that_of_all_names() -> None:
    """Topics that do not exist count for the size of Java's table, and so for the order of the others."""
    names = [f"t{number}" for number in range(200)]
    ids = {name: bytes([number]) * 16 for number, name in enumerate(names) if number % 7 == 0}
    in_order = [ids[name] for name in JavaHashSet.copy_of(names).keys_in_order() if name in ids]
    assert topic_ids_of(names, ids.get) == tuple(in_order)
