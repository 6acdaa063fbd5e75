"""Settings of hosts as parameters of search spaces: what the registry of runners says of each."""

from collections.abc import Mapping
from typing import Any

from runners.errors import RefusedError
from runners.hosts.system_facts import this_system
from runners.settings import registry
from search_spaces.errors import MistakePlace
from search_spaces.parameters.dimension import Dimension, Settings

from ..options import TuneOptions


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


def require_settings(options: TuneOptions, wanted: Mapping[str, Any]) -> None:
    """Refuse settings that no host has, and those of which this machine has no value, before anything is timed.

    Args:
        wanted: entries of a space and of what was set beside it, by parameter.

    Raises:
        SpaceError: a sentence says which, and suggests a similar one.
    """
    offer = registry.HostsOffer({} if options.real_cluster else {"": this_system()})
    for name, entry in wanted.items():
        if not registry.is_setting(name):
            continue
        set_here = name in (options.overrides or {})
        place = MistakePlace.of_setting(name) if set_here else MistakePlace(f"{options.space}: parameters.{name}")
        try:
            registry.setting(name)
        except RefusedError as error:
            raise place.wrong(str(error).removeprefix(f"{name}: ")) from error
        values = entry if isinstance(entry, list) else []
        sentences = [sentence for value in values if (sentence := offer.why_not(name, value))]
        if values and len(sentences) == len(values):
            first = f" = {values[0]}"
            raise place.wrong(sentences[0].removeprefix(f"{name}{first} "), first)
