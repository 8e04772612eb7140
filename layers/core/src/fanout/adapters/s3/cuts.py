"""Where to cut a range of keys: at common prefixes, and between keys where there are too many to see."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from fanout.adapters.s3.client import S3Client
from fanout.adapters.s3.object_page import ObjectPage
from fanout.domain import limits
from fanout.domain.cuts import Level, Marks, levels
from fanout.domain.key_ranges import AT_ONCE, Page, marks_of_keys
from fanout.domain.segments import Segment


def start_bound(path: str) -> str:
    """A bound as S3 can take it, at most a little before the one that is meant.

    A bound may hold bytes that no key has: of a name elsewhere, or 0xFF after a whole subtree,
    for which the last character of Unicode stands.
    """
    raw = os.fsencode(path)
    try:
        return raw.decode()
    except UnicodeDecodeError as exc:
        after_all = "\U0010ffff" if raw[exc.start] == 0xFF else ""
        return raw[: exc.start].decode() + after_all


def cuts_of_keys(client: S3Client, bucket: str, root: str, segment: Segment, ways: int) -> list[str]:
    """See ``Tree.cuts``: the levels of the tree breadth first, as far as ``limits.CUT_PROBES`` requests go."""
    finder = _Finder(client, bucket, root, segment)
    waiting = deque(levels(segment))
    while waiting and finder.requests < limits.CUT_PROBES and len(finder.marks) < 2 * ways:
        waiting.extend(finder.look_into(waiting.popleft(), ways))
    return finder.marks.choose(ways)


class _Finder:
    """Collects marks; a level that more than a page does not hold is probed as a range of keys."""

    def __init__(self, client: S3Client, bucket: str, root: str, segment: Segment) -> None:
        self._client, self._bucket, self._root = client, bucket, root
        self._until = segment.until
        self.marks = Marks()
        self.requests = 0

    def look_into(self, level: Level, ways: int) -> list[Level]:
        """Mark the directories of a level, which are returned, or cut its keys."""
        page = self._page(level.directory, level.after, delimiter="/")
        self.marks.looked_into(level)
        if page.truncated:
            own = self._root + level.directory  # an object of the directory itself tells nothing of its keys
            is_flat = not page.common_prefixes and page.keys[:1] not in ([], [own])
            with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="probe") as probing:
                found = marks_of_keys(
                    lambda paths, count: list(
                        probing.map(lambda path: self._probe(level.directory, path, count=count), paths)
                    ),
                    start_bound(level.after or level.directory),
                    start_bound(self._until if self._until.startswith(level.directory) else ""),
                    ways=ways,
                    probes=limits.CUT_PROBES - self.requests,
                    first=self._inside(page) if is_flat else None,
                )
            self.marks.add(found)
            return []
        end = os.fsencode(self._until)
        directories = [prefix[len(self._root) :] for prefix in page.common_prefixes]
        first = os.fsencode(level.after)
        inside = [one for one in directories if one.encode() > first and not (end and one.encode() > end)]
        for one in inside:
            self.marks.add_directory(one)
        return [Level(one) for one in inside]

    def _probe(self, directory: str, after: str, *, count: int) -> Page:
        return self._inside(self._page(directory, after, keys=count))

    def _inside(self, page: ObjectPage) -> Page:
        """The keys of a page that do not lie after the segment."""
        end = os.fsencode(self._until)
        found = [key[len(self._root) :] for key in page.keys]
        inside = [path for path in found if not end or path.encode() <= end]
        return inside, page.truncated and len(inside) == len(found)

    def _page(self, directory: str, after: str, *, delimiter: str = "", keys: int = 1000) -> ObjectPage:
        self.requests += 1
        return self._client.list_objects_v2(
            self._bucket,
            prefix=self._root + start_bound(directory),
            start_after=self._root + start_bound(after) if after else "",
            delimiter=delimiter,
            max_keys=keys,
        )
