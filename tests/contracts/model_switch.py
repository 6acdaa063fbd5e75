"""A switch in user space between the hosts of a laboratory, with NICs whose interrupts can be held back.

The kernel's own virtual NICs do not know `ethtool -C`. So frames go through `vswitch.c`, which keeps line rate, latency
and coalescing, and an `ethtool` that comes first on the hosts sets the model's coalescing as a driver would.
"""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from as_user import program
from found_here import found_compiler
from needs import skip_without
from net_lab import HostsLab
from waiting import PATIENCE_S

NIC = "tap0"
SOURCE = Path(__file__).with_name("vswitch.c")

ETHTOOL = """#!/bin/sh
state={folder}
if [ "$1 $2" = "-C {nic}" ]; then
    [ "$3" = rx-usecs ] || {{ echo "netlink error: Operation not supported" >&2; exit 1; }}
    echo "$4" > "$state/coalescing-$(hostname)"
    for file in "$state"/coalescing-h*; do
        echo "coal $(cat "$file") $((${{file##*-h}} - 1))"
    done > "$state/control"
    kill -HUP "$(cat "$state/pid")"
    sleep 0.1
elif [ "$1 $2" = "-c {nic}" ]; then
    printf 'Coalesce parameters for {nic}:\\nAdaptive RX: n/a  TX: n/a\\n\\nrx-usecs: %s\\nrx-frames: n/a\\n' \\
        "$(cat "$state/coalescing-$(hostname)")"
else
    exec /usr/sbin/ethtool "$@"
fi
"""


@contextmanager
def model_switch(lab: HostsLab, mbit_s: int = 1000, latency_us: int = 15) -> Iterator[str]:
    """The name of a NIC that every host has while the block runs, at 10.78.0.HOST."""
    compiler = found_compiler()
    if not Path("/dev/net/tun").exists():
        skip_without("/dev/net/tun")
    binary, control = lab.folder / "vswitch", lab.folder / "control"
    subprocess.run((compiler, "-O2", "-Wall", "-o", str(binary), str(SOURCE)), check=True)
    control.touch()
    ports = [f"{lab.namespace(host)}:{NIC}" for host in lab.names]
    options = ("-r", str(mbit_s), "-l", str(latency_us), "-o", "-C", str(control))
    switch = subprocess.Popen((str(binary), *options, *ports), stdout=subprocess.PIPE, text=True)
    try:
        assert switch.stdout is not None
        assert switch.stdout.readline().startswith("ready")
        (lab.folder / "pid").write_text(str(switch.pid))
        for host in lab.names:
            (lab.folder / f"coalescing-{host}").write_text("0\n")
            lab.run(host, "ip", "addr", "add", f"10.78.0.{host[1:]}/24", "brd", "+", "dev", NIC)
            lab.run(host, "ip", "link", "set", NIC, "up")
        shim = program(lab.programs / "ethtool", ETHTOOL.format(folder=lab.folder, nic=NIC))
        time.sleep(0.1)
        yield NIC
        shim.unlink()
    finally:
        switch.send_signal(signal.SIGTERM)
        switch.wait(timeout=PATIENCE_S)
