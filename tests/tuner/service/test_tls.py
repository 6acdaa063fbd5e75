"""TLS by files, with certificates that openssl makes."""

import signal
import ssl
from pathlib import Path

import pytest
from as_user import Run
from own_certificate import certificate, written
from running_service import running_service
from waiting import until


@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_sighup_reads_certificate_and_offers_again_and_ends_nothing(tmp_path: Path) -> None:
    """A new certificate is shown to the next connection; a broken file changes nothing."""
    old, _ = certificate(tmp_path, "tuner")
    config = written(tmp_path, "tuner.crt", "tuner.key")
    document = {"kind": "tune", "space": "lab", "trials": 1}
    with running_service("--config", config, tls=ssl.create_default_context(cafile=str(old))) as service:
        place = service.client.base_url.host, service.client.base_url.port or 0
        shown = ssl.get_server_certificate(place)
        assert service.client.post("/api/v1/campaigns", json=document).status_code == 422
        certificate(tmp_path, "tuner")
        (tmp_path / "lab.toml").write_text("[parameters]\nNB = [128]\n")
        with Path(config).open("a") as file:
            file.write('[offers.spaces]\nlab = "lab.toml"\n')
        service.process.send_signal(signal.SIGHUP)
        until(lambda: ssl.get_server_certificate(place) != shown)
        until(lambda: service.client.post("/api/v1/campaigns", json=document).status_code == 201)
        Path(config).write_text("[")
        service.process.send_signal(signal.SIGHUP)
        assert service.client.get("/healthz").status_code == 200


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
    said = hpltune.refused("serve", "--config", written(tmp_path, "a.crt", "b.key"), code=1)
    assert "the key is another certificate's" in said


def test_files_that_are_missing_or_no_certificate_are_a_sentence(hpltune: Run, tmp_path: Path) -> None:
    certificate(tmp_path, "a")
    done = hpltune("serve", "--config", written(tmp_path, "nope.crt", "a.key"))
    assert "nope.crt: cannot be read (No such file or directory)" in done.stderr
    (tmp_path / "text").write_text("no certificate")
    said = hpltune.refused("serve", "--config", written(tmp_path, "text", "a.key"), code=1)
    assert "these are no certificate and key in PEM" in said


def test_tokens_do_not_cross_a_network_in_plain_text(hpltune: Run) -> None:
    hpltune("token", "create", "ada")
    said = hpltune.refused("serve", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 - it is refused
    assert "tokens would cross the network in plain text" in said
