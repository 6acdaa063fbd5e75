import signal
import socket
import subprocess
import sys
from contextlib import suppress

import httpx2
import pytest
from as_user import Run
from running_service import running_service


@pytest.mark.service
@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_answers_and_a_signal_ends_it_in_order(number: int) -> None:
    with running_service() as service:
        assert service.client.get("/healthz").json() == {"status": "ok"}
        assert service.client.get("/readyz").json() == {"status": "ready"}
        code, said = service.end(number)
        assert code == 0
        assert said == "hpltune: the service has ended\n"


def test_a_port_in_use_gets_a_sentence(hpltune: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = hpltune("serve", "--port", str(port))
    assert done.returncode == 1
    assert f"port {port} is in use" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.service
@pytest.mark.usefixtures("home")
def test_a_body_without_a_stated_length_does_not_harm_the_service() -> None:
    with running_service() as service:
        parts = (b"x" * 100_000 for _ in range(100))
        with suppress(httpx2.WriteError, httpx2.RemoteProtocolError):  # the connection may be closed while it is sent
            assert service.client.post("/healthz", content=parts).status_code in {405, 413}
        assert service.client.get("/healthz").status_code == 200


@pytest.mark.process
def test_a_service_begins_without_libraries_that_only_some_answers_need() -> None:
    program = (
        "import sys, tuner.service.server\n"
        "print({'scipy.stats', 'scipy.optimize', 'scipy.linalg', 'pandas', 'vl_convert', 'optuna'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("set()\n", "")
