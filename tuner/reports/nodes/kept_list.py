"""The list of checks of nodes that are kept."""

from collections.abc import Sequence
from datetime import UTC, datetime

from results.report.model import Column, Report, Sentence, Table
from results.store.kept_check import NodeCheckLine, NodeCheckState

NARROW = ("check", "cluster", "nodes", "verdict")
STANDING = {NodeCheckState.RUNNING: "running", NodeCheckState.INTERRUPTED: "stopped"}


def standing(line: NodeCheckLine) -> str:
    """Say in a few words what a check came to."""
    if line.state is not NodeCheckState.COMPLETE:
        return STANDING[line.state]
    if not line.ready:
        return "not ready"
    return "ready" if line.alike else "ready, not alike"


def moment(at: datetime) -> str:
    """Write when a check was made, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M}"


def kept_list_report(lines: Sequence[NodeCheckLine]) -> Report:
    """Make the list, newest first."""
    facts: list[object] = [line_facts(line) for line in lines]
    if not lines:
        return Report(
            "Checks of nodes", (Sentence("No check of nodes is kept: `hpltune nodes check` makes one."),), facts
        )
    columns = (
        Column("check"), Column("UTC", words=True), Column("cluster", words=True), Column("nodes"),
        Column("verdict", words=True), Column("mark", words=True),
    )  # fmt: skip
    rows = tuple(
        (str(line.number), moment(line.checked_at), line.cluster, str(line.nodes), standing(line), _mark(line))
        for line in lines
    )
    return Report("Checks of nodes", (Table("Checks of nodes", columns, rows, narrow=NARROW),), facts)


def line_facts(line: NodeCheckLine) -> dict[str, object]:
    """Tell a line to scripts."""
    return {
        "number": line.number,
        "cluster": line.cluster,
        "checked_at": line.checked_at.isoformat(timespec="seconds"),
        "state": line.state.value,
        "nodes": line.nodes,
        "ready": line.ready,
        "alike": line.alike,
        "findings": list(line.findings),
        "virtual": line.virtual,
        "baseline": line.baseline,
        "campaign": line.campaign,
    }


def _mark(line: NodeCheckLine) -> str:
    marks = [word for word, is_so in (("baseline", line.baseline), ("virtual", line.virtual)) if is_so]
    return ", ".join(marks)
