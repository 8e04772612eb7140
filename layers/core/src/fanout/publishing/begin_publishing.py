"""The part of CheckMount for a run that publishes: whose versions these are, and which one is published now."""

from __future__ import annotations

from msgspec import MsgspecError, json
from msgspec.structs import replace

from fanout.books.summary_document import PUBLISHED
from fanout.copying.linking import VERSION_BEFORE, VersionBefore
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import START_AGAIN
from fanout.listing.index.earlier_index import note_version_before
from fanout.model.books import Count
from fanout.model.errors import InvalidRequest, ItemError
from fanout.model.location import Location
from fanout.ports.tree import ReadTree
from fanout.ports.versions import Versions
from fanout.publishing.kept_versions import VersionNote, newest_first
from fanout.request.course import Mode
from fanout.request.parts.publish import PUBLISHER, VERSIONS, Publish, Publisher
from fanout.request.plan import Plan
from fanout.work.context import Context


def check_versions(plan: Plan, context: Context) -> None:
    """Refuse, before anything is made, a version that is there and should not be, or should be and is not.

    Raises ``InvalidRequest``.
    """
    versions = _versions(plan, context)
    if versions is None or not plan.request.course.writes:
        return
    held = versions.held()
    if plan.request.course.goes_back:
        if plan.version not in versions.noted():
            raise version_is_gone(plan)
    elif plan.version in versions.noted() and (not plan.resumes or _was_published(plan, versions, context)):
        field = "resume_from" if plan.resumes else "run_id"
        raise InvalidRequest(field, f"a version {plan.version} is published already", "start it under another name")
    elif plan.resumes and held is None and _first_of(plan, context.ledger) is not None:
        problem = f"the version that {plan.version} began was removed when a later run published"
        raise InvalidRequest("resume_from", problem, START_AGAIN)
    elif not plan.resumes and held:
        problem = f"{plan.destination} is there already, and holds something"
        raise InvalidRequest("run_id", problem, "start it under another name, or remove that directory")


def keep_versions(plan: Plan, context: Context) -> None:
    """Refuse a run that would change a version, or delete the versions of a published tree. Raises ``InvalidRequest``.

    | an end                          | that lies in a version | that holds a published tree            |
    |---------------------------------|------------------------|----------------------------------------|
    | the destination, but to publish | refused                | refused to a sync, which deletes there |
    | the source of a move            | refused                | refused                                |
    | ``backup_to`` (its own check)   | refused                | kept outside it                        |
    """
    request = plan.request
    if not request.course.copies:
        return
    if not plan.version:
        tree = context.seen_destination(plan)
        _keep_versions("destination", request.destination, tree, request.mode, deletes=request.course.deletes_extras)
    if request.course.deletes_proven:
        _keep_versions("source", request.source, context.seen_source(plan), request.mode, deletes=True)


def _keep_versions(field: str, end: Location, tree: ReadTree | None, mode: Mode, *, deletes: bool) -> None:
    if tree is None or tree.file_system is None:
        return
    try:
        above, held = tree.file_system.published_above(), tree.find(f"{VERSIONS}/{PUBLISHER}") if deletes else None
    except ItemError:  # the end is none: the check of the ends, which follows, says what is wrong with it
        return
    if above is not None:
        does = "deletes" if deletes else "writes"
        problem = f"{end} lies in the versions of the published tree /{above}: a {mode.value} {does} there"
        raise InvalidRequest(field, problem, f"publish, or name another {field}")
    if held is not None:
        problem = f"{end} holds a published tree: a {mode.value} deletes its {VERSIONS}/ and its link"
        raise InvalidRequest(field, problem, f"publish, or name another {field}")


def _was_published(plan: Plan, versions: Versions, context: Context) -> bool:
    """Whether the link was switched to the version that is resumed; its note is older than that by a moment."""
    runs = [context.ledger.of_run(run_id) for run_id in plan.resumes]
    return versions.published() == plan.version or any(ledger.has(PUBLISHED) for ledger in runs)


def version_is_gone(plan: Plan) -> InvalidRequest:
    """A rollback names a version that is not there."""
    problem = f"{plan.request.source} is no version that was ever published, or it was removed"
    return InvalidRequest("source", problem, "fanout versions lists those that are there")


def begin_publishing(plan: Plan, context: Context) -> None:
    """Note the version that is published now, and what of it is linked. Raises ``InvalidRequest``."""
    versions, publish, ledger = _versions(plan, context), plan.request.publish, context.ledger
    if versions is None or publish is None:
        return
    if plan.request.course.copies:
        versions.begin()
    named = versions.published()
    before = VersionBefore(named, _others(plan, versions), named)
    if plan.request.course.writes:
        _claim(plan, publish, versions)
    first = _first_of(plan, ledger)
    if first is not None:  # what that run linked, it linked from that one's
        before = replace(before, version=first.version)
    if not plan.request.course.goes_back:
        note_version_before(plan, before.version, ledger)
    ledger.write(VERSION_BEFORE, before)


def _first_of(plan: Plan, ledger: Ledger) -> VersionBefore | None:
    """The note of the first of the resumed runs whose version began; ``None`` if each ended before that."""
    found = (ledger.of_run(run_id).find(VERSION_BEFORE) for run_id in reversed(plan.resumes))
    return next((one for one in found if one is not None), None)


def notes_of(versions: Versions) -> dict[str, VersionNote]:
    """The notes of versions; one that cannot be read counts as old as can be."""
    found: dict[str, VersionNote] = {}
    for version, data in versions.noted().items():
        try:
            found[version] = note = json.decode(data, type=VersionNote)
            json.encode(note)  # a rollback writes it again
        except (MsgspecError, OverflowError):
            found[version] = VersionNote(version, version, 0.0, "", Count())
    return found


def _others(plan: Plan, versions: Versions) -> tuple[str, ...]:
    """The runs that may have linked files of the published version: those under way first, then the newest."""
    if plan.request.course.goes_back:
        return ()
    published = [note.version for note in newest_first(notes_of(versions).values())]
    return (*plan.resumes, *versions.unfinished(), *published)


def _versions(plan: Plan, context: Context) -> Versions | None:
    publish = plan.request.publish
    files = context.destination_files(plan) if publish is not None else None
    return None if files is None or publish is None else files.versions(publish.link)


def _claim(plan: Plan, publish: Publish, versions: Versions) -> None:
    """Only one link and one source: others would link what is not theirs, and remove each other's versions."""
    request = plan.request
    mine = Publisher(publish.link, str(request.source))
    try:
        found = json.decode(versions.claim(json.encode(mine)), type=Publisher)
    except MsgspecError as error:
        problem = f"versions/.publisher in {request.destination} cannot be read ({error})"
        raise InvalidRequest(
            "destination", problem, "remove it, if these versions are published from one source"
        ) from error
    if found.link != mine.link:
        problem = f"the versions of {request.destination} are published as {found.link!r}"
        raise InvalidRequest("publish.link", problem, "name that link, or another destination")
    if not request.course.goes_back and found.source != mine.source:
        problem = f"the versions of {request.destination} are published from {found.source}"
        remedy = "name another destination; if the source has moved, remove versions/.publisher there"
        raise InvalidRequest("source", problem, remedy)
