"""`hpltune net restore`: puts back every host whose network a killed hpltune left changed."""

from dataclasses import dataclass
from functools import partial

from results.report.model import Report, Sentence
from results.store.store import Store

from ...network.changed_hosts import forget_host, put_back_changed_hosts
from ...study.trust import may_reach
from ...user_dirs import UserDirs


@dataclass(frozen=True)
class NetRestoreRequest:
    """What to put back.

    Attributes:
        hosts: are looked at, too, whichever database and user they were changed with.
        ssh: the tokens that reach `hosts`; none for this machine.
        force: also what was changed from another machine, whose hpltune may still run.
        forget: a host that is gone, of which what is recorded is dropped instead; None for none.
    """

    hosts: tuple[str, ...] = ()
    ssh: tuple[str, ...] = ()
    force: bool = False
    forget: str | None = None


@dataclass(frozen=True)
class NetRestoreResult:
    """Sentences about what was put back or forgotten, and about what is still changed."""

    done: tuple[str, ...]
    left: tuple[str, ...]

    def report(self) -> Report:
        """Both, or that there was nothing."""
        sentences = (*self.done, *self.left) or ("Nothing is to be put back.",)
        facts = {"done": list(self.done), "left": list(self.left)}
        return Report("Network restored", tuple(map(Sentence, sentences)), facts)


def net_restore(request: NetRestoreRequest, store: Store) -> NetRestoreResult:
    """Put hosts back, those that answer.

    Raises:
        TunerError: nothing is recorded of a host to be forgotten.
    """
    if request.forget is not None:
        return NetRestoreResult((forget_host(store, request.forget),), ())
    ways = partial(may_reach, store, UserDirs.of_user(to_read=True))
    done, left = put_back_changed_hosts(store, ways, force=request.force, hosts=request.hosts, ssh=request.ssh)
    return NetRestoreResult(tuple(done), tuple(left))
