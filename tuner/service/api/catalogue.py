"""What comes with hpltune: search spaces, virtual clusters, and published results of other machines."""

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from runners.virtual import load as clusters_of
from search_spaces import load as spaces_of

from ...commands.files.known import KnownRequest, list_known
from ..opened import no_query

router = APIRouter(prefix="/api/v1", tags=["catalogue"], dependencies=[Depends(no_query)])


class SpaceModel(BaseModel):
    """A shipped search space."""

    name: str
    description: str
    made_for: str | None = Field(description="the virtual cluster that it is made for; null for any machine")


class VirtualClusterModel(BaseModel):
    """A shipped virtual cluster."""

    name: str = Field(description="as `tune --simulate` takes it")
    title: str
    description: str
    basis: str = Field(description="what its figures are from")
    nodes: int
    cores: int = Field(description="of all nodes")
    rpeak_gflops: float
    blas: list[str]
    networks: list[str]


class KnownMachineModel(BaseModel):
    """A published HPL result of somebody's machine."""

    model_config = ConfigDict(from_attributes=True)
    machine: str
    kind: str
    cpu: str
    nodes: int | None
    cores: int | None
    rmax_gflops: float
    rpeak_gflops: float | None
    power_w: float | None
    n: int | None
    nb: int | None
    source: str
    note: str


@router.get("/spaces")
def spaces() -> list[SpaceModel]:
    """List the shipped search spaces."""
    return [
        SpaceModel(name=name, description=spaces_of.describe(name), made_for=spaces_of.made_for(name))
        for name in spaces_of.shipped()
    ]


@router.get("/virtual-clusters")
def virtual_clusters() -> list[VirtualClusterModel]:
    """List the shipped virtual clusters."""
    return [_cluster(name) for name in clusters_of.shipped()]


@router.get("/known-machines")
def known() -> list[KnownMachineModel]:
    """List published HPL results, by the name of the machine."""
    return [KnownMachineModel.model_validate(machine) for machine in list_known(KnownRequest()).machines]


def _cluster(name: str) -> VirtualClusterModel:
    cluster = clusters_of.load_cluster(name)
    return VirtualClusterModel(
        name=name,
        title=cluster.name,
        description=cluster.description,
        basis=cluster.basis,
        nodes=len(cluster.node_list),
        cores=cluster.cores,
        rpeak_gflops=cluster.rpeak_gflops,
        blas=list(cluster.blas),
        networks=list(cluster.networks),
    )
