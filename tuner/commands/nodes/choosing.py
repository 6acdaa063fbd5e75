"""Which kept check people mean: by number, by the name of a cluster, by day, or the usual one to compare with."""

import re
from datetime import UTC, date, datetime

from results.errors import ResultsError
from results.store.kept_check import NodeCheckLine, NodeCheckState
from results.store.store import Store

from ...errors import UsageError

DEFAULT, FIRST, LAST = "default", "first", "last"
WORDS = (DEFAULT, FIRST, LAST)


def chosen_check(store: Store, which: str | None) -> NodeCheckLine:
    """Find a check by its number, or the newest one of a cluster, or the newest of all.

    Raises:
        ResultsError: there is none.
    """
    if which is not None and which.isdecimal():
        return store.node_checks.line(int(which))
    newest = store.node_checks.lines(which, 1)
    if newest:
        return newest[0]
    if which is None:
        raise ResultsError(f"{store.place} holds no check of nodes yet: `hpltune nodes check` makes one")
    known = sorted({line.cluster for line in store.node_checks.lines()})
    raise ResultsError(f"there is no check of {which} in {store.place} (there: {', '.join(known) or 'none'})")


def chosen_baseline(store: Store, which: str, cluster: str) -> NodeCheckLine | None:
    """Find the check to compare with; None where there is no earlier one, though any would do.

    Args:
        which: a number; a day, whose last check is taken, or the last one before; or one of WORDS.

    Raises:
        UsageError: it cannot be read, or is of another cluster.
        ResultsError: there is no such check.
    """
    if which.isdecimal():
        line = store.node_checks.line(int(which))
        if line.cluster != cluster:
            raise UsageError(f"that check is of {line.cluster}, not of {cluster}", field="baseline", given=which)
        return line
    if which == DEFAULT:
        number = store.node_checks.baseline_of(cluster)
        return None if number is None else store.node_checks.line(number)
    lines = [line for line in store.node_checks.lines(cluster) if line.state is NodeCheckState.COMPLETE]
    if which in {FIRST, LAST}:
        return (lines[-1] if which == FIRST else lines[0]) if lines else None
    day = _day(which)
    found = next((line for line in lines if line.checked_at.astimezone(UTC).date() <= day), None)
    if found is None:
        raise ResultsError(f"there is no check of {cluster} until {which}: `hpltune nodes list` shows all")
    return found


def _day(text: str) -> date:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        pass  # as 2026-13-45
    raise UsageError(
        f"give the number of a check, a day as 2026-11-02, or {', '.join(WORDS)}", field="baseline", given=text
    )
