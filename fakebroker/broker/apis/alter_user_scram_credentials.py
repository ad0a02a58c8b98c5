"""AlterUserScramCredentials, key 51, v0: store and delete what users log in with by SCRAM (KIP-554, SC)."""

from collections.abc import Generator

from fakebroker.broker.apis.call import Call, Steps
from fakebroker.broker.core.security.credentials import Credentials
from fakebroker.broker.core.security.mechanisms import SCRAM_NUMBERS
from fakebroker.broker.core.security.scram import (
    MAX_ITERATIONS,
    MAX_SALT_BYTES,
    MIN_ITERATIONS,
    credential_of_salted,
)
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
_TWICE = "A user credential cannot be altered twice in the same request"
_NOT_THERE = "Attempt to delete a user credential that does not exist"

_Entry = ScramCredentialDeletion | ScramCredentialUpsertion


def handle(call: Call, request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse | None:
    """One entry for each user; of a user that is named twice nothing is changed."""
    return call.work(_in_steps(call, request), must_finish=True)


def _in_steps(call: Call, request: AlterUserScramCredentialsRequest) -> Steps[AlterUserScramCredentialsResponse]:
    entries: list[_Entry] = [*request.deletions, *request.upsertions]
    pace, faults = call.pace(ENTRIES_PER_STEP), dict[str, KafkaError | None]()
    for entry in entries:
        if entry.name not in faults:
            faults[entry.name] = _fault(call.cluster.credentials, entry)
        elif faults[entry.name] is None:
            faults[entry.name] = KafkaError(ErrorCode.DUPLICATE_RESOURCE, _TWICE)
        if pace.is_over():
            yield
    results = dict[str, AlterUserScramCredentialsResult]()
    for entry in entries:
        if entry.name not in results:
            results[entry.name] = _result(call.cluster.credentials, entry, faults[entry.name])
        if pace.is_over():
            yield
    return AlterUserScramCredentialsResponse(results=list(results.values()))


def _fault(credentials: Credentials, entry: _Entry) -> KafkaError | None:
    """What is wrong with an entry by itself."""
    if not entry.name:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if entry.mechanism not in SCRAM_NUMBERS:
        return KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(entry, ScramCredentialDeletion):
        is_there = SCRAM_NUMBERS[entry.mechanism] in credentials.scram_of(entry.name)
        return None if is_there else KafkaError(ErrorCode.RESOURCE_NOT_FOUND, _NOT_THERE)
    if entry.iterations < MIN_ITERATIONS:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if entry.iterations > MAX_ITERATIONS:
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    if len(entry.salt) > MAX_SALT_BYTES:
        too_long = f"The salt has {len(entry.salt)} bytes, and at most {MAX_SALT_BYTES} are stored"
        return KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, too_long)
    return None


def _result(credentials: Credentials, entry: _Entry, fault: KafkaError | None) -> AlterUserScramCredentialsResult:
    """Carry out an entry without a fault. Another request may have deleted the credential since that was found out."""
    if fault is None and isinstance(entry, ScramCredentialDeletion):
        fault = _fault(credentials, entry)
    if fault is not None:
        return AlterUserScramCredentialsResult(user=entry.name, error_code=fault.code, error_message=fault.message)
    result = AlterUserScramCredentialsResult(user=entry.name, error_message=None)
    mechanism = SCRAM_NUMBERS[entry.mechanism]
    if isinstance(entry, ScramCredentialDeletion):
        credentials.remove_scram(entry.name, mechanism)
    elif entry.salted_password:
        salted, salt = bytes(entry.salted_password), bytes(entry.salt)
        credential = credential_of_salted(mechanism, salted, salt, entry.iterations)
        credentials.set_scram(entry.name, mechanism, credential)
    else:
        result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR  # Kafka fails to derive the keys
    return result


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
