"""Messages are declarations: one class covers all versions, fields in wire order, wire types as annotations.

    class HeartbeatRequest(Message, api_key=12, versions="0-4", flexible="4+"):
        group_id: Str = field("0+")
        generation_id: Int32 = field("0+")
        member_id: Str = field("0+")
        group_instance_id: Str | None = field("3+", nullable="3+", default=None)

Defaults sit on the class, so decoding stores only what the version carries; lists and structs are always an
instance's own. The codecs are generated source, made when a version is first used (codegen.py).
"""

import struct
from collections.abc import Callable, Generator, Mapping
from copy import copy
from types import GenericAlias, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from fakebroker.protocol.errors import WireError
from fakebroker.protocol.schema.types import (
    NO_VERSIONS,
    STRING,
    ArrayOf,
    Entity,
    FieldSpan,
    FieldSpec,
    Primitive,
    Versions,
    parse_versions,
)

Copied = TypeVar("Copied")


class _Facts(NamedTuple):
    """The arguments of `field()`; the field's type is in the annotation."""

    versions: str
    nullable: str
    default: Any
    tag: int | None
    ignorable: bool
    flexible: bool
    map_key: bool
    row: "type[Row] | None"
    kafka_name: str | None
    varies: bool
    entity: Entity | None


class _Absent:
    """Stands for "not given" where None means null."""

    def __repr__(self) -> str:
        return "<default>"


ABSENT: Any = _Absent()


def field(
    versions: str,
    *,
    nullable: str = "none",
    default: Any = ABSENT,
    tag: int | None = None,
    ignorable: bool = False,
    flexible: str | None = None,
    map_key: bool = False,
    row: "type[Row] | None" = None,
    kafka_name: str | None = None,
    varies: bool = False,
    entity: Entity | None = None,
) -> Any:
    """Declares a field.

    `versions` and `nullable` are ranges in Kafka's notation; `tag` puts the field into the tagged section in all its
    versions; `flexible="none"` keeps the old encoding (GEN-6); `row` names the Row of an array of tuples;
    `kafka_name` is for names that are not the CamelCase of ours. Without `default` GEN-2 decides. `varies` is for
    numbers, bytes and records that clients, or the broker in its answers, change from one message to the next while all
    else stays: `locator` finds them. They cannot be tagged. `entity` says what the
    value, or each value of a list, means: schema/entities.py finds fields by it.
    """
    flexible_too = flexible != "none"
    return _Facts(versions, nullable, default, tag, ignorable, flexible_too, map_key, row, kafka_name, varies, entity)


class Declaration:
    """What `Struct` and `Row` share: their fields, gathered when the class statement ends."""

    kafka_name: ClassVar[str]
    fields: ClassVar[tuple[FieldSpec, ...]]
    is_row: ClassVar[bool] = False

    @classmethod
    def _gather(cls, upper: bool) -> None:
        specs = []
        declared: dict[str, Any] = cls.__annotations__
        for name, annotation in declared.items():
            if get_origin(annotation) is ClassVar:
                continue
            facts = cls.__dict__.get(name)
            if not isinstance(facts, _Facts):
                raise TypeError(f"{cls.__name__}.{name} is not declared with field()")
            specs.append(_spec(cls.__name__, name, annotation, facts, upper))
        cls.kafka_name = cls.__name__
        cls.fields = tuple(specs)


def _spec(owner: str, name: str, annotation: Any, facts: _Facts, upper: bool) -> FieldSpec:
    kind = _wire_type(f"{owner}.{name}", annotation, facts.row)
    can_vary = isinstance(kind, Primitive) and kind is not STRING and facts.tag is None
    if facts.varies and not can_vary:
        raise TypeError(f"{owner}.{name}: only untagged numbers, bytes and records can vary")
    default = facts.default
    if default is ABSENT:
        default = kind.zero if isinstance(kind, Primitive) else ()
    return FieldSpec(
        name,
        facts.kafka_name or _camel(name, upper),
        parse_versions(facts.versions),
        kind,
        parse_versions(facts.nullable),
        default,
        facts.tag,
        facts.ignorable,
        facts.flexible,
        facts.map_key,
        facts.varies,
        facts.entity,
    )


