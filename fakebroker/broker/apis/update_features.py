"""UpdateFeatures, key 57, v0-v2: change the levels of the cluster's features (KIP-584, KIP-778, UF).

v1 kind of change and dry runs; v2 no results. All changes of a request are made, or none.
"""

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.pace import listed
from fakebroker.protocol.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

ENTRIES_PER_STEP = 5_000


def handle(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse | None:
    """A result for each entry; INVALID_UPDATE_VERSION and no results if one of them is refused (UF-1, UF-2).

    v0 can only raise levels, as it is read as an upgrade, whatever `allow_downgrade` says. Of a feature that is named
    twice the last entry counts.
    """
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: UpdateFeaturesRequest) -> Steps[UpdateFeaturesResponse]:
    """The features are checked and changed in one step: the first that does not exist ends it."""
    features, pace = call.cluster.features, call.pace(ENTRIES_PER_STEP)
    updates = dict[str, FeatureUpdateKey]()
    for each in request.feature_updates:
        updates[each.feature] = each
        if pace.is_over():
            yield
    try:
        for name, update in updates.items():
            features.check(name, update.max_version_level, update.upgrade_type)
    except KafkaError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
    if not request.validate_only:
        features.change({name: update.max_version_level for name, update in updates.items()})
    results = (UpdatableFeatureResult(feature=each.feature, error_message="NONE") for each in request.feature_updates)
    return UpdateFeaturesResponse(error_message=None, results=(yield from listed(results, pace)))
