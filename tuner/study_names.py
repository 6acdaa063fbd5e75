"""Names of studies that nobody chose."""

from results.store import Store


def free_name(store: Store, base: str) -> str:
    """The first of base-1, base-2 … that the store does not hold."""
    taken = {study.name for study in store.studies()}
    return next(f"{base}-{number}" for number in range(1, len(taken) + 2) if f"{base}-{number}" not in taken)
