"""Asks a service over plain sockets, so that the one who measures takes little of the machine."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

MOST_BYTES = 2**24


@dataclass(frozen=True)
class Answered:
    """How an address answered: milliseconds of half of the requests and of 99 of 100, and of the first."""

    address: str
    first_ms: float
    p50_ms: float
    p99_ms: float
    bytes: int


async def get(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str) -> int:
    """Ask on an open connection; give the bytes of the answer.

    Raises:
        OSError: it is none of success.
    """
    writer.write(f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 200"):
        raise OSError(f"{address}: {head[:200].decode()}")
    if b"content-length:" in head:
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        return length
    whole = 0
    while length := int(await reader.readline(), 16):
        whole += length
        await reader.readexactly(length + 2)
    await reader.readexactly(2)
    return whole


async def measured(port: int, label: str, addresses: Sequence[str], clients: int, requests: int) -> Answered:
    """Ask addresses in turn from some clients at once, each on a connection of its own."""
    seconds: list[float] = []
    left, size = iter(range(requests)), 0

    async def client() -> None:
        nonlocal size
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MOST_BYTES)
        for number in left:
            began = time.perf_counter()
            size = await get(reader, writer, addresses[number % len(addresses)])
            seconds.append(time.perf_counter() - began)
        writer.close()

    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MOST_BYTES)
    began = time.perf_counter()
    await get(reader, writer, addresses[0])
    first_ms = 1e3 * (time.perf_counter() - began)
    writer.close()
    await asyncio.gather(*(client() for _ in range(clients)))
    return Answered(label, first_ms, 1e3 * at(seconds, 0.5), 1e3 * at(seconds, 0.99), size)


async def events(port: int, address: str) -> AsyncIterator[str]:
    """Yield the names of server-sent events as they come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=MOST_BYTES)
    writer.write(f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    try:
        while line := await reader.readline():
            if line.startswith(b"event:"):
                yield line[6:].strip().decode()
    finally:
        writer.close()


def at(figures: Sequence[float], part: float) -> float:
    """The figure below which a part of all is."""
    return sorted(figures)[min(len(figures) - 1, int(part * len(figures)))]
