"""Findings are counted as errors and as warnings, each apart. A point keeps how often it is read.

What is kept of a point tells it from its next data on.
"""

from __future__ import annotations

import sqlalchemy as sa

from alembic import op
from energycomm.eis import triggers

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_TAKEN_OFF = """
INSERT INTO finding_tally (what, name, writer, messages, occurrences, ever)
SELECT '{what}', {column}, 0, 0, 0, -count(*) FROM finding WHERE severity = 'warning' GROUP BY {column}
ON CONFLICT (what, name, writer) DO UPDATE SET ever = finding_tally.ever + excluded.ever
"""
_COUNTED_APART = """
INSERT INTO finding_tally (what, name, writer, messages, occurrences, ever)
SELECT '{warning}', {column}, 0, count(DISTINCT CASE WHEN "current" THEN message_id END),
  sum(CASE WHEN "current" THEN 1 ELSE 0 END), count(*)
FROM finding WHERE severity = 'warning' GROUP BY {column}
"""
_COMMENTS = {
    "what": "code, rule: as errors; codw, rulw: as warnings.",
    "messages": "Messages that it holds for now.",
    "occurrences": "Findings that hold now.",
    "ever": "All findings, of former verdicts too.",
}


def upgrade() -> None:
    """Add the column, split what was counted, make the triggers anew."""
    op.add_column("point_data", sa.Column("reading_period", sa.Integer()))
    for what, warning, column in (("code", "codw", "error_code"), ("rule", "rulw", "rule")):
        op.execute(_TAKEN_OFF.format(what=what, column=column))
        op.execute(_COUNTED_APART.format(warning=warning, column=column))
    triggers.install(op.get_bind())
    if op.get_context().dialect.name == "postgresql":
        for name, comment in _COMMENTS.items():
            op.alter_column("finding_tally", name, comment=comment)
