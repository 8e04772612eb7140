"""Where to cut a range of keys: at common prefixes, and between keys where there are too many to see."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from fanout.adapters.cuts.cuts import Contents, Level, Mark, Survey
from fanout.adapters.cuts.key_ranges import Page, marks_of_keys
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.client.object_page import ObjectPage
from fanout.facts import tuning
from fanout.model.segment import Segment


def start_bound(path: str) -> str:
    """A bound as S3 can take it, at most a little before the one that is meant.

    A bound may hold bytes that no key has: of a name elsewhere, or 0xFF after a whole subtree,
    which is written as the last character of Unicode.
    """
    raw = os.fsencode(path)
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        after_all = "\U0010ffff" if raw[exc.start] == 0xFF else ""
        return raw[: exc.start].decode() + after_all


def cuts_of_keys(client: S3Client, bucket: str, root: str, segment: Segment, ways: int) -> list[str]:
    """See ``ReadTree.cuts``: as far as ``tuning.CUT_PROBES`` requests go, many at a time."""
    survey = Survey(segment, ways)
    with ThreadPoolExecutor(tuning.CUT_PROBES_AT_ONCE, thread_name_prefix="probe") as threads:
        finder = _Finder(client, bucket, root, segment, threads)
        while together := survey.next(max(0, min(tuning.CUT_PROBES_AT_ONCE, tuning.CUT_PROBES - finder.requests))):
            for level, contents in zip(together, finder.look_into(together, ways), strict=True):
                survey.add(level, contents)
    return survey.cuts()


class _Finder:
    """Looks into prefixes; one that more than a page does not hold is probed as a range of keys."""

    def __init__(self, client: S3Client, bucket: str, root: str, segment: Segment, threads: ThreadPoolExecutor) -> None:
        self._client, self._bucket, self._root = client, bucket, root
        self._until = segment.until
        self._threads = threads
        self.requests = 0

    def look_into(self, levels: Sequence[Level], ways: int) -> Iterator[Contents]:
        """Yields the contents of each level; levels of more than a page share the remaining requests."""
        self.requests += len(levels)
        pages = list(self._threads.map(lambda one: self._page(one.directory, one.after, delimiter="/"), levels))
        large = sum(page.truncated for page in pages)
        for level, page in zip(levels, pages, strict=True):
            if page.truncated:
                yield Contents(self._marks(level, page, ways, (tuning.CUT_PROBES - self.requests) // large))
                large -= 1
            else:
                yield self._contents(level, page)

    def _contents(self, level: Level, page: ObjectPage) -> Contents:
        end = os.fsencode(self._until)
        directories = [prefix[len(self._root) :] for prefix in page.common_prefixes]
        first = os.fsencode(level.after)
        inside = [one for one in directories if one.encode() > first and not (end and one.encode() > end)]
        keys, _ = self._inside(page)
        return Contents([Mark(key, 1.0) for key in keys if not key.endswith("/")], inside)

    def _marks(self, level: Level, page: ObjectPage, ways: int, probes: int) -> list[Mark]:
        own = self._root + level.directory  # an object of the directory itself tells nothing of its keys
        is_flat = not page.common_prefixes and page.keys[:1] not in ([], [own])

        def probe(paths: Sequence[str], count: int) -> list[Page]:
            self.requests += len(paths)
            return list(self._threads.map(lambda path: self._probe(level.directory, path, count=count), paths))

        return marks_of_keys(
            probe,
            start_bound(level.after or level.directory),
            start_bound(self._until if self._until.startswith(level.directory) else ""),
            ways=ways,
            probes=probes,
            first=self._inside(page) if is_flat else None,
        )

    def _probe(self, directory: str, after: str, *, count: int) -> Page:
        return self._inside(self._page(directory, after, keys=count))

    def _inside(self, page: ObjectPage) -> Page:
        """The keys of a page that do not lie after the segment."""
        end = os.fsencode(self._until)
        found = [key[len(self._root) :] for key in page.keys]
        inside = [path for path in found if not end or path.encode() <= end]
        return inside, page.truncated and len(inside) == len(found)

    def _page(self, directory: str, after: str, *, delimiter: str = "", keys: int = 1000) -> ObjectPage:
        return self._client.list_objects_v2(
            self._bucket,
            prefix=self._root + start_bound(directory),
            start_after=self._root + start_bound(after) if after else "",
            delimiter=delimiter,
            max_keys=keys,
        )
