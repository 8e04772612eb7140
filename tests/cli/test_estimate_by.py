"""``fanout estimate --by``: the plans that end by a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.estimating import TO_EFS, estimated, run

BY = ("--entries", "3M", "--bytes", "100G", "--by")


@pytest.mark.parametrize(("by", "lies"), [("4h", 4 * 3600.0), ("06:00", None), ("2999-01-01T00:00:00Z", None)])
def test_by_says_the_plans_that_no_other_beats_and_which_is_taken(tmp_path: Path, by: str, lies: float | None) -> None:
    finish = estimated(tmp_path, TO_EFS, *BY, by)["finish"]
    assert finish["functions"] and finish["plans"] and finish["nearest"] == ""
    assert lies is None or finish["seconds_left"] == pytest.approx(lies)
    taken = [one for one in finish["plans"] if one["functions"] == finish["functions"]]
    assert taken and taken[0]["dollars"] == finish["dollars"]
    said = run(tmp_path, TO_EFS, *BY, by).output
    assert "Plans that no other beats" in said and "taken" in said and "to take it: --finish-by" in said


def test_by_of_a_request_that_names_its_shards_tries_no_longer_ones(tmp_path: Path) -> None:
    row = estimated(tmp_path, {**TO_EFS, "limits": {"finish_by": "4h", "shard_seconds": 20}}, *BY[:-1])
    assert {one["shard_seconds"] for one in row["finish"]["plans"]} <= {15.0, 20.0}


def test_by_that_no_plan_reaches_names_the_nearest_which_one_does(tmp_path: Path) -> None:
    finish = estimated(tmp_path, TO_EFS, *BY, "2m")["finish"]
    assert finish["functions"] == 0 and "no plan ends by" in finish["why"]
    assert estimated(tmp_path, TO_EFS, *BY, finish["nearest"])["finish"]["functions"]
    assert f"the nearest is limits.finish_by='{finish['nearest']}'" in run(tmp_path, TO_EFS, *BY, "2m").output


def test_a_throughput_mode_is_told_only_of_mounts_of_the_run(tmp_path: Path) -> None:
    inside_s3 = {"source": "s3://my-data/in/", "destination": "s3://other/in/"}
    assert estimated(tmp_path, inside_s3, *BY, "4h")["finish"]["other_modes"] == []
    (mode,) = estimated(tmp_path, TO_EFS, *BY, "4h")["finish"]["other_modes"]
    assert mode["throughput_mode"] == "bursting" and "no run changes it" in mode["sentence"]


def test_by_writes_its_page(tmp_path: Path) -> None:
    page = tmp_path / "plans.html"
    assert run(tmp_path, TO_EFS, *BY, "4h", "--html", str(page)).exit_code == 0
    html = page.read_text(encoding="utf-8")
    assert 'id="curve"' in html and "s3://my-data/in/" in html and "taken" in html


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*BY, "soon"), "--by: 'soon' says no time"),
        ((*BY, "06:00 Nowhere"), "--by: 'Nowhere' is not a known time zone"),
        ((*BY, "2020-01-01T00:00:00Z"), "--by: '2020-01-01T00:00:00Z' had passed"),
        ((*BY[:-1], "--html", "plans.html"), "--html: shows the plans that end by a time; say by when with --by"),
        ((*BY, "4h", "--html", "nowhere/plans.html"), "--html: nowhere/plans.html cannot be written"),
    ],
)
def test_what_by_cannot_do_is_refused_by_name(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    found = run(tmp_path, TO_EFS, *arguments)
    assert found.exit_code == 2 and said in " ".join(found.output.split())
