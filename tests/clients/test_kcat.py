"""kcat (Debian: kcat), the command line client on librdkafka, where it is at hand."""

import shutil
import subprocess

import pytest

from fakebroker import FakeBroker

KCAT = shutil.which("kcat") or shutil.which("kafkacat") or ""

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(not KCAT, reason="KCAT IS NOT TESTED: there is none on the PATH (Debian: apt-get install kcat)"),
]


def kcat(broker: FakeBroker, *arguments: str, text: str = "") -> str:
    command = [KCAT, "-q", "-b", broker.bootstrap, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=True).stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_kcat_writes_it_reads(fakebroker: FakeBroker, codec: str) -> None:
    """Keys, headers and values come back, whatever the codec."""
    lines = [f"key{n}:value {n}" for n in range(1000)]

    kcat(fakebroker, "-P", "-t", "orders", "-K:", "-H", "source=test", "-z", codec, text="\n".join(lines))
    read = kcat(fakebroker, "-C", "-t", "orders", "-e", "-f", "%k:%s %h\n")

    assert read.splitlines() == [f"{line} source=test" for line in lines]


def test_kcat_lists_and_finds_by_time(fakebroker: FakeBroker) -> None:
    """Metadata has the topic's partitions, and a query by time the offset."""
    fakebroker.create_topic("orders", partitions=2)
    fakebroker.topic("orders").produce("a", "b", timestamp_ms=1_700_000_000_000)
    fakebroker.topic("orders").produce("c", timestamp_ms=1_700_000_060_000)

    assert 'topic "orders" with 2 partitions' in kcat(fakebroker, "-L")
    assert kcat(fakebroker, "-Q", "-t", "orders:0:1700000000001").strip() == "orders [0] offset 2"
