"""What comes with hpltune: search spaces and virtual clusters."""

from functools import cache

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from runners.virtual import load as clusters_of
from search_spaces import load as spaces_of

from ..authentication import needs
from ..parts import no_query

router = APIRouter(prefix="/api/v1", tags=["catalogue"], dependencies=[needs("read"), Depends(no_query)])


class SpaceModel(BaseModel):
    """A shipped search space."""

    name: str
    description: str
    made_for: str | None = Field(description="the virtual cluster that it is made for; null for any machine")


class VirtualClusterModel(BaseModel):
    """A shipped virtual cluster."""

    name: str = Field(description="as `tune --cluster` takes it")
    title: str
    description: str
    basis: str = Field(description="what its figures are from")
    nodes: int
    cores: int = Field(description="of all nodes")
    rpeak_gflops: float
    blas: list[str]
    networks: list[str]


@router.get("/spaces")
def spaces() -> list[SpaceModel]:
    """List the shipped search spaces."""
    return [_space(name) for name in spaces_of.shipped()]


@router.get("/virtual-clusters")
def virtual_clusters() -> list[VirtualClusterModel]:
    """List the shipped virtual clusters."""
    return [_cluster(name) for name in clusters_of.shipped()]


@cache
def _space(name: str) -> SpaceModel:
    return SpaceModel(name=name, description=spaces_of.describe(name), made_for=spaces_of.made_for(name))


@cache
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
