"""Topics: partitions, records with all that they have, transaction markers, the record of a time."""

import time

import confluent_kafka
import pytest

from tests.support.chromium import ShownPage, reads
from tests.support.eventually import eventually

pytestmark = [pytest.mark.page, pytest.mark.slow]


def test_without_topics_it_offers_a_producer(shown: ShownPage) -> None:
    """With the very address."""
    for name in ("orders", "audit"):
        shown.ask("DELETE", f"/topics/{name}")
    page = shown.open("/topics")
    shown.sees("No topics yet")
    eventually(lambda: shown.bootstrap in page.inner_text(".empty pre"))


def test_partitions_and_records_are_shown_with_all_they_have(shown: ShownPage) -> None:
    """Key, value, headers and timestamp of what comes while one looks."""
    shown.open("/topics/orders?partition=1")
    shown.sees("No records.", "[aria-label='Records']")
    headers = [["trace", "t-1"]]
    shown.ask("POST", "/topics/orders/records", {"values": ["v1"], "key": "k1", "partition": 1, "headers": headers})
    for text in ("v1", "k1", "trace t-1"):
        shown.sees(text, ".records")
    row = shown.page.locator("[aria-label='Table of partitions'] tbody tr").nth(1)
    assert row.inner_text().split()[:3] == ["partition", "1", "node"]


def test_transactions_codecs_and_markers_are_reported(shown: ShownPage) -> None:
    """Records of an aborted transaction are marked, and so is the marker that ended it."""
    config = {
        "bootstrap.servers": shown.bootstrap,
        "transactional.id": "copier",
        "compression.type": "gzip",
        "log_level": 0,
    }
    producer = confluent_kafka.Producer(config)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("audit", b"x" * 500)
    producer.flush(30)
    producer.abort_transaction(30)
    shown.open("/topics/audit")
    for text in ("ABORT", "aborted", "gzip"):
        shown.sees(text, ".records")


def test_the_newest_records_of_all_partitions_are_found_by_key_or_value(shown: ShownPage) -> None:
    """Newest first, while they come; JSON opens to its lines; groups that read the topic have their lag."""
    for partition, value in ((0, "first"), (2, '{"order": 7, "city": "Ulm"}')):
        shown.ask("POST", "/topics/orders/records", {"values": [value], "key": f"k{partition}", "partition": partition})
    shown.ask("POST", "/groups/billing/commit", {"offsets": {"orders": {"0": 0}}})
    page = shown.open("/topics/orders")
    shown.sees("Ulm", ".records")
    shown.ask("POST", "/topics/orders/records", {"values": ["last"], "partition": 1})
    shown.sees("last", ".records tbody tr:first-child")
    page.get_by_label("Find in keys and values").fill("ulm")
    eventually(lambda: page.locator(".records tbody tr").count() == 1)
    page.locator(".records summary").click()
    shown.sees('"city": "Ulm"', ".records pre")
    page.get_by_label("Find in keys and values").fill("K0")
    shown.sees("first", ".records tbody tr:first-child")
    reads(page.get_by_role("region", name="Groups reading this topic").locator("tbody"), "billing\tEmpty\t1")


def test_a_long_log_is_read_page_by_page(shown: ShownPage) -> None:
    """It begins with the last records; Earlier, First and Later go through it."""
    shown.ask("POST", "/topics/audit/records", {"values": [f"v{n}" for n in range(250)]})
    page = shown.open("/topics/audit?partition=0")
    shown.sees("v249", ".records")
    page.get_by_role("link", name="Earlier").click()
    shown.sees("v149", ".records")
    page.get_by_role("link", name="First").click()
    shown.sees("v0", ".records tbody tr:last-child")
    page.get_by_role("link", name="Later").click()
    shown.sees("v100", ".records tbody tr:last-child")


def test_the_record_of_a_time_is_found_as_list_offsets_finds_it(shown: ShownPage) -> None:
    """The first record at or after the time, in each partition that has one."""
    shown.ask("POST", "/topics/audit/records", {"values": ["early"]})
    shown.ask("POST", "/clock/advance", {"hours": 1})
    between_ms = shown.ask("GET", "/clock")["now_ms"] - 1_800_000
    shown.ask("POST", "/topics/audit/records", {"values": ["late"]})
    page = shown.open("/topics/audit")
    page.get_by_label("Time in UTC, or max").fill(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(between_ms / 1000)))
    page.get_by_role("button", name="Find").click()
    shown.sees("offset 1", "[aria-label='Result']")
    shown.sees("late", "[aria-label='Result']")
    page.get_by_role("link", name="offset 1").click()
    shown.sees("late", "tr.is-chosen")


def test_a_record_is_appended_and_a_topic_deleted(shown: ShownPage) -> None:
    """The form appends to the partition that is shown, and says how a script would."""
    page = shown.open("/topics/orders?partition=2")
    page.get_by_label("Key", exact=True).fill("k9")
    page.get_by_label("Value", exact=True).fill("it's")
    reads(page.locator(".calls .script"), 'broker.topic("orders").produce("it\'s", key="k9", partition=2)')
    page.get_by_role("button", name="Append").click()
    shown.sees("it's", ".records")
    assert shown.ask("GET", "/topics/orders/records?partition=2")[0]["key"] == "k9"
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Yes").click()
    shown.sees("There is no topic orders")
