"""Step Functions asked about the Map of a run, and told to move it."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.adapters.step_functions import StepFunctions
from fanout.domain.map_run import MapRun
from fanout.domain.rows import Json

# docs.aws.amazon.com/step-functions/latest/apireference/API_ListMapRuns.html, API_DescribeMapRun.html and
# API_UpdateMapRun.html
_LIST, _DESCRIBE, _UPDATE = (f"AWSStepFunctions.{name}" for name in ("ListMapRuns", "DescribeMapRun", "UpdateMapRun"))


class StepFunctionsMaps(StepFunctions):
    """See ``fanout.pacing_ports.MapRuns``; needs states:ListMapRuns, states:DescribeMapRun and states:UpdateMapRun."""

    _arn = ""

    def find(self, execution_arn: str, label: str) -> MapRun | None:
        """See ``fanout.pacing_ports.MapRuns``; one request where the Map is known, two where it is not."""
        if not self._arn:
            listed = self._listed(execution_arn)
            found = [one for one in listed if one["mapRunArn"].rpartition("/")[2].partition(":")[0] == label]
            if not found:
                return None
            self._arn = max(found, key=lambda one: str(one["startDate"]))["mapRunArn"]
        run = self.call(_DESCRIBE, self._arn, {"mapRunArn": self._arn})
        counts = run["itemCounts"]
        return MapRun(
            self._arn, run["status"], run["maxConcurrency"], counts["total"], counts["pending"], counts["running"]
        )

    def _listed(self, execution_arn: str) -> Iterator[Json]:
        asked: Json = {"executionArn": execution_arn, "maxResults": 100}
        while True:
            page = self.call(_LIST, execution_arn, asked)
            yield from page["mapRuns"]
            if not page.get("nextToken"):
                return
            asked = {**asked, "nextToken": page["nextToken"]}

    def move(self, map_run_arn: str, max_concurrency: int) -> None:
        """See ``fanout.pacing_ports.MapRuns``."""
        self.call(_UPDATE, map_run_arn, {"mapRunArn": map_run_arn, "maxConcurrency": max_concurrency})
