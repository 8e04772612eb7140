"""The pages of runs and probes, rendered from the templates' sources and from what was made of them beforehand."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from jinja2 import Template

from fanout.report.templating import TEMPLATES, environment
from tests.support import paced_runs, runs
from tests.support.probes import SMALL, ProbeWorld

NOWHERE = Path("/nonexistent")


def measured() -> None:
    """A probe that measured everything."""
    with tempfile.TemporaryDirectory() as mount:
        ProbeWorld([Path(mount)]).run(SMALL)


def broken_off() -> None:
    """A probe that broke off before it measured anything, for a cause that would act."""
    with tempfile.TemporaryDirectory() as mount:
        world = ProbeWorld([Path(mount)])
        world.plan(SMALL, "probe-1")
        world.summarise("probe-1", {"Error": "States.Timeout", "Cause": "<script>document.title = 'taken'</script>"})


# Together they render every template.
KINDS: tuple[Callable[[], object], ...] = (
    runs.hostile,
    runs.verified,
    runs.compared,
    runs.planned,
    runs.synced,
    runs.broken,
    runs.skipped,
    paced_runs.paced,
    measured,
    broken_off,
)


def rendered(run: Callable[[], object], compiled: Path) -> list[tuple[str, str]]:
    """Each page that a run writes, from the sources and from the templates in ``compiled``."""
    given: list[tuple[str, Any]] = []

    def keep(template: Template, page: Any) -> str:
        given.append((str(template.name), page))
        return ""

    with patch.object(Template, "render", keep):
        run()
    both = environment(NOWHERE), environment(compiled)
    return [(both[0].get_template(name).render(page), both[1].get_template(name).render(page)) for name, page in given]


def sources() -> list[str]:
    """The names of the templates."""
    return sorted(path.name for path in TEMPLATES.glob("*.j2"))
