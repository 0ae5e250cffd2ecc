"""A context of the C API, owned by a Python object: whatever drops that object, closes it.

That is what makes KeyboardInterrupt harmless: C writes the handle into the object before Python can
be interrupted, and an object that an exception leaves behind ends its marks and leases with itself.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any, Callable, List, Optional

from . import _abi
from ._library import library
from .errors import error_of, error_of_daemon


def encoded(text: Optional[str]) -> Optional[bytes]:
    """For C; None stays None."""
    return None if text is None else os.fsencode(text)


class _Released:
    """What became of a Held. Without __del__: in one, Python swallows a KeyboardInterrupt."""

    def release(self) -> None:
        """Twice is no error."""


class Held:
    """Something to be released: by release(), or when nobody has this object any more."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release

    def release(self) -> None:
        """Once more after an interrupt: what is called must bear that."""
        try:
            self._release()
        except BaseException:
            self._release()
            raise
        self.__class__ = _Released  # type: ignore[assignment]

    def __del__(self) -> None:
        self._release()


class Context:
    """The library, opened. Needs neither a device nor a daemon. Of no use in a forked child."""

    def __init__(self, sysfs: Optional[str] = None, debugfs: Optional[str] = None) -> None:
        self.pid = os.getpid()
        self.library = library()
        self.handle = ctypes.c_void_p()
        options = _abi.OpenOptions(sysfs=encoded(sysfs), debugfs=encoded(debugfs))
        self.library.check("gpreempt_open", ctypes.byref(options), ctypes.byref(self.handle))

    def check(self, name: str, *arguments: Any) -> int:
        """Calls a function on this context."""
        return self.library.check(name, self.handle, *arguments, make=error_of)

    def ask_daemon(self, name: str, *arguments: Any) -> int:
        """The same for one that talks to gpreemptd."""
        return self.library.check(name, self.handle, *arguments, make=error_of_daemon)

    def close(self) -> None:
        """Ends its marks and leases. In a forked child: leaves those of the parent alone."""
        handle, self.handle = self.handle, ctypes.c_void_p()
        if handle:
            self.library.call("gpreempt_close", handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()


_lock = threading.RLock()
_shared: Optional[Context] = None
_in_child: List[Callable[[], None]] = []


def in_forked_child(forget: Callable[[], None]) -> None:
    """Has `forget` called in every forked child from now on."""
    with _lock:
        if not _in_child:
            os.register_at_fork(after_in_child=_forget)
        _in_child.append(forget)


def _forget() -> None:
    # What is dropped closes its copy of the connection: the daemon sees when the parent's ends.
    global _lock, _shared
    _lock = threading.RLock()
    _shared = None
    for forget in _in_child:
        forget()


def shared_context() -> Context:
    """The one of this process, for what needs none of its own. A forked child gets another."""
    global _shared
    if _shared is None:
        in_forked_child(lambda: None)
        with _lock:
            if _shared is None:
                _shared = Context()
    return _shared
