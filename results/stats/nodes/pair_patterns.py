"""Which nodes are paired for ping-pong: four patterns, as the STAB toolkit has them."""

import random
from collections.abc import Sequence

Pair = tuple[str, str]
PATTERNS = ("sorted", "cut", "fold", "shuffle")


def pairs_of(pattern: str, nodes: Sequence[str], seed: int = 0) -> list[Pair]:
    """Pair all nodes, each once; of an odd number one is left over.

    Args:
        pattern: "sorted" pairs neighbours; "cut" the first half with the second, in order; "fold" the first with the
            last, the second with the last but one; "shuffle" draws pairs.
        nodes: in the order of their place in the racks.
        seed: of what is drawn.

    Raises:
        ValueError: there is no such pattern.
    """
    half = len(nodes) // 2
    match pattern:
        case "sorted":
            return list(zip(nodes[: 2 * half : 2], nodes[1 : 2 * half : 2], strict=True))
        case "cut":
            return list(zip(nodes[:half], nodes[half : 2 * half], strict=True))
        case "fold":
            return list(zip(nodes[:half], list(reversed(nodes))[:half], strict=True))
        case "shuffle":
            drawn = list(nodes)
            random.Random(seed).shuffle(drawn)  # noqa: S311 - no secret
            return list(zip(drawn[: 2 * half : 2], drawn[1 : 2 * half : 2], strict=True))
    raise ValueError(f"there is no pattern {pattern}: {', '.join(PATTERNS)}")
