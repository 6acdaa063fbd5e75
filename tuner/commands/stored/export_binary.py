"""`hpltune export parquet` and `export optuna`: a study as a file that is no text."""

from pathlib import Path
from tempfile import TemporaryDirectory

from results.export.binary_files import write_optuna, write_parquet
from results.store.store import Store

from ...errors import TunerError
from ...study.objective import rank_stored
from .export import ExportRequest, placed_in


def export_binary(store: Store, request: ExportRequest, out: Path) -> None:
    """Write a study into a file, whole or not at all; a file that is there is replaced.

    Raises:
        ResultsError: there is no such study, or pyarrow is missing.
        TunerError: the file cannot be written.
    """
    study = store.study(request.study) if request.study else store.newest()
    if out.is_dir():
        raise TunerError(f"cannot write {out}: it is a folder; name a file in it")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=out.resolve().parent, prefix=".hpltune-") as folder:
            draft = Path(folder) / "study"
            if request.kind == "optuna":
                write_optuna(draft, study, store.records(study.name))
            else:
                write_parquet(draft, study, store.records(study.name), placed_in(study, rank_stored(store, study)))
            draft.replace(out.resolve())
    except OSError as error:
        raise TunerError(f"cannot write {out}: {error.strerror}") from error
