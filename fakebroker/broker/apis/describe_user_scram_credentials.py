"""DescribeUserScramCredentials, key 50, v0: who can log in by SCRAM, without secrets (KIP-554, SC-2)."""

from collections import Counter
from collections.abc import Mapping

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.security.mechanisms import SCRAM_NUMBERS
from fakebroker.protocol.errors import ErrorCode
from fakebroker.protocol.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

USERS_PER_STEP = 5_000


def handle(call: Call, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse | None:
    """An entry for each user that is named, or for all that have credentials if none is."""
    named = Counter(user.name for user in request.users or ())
    return call.work(_in_steps(call, named or Counter(sorted(call.cluster.credentials.scram))))


def _in_steps(call: Call, users: Mapping[str, int]) -> Steps[DescribeUserScramCredentialsResponse]:
    """`users` has how often each is named."""
    response, pace = DescribeUserScramCredentialsResponse(error_message=""), call.pace(USERS_PER_STEP)
    for name, times in users.items():
        response.results.append(_result(call, name, times))
        if pace.is_over():
            yield
    return response


def _result(call: Call, name: str, times: int) -> DescribeUserScramCredentialsResult:
    if times > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return _refused(name, ErrorCode.DUPLICATE_RESOURCE, text)
    credentials = call.cluster.credentials.scram_of(name)
    if not credentials:
        text = f"Attempt to describe a user credential that does not exist: {name}"
        return _refused(name, ErrorCode.RESOURCE_NOT_FOUND, text)
    infos = [
        CredentialInfo(mechanism=number, iterations=credentials[mechanism].iterations)
        for number, mechanism in SCRAM_NUMBERS.items()
        if mechanism in credentials
    ]
    return DescribeUserScramCredentialsResult(user=name, error_message="", credential_infos=infos)


def _refused(name: str, code: ErrorCode, text: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(user=name, error_code=code, error_message=text)
