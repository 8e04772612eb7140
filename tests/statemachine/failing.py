"""Functions that fail: some times for each event, or for good."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import Any

from .lambda_service import Event, Function


class FailFirst:
    """Fails with each of the errors, once for every distinct event, and then does what the function does.

    Telling events apart makes every shard and every segment meet every error.
    """

    def __init__(self, function: Function, *errors: Exception) -> None:
        self._function = function
        self._errors = errors
        self._attempts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> Any:
        key = json.dumps(event, sort_keys=True)
        with self._lock:
            attempt = self._attempts[key]
            self._attempts[key] += 1
        if attempt < len(self._errors):
            raise self._errors[attempt]
        return self._function(event)


def always(error: Exception) -> Function:
    """A function that fails for good."""

    def fail(event: Event) -> Any:
        raise error

    return fail
