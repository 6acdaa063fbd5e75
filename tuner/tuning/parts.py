"""Trials at a time on parts of a cluster whose nodes differ: whether a configuration means the same on each part."""

from search_spaces.machine import MachineNode
from search_spaces.node_order import LISTED, NODE_PARAMETERS, unlike_parts
from search_spaces.space import SearchSpace

from ..errors import UsageError
from ..trial.evaluate import Evaluator
from ..trial.workbench import Workbench
from ..words import listed


def require_alike_parts(space: SearchSpace, workbench: Workbench) -> None:
    """Refuse several trials at a time where the space chooses among nodes, and a choice differs from part to part.

    Raises:
        UsageError: it does; the sentence names two parts.
    """
    sentence = unlike_sentence(space, workbench)
    if sentence:
        raise UsageError(
            f"{sentence}. List the nodes so that all parts are alike, or leave ⟦parallel⟧ out",
            field="parallel",
            given=1 + len(workbench.others),
        )


def evaluators_of(space: SearchSpace, workbench: Workbench) -> tuple[tuple[Evaluator, ...], str]:
    """Return what runs the trials of a study that is stored, and a sentence where only one part of the nodes can."""
    sentence = unlike_sentence(space, workbench)
    if not sentence:
        return (workbench.evaluator, *workbench.others), ""
    nodes = listed(workbench.site.node_names)
    return (workbench.evaluator,), f"One trial at a time from here on, on {nodes}: {sentence}."


def unlike_sentence(space: SearchSpace, workbench: Workbench) -> str:
    """Say which parts are not alike, and which parameters need alike ones; "" if all is well."""
    known, usual = NODE_PARAMETERS & space.parameters.keys(), {0, LISTED}
    asked = sorted(name for name in known if not usual.issuperset(space.parameters[name].values))
    if not asked or workbench.whole is None:
        return ""
    whole, *parts = (
        site.machine(all_blas=False, N=None)
        for site in (workbench.whole, workbench.site, *(one.site for one in workbench.others))
    )
    unlike = unlike_parts(parts, whole, by_switch="rank_order" in asked)
    if unlike is None:
        return ""
    one, other = (listed([f"{node.name}{_facts(node)}" for node in parts[number].node_list]) for number in unlike)
    means = "means" if len(asked) == 1 else "mean"
    return f"{listed(asked)} {means} other nodes on each part, and the parts differ: {one} against {other}"


def _facts(node: MachineNode) -> str:
    """What is known of a node."""
    facts = [*([f"{node.speed:g}"] if node.speed is not None else []), *([node.switch] if node.switch else [])]
    return f" ({', '.join(facts)})" if facts else ""
