"""Where the trials of a search run: as the scheduler sees it, and on one or several parts of real machines."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

from results.record import TrialRecord

from ...engines.fidelity import Question
from .launch_worker import LaunchWorker

Batch = Sequence[Question]
"""Questions on one rung; where there are several they may share a launch."""
Ended = tuple[Batch, Sequence[TrialRecord]]
"""A batch, and a record of each of its questions."""


class Workers(Protocol):
    """All places where a study runs trials at the same time; used in a `with` block."""

    @property
    def free(self) -> bool:
        """Whether another batch may be submitted."""

    @property
    def under_way(self) -> Batch:
        """What runs now, oldest first; a question that is repeated may stand there for each repeat."""

    @property
    def share_launches(self) -> bool:
        """Whether a batch may have several questions."""

    def submit(self, batch: Batch, repeats: int) -> Sequence[Ended]:
        """Begin to measure a batch, full runs several times, and return what has ended at once."""

    def wait(self) -> Sequence[Ended]:
        """Wait until something that runs has ended, and return it; nothing where nothing runs."""

    def __enter__(self) -> Self:
        """Begin to work."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what still runs."""


@dataclass
class LaunchWorkers:
    """Workers on real machines: one in this thread, several in a thread each."""

    idle: deque[LaunchWorker]
    share_launches: bool = field(default=True, init=False)
    _executor: Executor | None = field(init=False)
    _running: dict[Future[list[list[TrialRecord]]], tuple[Batch, LaunchWorker]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        self._executor = ThreadPoolExecutor(len(self.idle)) if len(self.idle) > 1 else None

    @property
    def free(self) -> bool:
        """Whether a worker has nothing to do."""
        return bool(self.idle)

    @property
    def under_way(self) -> Batch:
        """What runs now, oldest first."""
        return [question for batch, _ in self._running.values() for question in batch]

    def submit(self, batch: Batch, repeats: int) -> Sequence[Ended]:
        """Give a batch to a worker that has nothing to do; the only worker measures it at once.

        Raises:
            TunerError, results.errors.ResultsError: as `LaunchWorker.measure`.
        """
        if self._executor is None:
            return [(batch, records) for records in self.idle[0].measure(batch, repeats)]
        worker = self.idle.popleft()
        self._running[self._executor.submit(worker.measure, batch, repeats)] = (batch, worker)
        return ()

    def wait(self) -> Sequence[Ended]:
        """Wait for the first worker that is done; each round of its batch counts.

        Raises:
            TunerError, results.errors.ResultsError: as `LaunchWorker.measure`.
        """
        ended: list[Ended] = []
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            batch, worker = self._running.pop(future)
            self.idle.append(worker)
            ended += [(batch, records) for records in future.result()]
        return ended

    def __enter__(self) -> Self:
        """Begin to work."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for what still runs."""
        if self._executor is not None:
            self._executor.shutdown()
