"""The rejects that journals give, which become rows of the table `rejects`."""

from typing import Final

from fakebroker.analysis.pipeline.recipe import Recipe, listed
from fakebroker.analysis.pipeline.tables import events, rejects

TABLE: Final = rejects.TABLE
CONTRADICTION: Final = "another line with this run, seq and part has different content"
_CONTENT: Final = listed(name for name in events.TABLE.column_names if name not in ("file", "line"))


def recipe() -> Recipe:
    """Lines that cannot be read, or that have the (run, seq, part) of an event and another content.

    `events` are those that are known from before; else the first line counts. A line that comes again is no reject.
    """
    return Recipe(f"""
        WITH lines AS (
            SELECT file, line, TRUE AS is_new, {_CONTENT} FROM journal_lines WHERE reject_reason IS NULL
            UNION ALL
            SELECT file, line, FALSE AS is_new, {_CONTENT} FROM events
        ), repeated AS (
            SELECT run, seq, part FROM lines GROUP BY run, seq, part HAVING COUNT(*) > 1
        ), compared AS (
            SELECT
                run, file, line, is_new, CONCAT(kind, ' ', seq, '.', part) AS sample, content,
                FIRST_VALUE(content) OVER (PARTITION BY run, seq, part ORDER BY is_new, file, line) AS known
            FROM (
                SELECT run, seq, part, kind, file, line, is_new, ROW({_CONTENT}) AS content
                FROM lines
                JOIN repeated USING (run, seq, part)
            ) AS alike
        ), found AS (
            SELECT run, file, line, reject_reason AS reason, reject_sample AS sample
            FROM journal_lines
            WHERE reject_reason IS NOT NULL
            UNION ALL
            SELECT run, file, line, '{CONTRADICTION}' AS reason, sample
            FROM compared
            WHERE is_new AND content IS DISTINCT FROM known
        )
        SELECT
            COALESCE(run, file) AS source, file, line AS "position", NULL AS log_partition, NULL AS log_offset, reason,
            MIN(sample) AS sample
        FROM found
        GROUP BY COALESCE(run, file), file, line, reason
    """)
