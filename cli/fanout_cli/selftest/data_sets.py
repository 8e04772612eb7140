"""The data sets of a self-test in S3: made, thinned out, and removed. File contents follow from their number."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from fanout_cli.command_error import CommandError
from fanout_cli.selftest.cases import DELETED_EVERY, DIRECTORY_FILES, SelftestPlace
from fanout_cli.selftest.data_sizes import DataSizes

# As many connections as boto3 keeps for a client.
REQUESTS_IN_FLIGHT = 10
_SHIFT = 16 * 1024
_NAMES = ("plain", "with space", "ü-\u65e5\u672c", "plus+and%25")
Say = Callable[[str], None]


def content_of(number: int, size: int) -> bytes:
    """The bytes of a file: none like another's, and the same in every self-test."""
    return hashlib.shake_128(b"%d" % number).digest(size)


def name_of(number: int) -> str:
    """The name of a file below its data set, in directories of up to ``DIRECTORY_FILES``."""
    return f"d{number // DIRECTORY_FILES:04d}/{_NAMES[number % len(_NAMES)]} {number:07d}.bin"


class DataSets:
    """Data sets below the prefix of one self-test."""

    def __init__(self, s3: Any, place: SelftestPlace, sizes: DataSizes) -> None:
        self._s3, self._place, self._sizes = s3, place, sizes

    def make(self, name: str) -> None:
        """Make the data set ``files``, ``many`` or ``large``."""
        if name == "large":
            self._large()
        else:
            many = name == "many"
            count = self._sizes.many if many else self._sizes.files
            size = self._sizes.many_bytes if many else self._sizes.file_bytes
            in_parallel(range(count), lambda number: self._put(f"{name}/{name_of(number)}", content_of(number, size)))

    def mark(self, name: str) -> None:
        """Make the one object that stays until the removal's end."""
        self._put(f"mark/{name}", b"Made by fanout selftest, which removes it.\n")

    def drop_some(self, name: str) -> None:
        """Delete every ``DELETED_EVERY``-th object of a data set of files."""
        keys = [self._key(f"{name}/{name_of(number)}") for number in range(0, self._sizes.files, DELETED_EVERY)]
        delete_keys(self._s3, self._place.bucket, iter(keys))

    def _large(self) -> None:
        """An object of overlapping ranges of a seed, so that no part equals another."""
        sizes, bucket = self._sizes, self._place.bucket
        self._put("seed/seed.bin", content_of(0, sizes.seed_bytes))
        target = {"Bucket": bucket, "Key": self._key("large/large.bin")}
        upload = self._s3.create_multipart_upload(**target)["UploadId"]
        source = {"Bucket": bucket, "Key": self._key("seed/seed.bin")}
        window = sizes.seed_bytes - sizes.part_bytes

        def copy(number: int) -> dict[str, Any]:
            length = min(sizes.part_bytes, sizes.large_bytes - number * sizes.part_bytes)
            begin = number * _SHIFT % window
            answer = self._s3.upload_part_copy(
                **target,
                UploadId=upload,
                PartNumber=number + 1,
                CopySource=source,
                CopySourceRange=f"bytes={begin}-{begin + length - 1}",
            )
            return {"PartNumber": number + 1, "ETag": answer["CopyPartResult"]["ETag"]}

        parts = in_parallel(range(-(-sizes.large_bytes // sizes.part_bytes)), copy)
        self._s3.complete_multipart_upload(**target, UploadId=upload, MultipartUpload={"Parts": parts})

    def _put(self, name: str, body: bytes) -> None:
        self._s3.put_object(Bucket=self._place.bucket, Key=self._key(name), Body=body)

    def _key(self, name: str) -> str:
        return f"{self._place.name}/{name}"


def in_parallel(numbers: range, work: Callable[[int], Any]) -> list[Any]:
    """The results in order; after an error or Ctrl-C nothing that has not begun is begun."""
    pool = ThreadPoolExecutor(REQUESTS_IN_FLIGHT)
    try:
        return list(pool.map(work, numbers))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def remove_prefix(s3: Any, bucket: str, prefix: str) -> int:
    """Delete all objects below a prefix, and abort what is being uploaded there; returns how many objects."""
    uploads = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=prefix)
    for page in uploads:
        for upload in page.get("Uploads", []):
            s3.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return delete_keys(s3, bucket, (row["Key"] for page in pages for row in page.get("Contents", [])))


def delete_keys(s3: Any, bucket: str, keys: Iterator[str]) -> int:
    """Delete objects, a thousand a request. Raises ``CommandError`` that names one which could not be deleted."""
    count = 0
    while batch := list(islice(keys, 1000)):
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in batch], "Quiet": True})
        for error in answer.get("Errors", []):
            raise CommandError(f"s3://{bucket}/{error['Key']} cannot be deleted: {error['Code']}: {error['Message']}")
        count += len(batch)
    return count
