"""When the first byte of what waits at a socket really arrived, by the kernel: a thread that is started for a connection comes to it later."""

from __future__ import annotations

import socket
import struct
import time

#: Linux, asm-generic/socket.h; the socket module has no name for it. Accepted sockets have it from the listening one.
SO_TIMESTAMPNS = 35


def stamp_arrivals(listener: socket.socket) -> None:
    listener.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def arrival_ns(connection: socket.socket) -> int:
    """Waits for a byte, leaves it, and says when it came, by the monotonic clock. Now, where the kernel doesn't say."""
    _data, ancillary, _flags, _address = connection.recvmsg(1, 256, socket.MSG_PEEK)
    now, real_now = time.monotonic_ns(), time.time_ns()
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return now - (real_now - int(seconds) * 1_000_000_000 - int(nanoseconds))
    return now
