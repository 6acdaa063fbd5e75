"""The programs on all nodes that send messages to each other, for the duration of a step."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from results.stats.nodes.pair_patterns import Pair, pairs_of
from runners.errors import UnreachableError
from runners.hosts.transport import Transport
from runners.readiness.networks import NodeNetwork
from runners.readiness.talk import NodeTalk

from .calling import ONE_THREAD

PROGRAM = "node_pairs"
SEED = 1
"""Of the shuffled pairs: the same nodes have the same pairs in each check."""
LIMIT_S = 4 * 3600.0
"""Seconds after which the program on a node ends whatever happens."""
READY_S, ANSWER_S = 60.0, 40.0
"""Seconds that a node has to start the program, and to measure a pair."""
_START = f'cd "$1" && shift && exec env {" ".join(ONE_THREAD)} ./{PROGRAM} "$@"'


class PairPrograms:
    """One program on each node while a block runs; it listens for the others and takes our orders.

    Attributes:
        lost: by node why it is asked nothing more.
    """

    def __init__(self, reach: Transport, folders: Mapping[str, str]) -> None:
        self.lost: dict[str, str] = {}
        self._reach = reach
        self._folders = folders
        self._talks: dict[str, NodeTalk] = {}
        self._ports: dict[str, str] = {}

    def __enter__(self) -> Self:
        token = secrets.token_hex(8)
        try:
            for node, folder in self._folders.items():
                self._start(node, ("sh", "-c", _START, "sh", folder, token, f"{LIMIT_S:.0f}"))
            for node in self._folders:
                parts = self._heard(node, {"ready"}, READY_S)
                if parts is not None:
                    self._ports[node] = parts[1]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for talk in self._talks.values():
            talk.close()

    def pairs(self, pattern: str, network: NodeNetwork) -> list[Pair]:
        """Pair the nodes that are on a network and answer."""
        alive = [node for node in self._folders if node in network.addresses and node not in self.lost]
        return pairs_of(pattern, alive, SEED)

    def ordered(self, order: str, pairs: Sequence[Pair], network: NodeNetwork, seconds: float) -> dict[Pair, list[str]]:
        """Give the first node of each pair an order at the same time, and return the answers; a lost node has none."""
        at = network.addresses
        told = [pair for pair in pairs if not set(pair) & self.lost.keys()]
        for one, other in told:
            self._talks[one].tell((order, at[other], self._ports[other], at[one], f"{seconds:g}"))
        heard = {(one, other): self._heard(one, {order, "failed"}, ANSWER_S + seconds) for one, other in told}
        return {pair: parts for pair, parts in heard.items() if parts is not None}

    def _start(self, node: str, command: Sequence[str]) -> None:
        try:
            self._talks[node] = NodeTalk(self._reach, node, command)
        except UnreachableError as error:
            self.lost[node] = str(error)

    def _heard(self, node: str, kinds: Collection[str], timeout_s: float) -> list[str] | None:
        """Wait for an answer; None if the node is lost."""
        if node in self.lost:
            return None
        try:
            return self._talks[node].hear(kinds, timeout_s)
        except UnreachableError as error:
            self.lost[node] = str(error)
            return None
