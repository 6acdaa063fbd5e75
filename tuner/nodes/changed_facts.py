"""Which facts of nodes changed between two checks."""

from collections import defaultdict

from results.stats.nodes.check import NodeCheck
from results.stats.nodes.rate_changes import NodeFactChange
from runners.readiness.fact import AtLeast, AtMost, NearNumber, NodeFact
from runners.readiness.fact_table import FACTS, FILE, fact_named


def changed_facts(before: NodeCheck, now: NodeCheck) -> list[NodeFactChange]:
    """List the facts that changed, one entry for all nodes on which they did so alike.

    What changes by itself, as the time that a clock is off, is left out; so is a number that is near the other.
    """
    found: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for name, values in now.facts.items():
        fact = _fact(name)
        then = before.facts.get(name, {})
        for node, value in values.items():
            if node in then and _changed(fact, then[node], value):
                found[fact.title, then[node], value].append(node)
    return [NodeFactChange(title, was, value, tuple(nodes)) for (title, was, value), nodes in found.items()]


def _fact(name: str) -> NodeFact:
    """Return a fact of the table, or one that only its name describes, as virtual clusters have."""
    return fact_named(name) if name in FACTS or name.startswith(FILE) else NodeFact(name, name, "", "")


def _changed(fact: NodeFact, before: str, now: str) -> bool:
    if isinstance(fact.kind, AtLeast | AtMost):
        return False
    return not fact.kind.fits(now, before) if isinstance(fact.kind, NearNumber) else now != before
