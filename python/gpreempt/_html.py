"""Tables for notebooks and for terminals."""

from __future__ import annotations

import html
from typing import Any, Iterable, List, Sequence


def text_of(value: Any) -> str:
    """Unknown is N/A, never 0."""
    if value is None:
        return "N/A"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def html_table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; every cell is escaped."""
    def line(tag: str, cells: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(text_of(cell))}</{tag}>"
                                for cell in cells) + "</tr>"

    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(line("td", row) for row in rows)
    return f"<table>{top}<thead>{line('th', header)}</thead><tbody>{body}</tbody></table>"


def text_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The same in columns."""
    lines: List[List[str]] = [list(header)] + [[text_of(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                     for line in lines)
