"""A service over TLS, whose certificate is trusted or not."""

from pathlib import Path

import pytest
from as_user import Run
from own_certificate import certificate, written
from running_service import running_service


@pytest.mark.service
def test_a_certificate_is_trusted_only_where_its_file_is_named(
    hpltune: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crt, _ = certificate(tmp_path, "own")
    with running_service("--config", written(tmp_path, "own.crt", "own.key")) as service:
        url = str(service.client.base_url)
        refused = hpltune("--server", url, "show")
        assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1)
        assert f"the certificate of {url} is not trusted" in refused.stderr
        assert "let SSL_CERT_FILE name a file" in refused.stderr
        plain = hpltune("--server", url.replace("https:", "http:"), "show")
        assert "is it an address with https://?" in plain.stderr
        monkeypatch.setenv("SSL_CERT_FILE", str(crt))
        assert "holds no study yet" in hpltune("--server", url, "show").stdout
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nope.pem"))
        assert "which holds no certificates that can be read" in hpltune.refused("--server", url, "show")
