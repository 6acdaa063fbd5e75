"""Settings of hosts as parameters of search spaces: what the registry of runners says of each."""

from runners.settings import registry
from search_spaces.parameters.dimension import Dimension, Settings


def setting_dimensions() -> Settings:
    """Every setting of real and virtual hosts, with its legal values; without a value it stays as it is."""
    return {
        name: Dimension(one.values.expected, one.values.accepts, lambda _point, _machine: None)
        for name, one in registry.SETTINGS.items()
    }


def meanings() -> dict[str, str]:
    """What each parameter does and when it matters: those of HPL and its launch, then the settings of hosts."""
    from search_spaces.parameters.glossary import GLOSSARY  # noqa: PLC0415 - a search reads no explanations

    return {**GLOSSARY, **{name: one.meaning for name, one in registry.SETTINGS.items() if one.meaning}}
