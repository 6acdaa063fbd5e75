"""The HPL 2.0 in HPC Challenge, whose main is a function; Debian has its source as the package hpcc."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..build.private_apt import private_apt
from ..build.programs import NATIVE
from ..build.source import HplSource, digest_of
from .built import SourceProgram


@dataclass(frozen=True)
class HpccHpl(SourceProgram):
    """HPL without all else that HPC Challenge runs."""

    name: ClassVar[str] = "hpcc"
    origin: ClassVar[str] = "Debian's source package hpcc"

    @classmethod
    def fetched(cls, folder: Path) -> Path:
        """Download the archive of Debian's package."""
        with private_apt() as apt:
            return Path(shutil.copy(apt.source("hpcc"), folder))

    @classmethod
    def source_in(cls, top: Path, origin: str) -> HplSource | None:
        """Recognise the folder `hpl` beside hpcc's headers."""
        root, include = top / "hpl", top / "include"
        if not ((root / "include/hpl.h").is_file() and (include / "hpcc.h").is_file()):
            return None
        main = (NATIVE / "hpcc_main.c",)
        return HplSource(cls.name, "2.0", root, origin, digest_of(root), include, main, wrapped=("fopen",))
