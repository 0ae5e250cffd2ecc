"""PyTorch: inference that is online, training that is offline. Imports torch when it is first used.

    model = gpreempt.torch.wrap(model)                     # each call is online work
    for batch in gpreempt.torch.train(loader, tag="bert"): # this process can be stopped
        ...

Without a GPU all of it does nothing, so that the same program runs on a CPU.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Optional, TypeVar

from .work import offline, online

T = TypeVar("T")


def _torch() -> Any:
    import torch

    return torch


def has_gpu() -> bool:
    """PyTorch has a GPU. Does not start the GPU's runtime in this process."""
    return bool(_torch().cuda.is_available())


class Wrapped:
    """A model, or a function, whose calls are online work. Everything else is the model's own."""

    def __init__(self, model: Any, latency_target: Optional[float], required: bool,
                 synchronize: bool) -> None:
        self.__dict__.update(model=model, _how=(latency_target, required, synchronize))

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not has_gpu():
            return self.model(*arguments, **named)
        latency_target, required, synchronize = self._how
        with online(latency_target, required=required):
            answer = self.model(*arguments, **named)
            if synchronize:
                _torch().cuda.current_stream().synchronize()
            return answer

    def __getattr__(self, name: str) -> Any:
        if name == "model":  # not yet, while it is copied or unpickled
            raise AttributeError(name)
        value = getattr(self.model, name)
        if not inspect.ismethod(value) or value.__self__ is not self.model:
            return value

        def method(*arguments: Any, **named: Any) -> Any:
            answer = value(*arguments, **named)
            return self if answer is self.model else answer  # eval(), to(): stays wrapped
        return method

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.model, name, value)

    def __reduce__(self) -> Any:
        return Wrapped, (self.model, *self._how)

    def __repr__(self) -> str:
        return f"Wrapped({self.model!r})"


def wrap(model: Any, cls: str = "online", *, latency_target: Optional[float] = None,
         required: bool = False, synchronize: bool = True, tag: Optional[str] = None) -> Any:
    """A model for inference, or a function such as `model.generate`: each call is online work until
    the GPU has done it.

    `synchronize=False` does not wait for the GPU; then the agent has to see the end of the work
    (`gpreempt run`, or gpreempt used before the first GPU call). With `cls="offline"` the process
    becomes an offline one, and the model stays what it is.
    """
    if cls == "online":
        return Wrapped(model, latency_target, required, synchronize)
    if cls == "offline":
        if has_gpu():
            offline(tag, required=required)
        return model
    raise ValueError(f"class {cls!r}: online or offline")


@contextmanager
def stream(cls: str = "online", device: Any = None) -> Iterator[Any]:
    """A stream for work of a class, current within the block; None without a GPU.

    Online streams have high priority, offline ones the usual one: PyTorch has no lower. Under
    `gpreempt run --streams --class offline` streams of high priority are online, and all others of
    the process are stopped for them. Without `--streams` all streams have the class of the process,
    and priority is what the hardware makes of it.
    """
    if cls not in ("online", "offline"):
        raise ValueError(f"class {cls!r}: online or offline")
    if not has_gpu():
        yield None
        return
    torch = _torch()
    made = torch.cuda.Stream(device=device, priority=-1 if cls == "online" else 0)
    with torch.cuda.stream(made):
        yield made


def train(batches: Iterable[T], *, tag: Optional[str] = None, job: Optional[str] = None,
          required: bool = False) -> Iterator[T]:
    """The batches of a DataLoader, or anything else to iterate over, in a process that is offline
    from now on: online work of others may stop its GPU work at any time, and it goes on as if
    nothing had been. `job`: ranks with the same are stopped together.

    Workers of the DataLoader, forked or spawned, are left alone: what belongs to this process stays
    with it.
    """
    if has_gpu():
        offline(tag, job=job, required=required)
    yield from batches
