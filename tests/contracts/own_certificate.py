"""A certificate that nobody trusts, for services of tests."""

import shutil
import subprocess
from pathlib import Path

from needs import skip_without


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate for this machine, and its key."""
    if shutil.which("openssl") is None:
        skip_without("openssl")
    files = folder / f"{name}.crt", folder / f"{name}.key"
    wanted = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2")
    made = (
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-keyout",
        files[1],
        "-out",
        files[0],
    )
    subprocess.run(["openssl", "req", "-x509", *made, *wanted], check=True, capture_output=True)
    return files


def written(folder: Path, certificate: object, key: object) -> str:
    """Write the configuration of a service with a certificate and a key."""
    file = folder / "serve.toml"
    file.write_text(f'[listen]\ncertificate = "{certificate}"\nkey = "{key}"\n')
    return str(file)