def _camel(name: str, upper: bool) -> str:
    camel = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return camel if upper else name[:1] + camel[1:]


def _wire_type(where: str, annotation: Any, row: "type[Row] | None") -> "Primitive | ArrayOf | type[Declaration]":
    """The wire type inside an annotation: X, list[X], and either of them `| None`."""
    if get_origin(annotation) in (UnionType, Union):
        annotation = get_args(annotation)[0]
    if type(annotation) is GenericAlias and annotation.__origin__ is list:
        element = annotation.__args__[0]
        if row is not None:
            _check_row(where, element, row)
            return ArrayOf(row)
        return ArrayOf(_element(where, element))
    return _element(where, annotation)


def _element(where: str, annotation: Any) -> "Primitive | type[Declaration]":
    if isinstance(annotation, type) and issubclass(annotation, Declaration):
        return annotation
    for note in getattr(annotation, "__metadata__", ()):
        if isinstance(note, Primitive):
            return note
    raise TypeError(f"{where}: {annotation!r} is not a wire type")


def _check_row(where: str, annotation: Any, row: "type[Row]") -> None:
    """The tuple in the annotation must spell the row's own annotations, so that mypy checks the real types."""
    declared = tuple(row.__annotations__.values())
    if getattr(annotation, "__args__", None) != declared:
        raise TypeError(f"{where}: tuple{list(declared)} expected for rows of {row.__name__}, not {annotation!r}")


class Row(Declaration):
    """A bulk row: never instantiated. Decodes to, and encodes from, a plain tuple of all its fields of all versions.

    Unknown tagged fields of rows are skipped (AV-11), since a tuple has no place for them.
    """

    is_row = True

    def __init_subclass__(cls, *, names: str = "UpperCamel") -> None:
        cls._gather(upper=names == "UpperCamel")


@dataclass_transform(kw_only_default=True)
class Struct(Declaration):
    """A structure inside messages. Keyword constructor; every field of every version is an attribute."""

    # Tagged fields that the declaration does not know, by tag; written again on encode.
    unknown_tags: dict[int, bytes] | None

    def __init_subclass__(cls, *, names: str = "UpperCamel") -> None:
        cls._gather(upper=names == "UpperCamel")
        cls.unknown_tags = None
        for spec in cls.fields:
            if spec.is_mutable:
                delattr(cls, spec.name)
            else:
                setattr(cls, spec.name, spec.default)

    if not TYPE_CHECKING:  # mypy derives the constructor's signature from the fields

        def __init__(self, **values: Any) -> None:
            # First instance of the class: generate its constructor, and let that one do it.
            from fakebroker.protocol.schema.codegen import make_constructor

            make_constructor(type(self))
            self.__init__(**values)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        if (self.unknown_tags or None) != (other.unknown_tags or None):
            return False
        return all(getattr(self, spec.name) == getattr(other, spec.name) for spec in self.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Like a constructor call; fields with their default are left out."""
        values = [(spec.name, getattr(self, spec.name), spec.fresh_default()) for spec in self.fields]
        values.append(("unknown_tags", self.unknown_tags, None))
        arguments = ", ".join(f"{name}={value!r}" for name, value, default in values if value != default)
        return f"{type(self).__name__}({arguments})"


class Message(Struct):
    """A structure that stands alone and knows its versions: a request, a response, a header or a record's content."""

    api_key: ClassVar[int]
    versions: ClassVar[Versions]
    flexible: ClassVar[Versions]
    _decoders: ClassVar[dict[int, Callable[[bytes, int], tuple[Any, int]]]]
    _encoders: ClassVar[dict[int, Callable[[Any], bytes]]]

    def __init_subclass__(
        cls, *, versions: str, flexible: str = "none", api_key: int = -1, names: str = "UpperCamel"
    ) -> None:
        super().__init_subclass__(names=names)
        cls.api_key = api_key
        cls.versions = parse_versions(versions)
        cls.flexible = parse_versions(flexible) if flexible != "none" else NO_VERSIONS
        cls._decoders = {}
        cls._encoders = {}

    @classmethod
    def decode(cls, data: bytes, version: int, offset: int = 0) -> tuple[Self, int]:
        """Reads a message and says where it ends; what follows is the caller's. Raises WireError, nothing else."""
        decoder = cls._decoders.get(version) or cls.decoder(version)
        try:
            return decoder(data, offset)
        except (struct.error, IndexError, WireError) as error:
            from fakebroker.protocol.schema.codec_errors import decode_failure

            raise decode_failure(cls, version, data, error) from error

    def encode(self, version: int) -> bytes:
        """The message's bytes. Raises WireError for a value that the version or the field's type cannot carry."""
        encoder = self._encoders.get(version) or self.encoder(version)
        try:
            return encoder(self)
        except (struct.error, TypeError, ValueError, AttributeError, OverflowError, WireError) as error:
            from fakebroker.protocol.schema.codec_errors import encode_failure

            raise encode_failure(self, version, error) from error

    @classmethod
    def decoder(cls, version: int) -> Callable[[bytes, int], tuple[Self, int]]:
        """The bare function that `decode` calls, for hot loops; only `decode` turns what it raises into a WireError."""
        if version not in cls._decoders:
            from fakebroker.protocol.schema.codegen import make_decoder  # not needed before the first message

            cls._require(version)
            cls._decoders[version] = make_decoder(cls, version)
        return cls._decoders[version]

    @classmethod
    def stepwise_decoder(cls, version: int) -> Callable[[bytes, int], Generator[None, None, tuple[Self, int]]]:
        """Like `decoder`, for large frames: a generator that yields now and then, and returns what `decoder` does."""
        from fakebroker.protocol.schema.codegen import make_stepwise_decoder

        cls._require(version)
        return make_stepwise_decoder(cls, version)  # type: ignore[no-any-return]

    @classmethod
    def encoder(cls, version: int) -> Callable[[Self], bytes]:
        """The bare function that `encode` calls, for hot loops; only `encode` turns what it raises into a WireError."""
        if version not in cls._encoders:
            from fakebroker.protocol.schema.codegen import make_encoder  # not needed before the first message

            cls._require(version)
            cls._encoders[version] = make_encoder(cls, version)
        return cls._encoders[version]

    @classmethod
    def piecer(cls, version: int) -> Callable[[Self], list[bytes]]:
        """Like `encoder`, but its function leaves the pieces unjoined: record batches are not copied on the way."""
        from fakebroker.protocol.schema.codegen import make_piecer

        cls._require(version)
        return make_piecer(cls, version)  # type: ignore[no-any-return]

    @classmethod
    def stepwise_encoder(cls, version: int) -> Callable[[Self], Generator[None, None, list[bytes]]]:
        """Like `piecer`, for long messages: a generator that yields each 10,000 pieces, and returns the pieces."""
        from fakebroker.protocol.schema.codegen import make_stepwise_encoder

        cls._require(version)
        return make_stepwise_encoder(cls, version)  # type: ignore[no-any-return]

    @classmethod
    def locator(cls, version: int) -> Callable[[bytes, int], list[FieldSpan]]:
        """A function (data, position) that finds the fields declared with `varies` in the bytes of one message.

        It returns their places in wire order; fields that are null have none. The bytes must be good: `decode` has
        read them, or `encode` has written them.
        """
        from fakebroker.protocol.schema.codegen import make_locator

        cls._require(version)
        return make_locator(cls, version)  # type: ignore[no-any-return]

    @classmethod
    def _require(cls, version: int) -> None:
        if not cls.versions.includes(version):
            raise WireError(f"{cls.__name__} has no version {version}, only {cls.versions}")


def with_fields(struct: Copied, **fields: object) -> Copied:
    """A shallow copy of a struct with other values in these fields."""
    changed = copy(struct)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def made(declaration: type[Declaration], values: Mapping[str, Any]) -> Any:
    """A struct, or the tuple of a row, that has these values by field name, and defaults for all others."""
    if declaration.is_row:
        return tuple(values[s.name] if s.name in values else s.fresh_default() for s in declaration.fields)
    make: Callable[..., Struct] = declaration  # type: ignore[assignment]
    return make(**values)
