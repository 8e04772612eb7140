"""PublishVersion: switches the link to a version that is whole, then removes versions that are not kept."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import json
from msgspec.structs import replace

from fanout.books.ending import Ending
from fanout.books.run_books import RunBooks, run_books
from fanout.books.summary_document import PUBLISHED, Published, Status
from fanout.books.verification_results import verification_of
from fanout.copying.linking import SEALED, VERSION_BEFORE, Sealed
from fanout.finishing.unset_directories import directories_failed
from fanout.ledger import keys, run_places
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import INFRASTRUCTURE, AccessDenied, InvalidRequest, RunError, Superseded, Transient
from fanout.model.outcome import Result
from fanout.ports.versions import Versions
from fanout.publishing.begin_publishing import notes_of, version_is_gone
from fanout.publishing.kept_versions import (
    VERSIONS_OF,
    PublishedTree,
    VersionNote,
    newest_first,
    noted_next,
    versions_to_go,
)
from fanout.publishing.look_at_version import look_at_version, runs_of
from fanout.publishing.version_directories import note_directories, note_missing
from fanout.request.parts.publish import Publish
from fanout.request.plan import Plan
from fanout.shards.finished_tree import was_finished
from fanout.turns.withdrawal import has_left, withdraw
from fanout.work.context import Context

# Chosen: more than this many runs do not end between two looks.
_SHOWN_AT_MOST = 5
# Chosen: directories of others that the note names.
_NAMED = 5


def publish_version(context: Context, *, broken: bool = False) -> Json:
    """Switch the link if the version is whole, remove versions that are not kept, then give up the right to write.

    This is a run's last change to the destination. A run that is ``broken``, or that has failures, only gives up the
    right to write. Returns ``done``; raises ``Superseded``.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    if broken or has_left(ledger):
        withdraw(plan, context)
        return {"done": True}
    try:
        done = _publish(plan, context)
    except InvalidRequest as error:  # somebody changed what CheckMount saw
        ledger.note(keys.PUBLISH, [str(error)])
        done = True
    except Superseded:
        if not has_left(ledger):  # by another attempt at the same time
            raise
        return {"done": True}
    if done:
        withdraw(plan, context)
    return {"done": done}


def _publish(plan: Plan, context: Context) -> bool:
    publish, files, ledger = plan.request.publish, context.destination_files(plan), context.ledger
    assert publish is not None and files is not None  # the plan was refused otherwise
    versions = files.versions(publish.link)
    published = ledger.find(PUBLISHED)
    if published is None:
        context = context.within(plan)
        context.begin(keys.PUBLISH)
        published = _switched(plan, versions, context)
        if published is None:
            return True
        ledger.write(PUBLISHED, published)
    try:
        done = _remove_old(plan, publish, published, versions, context)
    except (
        AccessDenied,
        InvalidRequest,
        Transient,
    ) as error:  # the link is switched; the next run removes what is left
        ledger.note(keys.PUBLISH, [f"old versions could not be removed: {error}"[:500]])
        done = True
    if done:
        _seal(plan, context)
        _look(plan, versions, context)
        try:
            _show(plan, publish, versions, ledger)
        except InvalidRequest as error:  # somebody put something else in the place of the link since
            ledger.note(keys.PUBLISH, [str(error)[:500]])
    return done


def _remove_old(plan: Plan, publish: Publish, published: Published, versions: Versions, context: Context) -> bool:
    """Take away the versions that are not kept and remove them; false where the time is up."""
    ledger = context.ledger
    if not plan.request.course.goes_back:
        notes = notes_of(versions)
        going = versions_to_go(notes, versions.unfinished(), plan.version, publish, context.clock.now())
        removed = [version for version in going if version not in published.removed]
        note_missing(removed, notes, versions, ledger)
        for version in removed:
            versions.retire(version)
        ledger.write(PUBLISHED, replace(published, removed=[*published.removed, *removed]))
    removal = versions.remove_retired(context.deadline())
    if removal.left:
        ledger.note("retired", [_said_of_left(removal.left)])
    return removal.done


def _said_of_left(left: Sequence[str]) -> str:
    some = ", ".join(left[:_NAMED]) + (f" and {len(left) - _NAMED:,} more" if len(left) > _NAMED else "")
    return (
        f"old versions hold directories that no run made, which were left with what they hold: {some}; move them to"
        " where they belong, or remove them: the next run that publishes removes the rest"
    )


