"""What this machine is, and what virtual clusters would reach."""

from typing import Literal, Self

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from hpl.params import Scalar
from runners.virtual.load import load_cluster
from runners.virtual.load import shipped as shipped_clusters
from search_spaces.load import shipped as shipped_spaces

from ..authentication import needs
from ..parts import Parts, no_query
from ..problems import Problem
from ..responses import as_json
from .cursors import LARGEST

router = APIRouter(prefix="/api/v1", tags=["machine"], dependencies=[Depends(no_query)])
MOST_TRIALS = 12
"""Simulations of a prediction."""


class KernelModel(BaseModel):
    """A kernel of a BLAS, timed."""

    kernel: str = Field(description="auto: the library's own choice")
    used: str | None
    gflops: float = Field(description="of dgemm on one core")


class DoctorModel(BaseModel):
    """What `hpltune doctor` finds on the service's machine, without its folders."""

    host: dict[str, Scalar | None]
    rpeak_gflops: float
    rpeak_reasoning: list[str]
    above_peak: str | None
    found: dict[str, str]
    kernels: dict[str, list[KernelModel]]
    advice: list[str]
    missing: list[str] = Field(description="what `hpltune tune` needs and is not there")


class DesignModel(BaseModel):
    """A shipped virtual cluster, with what is chosen of it."""

    model_config = ConfigDict(extra="forbid")

    cluster: Literal[tuple(shipped_clusters())]  # type: ignore[valid-type]  # names of files
    space: Literal[tuple(shipped_spaces())] = "default"  # type: ignore[valid-type]
    network: str | None = Field(None, max_length=100, description="one of the cluster's networks; null: its first")
    blas: str | None = Field(None, max_length=100, description="one of the cluster's BLAS; null: all are tried")
    trials: int = Field(6, ge=1, le=MOST_TRIALS, description="simulations")
    seed: int = Field(0, ge=0, le=LARGEST)

    @model_validator(mode="after")
    def _known(self) -> Self:
        cluster = load_cluster(self.cluster)
        for key, chosen, known in (("network", self.network, cluster.networks), ("blas", self.blas, cluster.blas)):
            if chosen is not None and chosen not in known:
                raise ValueError(f"{key}: {self.cluster} has {', '.join(known)}")
        return self


class PredictionModel(BaseModel):
    """What a virtual cluster reaches in simulation, after a short search."""

    design: str
    nodes: int
    nodes_used: int
    price_usd: float | None
    power_w: float | None
    rpeak_gflops: float
    gflops: float
    percent_of_peak: float | None
    above_peak: str | None
    usd_per_gflops: float | None
    mflops_per_watt: float | None
    params: dict[str, Scalar]
    stopped_early: bool = Field(description="it took too long, so that fewer simulations ran than were asked for")


@router.get("/doctor", response_model=DoctorModel, dependencies=[needs("read")])
async def doctor(parts: Parts) -> Response:
    """Tell what was found on the service's machine, at most five minutes ago or before a campaign began."""
    return as_json(await parts.machine.doctor())


@router.post("/predictions", dependencies=[needs("run")])
async def predictions(parts: Parts, design: DesignModel) -> PredictionModel:
    """Predict a shipped virtual cluster within a minute: few simulations at a size that the search chooses."""
    found = await parts.machine.prediction(design.model_dump())
    if found == b"null":
        raise Problem(409, "Not one simulation ended within a minute: `hpltune predict` takes longer where it must.")
    return PredictionModel.model_validate_json(found)
