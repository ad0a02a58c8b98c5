"""The chapters, by name."""

from tools.differential.chapters.admin import Admin
from tools.differential.chapters.chapter import Action, Chapter
from tools.differential.chapters.classic_groups import ClassicGroups, ClassicTimers, StaticMembers
from tools.differential.chapters.consumer_groups import ConsumerGroups, ConsumerTimers
from tools.differential.chapters.log import Log
from tools.differential.chapters.offsets import Offsets
from tools.differential.chapters.restarts import Restarts
from tools.differential.chapters.share_groups import ShareGroups, ShareTimers
from tools.differential.chapters.share_records import ShareLocks, ShareRecords
from tools.differential.chapters.streams_groups import StreamsGroups, StreamsTimers
from tools.differential.chapters.transactions import NewTransactions, Transactions, TransactionTimers

__all__ = ["CHAPTERS", "Action", "Chapter"]

CHAPTERS: dict[str, type[Chapter]] = {
    "offsets": Offsets,
    "classic groups": ClassicGroups,
    "static members": StaticMembers,
    "classic timers": ClassicTimers,
    "log": Log,
    "transactions": Transactions,
    "new transactions": NewTransactions,
    "transaction timers": TransactionTimers,
    "consumer groups": ConsumerGroups,
    "consumer timers": ConsumerTimers,
    "share groups": ShareGroups,
    "share timers": ShareTimers,
    "share records": ShareRecords,
    "share locks": ShareLocks,
    "streams groups": StreamsGroups,
    "streams timers": StreamsTimers,
    "admin": Admin,
    "restarts": Restarts,
}
