"""Finds and loads libgpreempt.so.0, when it is first needed."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Any, Callable, List, Optional

from . import _abi
from .errors import GpreemptError, LibraryError, error_of

NAME = "libgpreempt.so.0"
_HERE = os.path.dirname(os.path.abspath(__file__))
_INSTALL = "install gpreempt (docs/install.md), or let GPREEMPT_LIBRARY name the library"


class Library:
    """The loaded library: its functions by name, and the one place where failures become errors."""

    def __init__(self, loaded: ctypes.CDLL, path: str) -> None:
        self.path = path
        self.functions = {name: _function(loaded, name, path) for name in _abi.FUNCTIONS}
        self.version: str = self.call("gpreempt_version_text").decode()

    def call(self, name: str, *arguments: Any) -> Any:
        """Calls a function and returns what it returns."""
        return self.functions[name](*arguments)

    def check(self, name: str, *arguments: Any,
              make: Callable[[int, str, str], GpreemptError] = error_of) -> int:
        """Calls a function that returns 0 or a count; a negative errno value becomes an error."""
        result = int(self.functions[name](*arguments))
        if result < 0:
            text = self.functions["gpreempt_error_text"]().decode(errors="replace")
            hint = self.functions["gpreempt_error_hint"]().decode(errors="replace")
            raise make(-result, text, hint)
        return result


def _function(loaded: ctypes.CDLL, name: str, path: str) -> Any:
    try:
        function = getattr(loaded, name)
    except AttributeError:
        raise LibraryError(errno.ENOSYS, f"{path} has no function {name}: it is older than this "
                           "Python package, or no libgpreempt", _INSTALL) from None
    function.restype, function.argtypes = _abi.FUNCTIONS[name]
    return function


def places() -> List[str]:
    """Where the library is looked for, in this order."""
    named = os.environ.get("GPREEMPT_LIBRARY")
    if named:
        return [named]  # who names one wants no other
    prefix = os.path.normpath(os.path.join(_HERE, "../../../.."))  # if in its share/gpreempt/python
    return [os.path.join(_HERE, "lib", NAME),  # the wheel's own
            os.path.join(prefix, "lib", NAME),
            os.path.join(prefix, "lib64", NAME),
            NAME,  # the loader's: LD_LIBRARY_PATH, ld.so.cache
            os.path.join("/usr/local/lib", NAME)]


def _load() -> Library:
    tried: List[str] = []
    for place in places():
        if os.path.isabs(place) and not os.path.exists(place):
            tried.append(f"{place}: not there")
            continue
        try:
            loaded = ctypes.CDLL(place)
        except OSError as error:
            tried.append(f"{place}: {error}")
            continue
        return _checked(loaded, place)
    said = "\n  ".join([f"{NAME} was not found; tried", *tried])
    raise LibraryError(errno.ENOENT, said, _INSTALL)


def _checked(loaded: ctypes.CDLL, path: str) -> Library:
    """Refuses what is no libgpreempt, or one of another major version, before it is called."""
    version = int(_function(loaded, "gpreempt_version", path)())
    major, minor = version >> 16, version >> 8 & 0xff
    if (major, minor) != (_abi.VERSION_MAJOR, _abi.VERSION_MINOR):
        raise LibraryError(
            errno.EPROTO, f"{path} is version {major}.{minor}, this Python package needs "
            f"{_abi.VERSION_MAJOR}.{_abi.VERSION_MINOR}", "install both of one release")
    return Library(loaded, path)


_loaded: Optional[Library] = None


def library() -> Library:
    """The library, loaded at the first call. LibraryError: there is none that can be used."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded
