"""Messages reach a real receiver, whatever goes wrong on the way."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from webhook_receiver import SECRET, Receiver, receiver

from results.store.service.deliveries import Delivery, DeliveryState, OutgoingMessage
from results.store.store import Store
from tuner.service.config import WebhookTable
from tuner.service.webhook_sender import CLAIMED_FOR, KEPT_FOR, LONGEST_WAIT, WebhookSender, wait_after

MESSAGE = OutgoingMessage("chat", "done", {"event": "done", "campaign": "monday"})


@dataclass
class SetClock:
    """A clock that a test sets."""

    at: datetime

    def __call__(self) -> datetime:
        return self.at

    def forward(self, step: timedelta) -> None:
        self.at += step


@pytest.fixture
def clock() -> SetClock:
    return SetClock(datetime.now(UTC) + timedelta(seconds=1))


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def couriers(store: Store, clock: SetClock, url: str, folder: Path, secret: str = SECRET) -> WebhookSender:
    file = folder / "secret"
    file.write_text(secret)
    return WebhookSender(store, {"chat": WebhookTable(url=url, secret_file=file)}, clock)


def newest(store: Store) -> Delivery:
    return store.deliveries.newest("chat", 1)[0]


def test_a_message_arrives_signed(store: Store, clock: SetClock, there: Receiver, tmp_path: Path) -> None:
    made = store.deliveries.add(MESSAGE)
    ours = couriers(store, clock, f"{there.url}/hook?key=7", tmp_path)
    assert ours.deliver("chat")
    assert not ours.deliver("chat"), "there is no other"
    (one,) = there.received
    assert one.is_signed()
    assert not one.is_signed("another secret of many characters")
    assert (one.path, one.headers["X-Hpltune-Delivery"], one.headers["X-Hpltune-Event"]) == (
        "/hook?key=7",
        made.number,
        "done",
    )
    assert one.body == {"id": made.number, "event": "done", "campaign": "monday"}
    assert newest(store).state is DeliveryState.DELIVERED


def test_a_receiver_that_fails_first_gets_the_same_message_again(
    store: Store, clock: SetClock, there: Receiver, tmp_path: Path
) -> None:
    there.statuses = [500, 404]
    store.deliveries.add(MESSAGE)
    ours = couriers(store, clock, there.url, tmp_path)
    for wait_s, reason in ((10, "the receiver answered 500"), (20, "the receiver answered 404")):
        assert ours.deliver("chat")
        assert (newest(store).reason, newest(store).next_at) == (reason, clock.at + timedelta(seconds=wait_s))
        assert not ours.deliver("chat"), "it is not due"
        clock.forward(timedelta(seconds=wait_s))
    assert ours.deliver("chat")
    assert newest(store).state is DeliveryState.DELIVERED
    assert len({one.text for one in there.received}) == 1
    assert all(one.is_signed() for one in there.received)


def test_a_message_whose_sender_died_is_sent_again(
    store: Store, clock: SetClock, there: Receiver, tmp_path: Path
) -> None:
    store.deliveries.add(MESSAGE)
    store.deliveries.claim("chat", clock.at, clock.at + CLAIMED_FOR)
    ours = couriers(store, clock, there.url, tmp_path)
    assert not ours.deliver("chat")
    clock.forward(CLAIMED_FOR)
    assert ours.deliver("chat")
    assert newest(store).attempts == 2


def test_no_redirect_is_followed(store: Store, clock: SetClock, there: Receiver, tmp_path: Path) -> None:
    there.statuses = [302, 307]
    store.deliveries.add(MESSAGE)
    ours = couriers(store, clock, there.url, tmp_path)
    for code in (302, 307):
        ours.deliver("chat")
        assert newest(store).reason == f"the receiver answered {code}, a redirect"
        clock.forward(timedelta(minutes=1))
    assert {one.path for one in there.received} == {"/"}


def test_a_dead_receiver_is_given_up_after_a_day(store: Store, clock: SetClock, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    store.deliveries.add(MESSAGE)
    ours, begun = couriers(store, clock, f"http://127.0.0.1:{port}", tmp_path), clock.at
    while (due := newest(store).next_at) is not None:
        clock.at = max(clock.at, due)
        assert ours.deliver("chat")
    assert newest(store).state is DeliveryState.GIVEN_UP
    assert newest(store).reason == "the receiver cannot be reached: Connection refused"
    assert KEPT_FOR - LONGEST_WAIT <= clock.at - begun <= KEPT_FOR
    assert not ours.deliver("chat")


def test_waits_grow_up_to_an_hour() -> None:
    waits = [wait for number in range(1, 100) if (wait := wait_after(number)) is not None]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (timedelta(seconds=10), LONGEST_WAIT)
    assert wait_after(10**5) is None


@pytest.mark.parametrize("said", [b"220 mail.example ESMTP\r\n", b""])
def test_an_answer_that_is_no_http_is_told(store: Store, clock: SetClock, tmp_path: Path, said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):  # closed with something unread, the connection would be reset
                    pass

        thread = threading.Thread(target=answer)
        thread.start()
        store.deliveries.add(MESSAGE)
        couriers(store, clock, f"http://127.0.0.1:{server.getsockname()[1]}", tmp_path).deliver("chat")
        thread.join()
    assert newest(store).reason == "the receiver's answer is not HTTP"


def test_a_receiver_that_says_nothing_is_left_after_a_while(store: Store, clock: SetClock, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tuner.service.webhook_sender.TIMEOUT_S", 0.2)
        store.deliveries.add(MESSAGE)
        couriers(store, clock, f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path).deliver("chat")
    assert newest(store).reason == "the receiver did not answer in 0.2 s"


def test_a_secret_that_has_gone_keeps_the_message(
    store: Store, clock: SetClock, there: Receiver, tmp_path: Path
) -> None:
    store.deliveries.add(MESSAGE)
    ours = couriers(store, clock, there.url, tmp_path)
    (tmp_path / "secret").unlink()
    ours.deliver("chat")
    assert (newest(store).reason, newest(store).state) == ("its secret cannot be read", DeliveryState.WAITING)
    assert there.received == []
