"""Writes tests/data/vectors with an independent codec: kprobe.py, which reads Kafka's message files.

    python tools/make_vectors.py PATH/OF/kprobe.py

Only needed when messages or versions are added; the tests read what it wrote. For every version of every message
there are three values: "defaults" (nothing set), "full" (everything set, arrays of two, text beyond ASCII, tagged
fields) and "edges" (nulls, extreme numbers, long strings and arrays, which need longer lengths).
"""

import argparse
import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MESSAGES, VECTORS = ROOT / "tests" / "data" / "messages", ROOT / "tests" / "data" / "vectors"
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}


class Maker:
    """Makes values for one message in one version."""

    def __init__(self, kprobe: ModuleType, version: int, case: str) -> None:
        self.kprobe = kprobe
        self.version = version
        self.case = case
        self.serial = 0

    def struct(self, fields: list[dict[str, Any]]) -> dict[str, Any]:
        within = self.kprobe.within
        return {f["name"]: self.field(f) for f in fields if within(f["versions"], self.version)}

    def field(self, field: dict[str, Any]) -> Any:
        nullable = self.kprobe.within(field.get("nullableVersions"), self.version)
        kind = field["type"]
        if self.case == "edges" and nullable:
            return None
        if not kind.startswith("[]"):
            return self.one(field, kind)
        count = 2 if self.case == "full" else 130 if kind[2:] in BITS else 1
        return [self.one(field, kind[2:]) for _ in range(count)]

    def one(self, field: dict[str, Any], kind: str) -> Any:
        self.serial += 1
        if kind in BITS:
            return self.number(kind)
        if kind == "float64":
            return self.serial + 0.25 if self.case == "full" else -1.7976931348623157e308
        if kind == "bool":
            return self.serial % 2 == 1
        if kind == "uuid":
            return self.kprobe.uuid.UUID(int=self.serial * 0x0123456789ABCDEF0123456789 % 2**128)
        if kind == "string":
            return f"{field['name']}-{self.serial} é€😀" if self.case == "full" else "x" * 200
        if kind in ("bytes", "records"):
            return bytes(range(self.serial % 200)) if self.case == "full" else bytes(300)
        return self.struct(field["fields"])

    def number(self, kind: str) -> int:
        if self.case == "full":
            return self.serial % (1 << BITS[kind] - 1)
        unsigned = kind.startswith("u")
        if unsigned:
            return (1 << BITS[kind]) - 1
        most = 1 << BITS[kind] - 1
        return -most if self.serial % 2 else most - 1


def vectors(kprobe: ModuleType, name: str) -> list[dict[str, Any]]:
    schema = kprobe.schema(name)
    first, _, last = schema["validVersions"].partition("-")
    made = []
    for version in range(int(first), int(last or first) + 1):
        for case in ("defaults", "full", "edges"):
            value = {} if case == "defaults" else Maker(kprobe, version, case).struct(schema["fields"])
            data = kprobe.encode(name, version, value, prefix=False)
            shown = kprobe.jsonable(kprobe.decode(name, version, data))
            made.append({"message": name, "version": version, "case": case, "hex": data.hex(), "json": shown})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kprobe", type=Path)
    spec = importlib.util.spec_from_file_location("kprobe", parser.parse_args().kprobe)
    assert spec
    assert spec.loader
    kprobe = importlib.util.module_from_spec(spec)
    sys.modules["kprobe"] = kprobe
    spec.loader.exec_module(kprobe)
    VECTORS.mkdir(exist_ok=True)
    names = sorted(path.stem for path in MESSAGES.glob("*.json"))
    apis: dict[str, list[str]] = {}
    for name in [*names, "RequestHeader", "ResponseHeader"]:
        apis.setdefault(name.removesuffix("Request").removesuffix("Response"), []).append(name)
    for api, messages in apis.items():
        lines = [json.dumps(vector, ensure_ascii=False) for name in messages for vector in vectors(kprobe, name)]
        # Without a time stamp, so that the same vectors are the same file.
        with open(VECTORS / f"{api}.jsonl.gz", "wb") as out, gzip.GzipFile("", "wb", mtime=0, fileobj=out) as packed:
            packed.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