def _switched(plan: Plan, versions: Versions, context: Context) -> Published | None:
    """The version that was published; ``None`` where an entry is not as it should be, and the link stays."""
    ledger, found_before = context.ledger, context.ledger.read(VERSION_BEFORE)
    version, publish, before = plan.version, plan.request.publish, found_before.version
    assert publish is not None
    if plan.request.course.goes_back:
        notes = notes_of(versions)
        if version not in notes:  # a function of a run that was stopped removed it, before it was fenced
            raise version_is_gone(plan)
        if before != version:
            _switch(replace(notes[version], published_at=context.clock.now()), versions, found_before.named)
        else:
            versions.switch()
        return Published(version, before, publish.link, context.clock.now(), Count())
    found = books_if_whole(plan, ledger)
    if found is None:
        return None
    held = found.books.by_result[Result.COPIED] + found.books.by_result[Result.UNCHANGED]
    linked = Count() if plan.resumes else found.books.by_result[Result.UNCHANGED]
    own = None if plan.resumes else found.books.by_result[Result.COPIED]
    note_directories(plan, versions, ledger)
    # Where the link cannot be switched, the version is not noted as published either.
    note = VersionNote(version, plan.run_id, context.clock.now(), str(plan.request.source), held, own)
    _switch(note, versions, found_before.named)
    return Published(version, before, publish.link, note.published_at, linked)


def _switch(note: VersionNote, versions: Versions, named_before: str) -> None:
    """Note a version and switch to it. The note has all that the link named until then, as far as the run saw it."""
    named = {named_before, versions.published()}
    versions.note(json.encode(noted_next(note, notes_of(versions), named)))
    replaced = versions.switch()
    if replaced not in {*named, note.version}:  # somebody switched the link by hand since
        versions.note(json.encode(noted_next(note, notes_of(versions), [replaced])))


def _look(plan: Plan, versions: Versions, context: Context) -> None:
    """Note how the version of a rollback differs from what its runs recorded."""
    if not plan.request.course.goes_back:
        return
    ledger = context.ledger
    try:
        runs = runs_of(plan.version, notes_of(versions), ledger)
        said = look_at_version(runs, versions, ledger, context.deadline())
    except (AccessDenied, InvalidRequest, Transient) as error:  # the link is switched all the same
        said = f"nobody looked whether this version is as its run recorded it: {error}"[:500]
    ledger.note("version", [said])


def _seal(plan: Plan, context: Context) -> None:
    """Note the file system's time: what has a later ctime was touched by none of this run's functions.

    Links and removals move the ctimes of files that versions share; a run's last removal lies before it.
    """
    if plan.request.course.goes_back:
        return
    try:
        at_ns, _ = context.destination(plan).clock_ns()
    except Transient as error:  # the next run copies what this one copied
        context.ledger.note("seal", [f"the next run links nothing that this one copied: {error}"[:500]])
        return
    context.ledger.write(SEALED, Sealed(at_ns))


def books_if_whole(plan: Plan, ledger: Ledger) -> RunBooks | None:
    """The books of a run that has neither failures nor differences; else ``None``."""
    failures: list[Outcome] = []
    if not was_finished(plan, ledger):
        return None
    found = run_books(ledger, None, lambda outcome, phase: failures.append(outcome), "copy")
    verification = verification_of(plan, ledger, found, None)
    differences = verification.verified.differences + len(verification.failures) if verification else 0
    count = len(failures) + len(directories_failed(ledger)) + differences
    ending = Ending(found.books, found.complete, count)
    return found if ending.status is Status.SUCCEEDED else None


def _show(plan: Plan, publish: Publish, versions: Versions, ledger: Ledger) -> None:
    """Write for people which versions there are, in the place of the tree.

    Looked at again afterwards: this function may wake up late, and overwrite what a later run wrote.
    """
    destination = str(plan.request.destination)
    shown: PublishedTree | None = None
    for _ in range(_SHOWN_AT_MOST):
        now = PublishedTree(destination, publish.link, versions.published(), newest_first(notes_of(versions).values()))
        if now == shown:
            return
        ledger.of_run(run_places.VERSIONS).write(VERSIONS_OF.at(run_places.name_of(destination)), now)
        shown = now


def not_published(plan: Plan, published: Published | None, ledger: Ledger) -> RunError | None:
    """The error, with the reason that the run noted; ``None`` if it published, or was not to."""
    if published is not None or not (plan.request.course.writes and plan.version):
        return None
    notes = ledger.find(keys.note_key(keys.PUBLISH))
    why = "; ".join(notes.notes) if notes else "PublishVersion did not end"
    return RunError(INFRASTRUCTURE, f"{plan.destination} was not published: {why}; then retry the run")
