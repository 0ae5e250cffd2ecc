"""OnlineAIModel and OfflineAIModel: a model for requests, a model that trains. Any callable will
do."""

from __future__ import annotations

import time
from typing import Any, Callable, Optional

import running  # noqa: F401  finds gpreempt

import gpreempt


class OnlineAIModel:
    """Answers requests; each is online work. `model` returns when the GPU has done it."""

    def __init__(self, model: Callable[[Any], Any], latency_target: Optional[float] = None) -> None:
        self.model = model
        self.latency_target = latency_target
        self.latency = gpreempt.Times()

    def infer(self, request: Any) -> Any:
        """The answer to one request."""
        begun = time.monotonic()
        with gpreempt.online(self.latency_target):
            answer = self.model(request)
        self.latency.add(time.monotonic() - begun)
        return answer


class OfflineAIModel:
    """Trains step by step in a process that may be stopped. `step` is given the step's number."""

    def __init__(self, step: Callable[[int], Any], tag: str = "training") -> None:
        self.step = step
        self.steps = 0
        self.seconds = 0.0
        self.job = gpreempt.offline(tag=tag)

    def train(self, steps: int) -> None:
        """So many more."""
        begun = time.monotonic()
        for _ in range(steps):
            self.step(self.steps)
            self.steps += 1
        self.seconds += time.monotonic() - begun

    @property
    def steps_per_s(self) -> Optional[float]:
        """None before the first."""
        return self.steps / self.seconds if self.seconds else None
