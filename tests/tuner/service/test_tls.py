"""TLS by files, with certificates that openssl makes."""

import ssl
from pathlib import Path

import pytest
from as_user import Run
from own_certificate import certificate, written
from running_service import running_service


@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_a_service_answers_over_tls(tmp_path: Path) -> None:
    crt, _ = certificate(tmp_path, "tuner")
    config = written(tmp_path, "tuner.crt", "tuner.key")
    with running_service("--config", config, tls=ssl.create_default_context(cafile=str(crt))) as service:
        assert str(service.client.base_url).startswith("https://")
        assert service.client.get("/healthz").json() == {"status": "ok"}


def test_a_key_of_another_certificate_is_a_sentence(hpltune: Run, tmp_path: Path) -> None:
    certificate(tmp_path, "a")
    certificate(tmp_path, "b")
    done = hpltune("serve", "--config", written(tmp_path, "a.crt", "b.key"))
    assert done.returncode == 1
    assert "the key is another certificate's" in done.stderr
    assert "Traceback" not in done.stderr


def test_files_that_are_missing_or_no_certificate_are_a_sentence(hpltune: Run, tmp_path: Path) -> None:
    certificate(tmp_path, "a")
    done = hpltune("serve", "--config", written(tmp_path, "nope.crt", "a.key"))
    assert "nope.crt: cannot be read (No such file or directory)" in done.stderr
    (tmp_path / "text").write_text("no certificate")
    done = hpltune("serve", "--config", written(tmp_path, "text", "a.key"))
    assert done.returncode == 1
    assert "these are no certificate and key in PEM" in done.stderr
    assert "Traceback" not in done.stderr


def test_tokens_do_not_cross_a_network_in_plain_text(hpltune: Run) -> None:
    hpltune("token", "create", "ada")
    done = hpltune("serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - that is what is refused
    assert done.returncode == 2
    assert "tokens would cross the network in plain text" in done.stderr
