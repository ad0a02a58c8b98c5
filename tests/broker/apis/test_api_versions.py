"""ApiVersions: what is listed, and who may ask."""

from collections.abc import Callable
from typing import Any

import pytest

from fakebroker.broker.apis import api_versions
from fakebroker.broker.apis.call import Call
from fakebroker.broker.core.cluster import Cluster
from fakebroker.broker.engine.dispatch import versions_served
from fakebroker.broker.release import release
from fakebroker.broker.settings import Settings
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.api_keys import ApiKey
from fakebroker.protocol.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


def listed(make_call: Callable[..., Call], as_release: str, version: int = 3) -> dict[int, tuple[int, int]]:
    """What a broker of that release lists."""
    cluster = Cluster(Settings(), release(as_release))
    call = make_call(cluster, version)
    call.listener.versions = versions_served(cluster.release)
    request = ApiVersionsRequest(client_software_name="probe", client_software_version="1.0-beta.2")
    response = api_versions.handle(call, request)
    response.encode(version)
    return {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}


@pytest.mark.rules("AV-8", "PD-1")
def test_lists_what_is_served(make_call: Callable[..., Call]) -> None:
    """Every API served here with the release's versions; 4.3 lists Produce from 0 although it serves 3 on."""
    newest = listed(make_call, "4.3")
    assert newest[0] == (0, 13)
    assert newest[1] == (4, 18)
    assert newest[17] == (0, 1)
    assert newest[38] == (1, 3)
    assert listed(make_call, "2.1")[0] == (0, 7)
    assert 43 not in listed(make_call, "2.1"), "2.1 had no ElectLeaders"


@pytest.mark.rules("AV-8")
@pytest.mark.parametrize("version", range(5))
def test_every_version_lists_the_same(make_call: Callable[..., Call], version: int) -> None:
    """The version of the request changes the layout, not the list."""
    assert listed(make_call, "4.3", version) == listed(make_call, "4.3", 0)


def features(make_call: Callable[..., Call], as_release: str, version: int) -> ApiVersionsResponse:
    call = make_call(Cluster(Settings(), release(as_release)), version)
    call.listener.versions = release(as_release).versions
    response = api_versions.handle(call, ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    return ApiVersionsResponse.decode(response.encode(version), version)[0]


OF_4_0 = {"group.version": (0, 1), "transaction.version": (0, 2), "kraft.version": (0, 1), "metadata.version": (7, 25)}
OF_4_1 = OF_4_0 | {"eligible.leader.replicas.version": (0, 1), "metadata.version": (7, 27)}
OF_4_2 = OF_4_1 | {"share.version": (0, 1), "streams.version": (0, 1), "metadata.version": (7, 29)}
OF_4_3 = OF_4_2 | {"metadata.version": (7, 30)}


@pytest.mark.rules("AV-9", "TX-10", "CGH-1", "UF-3")
@pytest.mark.parametrize(("as_release", "spans"), [("4.3", OF_4_3), ("4.2", OF_4_2), ("4.1", OF_4_1), ("4.0", OF_4_0)])
@pytest.mark.parametrize("version", [3, 4])
def test_features_that_are_on(
    make_call: Callable[..., Call], as_release: str, spans: dict[str, tuple[int, int]], version: int
) -> None:
    """They are finalized from v3 on; v3 shows as supported those only whose lowest version is not 0."""
    response = features(make_call, as_release, version)

    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    assert supported == (spans if version == 4 else {"metadata.version": spans["metadata.version"]})
    finalized = {each.name: (each.min_version_level, each.max_version_level) for each in response.finalized_features}
    assert finalized == {name: (high, high) for name, (_, high) in spans.items() if name != "kraft.version"}
    assert response.finalized_features_epoch >= 0


@pytest.mark.rules("AV-9")
def test_a_listener_without_an_api_does_not_show_its_feature(make_call: Callable[..., Call]) -> None:
    """Who serves no share groups does not promise them."""
    call = make_call(Cluster(Settings(), release()), 4)
    call.listener.versions = {
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: (0, 1),
        ApiKey.SHARE_FETCH: (1, 1),
    }
    response = api_versions.handle(call, ApiVersionsRequest(client_software_name="a", client_software_version="1"))
    for shown in (response.supported_features, response.finalized_features):
        names = {each.name for each in shown}
        assert "group.version" in names
        assert not names & {"share.version", "streams.version"}


@pytest.mark.rules("AV-9", "TX-10")
@pytest.mark.parametrize(("as_release", "version"), [("4.3", 0), ("4.3", 2), ("3.9", 3), ("3.9", 4), ("2.1", 2)])
def test_other_versions_and_releases_show_no_features(
    make_call: Callable[..., Call], as_release: str, version: int
) -> None:
    """Without the feature clients speak the first transaction protocol."""
    response = features(make_call, as_release, version)
    assert response.supported_features == response.finalized_features == []
    assert response.finalized_features_epoch == -1


@pytest.mark.rules("AV-7")
@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "ä", "a_b"])
def test_bad_software_names(make_call: Callable[..., Call], name: str) -> None:
    """A client that names itself badly is refused with 42 and an empty list, in v3 and later."""
    call = make_call(Cluster(Settings(), release()), 3)
    call.listener.versions = {ApiKey.API_VERSIONS: (0, 4)}
    for fields in ({"client_software_name": name, "client_software_version": "1"}, software(name)):
        response: Any = api_versions.handle(call, ApiVersionsRequest(**fields))
        assert response.error_code == ErrorCode.INVALID_REQUEST
        assert response.api_keys == []
    call.version = 2
    assert api_versions.handle(call, ApiVersionsRequest()).error_code == ErrorCode.NONE


def software(version: str) -> dict[str, str]:
    return {"client_software_name": "a", "client_software_version": version}
