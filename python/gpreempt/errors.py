"""What can go wrong. Every message says what failed, on what, and what to do."""

from __future__ import annotations

import errno
import os


class GpreemptError(Exception):
    """A call that failed: `errno`, `text` (what, on what, why), `hint` (what to do; may be "")."""

    def __init__(self, code: int, text: str, hint: str = "") -> None:
        super().__init__(code, text, hint)
        self.errno = code
        self.text = text
        self.hint = hint

    def __str__(self) -> str:
        text = self.text or os.strerror(self.errno)
        return f"{text}\nhint: {self.hint}" if self.hint else text


class DaemonNotRunning(GpreemptError):
    """There is no gpreemptd, or it does not answer."""


class NotPermitted(GpreemptError):
    """The device, the process or the driver's call is not for this user."""


class NotSupported(GpreemptError):
    """Nothing here can do what was asked for; the text says why for each way."""


class LibraryError(GpreemptError):
    """libgpreempt.so.0 was not found, or is not one that this package can use."""


class GpreemptWarning(UserWarning):
    """The program goes on, but without what it asked for."""


class LowSlotsWarning(GpreemptWarning):
    """A GPU has few free hardware slots: queues beyond them take turns."""


def error_of(code: int, text: str, hint: str) -> GpreemptError:
    """The exception for an errno value and its texts."""
    if code in (errno.EPERM, errno.EACCES):
        return NotPermitted(code, text, hint)
    if code == errno.ENOTSUP:
        return NotSupported(code, text, hint)
    return GpreemptError(code, text, hint)


# What the functions that talk to gpreemptd return when there is none.
_NO_DAEMON = (errno.ENOENT, errno.ECONNREFUSED, errno.ETIMEDOUT, errno.ECONNRESET, errno.EPIPE)


def error_of_daemon(code: int, text: str, hint: str) -> GpreemptError:
    """The same for a question to gpreemptd."""
    if code in _NO_DAEMON:
        return DaemonNotRunning(code, text, hint or "start gpreemptd (docs/python.md)")
    return error_of(code, text, hint)
