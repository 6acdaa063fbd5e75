"""Whose the other end of a connection is."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from needs import skip_without

from tuner.service.peers import UidOf, listed_uid, peer_uid

TABLE = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 20 4 30 10 -1
   1: 0100007F:C350 0100007F:211B 01 00000000:00000000 00:00000000 00000000  2000        0 2 1 0 20 4 30 10 -1
   2: 0100007F:C351 0100007F:211B 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0
"""


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection on this machine."""
    with ExitStack() as stack:
        family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
        try:
            server = stack.enter_context(socket.create_server((request.param, 0), family=family))
        except OSError:
            skip_without("IPv6")
        client = stack.enter_context(socket.create_connection(server.getsockname()[:2]))
        taken, _ = server.accept()
        yield client, stack.enter_context(taken)


@pytest.mark.parametrize("uid_of", [peer_uid, listed_uid])
def test_the_kernel_tells_whose_a_connection_is(uid_of: UidOf, ends: tuple[socket.socket, socket.socket]) -> None:
    _, taken = ends
    assert uid_of(taken.getpeername()[:2], taken.getsockname()[:2]) == os.geteuid()
    assert uid_of(taken.getpeername()[:2], (taken.getsockname()[0], 1)) is None


@pytest.mark.parametrize("uid_of", [peer_uid, listed_uid])
def test_the_port_of_a_listener_is_no_connection(uid_of: UidOf) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert uid_of(listener.getsockname()[:2], ("127.0.0.1", 1)) is None


@pytest.mark.parametrize("uid_of", [peer_uid, listed_uid])
def test_an_ipv4_connection_of_an_ipv6_socket_is_found(uid_of: UidOf) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.socket(socket.AF_INET6))
        try:
            client.connect(("::ffff:127.0.0.1", server.getsockname()[1]))
        except OSError:
            skip_without("IPv6")
        taken = stack.enter_context(server.accept()[0])
        assert uid_of(taken.getpeername(), taken.getsockname()) == os.geteuid()


def test_a_connection_that_the_other_end_closed_is_nobodys(ends: tuple[socket.socket, socket.socket]) -> None:
    client, taken = ends
    places = taken.getpeername()[:2], taken.getsockname()[:2]
    client.close()
    assert peer_uid(*places) is None
    assert listed_uid(*places) is None


def test_where_the_kernel_cannot_be_asked_its_lists_tell(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox may allow no netlink sockets."""
    _, taken = ends
    monkeypatch.setattr(socket, "AF_NETLINK", 4_000)
    assert peer_uid(taken.getpeername()[:2], taken.getsockname()[:2]) == os.geteuid()


def test_of_two_connections_from_one_port_that_to_us_counts(tmp_path: Path) -> None:
    """The kernel gives one port to users whose connections go to different places."""
    table = tmp_path / "tcp"
    table.write_text(TABLE)
    assert listed_uid(("127.0.0.1", 50_000), ("127.0.0.1", 8475), [table]) == 2000
    assert listed_uid(("127.0.0.1", 50_000), ("127.0.0.1", 8080), [table]) == 1000


def test_a_connection_that_has_ended_is_nobodys(tmp_path: Path) -> None:
    table = tmp_path / "tcp"
    table.write_text(TABLE)
    assert listed_uid(("127.0.0.1", 50_001), ("127.0.0.1", 8475), [table]) is None
