"""Which facts of nodes are not like those of the others of their class."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .fact import NodeFact
from .fact_table import FACTS, FILE, fact_named

Facts = Mapping[str, Mapping[str, str]]
"""By node the values of its facts."""
ALIKE = 3
"""Nodes of one CPU model beside which a single node of another model is odd."""


@dataclass(frozen=True)
class OddFact:
    """A value that is not as usual.

    Attributes:
        usual: of the majority of the class, or what every node must have; "" where no value has a majority, and then
            all nodes of the class are named.
        show: the command that shows it on the node.
    """

    node: str
    fact: str
    value: str
    usual: str
    show: str


def classes_of(facts: Facts) -> dict[str, str]:
    """Return the class of each node, named by its CPU model.

    A single node of a model beside ALIKE or more of another is odd in their class: it may be the wrong board.
    """
    models = {node: own.get("cpu_model", "") for node, own in facts.items()}
    counts = Counter(models.values())
    if not counts:
        return {}
    largest = max(counts, key=lambda model: (counts[model], model))
    alone = {model for model, count in counts.items() if count == 1 and counts[largest] >= ALIKE}
    return {node: largest if model in alone else model for node, model in models.items()}


def odd_facts(facts: Facts, classes: Mapping[str, str]) -> list[OddFact]:
    """List the values that are not as usual in their class, in the order of the facts and of the nodes."""
    names = [*FACTS, *sorted({name for own in facts.values() for name in own if name.startswith(FILE)})]
    members: dict[str, list[str]] = {}
    for node in facts:
        members.setdefault(classes.get(node, ""), []).append(node)
    return [odd for name in names for nodes in members.values() for odd in _odd(fact_named(name), facts, nodes)]


def _odd(fact: NodeFact, facts: Facts, nodes: Sequence[str]) -> Iterator[OddFact]:
    values = {node: facts[node][fact.name] for node in nodes if fact.name in facts[node]}
    if not values:
        return
    usual = fact.kind.usual(list(values.values()))
    for node, value in values.items():
        if usual is None or not fact.kind.fits(value, usual):
            yield OddFact(node, fact.name, value, usual or "", fact.show)
