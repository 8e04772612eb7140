"""Objects copied inside S3: no byte passes through this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import reduce

from fanout.adapters.http.transport import Response
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.faults import DECRYPT
from fanout.adapters.s3.client.responses import Part
from fanout.adapters.s3.conditions import Condition, Written, find_written
from fanout.adapters.s3.metadata import carried_headers, redirect_header, tagging_header
from fanout.adapters.s3.place import ObjectPlace
from fanout.adapters.s3.source import REFUSED_FOR, item_error, stored_checksum
from fanout.adapters.s3.target import complete_upload
from fanout.facts import aws, tuning, units
from fanout.model.checksum import NO_BYTES, combine, from_base64, to_base64
from fanout.model.deadline import Deadline
from fanout.model.entry import Entry
from fanout.model.errors import (
    AccessDenied,
    FanoutError,
    Held,
    ItemError,
    NotFound,
    PreconditionFailed,
    TimeUp,
)
from fanout.model.location import S3Location
from fanout.model.outcome import Reason
from fanout.request.object_options import TAGS, USER_PREFIX
from fanout.request.options import Overwrite

_NO_HEADERS: Mapping[str, str] = {}
_KEY = "x-amz-server-side-encryption-aws-kms-key-id"


def part_ranges(size: int, least_part_bytes: int = tuning.COPY_PART_BYTES) -> list[tuple[int, int]]:
    """The first and last byte of each part: at most 10,000 of them, of whole MiB but the last."""
    mebibytes = -(-size // (aws.MULTIPART_PARTS * units.MIB))
    step = max(least_part_bytes, mebibytes * units.MIB)
    return [(first, min(first + step, size) - 1) for first in range(0, size, step)]


class S3EntryCopier:
    """An ``EntryCopier`` between two prefixes.

    It copies metadata, the website redirect and tags. Values of ``write_headers`` and ``tags`` override them; ``tags``
    cost one more request an object. Storage class, encryption and ACL come from ``write_headers``, or else from the
    destination bucket's defaults. An object of up to ``whole_bytes`` takes a HEAD and one CopyObject. A bigger one is
    an upload of ranges of the source, several in flight. Each request is pinned to the listed ETag.
    """

    def __init__(
        self,
        client: S3Client,
        source: S3Location,
        destination: S3Location,
        write_headers: Mapping[str, str] = _NO_HEADERS,
        *,
        tags: Mapping[str, str] = _NO_HEADERS,
        whole_bytes: int = tuning.COPY_WHOLE_BYTES,
        part_bytes: int = tuning.COPY_PART_BYTES,
        overwrite: Overwrite = Overwrite.ALWAYS,
    ) -> None:
        self._client = client
        self._source, self._destination = source, destination
        self._write_headers = write_headers
        self._adds_metadata = any(name.startswith(USER_PREFIX) for name in write_headers)
        self._added_tags = tags
        self._overwrite = overwrite
        self._whole_bytes, self._part_bytes = whole_bytes, part_bytes
        # Starts a thread only for a part that waits, and ends them with this object.
        self._pool = ThreadPoolExecutor(tuning.COPY_PARTS_IN_FLIGHT, thread_name_prefix="part")

    def copy(self, entry: Entry, deadline: Deadline) -> str | None:
        if entry.size > self._whole_bytes:
            return self._copy_parts(entry, deadline)
        there, here = self._target_of(entry), self._source_of(entry)
        condition = Condition.of(entry, self._overwrite)
        headers = {**self._copy_headers(entry), **condition.headers}
        with self._pinned(entry), self._whose_denial(entry):
            try:
                copied = self._client.copy_object(
                    there.bucket, there.key, here.bucket, here.key, headers, source_if_match=entry.etag
                )
            except (NotFound, PreconditionFailed) as error:
                if not condition.refused(error):
                    raise
                return self._copied_before(entry, error, deadline)
        return copied.crc64nvme or self._checksum_of_copy(entry)

    def _copy_headers(self, entry: Entry) -> Mapping[str, str]:
        """The headers of one CopyObject. S3 takes all metadata, and all tags, from either the source or the request.

        No listing shows a website redirect, and S3 copies only one that the request names: hence a HEAD for each.
        """
        found = self._head(entry).headers
        headers = {**redirect_header(found), **self._write_headers}
        if self._adds_metadata:
            headers = {**carried_headers(found), **headers, "x-amz-metadata-directive": "REPLACE"}
        if self._added_tags:
            headers = {**headers, **self._tags(entry), "x-amz-tagging-directive": "REPLACE"}
        return headers

    def _copied_before(self, entry: Entry, refusal: FanoutError, deadline: Deadline) -> str | None:
        """The checksum of a copy that is there already; raises ``ItemError`` where it was the source that changed."""
        source = self._head(entry)
        checksum = stored_checksum(source.headers)
        if checksum is None:
            checksum = self._checksum_of_source(entry, deadline)
        written = Written(entry.size, checksum, {**source.headers, **self._write_headers}, entry.etag)
        condition = Condition.of(entry, self._overwrite)
        there = find_written(self._target_of(entry), written, refusal, condition)
        found = stored_checksum(there.headers)
        return None if found is None else to_base64(found)

    def _checksum_of_source(self, entry: Entry, deadline: Deadline) -> int | None:
        """S3's own of a source that keeps none: of parts copied to an upload that is given up."""
        there, ranges = self._target_of(entry), part_ranges(entry.size, self._part_bytes)
        upload_id = self._client.create_multipart_upload(there.bucket, there.key, self._write_headers)
        try:
            return _whole_checksum({}, self._copy_ranges(entry, upload_id, ranges, deadline), ranges)
        finally:
            there.give_up(upload_id)

    def _copy_parts(self, entry: Entry, deadline: Deadline) -> str | None:
        found = self._head(entry)
        headers = {**carried_headers(found.headers), **self._write_headers, **self._tags(entry)}
        there = self._target_of(entry)
        upload_id = self._client.create_multipart_upload(there.bucket, there.key, headers)
        try:
            ranges = part_ranges(entry.size, self._part_bytes)
            parts = self._copy_ranges(entry, upload_id, ranges, deadline)
            whole = _whole_checksum(found.headers, parts, ranges)
            written = Written(entry.size, whole, headers)
            condition = Condition.of(entry, self._overwrite)
            copied = complete_upload(there, upload_id, parts, written, condition)
        except BaseException:
            there.give_up(upload_id)
            raise
        return copied.crc64nvme or self._checksum_of_copy(entry)

    def _copy_ranges(
        self, entry: Entry, upload_id: str, ranges: list[tuple[int, int]], deadline: Deadline
    ) -> list[Part]:
        there, here = self._target_of(entry), self._source_of(entry)

        def copy_range(number: int, byte_range: tuple[int, int]) -> Part:
            if deadline.passed:
                raise TimeUp
            with self._pinned(entry), self._whose_denial(entry):
                return self._client.upload_part_copy(
                    there.bucket,
                    there.key,
                    upload_id,
                    number,
                    here.bucket,
                    here.key,
                    byte_range=byte_range,
                    source_if_match=entry.etag,
                )

        futures = [self._pool.submit(copy_range, number, one) for number, one in enumerate(ranges, start=1)]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            _raise_first(done)
        finally:
            # No part may still be on its way when the upload is completed or aborted.
            for future in futures:
                future.cancel()
            wait(futures)
        return [future.result() for future in futures]

    @contextmanager
    def _pinned(self, entry: Entry) -> Iterator[None]:
        """Tell a source that is no longer what was listed from a request that failed."""
        name = self._source_of(entry)
        try:
            yield
        except PreconditionFailed as exc:
            raise ItemError(Reason.SOURCE_CHANGED, f"{name} was written after it was listed") from exc
        except Held as exc:
            raise ItemError(REFUSED_FOR[Held], str(exc)) from exc
        except NotFound as exc:
            if exc.code == "NoSuchUpload":
                raise
            raise ItemError(Reason.SOURCE_VANISHED, f"{name} is no longer there") from exc

    @contextmanager
    def _whose_denial(self, entry: Entry) -> Iterator[None]:
        """Tell a source that may not be read from a destination that may not be written: one copy asks for both.

        A source can also be one whose key may not be used; the copy of parts uses the destination's to read too.
        """
        try:
            yield
        except Held:
            raise
        except AccessDenied as denied:
            found = self._head(entry)
            self._tags(entry)
            if denied.denied == (DECRYPT, found.headers.get(_KEY)):
                raise item_error(self._source_of(entry), denied) from denied
            raise

    @contextmanager
    def _reading(self, entry: Entry) -> Iterator[None]:
        """As ``_pinned``, for requests that the source alone can deny."""
        try:
            with self._pinned(entry):
                yield
        except AccessDenied as denied:
            raise item_error(self._source_of(entry), denied) from denied

    def _head(self, entry: Entry) -> Response:
        with self._reading(entry):
            return self._source_of(entry).head(if_match=entry.etag)

    def _tags(self, entry: Entry) -> dict[str, str]:
        here = self._source_of(entry)
        with self._reading(entry):
            own = self._client.get_object_tagging(here.bucket, here.key)
        tags = {**own, **self._added_tags}
        if len(tags) > TAGS:
            message = f"it would have {len(tags)} tags, {len(own)} of them the source's, and S3 allows {TAGS}"
            raise ItemError(Reason.DESTINATION_DENIED, message)
        return tagging_header(tags)

    def _checksum_of_copy(self, entry: Entry) -> str | None:
        found = self._target_of(entry).head().headers
        return found.get("x-amz-checksum-crc64nvme") if _is_of_whole(found) else None

    def _source_of(self, entry: Entry) -> ObjectPlace:
        return ObjectPlace(self._client, self._source.bucket, self._source.prefix + entry.path)

    def _target_of(self, entry: Entry) -> ObjectPlace:
        return ObjectPlace(self._client, self._destination.bucket, self._destination.prefix + entry.path)


def _raise_first(done: set[Future[Part]]) -> None:
    """The error to report: what is wrong with the entry before what is wrong with a request."""
    errors = [error for future in done if (error := future.exception()) is not None]
    if errors:
        raise next((error for error in errors if isinstance(error, ItemError)), errors[0])


def _whole_checksum(source: Mapping[str, str], parts: list[Part], ranges: list[tuple[int, int]]) -> int | None:
    """The source's own checksum, else that of its parts joined; ``None`` if S3 gives neither."""
    stored = source.get("x-amz-checksum-crc64nvme")
    if stored and _is_of_whole(source):
        return from_base64(stored)
    if not all(part.crc64nvme for part in parts):
        return None
    lengths = [last - first + 1 for first, last in ranges]
    pairs = [(from_base64(part.crc64nvme), length) for part, length in zip(parts, lengths, strict=True)]
    return reduce(lambda crc, tail: combine(crc, *tail), pairs, NO_BYTES)


def _is_of_whole(headers: Mapping[str, str]) -> bool:
    return headers.get("x-amz-checksum-type", "FULL_OBJECT") == "FULL_OBJECT"
