"""Nodes that differ: which of them a point drops, and in which order its ranks fill the others.

The order decides where in the process grid a slow node stands, and which messages cross switches. Nodes are alike if
they are about as fast and their switches cannot be told apart; orders that put alike nodes on the same ranks are one
configuration.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import zip_longest

from hpl.params import Scalar, parse_grid

from .machine import Machine, MachineNode
from .parameters.dimension import RANK_ORDERS, Point, dropped_nodes, ranks_and_threads

NODE_PARAMETERS = frozenset({"nodes_dropped", "rank_order"})
LISTED = "listed"
BY_SPEED = ("fastest-first", "slow-share-column", "slow-share-row")
BY_SWITCH = ("by-switch", "across-switches")
AS_FAST = 0.02
"""Nodes that are slower than another by less than this part count as equally fast: no two boards are equal."""


def placement(point: Point, machine: Machine) -> tuple[int, ...]:
    """Return the numbers of a point's nodes in the order in which its ranks fill them, without those that it drops.

    Args:
        point: complete.
        machine: with the list of its nodes; without one the result is empty.
    """
    kept = machine.kept(dropped_nodes(point))
    if not kept:
        return ()
    order = str(point.get("rank_order", LISTED))
    if order in BY_SWITCH:
        return _by_switch(kept, machine.node_list, across=order == "across-switches")
    if order not in BY_SPEED:
        return kept
    classes = speed_classes(machine.node_list)
    fastest_first = sorted(kept, key=lambda number: classes[number])
    if order == "fastest-first":
        return tuple(fastest_first)
    places = _places(point, machine, kept)
    slots = sorted(
        range(len(kept)), key=lambda slot: places[slot] if order == "slow-share-column" else places[slot][::-1]
    )
    filled = dict(zip(slots, fastest_first, strict=True))
    return tuple(filled[slot] for slot in range(len(kept)))


def rank_speeds(point: Point, machine: Machine) -> tuple[float, ...]:
    """Return the speed of each rank's node as a part of the fastest node's; empty if one is not known.

    Args:
        point: complete.
    """
    speeds = [node.speed for node in machine.node_list if node.speed is not None]
    placed, (ranks, threads) = placement(point, machine), ranks_and_threads(point["layout"])
    if not placed or len(speeds) < len(machine.node_list):
        return ()
    if machine.fills_nodes:
        on = [number for number in placed for _ in range(machine.node_list[number].cores // threads)][:ranks]
    else:
        on = [placed[rank * len(placed) // ranks] for rank in range(ranks)]
    return tuple(speeds[number] / max(speeds) for number in on)


class KnownOrders:
    """The order that stands for all orders that put alike nodes on the same ranks: the first of them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known = dict[tuple[Scalar | None, ...], str]()

    def of(self, point: Point) -> str:
        """Return the order that stands for that of a complete point."""
        asked = tuple(point.get(name) for name in _DECIDING)
        if asked not in self._known:
            self._known[asked] = next(self.alike(point))
        return self._known[asked]

    def alike(self, point: Point) -> Iterator[str]:
        """Yield all orders that put alike nodes on the same ranks as that of a complete point, the plainest first."""
        own = _pattern(placement(point, self._machine), self._machine)
        for order in RANK_ORDERS:
            if _pattern(placement({**point, "rank_order": order}, self._machine), self._machine) == own:
                yield order


_DECIDING = ("rank_order", "nodes_dropped", "layout", "grid", "PMAP")
"""The parameters that decide which node a rank is on."""


@cache
def speed_classes(nodes: tuple[MachineNode, ...]) -> Sequence[int]:
    """Return a number for each node by its speed, 0 for the fastest, the same for those about equally fast.

    A class begins with its fastest node, so its others are slower than that one by less than AS_FAST.
    """
    classes = dict[int, int]()
    first, current = 0.0, -1
    for number in sorted(range(len(nodes)), key=lambda number: -nodes[number].known_speed):
        speed = nodes[number].known_speed
        if current < 0 or speed < (1 - AS_FAST) * first:
            first, current = speed, current + 1
        classes[number] = current
    return [classes[number] for number in range(len(nodes))]


