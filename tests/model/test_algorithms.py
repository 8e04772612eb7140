"""The checksums that S3 keeps: the table against its model, and each algorithm against another that computes it."""

from __future__ import annotations

import base64

import pytest
from botocore import httpchecksum

from fanout.model.checksum import ALGORITHMS, CRC64NVME, RunningSums, in_common, told_by
from tests.facts.models import model

CLIENTS = vars(httpchecksum)["_CHECKSUM_CLS"]
BODY = b"123456789" * 1000
# Checksums of b"123456789" that the algorithms' own documents give, where botocore computes none.
CHECKED = {"MD5": "25f9e794323b453885f5181f1b624d0b"}


def of_whole(name: str, body: bytes) -> str:
    sums = RunningSums([name])
    for at in range(0, len(body), 997):
        sums.update(body[at : at + 997])
    return sums.whole()[name]


def test_the_table_is_the_models() -> None:
    head = model("s3").operation_model("HeadObject").output_shape
    assert head is not None
    headers = {one.serialization["name"] for name, one in head.members.items() if name.startswith("Checksum")}
    assert headers == {f"x-amz-checksum-{name.lower()}" for name in ALGORITHMS} | {"x-amz-checksum-type"}
    known = model("s3").shape_for("ChecksumAlgorithm")
    assert set(known.enum) == set(ALGORITHMS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_each_is_computed_as_the_client_of_aws_computes_it(name: str) -> None:
    if name.lower() in CLIENTS:
        known = CLIENTS[name.lower()]()
        known.update(BODY)
        assert of_whole(name, BODY) == known.b64digest()
    else:
        assert base64.b64decode(of_whole(name, b"123456789")).hex() == CHECKED[name]


def test_one_that_the_other_end_tells_is_computed_beside_crc64nvme() -> None:
    assert set(RunningSums().whole()) == {CRC64NVME}
    assert set(RunningSums(["CRC32", "SHA256"]).whole()) == {CRC64NVME, "SHA256"}
    assert set(RunningSums(["LATER"]).whole()) == {CRC64NVME}
    assert in_common(["CRC32", "SHA256", "SHA1"], ["CRC32", "SHA256"]) == ["SHA256", "CRC32"]


SHA = of_whole("SHA256", b"x")
CRC = of_whole(CRC64NVME, b"x")


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({"x-amz-checksum-sha256": SHA, "x-amz-checksum-type": "FULL_OBJECT"}, {"SHA256": SHA}),
        ({"x-amz-checksum-sha256": SHA, "x-amz-checksum-type": "COMPOSITE"}, {}),
        ({"x-amz-checksum-sha256": SHA}, {}),
        ({"x-amz-checksum-sha256": f"{SHA}-2", "x-amz-checksum-type": "FULL_OBJECT"}, {}),
        ({"x-amz-checksum-sha256": CRC, "x-amz-checksum-type": "FULL_OBJECT"}, {}),
        ({"x-amz-checksum-sha256": "", "x-amz-checksum-type": "FULL_OBJECT"}, {}),
        ({"x-amz-checksum-later": SHA, "x-amz-checksum-type": "FULL_OBJECT"}, {}),
        ({"x-amz-checksum-crc64nvme": CRC}, {CRC64NVME: CRC}),
        ({"x-amz-checksum-crc64nvme": CRC, "x-amz-checksum-type": "COMPOSITE"}, {}),
        ({"x-amz-checksum-crc64nvme": f"{CRC}-2"}, {}),
    ],
)
def test_only_a_checksum_of_the_whole_object_counts(headers: dict[str, str], told: dict[str, str]) -> None:
    assert told_by(headers) == told
