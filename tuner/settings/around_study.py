"""Sets hosts around a study; what takes part in that is imported only where a study asks for a setting."""

import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from hpl.params import Scalar
from results.store.store import Store
from runners.errors import RunnerError
from runners.settings.registry import is_setting, subject

from ..errors import TunerError
from ..events import Listener, Notice
from ..trial.evaluate import Evaluator
from ..trial.workbench import Workbench

if TYPE_CHECKING:
    from .changed_hosts import MayReach


@contextmanager
def settings_around(
    workbench: Workbench, store: Store, study: str, listener: Listener, names: Collection[str]
) -> Iterator[Workbench]:
    """Let the evaluators of a workbench set the hosts of a study; everything is put back at the end.

    Args:
        names: the parameters of the study; without settings among them, or where Slurm chooses the nodes, nothing is
            set.
    """
    nodes = (workbench.whole or workbench.site).nodes
    if (nodes is not None and not nodes.names) or not any(map(is_setting, names)):
        yield workbench
        return
    from runners.hosts.transport import Local  # noqa: PLC0415 - only studies with settings need it
    from runners.settings.control import SettingsControl  # noqa: PLC0415 - only studies with settings need it

    from .changed_hosts import AGAIN, StoreJournal  # noqa: PLC0415 - only studies with settings need it

    control = SettingsControl(
        nodes.cluster.reach if nodes else Local(),
        nodes.names if nodes else (platform.node(),),
        nodes.cluster.interfaces if nodes else (),
        StoreJournal(store, study),
        say=lambda sentence: listener(Notice(sentence)),
    )
    first, *others = (replace(each, settings=control) for each in (workbench.evaluator, *workbench.others))
    try:
        yield replace(workbench, evaluator=first, others=tuple(others))
    finally:
        for why in control.restore().values():
            kind = "network setting" if subject(filter(is_setting, names)) == "network" else "setting"
            listener(Notice(f"a {kind} is not put back: {why}; {AGAIN}.", caution=True))


def prepare_settings(evaluator: Evaluator, wanted: Mapping[str, Sequence[Scalar]]) -> None:
    """Check before any work that all nodes have the named interfaces, and hold their settings for the study.

    Args:
        wanted: all values that trials will ask for, by parameter; only settings matter.

    Raises:
        TunerError: a node lacks an interface, somebody else changes its settings, or it does not answer.
    """
    if evaluator.settings is None:
        return
    try:
        evaluator.settings.prepare({name: values for name, values in wanted.items() if is_setting(name)})
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
