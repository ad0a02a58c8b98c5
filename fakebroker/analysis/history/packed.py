"""Files that may be packed by gzip, whatever their names say."""

import gzip
import zlib
from typing import IO, Final, cast

GZIP_MAGIC: Final = b"\x1f\x8b"

BAD_GZIP: Final = (zlib.error, EOFError, gzip.BadGzipFile)
"""What reading `unpacked` data raises where it is damaged or ends in the middle, after all that is before."""


def unpacked(stream: IO[bytes]) -> IO[bytes]:
    """What stands in a stream from its start, unpacked if it begins like gzip."""
    is_packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    stream.seek(0)
    return cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if is_packed else stream
