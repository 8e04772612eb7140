"""The committed state machines, as a walker takes them: each function by its name in the template."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from fanout.model.document import Json

FOLDER = Path(__file__).parents[2] / "statemachine"
_FUNCTION = re.compile(r"\$\{(\w+)FunctionArn\}")


@cache
def definition(name: str = "transfer") -> Json:
    """``CopyShard`` for the function of the first mount, ``SecondCopyShard`` for that of the second."""
    text = (FOLDER / f"{name}.asl.json").read_text(encoding="utf-8")
    found: Json = json.loads(_FUNCTION.sub(r"\1", text))
    return found
