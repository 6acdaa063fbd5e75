"""What is worked out of machines in a process of its own: doctor's facts, and predictions of virtual clusters."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import tomli_w

from ...commands.hosts.doctor import DoctorRequest, doctor
from ...commands.predict import PredictRequest, predict
from ...messages.plain_paths import facts_without_paths
from ...reports.designs import design_facts
from ...stopping import StopRequest
from ...user_dirs import UserDirs

LONGEST_S = 60.0
"""Seconds after which a prediction begins no further simulation."""
ONE_S = 30.0
"""Seconds that one simulation may take."""


def doctor_facts() -> bytes:
    """Write what `hpltune doctor --json` tells, without the folders of this machine."""
    return json.dumps(facts_without_paths(doctor(DoctorRequest(UserDirs.of_user())).report().facts)).encode()


def prediction_facts(design: Mapping[str, Any], stop: StopRequest) -> bytes:
    """Write what `hpltune predict --json` tells of one design; no database keeps its simulations.

    Args:
        design: cluster, space, trials and seed, with network and blas where they are chosen.
    """
    with TemporaryDirectory(prefix="hpltune-") as folder:
        file = Path(folder) / "designs.toml"
        chosen = {key: design[key] for key in ("network", "blas") if design[key] is not None}
        table = {"base": design["cluster"], "design": [{"name": design["cluster"], **chosen}]}
        file.write_text(tomli_w.dumps(table), encoding="utf-8")
        request = PredictRequest(
            file=file,
            space=design["space"],
            engine="hpl",
            trials=design["trials"],
            seed=design["seed"],
            full=False,
            jobs=1,
            limit_s=ONE_S,
            db=str(Path(folder) / "predict.db"),
        )
        limit = Timer(LONGEST_S, stop.ask)
        limit.daemon = True
        limit.start()
        result = predict(request, lambda _: None, stop)
        limit.cancel()
        if not result.predictions:
            return b"null"
        told: Any = design_facts(result.predictions)
        return json.dumps({**told[0], "stopped_early": result.interrupted}).encode()
