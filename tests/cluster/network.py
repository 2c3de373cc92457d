"""Machines that are Linux network namespaces: own names, addresses and wires, and a switch that belongs to them alone."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from multiprocessing import get_context
from pathlib import Path

CLONE_NEWNET, TUNSETIFF, TAP_WITHOUT_HEADER = 0x40000000, 0x400454CA, 0x1002
WIRE = "eth0"  # the name of every machine's only wire
START = 'hostname "$0" && mount --bind "$HOSTS" /etc/hosts && exec "$@"'


def why_not() -> str | None:
    """Say in a sentence why this system cannot make machines; None if it can."""
    if os.geteuid() != 0 or not (shutil.which("ip") and shutil.which("tc") and shutil.which("unshare")):
        return "skipped: machines of network namespaces need root, ip, tc and unshare"
    probe = f"probe{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True)
    return f"skipped: the kernel makes no network namespaces ({made.stderr.strip()})" if made.returncode else None


class Machines:
    """Machines m1, m2, ... with addresses 10.77.0.1, ..., until the end of the ``with`` block.

    Their wires meet in a bridge in a namespace of its own and carry ``rate`` bits per second each way. With a ``delay`` in
    seconds a process of ours stands in place of the bridge, as not every kernel has netem: it passes each frame on so much later.
    """

    def __init__(self, n: int = 4, *, rate: str = "1gbit", delay: float = 0.0) -> None:
        self.names = [f"m{i}" for i in range(1, n + 1)]
        self._rate, self._delay, self._mark = rate, delay, f"cc{os.getpid()}"
        self._relay = None
        self._started: list[subprocess.Popen] = []
        self._folder = tempfile.TemporaryDirectory()
        self.hosts = Path(self._folder.name) / "hosts"
        known = (f"{self.address(name)} {name}\n" for name in self.names)
        self.hosts.write_text("127.0.0.1 localhost\n" + "".join(known))

    def address(self, name: str) -> str:
        return f"10.77.0.{name[1:]}"

    def space(self, name: str) -> str:
        """The namespace's own name; it holds this process' number, so that several harnesses do not meet."""
        return f"{self._mark}-{name}"

    def __enter__(self) -> Machines:
        # A harness that is told to end leaves through `__exit__`, as at Ctrl-C.
        self._before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            for name in ("hub", *self.names):
                _do("ip", "netns", "add", self.space(name))
            if self._delay:
                taps = [self._tap(name) for name in self.names]
                self._relay = get_context("fork").Process(target=_pass_on, args=(taps, self._delay), daemon=True)
            else:
                self._join_by_bridge()
            for name in self.names:
                space = self.space(name)
                _do("ip", "-n", space, "addr", "add", f"{self.address(name)}/24", "dev", WIRE)
                _do("ip", "-n", space, "link", "set", "lo", "up")
                self._limit(name, WIRE)
                self.plug(name)
            if self._relay:
                self._relay.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            process.kill()  # it may not have entered its namespace yet
        for name in (*self.names, "hub"):
            self.signal(name, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True)
        if self._relay and self._relay.is_alive():
            self._relay.kill()
        self._folder.cleanup()
        signal.signal(signal.SIGTERM, self._before)

    def start(self, name: str, command: list[str], log: Path, **environment: str) -> subprocess.Popen:
        """Start a command on a machine; what it prints goes to a file."""
        begun = ["ip", "netns", "exec", self.space(name), "unshare", "--uts", "sh", "-c", START, name, *command]
        around = os.environ | environment | {"HOSTS": str(self.hosts)}
        with log.open("w") as file:
            process = subprocess.Popen(begun, stdout=file, stderr=file, env=around, start_new_session=True)
        self._started.append(process)
        return process

    def signal(self, name: str, number: int) -> None:
        """Send a signal to every process of a machine."""
        found = subprocess.run(["ip", "netns", "pids", self.space(name)], capture_output=True, text=True)
        for process in map(int, found.stdout.split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def plug(self, name: str, way: str = "up") -> None:
        """Put the machine's wire in, or pull it out: ``way`` is up or down."""
        if not self._delay:
            _do("ip", "-n", self.space("hub"), "link", "set", name, way)
        _do("ip", "-n", self.space(name), "link", "set", WIRE, way)

    def round_trip(self, n: int = 50) -> float:
        """Median seconds of a small packet from the first machine to the second and back."""
        ends, seconds = [], []
        for name in self.names[:2]:
            with self._inside(name):
                ends.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            ends[-1].bind((self.address(name), 7))
            ends[-1].settimeout(5)
        there, back = ((self.address(name), 7) for name in reversed(self.names[:2]))
        for _ in range(n):
            start = time.perf_counter()
            ends[0].sendto(b"?", there)
            ends[1].recv(1)
            ends[1].sendto(b"!", back)
            ends[0].recv(1)
            seconds.append(time.perf_counter() - start)
        for end in ends:
            end.close()
        return statistics.median(seconds)

    def _join_by_bridge(self) -> None:
        hub = self.space("hub")
        _do("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        _do("ip", "-n", hub, "link", "set", "bridge", "up")
        for name in self.names:
            peer = ["type", "veth", "peer", "name", name, "netns", hub]
            _do("ip", "link", "add", WIRE, "netns", self.space(name), *peer)
            _do("ip", "-n", hub, "link", "set", name, "master", "bridge")
            self._limit("hub", name)

    def _limit(self, name: str, wire: str) -> None:
        shape = ["tbf", "rate", self._rate, "burst", "256kb", "latency", "100ms"]
        _do("tc", "-n", self.space(name), "qdisc", "add", "dev", wire, "root", *shape)

    def _tap(self, name: str) -> int:
        with self._inside(name):
            tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", WIRE.encode(), TAP_WITHOUT_HEADER))
        # `_pass_on` reads the machine's number from the last byte.
        _do("ip", "-n", self.space(name), "link", "set", WIRE, "address", f"02:00:00:00:00:0{name[1:]}")
        return tap

    @contextlib.contextmanager
    def _inside(self, name: str):
        """What this thread opens meanwhile belongs to a machine."""
        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self.space(name)}") as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(home.fileno())


def _enter(space: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(space, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _pass_on(taps: list[int], delay: float) -> None:
    """Be a switch whose frames arrive late: to the machine that the address names, or to all others."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    waiting: deque = deque()
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for tap in select.select(taps, [], [], left)[0]:
            with contextlib.suppress(BlockingIOError):
                for _ in range(64):
                    frame = os.read(tap, 65536)
                    to_all = frame[0] & 1
                    to = [other for other in taps if other != tap] if to_all else [taps[frame[5] - 1]]
                    waiting.append((time.monotonic() + delay, to, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, to, frame = waiting.popleft()
            for tap in to:
                with contextlib.suppress(OSError):  # full, or unplugged: lost, as on a wire
                    os.write(tap, frame)


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
