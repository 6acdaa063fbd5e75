"""What the form that starts a campaign lets people choose from, and what it begins with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from runners.virtual.load import load_cluster
from runners.virtual.load import shipped as shipped_clusters
from search_spaces.load import describe

from ....engines.registry import descriptions
from ....messages.documents import document_of
from ....options import DEFAULT_WALL_S
from ....study.objective import AGAINST, BETTER, NEEDS
from ....units import compact
from ....words import counted
from ...campaigns.host_survey import HostView
from ...campaigns.offered import Offers
from .filled_in import Texts, texts_of_document


@dataclass(frozen=True)
class FormChoice:
    """Something to choose.

    Attributes:
        value: as the document holds it; "" for leaving it out.
        group: the heading below which it stands; "" for none.
    """

    value: str
    label: str
    group: str = ""


def fresh_texts() -> Texts:
    """What stands in the form at first."""
    return {**texts_of_document(document_of("tune").model_validate({})), "budget": [compact(DEFAULT_WALL_S)]}


def choices(offered: Offers, seen: HostView) -> Mapping[str, Sequence[FormChoice]]:
    """What can be chosen, by the name of the field."""
    return {
        "space": [FormChoice(name, f"{name}: {_said(offered, name)}") for name in offered.space_names],
        "cluster": _clusters(offered, seen),
        "objective": [FormChoice(name, _objective(name)) for name in NEEDS],
        "pareto": [FormChoice("", "nothing"), *(FormChoice(name, f"what is {BETTER[name]}") for name in AGAINST)],
        "engine": [FormChoice(name, f"{name}: {said}") for name, said in descriptions().items()],
        "program": [
            FormChoice("", "build xhpl with the libraries of this machine"),
            *(FormChoice(name, name) for name in sorted(offered.programs)),
        ],
        "blas": _libraries(offered, seen),
    }


def _said(offered: Offers, name: str) -> str:
    """The description of a space, whose names of options are not for people at a form."""
    file = offered.spaces.get(name)
    return (describe(str(file)) if file else _described(name)).partition(" (--")[0]


@cache
def _described(name: str) -> str:
    return describe(name)


def _clusters(offered: Offers, seen: HostView) -> list[FormChoice]:
    virtual = [name for name in shipped_clusters() if name not in offered.clusters]
    return [
        FormChoice("", f"this machine, {seen.host.hostname} ({counted(seen.host.physical_cores, 'core')})"),
        *(FormChoice(name, name, "Clusters of this service") for name in sorted(offered.clusters)),
        *(FormChoice(name, _virtual(name), "Virtual clusters") for name in virtual),
    ]


@cache
def _virtual(name: str) -> str:
    return f"{name} ({counted(len(load_cluster(name).node_list), 'node')}, simulated)"


def _objective(name: str) -> str:
    needs = {"price_usd": " (needs the price)", "power_w": " (needs the power)"}
    words = {"gflops": "GFLOPS", "percent-of-peak": "% of peak", "usd-per-gflops": "$ per GFLOPS"}
    return words.get(name, "MFLOPS per W") + needs.get(NEEDS[name], "")


def _libraries(offered: Offers, seen: HostView) -> list[FormChoice]:
    """Those that are here first; others may be on a cluster."""
    here = [entry.name for entry in seen.inventory.blas] if seen.inventory else []
    first = [name for name in here if name in offered.library_names]
    rest = [name for name in offered.library_names if name not in here]
    return [
        *(FormChoice(name, f"{name} (on this machine)") for name in first),
        *(FormChoice(name, name) for name in rest),
    ]
