"""The notes of a summary."""

from __future__ import annotations

from fanout.finishing.unset_directories import unset_notes
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.outcome import Result
from fanout.shards.shard_results import unread_notes
from fanout.summary.let_go import let_go_notes
from fanout.summary.run_facts import RunFacts


def notes_of(facts: RunFacts, pace: Json) -> list[str]:
    """The notes of all tasks, then those of the summary itself; ``pace``: what the pacing could not do."""
    ledger = facts.ledger
    noted = [note for key in ledger.keys(keys.NOTES) for note in ledger.read(keys.note_key.at(key)).notes]
    own = unset_notes(facts.unset) + unread_notes(facts.books.sums) + _pacing_notes(pace)
    own += [facts.limits_problem] if facts.limits_problem else []
    return noted + own + let_go_notes(facts.plan, ledger, facts.deleted.results[Result.DELETED])


def _pacing_notes(pace: Json) -> list[str]:
    """Notes on errors of the pacing; they do not fail the run."""
    said = {
        "pacing": "the copying was not paced to its end",
        "copying": "the pacing was not notified that all was copied",
    }
    notes = {branch: found.get("note") for branch, found in pace.items()}
    return [f"{said[branch]}: {note[:500]}" for branch, note in notes.items() if note is not None]
