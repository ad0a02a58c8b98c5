"""What is read of a request before it is cut out of the stream, and the length that stands before every frame.

API key and version are one number here, the key of `Dispatcher.routes`.

    | length | API key | version | correlation id | length of the client id | client id | tagged section | body
    |   4    |    2    |    2    |       4        |           2             |           | only header v2 |
             |0                  |4               |8                        |10    offsets in the frame
"""

from struct import Struct

from fakebroker.protocol.wire.frame import SMALLEST_FRAME_BYTES
from fakebroker.protocol.wire.framing import PREFIX_BYTES

read_request_head = Struct(">ii4xh").unpack_from  # length, API key and version, length of the client id
read_frame_head = Struct(">i4xh").unpack_from  # the same in a frame that was cut out already
REQUEST_HEAD_BYTES = PREFIX_BYTES + SMALLEST_FRAME_BYTES

pack_prefix = Struct(">i").pack
SHORT_PREFIXES = [pack_prefix(size_bytes) for size_bytes in range(512)]
