"""AlterUserScramCredentials, key 51, v0: store and delete what users log in with by SCRAM (KIP-554, SC)."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import chain

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.security.mechanisms import SCRAM_NUMBERS
from fakebroker.broker.core.security.scram import MAX_ITERATIONS, MIN_ITERATIONS, credential_of_salted
from fakebroker.protocol.errors import ErrorCode, KafkaError
from fakebroker.protocol.pace import Pace
from fakebroker.protocol.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

ENTRIES_PER_STEP = 2_000


def handle(call: Call, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse | None:
    """One entry for each user; of a user that is named twice nothing is changed."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: AlterUserScramCredentialsRequest) -> Steps[AlterUserScramCredentialsResponse]:
    times = Counter(each.name for each in request.deletions)
    times.update(each.name for each in request.upsertions)
    changes: Iterator[tuple[str, Callable[[], None]]] = chain(
        ((each.name, partial(_delete, call, each)) for each in request.deletions),
        ((each.name, partial(_upsert, call, each)) for each in request.upsertions),
    )
    results, pace = {}, call.pace(ENTRIES_PER_STEP)
    for name, change in changes:
        results[name] = _result(name, times, change)
        if pace.is_over():
            yield
    return AlterUserScramCredentialsResponse(results=list(results.values()))


def _result(name: str, times: Counter[str], act: Callable[[], None]) -> AlterUserScramCredentialsResult:
    try:
        if times[name] > 1:
            text = "A user credential cannot be altered twice in the same request"
            raise KafkaError(ErrorCode.DUPLICATE_RESOURCE, text)
        if not name:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
        act()
    except KafkaError as error:
        return AlterUserScramCredentialsResult(user=name, error_code=error.code, error_message=error.message)
    return AlterUserScramCredentialsResult(user=name, error_message=None)


def _delete(call: Call, deletion: ScramCredentialDeletion) -> None:
    """Raises KafkaError for an unknown mechanism and for what is not there."""
    mechanism = _mechanism(deletion.mechanism)
    credentials = call.cluster.credentials
    if mechanism not in credentials.scram_of(deletion.name):
        raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
    credentials.remove_scram(deletion.name, mechanism)


def _upsert(call: Call, upsertion: ScramCredentialUpsertion) -> None:
    """Raises KafkaError for an unknown mechanism and iterations out of bounds."""
    mechanism = _mechanism(upsertion.mechanism)
    if upsertion.iterations < MIN_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if upsertion.iterations > MAX_ITERATIONS:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    salted, salt = bytes(upsertion.salted_password), bytes(upsertion.salt)
    credential = credential_of_salted(mechanism, salted, salt, upsertion.iterations)
    call.cluster.credentials.set_scram(upsertion.name, mechanism, credential)


def _mechanism(number: int) -> str:
    if number not in SCRAM_NUMBERS:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return SCRAM_NUMBERS[number]


def error_response(
    request: AlterUserScramCredentialsRequest, _version: int, code: ErrorCode
) -> Generator[None, None, AlterUserScramCredentialsResponse]:
    """What a handler that failed is answered with: the error for each user that is named (AV-10)."""
    names = dict.fromkeys([each.name for each in request.deletions] + [each.name for each in request.upsertions])
    results, pace = [], Pace(ENTRIES_PER_STEP)
    for name in names:
        results.append(AlterUserScramCredentialsResult(user=name, error_code=code))
        if pace.is_over():
            yield
    return AlterUserScramCredentialsResponse(results=results)