def orders_here(machine: Machine) -> tuple[str, ...]:
    """Return the orders that may differ on a machine."""
    speeds = BY_SPEED if len(set(speed_classes(machine.node_list))) > 1 else ()
    return (LISTED, *speeds, *(BY_SWITCH if len(machine.switches) > 1 else ()))


def worth_dropping(machine: Machine) -> tuple[int, ...]:
    """Return how many of the slowest nodes it may pay to drop: 0, and each number after which the rest is faster.

    All ranks wait for the slowest, so n nodes are about as fast as n times the slowest of them.
    """
    speeds = sorted(node.known_speed for node in machine.node_list)
    if len(speeds) < 2:
        return (0,)
    whole = len(speeds) * speeds[0]
    return (0, *(count for count in range(1, len(speeds)) if (len(speeds) - count) * speeds[count] > whole))


def unlike_parts(parts: Sequence[Machine], whole: Machine, *, by_switch: bool) -> tuple[int, int] | None:
    """Find two parts of a cluster on which the nodes that are dropped or sorted differ; None if all parts are alike.

    Args:
        parts: with nodes of the whole.
        by_switch: whether switches count, too.

    Returns:
        The numbers of the first part and of the first other one that is not like it.
    """
    classes = dict(zip((node.name for node in whole.node_list), speed_classes(whole.node_list), strict=True))
    speeds = [[classes[node.name] for node in part.node_list] for part in parts]
    switches = [_numbered([node.switch for node in part.node_list]) if by_switch else [] for part in parts]
    kinds = list(zip(speeds, switches, strict=True))
    return next(((0, number) for number, kind in enumerate(kinds) if kind != kinds[0]), None)


def _by_switch(kept: Sequence[int], nodes: Sequence[MachineNode], *, across: bool) -> tuple[int, ...]:
    """Return the nodes switch after switch, or one of each switch in turn."""
    members: dict[str, list[int]] = {}
    for number in kept:
        members.setdefault(nodes[number].switch, []).append(number)
    if not across:
        return tuple(number for own in members.values() for number in own)
    turns: Iterable[tuple[int | None, ...]] = zip_longest(*members.values())
    return tuple(number for turn in turns for number in turn if number is not None)


def _places(point: Point, machine: Machine, kept: Sequence[int]) -> list[tuple[int, int]]:
    """Return the column and the row of the first rank of each node, in the order in which ranks fill nodes.

    A node that no rank fills comes after all others.
    """
    ranks, _ = ranks_and_threads(point["layout"])
    P, Q = parse_grid(str(point.get("grid", f"1x{ranks}")))
    found = []
    for rank in _first_ranks(ranks, machine, kept):
        by_columns = (rank // P, rank % P) if point.get("PMAP") == "column" else (rank % Q, rank // Q)
        found.append(by_columns if rank < ranks else (ranks, ranks))
    return found


def _first_ranks(ranks: int, machine: Machine, kept: Sequence[int]) -> list[int]:
    """Return the first rank of each node: an equal part on each, or one node filled after the other."""
    each = machine.node_list[kept[0]].cores if machine.fills_nodes else ranks // len(kept)
    return [turn * each for turn in range(len(kept))]


def _pattern(placed: Sequence[int], machine: Machine) -> list[tuple[int, int]]:
    """Return speed class and switch of each node in turn, with switches numbered as they come."""
    classes = speed_classes(machine.node_list)
    switches = _numbered([machine.node_list[number].switch for number in placed])
    return list(zip((classes[number] for number in placed), switches, strict=True))


def _numbered(names: Sequence[str]) -> list[int]:
    """Return a number for each name, in the order in which names come first."""
    numbers = dict[str, int]()
    return [numbers.setdefault(name, len(numbers)) for name in names]
