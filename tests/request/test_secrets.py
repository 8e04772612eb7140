"""What of a request is handed to nobody else."""

from __future__ import annotations

import re

from fanout.request.fields.checked import fields_of
from fanout.request.parse import Fields
from fanout.request.secrets import secret_fields, without_secrets

_TELLING = re.compile("secret|token|password|credential|external|passphrase|access_key")


def test_the_fields_that_somebody_may_act_by_are_left_out_and_all_others_stay() -> None:
    assert secret_fields() == {"source_bucket.external_id", "destination_bucket.external_id"}
    request = {"source_bucket": {"role": "r", "external_id": "e"}, "external_id": "x", "include": ["a"], "limits": None}
    assert without_secrets(request) == {**request, "source_bucket": {"role": "r"}}
    assert [without_secrets(one) for one in ("text", None, [{"external_id": 1}])] == [
        "text",
        None,
        [{"external_id": 1}],
    ]


def test_a_field_that_sounds_like_a_secret_is_one() -> None:
    assert {field.path for field in fields_of(Fields) if _TELLING.search(field.path)} == secret_fields()
