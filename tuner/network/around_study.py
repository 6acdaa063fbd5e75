"""Sets the network around a study; what takes part in that is imported only where a cluster has a network to set."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from hpl.params import Scalar
from results.store.store import Store
from runners.errors import RunnerError
from runners.network.setting import PREFIX

from ..errors import TunerError
from ..events import Listener, Notice
from ..trial.evaluate import Evaluator
from ..trial.workbench import Workbench

if TYPE_CHECKING:
    from .changed_hosts import MayReach


@contextmanager
def network_around(workbench: Workbench, store: Store, study: str, listener: Listener) -> Iterator[Workbench]:
    """Let the evaluators of a workbench set the network of its nodes; everything is put back at the end."""
    nodes = (workbench.whole or workbench.site).nodes
    if nodes is None or not nodes.names:
        yield workbench
        return
    from runners.network.control import NetworkControl  # noqa: PLC0415 - only hosts of a cluster need it

    from .changed_hosts import AGAIN, StoreJournal  # noqa: PLC0415 - only hosts of a cluster need it

    cluster = nodes.cluster
    journal = StoreJournal(store, study)
    control = NetworkControl(
        cluster.reach, nodes.names, cluster.interfaces, journal, say=lambda sentence: listener(Notice(sentence))
    )
    first, *others = (replace(each, network=control) for each in (workbench.evaluator, *workbench.others))
    try:
        yield replace(workbench, evaluator=first, others=tuple(others))
    finally:
        for why in control.restore().values():
            listener(Notice(f"Caution: a network setting is not put back: {why}; {AGAIN}."))


def prepare_network(evaluator: Evaluator, wanted: Mapping[str, Sequence[Scalar]]) -> None:
    """Check before any work that all nodes have the named interfaces, and take their network for the study.

    Args:
        wanted: all values that trials will ask for, by parameter; only those of the network matter.

    Raises:
        TunerError: a node lacks an interface, somebody else changes its network, or it does not answer.
    """
    if evaluator.network is None:
        return
    asked = {name.removeprefix(PREFIX): values for name, values in wanted.items() if name.startswith(PREFIX)}
    try:
        evaluator.network.prepare(asked)
    except RunnerError as error:
        raise TunerError(str(error)) from error


def recover_at_start(store: Store, may_reach: "MayReach", listener: Listener) -> None:
    """Put back what can be put back before a command begins, and tell the listener; nothing that others recorded."""
    if not store.network.originals():
        return
    from .changed_hosts import put_back_changed_hosts  # noqa: PLC0415 - only hosts of a cluster need it

    done, left = put_back_changed_hosts(store, may_reach)
    for sentence in (*done, *left):
        listener(Notice(sentence))
