"""Where the fields of stored bytes are: the header of a record batch, and a record in it (RB-1, RB-4; KIP-98).

A batch of format 2. All numbers are big-endian; positions count from the batch's first byte:

     0  base offset, 8 bytes                    27  base timestamp, 8 bytes
     8  length, 4: of all after this field      35  max timestamp, 8
    12  leader epoch, 4                         43  producer id, 8
    16  magic, 1: 2                             51  producer epoch, 2
    17  checksum, 4: CRC-32C of all after it    53  base sequence, 4
    21  attributes, 2                           57  number of records, 4
    23  last offset delta, 4                    61  records, compressed as the attributes say

Base offset, length and magic are at these places in messages of formats 0 and 1, too (MS-1).

A record. "varint" is a zigzag varint (varint.py): a number of 7 bits per byte, lowest first, bit 7 set in all bytes but
the last; the number is doubled, and inverted if negative: 0, -1, 1, -2 are stored as 0, 1, 2, 3.

    +---------+------------+-----------+--------+--------+-----+--------+-------+---------+---------
    | length  | attributes | timestamp | offset | key    | key | value  | value | number  | headers
    |         |            | delta     | delta  | length |     | length |       | of them |
    +---------+------------+-----------+--------+--------+-----+--------+-------+---------+---------
      varint    1 byte: 0    varint      varint   varint         varint           varint

Length counts the bytes after itself. The timestamp delta may have 64 bits, everything else has 32. Timestamp and offset
are relative to the batch's base timestamp and base offset. A key or value of length -1 is null. A header is the length
of its name, the name, the length of its value (-1: null), the value; lengths are varints.
"""

LENGTH_POSITION = 8
LEADER_EPOCH_POSITION = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
ATTRIBUTES_POSITION = 21
LAST_OFFSET_DELTA_POSITION = 23
MAX_TIMESTAMP_POSITION = 35
PRODUCER_ID_POSITION = 43
PRODUCER_EPOCH_POSITION = 51
HEADER_BYTES = 61

ATTRIBUTES_BYTES = 1
"""Of a record. They have no meaning yet, Kafka ignores them."""

LENGTH_END = LEADER_EPOCH_POSITION
"""The bytes that the length does not count: base offset and the length itself. Kafka's LOG_OVERHEAD."""

CRC_START = ATTRIBUTES_POSITION
"""The checksum covers the batch from here on, so base offset and leader epoch can be changed without it (RB-2)."""

# Attributes (RB-3, RC-1); those of messages have the first two.
CODEC_BITS = 7
LOG_APPEND_TIME_BIT = 8
TRANSACTIONAL_BIT = 16
CONTROL_BIT = 32
DELETE_HORIZON_BIT = 64

FORMAT_SHIFT = 8
FORMAT_BITS = 3 << FORMAT_SHIFT
"""Of a stored batch whose records are in an old format for all who fetch them: that format + 1 (MS-9).

Kafka has no meaning for these attributes and clients cannot set them: they are lost where a batch is stored anew, and
those that a client sends say nothing in a log that knows no old formats.
"""

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
