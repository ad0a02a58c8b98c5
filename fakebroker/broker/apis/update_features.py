"""UpdateFeatures, key 57, v0-v2: change the levels of the cluster's features (KIP-584, KIP-778, UF).

v1 kind of change and dry runs; v2 no results. All changes of a request are made, or none.
"""

from fakebroker.broker.apis.call import Call
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.wire.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)


def handle(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """A result for each entry; INVALID_UPDATE_VERSION and no results if one of them is refused (UF-1, UF-2).

    v0 can only raise levels, as it is read as an upgrade, whatever `allow_downgrade` says. Of a feature that is named
    twice the last entry counts.
    """
    features = call.cluster.features
    updates = {each.feature: each for each in request.feature_updates}
    try:
        for name, update in updates.items():
            features.check(name, update.max_version_level, update.upgrade_type)
    except KafkaError as error:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
    if not request.validate_only:
        features.change({name: update.max_version_level for name, update in updates.items()})
    results = [UpdatableFeatureResult(feature=each.feature, error_message="NONE") for each in request.feature_updates]
    return UpdateFeaturesResponse(error_message=None, results=results)
