"""The program that sends messages between nodes, over the loopback interface."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from needs import skip_without
from waiting import PATIENCE_S

from hpl.build.node_programs import build_node_pairs
from hpl.build.toolchain import ToolchainError
from hpl.search_paths import SearchPaths

SHARED = "0123456789abcdef"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return build_node_pairs(SearchPaths(None, tmp_path_factory.mktemp("cache")))
    except ToolchainError:
        skip_without("mpicc")


@contextmanager
def listening(program: Path) -> Iterator[str]:
    """The port of a program that waits for partners while the block runs."""
    with subprocess.Popen(
        [program, SHARED, "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().split("\t")[1].strip()
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0, "it ends with its input"


def answer(program: Path, order: str, token: str = SHARED) -> list[str]:
    done = subprocess.run(
        [program, token, "600"], input=f"{order}\n", capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    return done.stdout.splitlines()[1].split("\t")


def test_messages_go_there_and_back(program: Path) -> None:
    with listening(program) as port:
        kind, latency_us, there, back = answer(program, f"pair 127.0.0.1 {port} 127.0.0.1 0.1")
        assert kind == "pair"
        assert 0 < float(latency_us) < 100_000
        assert min(float(there), float(back)) > 1
        kind, rate = answer(program, f"stream 127.0.0.1 {port} 127.0.0.1 0.1")
        assert (kind, float(rate) > 1) == ("stream", True)


def test_nobody_without_the_token_is_served(program: Path) -> None:
    with listening(program) as port:
        kind, why = answer(program, f"pair 127.0.0.1 {port} 127.0.0.1 0.1", "fedcba9876543210")
    assert (kind, why.split(":")[0]) == ("failed", "no message comes back")


def test_a_refused_connection_and_an_order_that_cannot_be_read_are_said(program: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    order = f"pair 127.0.0.1 {port} 127.0.0.1 0.1"
    assert answer(program, order) == ["failed", "no connection: Connection refused"]
    assert answer(program, "pair") == ["failed", "an order cannot be read"]


def test_data_that_a_card_on_the_way_changes_does_not_count(program: Path) -> None:
    with listening(program) as port, changed_on_its_way(int(port)) as bad:
        kind, why = answer(program, f"pair 127.0.0.1 {bad} 127.0.0.1 0.1")
        assert (kind, why) == ("failed", "data did not arrive as it was sent")


def test_it_ends_when_its_time_is_over(program: Path) -> None:
    with subprocess.Popen([program, SHARED, "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.wait(PATIENCE_S) != 0


@contextmanager
def changed_on_its_way(port: int) -> Iterator[int]:
    """A port that passes all on, but changes a byte of each large piece of data."""
    with socket.create_server(("127.0.0.1", 0)) as door, ExitStack() as opened:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    near = opened.enter_context(door.accept()[0])
                    far = opened.enter_context(socket.create_connection(("127.0.0.1", port)))
                    for one, other in ((near, far), (far, near)):
                        threading.Thread(target=pass_on, args=(one, other), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield door.getsockname()[1]
        door.shutdown(socket.SHUT_RDWR)


def pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := bytearray(one.recv(65536)):
            if len(data) > 1000:
                data[500] ^= 1
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
