"""The news of a history as JSON for a webhook: ``{"text": ...}``, for Slack or Mattermost."""

from __future__ import annotations

import json
from collections.abc import Sequence

from hindmost.analysis.history.change_groups import ChangeGroup
from hindmost.analysis.history.change_sentences import group_lines
from hindmost.analysis.history.headline import failure_line, headline, scope, silence_lines
from hindmost.analysis.history.study import HistoryStudy
from hindmost.text import counted

MAX_LINES, MAX_CHARACTERS = 20, 3500
"""Of a message; the last line counts the others."""


def webhook_text(study: HistoryStudy, groups: Sequence[ChangeGroup]) -> str:
    """Return the message: the verdict in one line, then the changes, as JSON on one line."""
    lines = [*silence_lines(study), *group_lines(groups), *filter(None, [failure_line(study)])]
    shown: list[str] = []
    for line in lines:
        if len(shown) == MAX_LINES or sum(map(len, shown)) + len(line) > MAX_CHARACTERS:
            break
        shown.append(line)
    if left := len(lines) - len(shown):
        shown.append(f"and {counted(left, 'more line')}")
    text = "\n".join([f"hindmost: {headline(study)}", scope(study), *shown])
    # Slack reads these three as marks of its own.
    for sign, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(sign, written)
    return json.dumps({"text": text}) + "\n"
