//! What functions do: each step of an attempt, whoever else is at work meanwhile.

use crate::protocol::{Action, Protocol};
use crate::scene::Mend;
use crate::state::*;

impl Protocol {
    pub(crate) fn work(&self, state: &mut State, action: &Action) -> Option<()> {
        match *action {
            Action::Begin { attempt, run, task, file } => self.begin(state, attempt, run, task, file),
            Action::Kill { attempt } => {
                state.attempts.get_mut(attempt)?.take()?;
                state.faults.kills += 1;
                Some(())
            }
            Action::Stage { attempt, end } => self.stage(state, attempt, end),
            Action::Fence { attempt, end, run } => self.fence(state, attempt, end, run),
            Action::MarkFenced { attempt } => self.mark_fenced(state, attempt),
            Action::Refuse { attempt } => self.refuse(state, attempt),
            Action::Read { attempt, file } => self.read(state, attempt, file),
            Action::Place { attempt, file, version } => self.place(state, attempt, file, version),
            Action::Look { attempt, end } => self.look(state, attempt, end),
            Action::LookAtEntry { attempt, file } => self.look_at_entry(state, attempt, file),
            Action::Keep { attempt, file } => self.keep(state, attempt, file),
            Action::Unlink { attempt, end, file } => self.unlink(state, attempt, end, file),
            Action::EndCopies { attempt } => self.end_copies(state, attempt),
            Action::Link { attempt, file } => self.link(state, attempt, file),
            Action::Switch { attempt, tree } => self.switch(state, attempt, tree),
            Action::Retire { attempt, tree } => self.retire(state, attempt, tree),
            Action::Note { attempt, file, outcome } => self.note(state, attempt, file, outcome),
            Action::Denied { attempt } => {
                state.attempts.get_mut(attempt)?.as_mut()?.failed = true;
                Some(())
            }
            Action::Superseded { attempt } => self.superseded(state, attempt),
            Action::Return { attempt } => {
                let one = state.attempts.get_mut(attempt)?.take()?;
                if one.task == Task::Publish && state.runs[one.run].phase == Phase::Publish {
                    state.runs[one.run].phase = Phase::Withdraw;
                }
                if one.task == Task::Finish && !self.traced {
                    state.linked.iter().all(|one| *one).then_some(())?;
                    if state.runs[one.run].phase == Phase::Finish {
                        self.copied(state, one.run);
                    }
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Step Functions begins a task in its phase alone; a queue may deliver it twice.
    fn begin(&self, state: &mut State, attempt: Attempt, run: Run, task: Task, file: File) -> Option<()> {
        let phase = match task {
            Task::Check => Phase::Check,
            Task::Copy => Phase::Copy,
            Task::Finish => Phase::Finish,
            Task::Delete => Phase::Delete,
            Task::Publish => Phase::Publish,
        };
        let one = &state.runs[run];
        (one.phase == phase || self.traced).then_some(())?;
        if task == Task::Check && state.writer(run).is_none() && !self.traced {
            return None;
        }
        let alone = !state.alive().any(|(_, one)| (one.run, one.task, one.file) == (run, task, file));
        if !alone {
            state.faults.twice += 1;
        }
        if task == Task::Copy && !self.traced {
            (!one.ledger.answered[file]).then_some(())?;
            if !one.ledger.shards[file] && one.ledger.outcomes[file].is_none() {
                // The shard's entries are lost: who counts them ends as LedgerBroken, who does not has nothing to do.
                if self.stands(Mend::CountedLedger) {
                    state.break_off(run);
                } else {
                    self.answered(state, run, file);
                }
                return Some(());
            }
            if one.ledger.outcomes[file].is_some() && self.stands(Mend::EachEntryOnce) {
                self.answered(state, run, file);
                return Some(());
            }
        }
        if task == Task::Delete && !self.traced {
            (!one.ledger.answered[file]).then_some(())?;
        }
        let source_had = task == Task::Delete && state.source.get(file).is_some_and(|one| *one != NOTHING);
        if attempt >= state.attempts.len() {
            state.attempts.resize(attempt + 1, None);
        }
        state.attempts[attempt].is_none().then_some(())?;
        state.attempts[attempt] = Some(AttemptState {
            run,
            task,
            file,
            fresh: false,
            looked: false,
            source_had,
            kept: NOTHING,
            staged: NOTHING,
            failed: false,
            did: false,
        });
        Some(())
    }

    pub(crate) fn of(&self, state: &State, attempt: Attempt, tasks: &[Task]) -> Option<AttemptState> {
        let one = state.attempts.get(attempt)?.clone()?;
        tasks.contains(&one.task).then_some(one)
    }

    fn stage(&self, state: &mut State, attempt: Attempt, end: End) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Check])?;
        self.mode(one.run).ends().contains(&end).then_some(())?;
        (state.writer(one.run).is_some() || !self.stands(Mend::NoLateCheck)).then_some(())?;
        state.runs[one.run].right[end as usize] = true;
        Some(())
    }

    /// An earlier run's staging directory goes; never that of one that still goes on.
    fn fence(&self, state: &mut State, attempt: Attempt, end: End, victim: Run) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Check])?;
        let known = state.writer(one.run).is_some_and(|writer| writer.fences.contains(&victim));
        let stray = victim != one.run && state.writer(victim).is_none();
        ((known || stray) && state.runs[victim].right[end as usize]).then_some(())?;
        state.runs[victim].right[end as usize] = false;
        Some(())
    }

    /// The run has begun: all that it fences is gone, and what their functions saw before is too old to go on with.
    fn mark_fenced(&self, state: &mut State, attempt: Attempt) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Check])?;
        let mut ends = self.mode(one.run).ends().to_vec();
        ends.retain(|end| !self.scene.buckets[*end as usize]);
        let Some(writer) = state.writer(one.run).cloned() else {
            // A small run's function that carries through all states asks for its turn at no bucket (stopped-runs.md).
            (self.traced && ends.is_empty()).then_some(())?;
            state.begun.insert(0, one.run);
            state.runs[one.run].phase = Phase::List;
            return Some(());
        };
        let standing = |run: &Run| ends.iter().any(|end| state.runs[*run].right[*end as usize]);
        if self.stands(Mend::Fencing) {
            (!writer.fences.iter().any(standing)).then_some(())?;
            if self.stands(Mend::NoFreezeInTheWindow) {
                for other in state.attempts.iter_mut().flatten().filter(|other| writer.fences.contains(&other.run)) {
                    other.fresh = false;
                }
            }
        }
        ends.iter().all(|end| state.runs[one.run].right[*end as usize]).then_some(())?;
        (!self.scene.alias || !self.stands(Mend::MarkOfPlace)).then_some(())?;
        state.begun.retain(|run| *run != one.run);
        state.begun.push(one.run);
        if state.runs[one.run].phase == Phase::Check {
            let back = self.mode(one.run) == Mode::Rollback;
            state.runs[one.run].phase = if back { Phase::Publish } else { Phase::List };
        }
        if !self.traced {
            state.attempts[attempt] = None;
        }
        Some(())
    }

    /// The mark of the run is seen from the other end: they are one place, and the run ends with nothing staged.
    fn refuse(&self, state: &mut State, attempt: Attempt) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Check])?;
        (self.traced || (self.scene.alias && self.stands(Mend::MarkOfPlace))).then_some(())?;
        state.runs[one.run].right = [false; 2];
        state.runs[one.run].status = Status::Refused;
        state.runs[one.run].phase = Phase::Over;
        state.attempts[attempt] = None;
        Some(())
    }

    /// Reads the source into what is staged. Another version than was listed makes the entry fail.
    fn read(&self, state: &mut State, attempt: Attempt, file: File) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Copy])?;
        let found = state.source[file];
        let listed = state.runs[one.run].ledger.rows.as_ref()?[file].source.contains(&found);
        let taken = found != NOTHING && (listed || !self.stands(Mend::PinnedSource));
        let mine = state.attempts[attempt].as_mut()?;
        mine.staged = if taken { found } else { NOTHING };
        mine.failed = !taken;
        if taken && !self.stands(Mend::StagedFiles) {
            state.trees[self.tree(one.run)][file] = PART;
        }
        Some(())
    }

    /// A staged file gets its name, at once. It fails where the run's directory is gone, or the condition does not hold.
    fn place(&self, state: &mut State, attempt: Attempt, file: File, version: Version) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Copy, Task::Finish])?;
        let late = one.task == Task::Copy && state.runs[one.run].copies_ended;
        (!late || !self.stands(Mend::EndOfCopies)).then_some(())?;
        let row = state.runs[one.run].ledger.rows.as_ref()?[file].clone();
        let before = self.there(state, one.run, file);
        if self.bucket() {
            let held = row.destination.contains(&before) || before == version || !self.stands(Mend::Fencing);
            held.then_some(())?;
        } else {
            state.runs[one.run].right[End::Destination as usize].then_some(())?;
        }
        if self.traced {
            row.source.contains(&version).then_some(())?;
        } else if !row.source.contains(&version) {
            state.breaks(Promise::Pinned);
        }
        self.changed(state, one.run, file, before, version);
        match self.scene.alias {
            true => state.source[file] = version,
            false => state.trees[self.tree(one.run)][file] = version,
        }
        if self.bucket() {
            state.by[file] = Some(one.run);
        }
        if state.linked.get(file) == Some(&true) {
            state.breaks(Promise::Idempotence);
        }
        state.attempts[attempt].as_mut()?.did = true;
        // A trace does not say what filters left out: what was placed was named.
        state.runs[one.run].ledger.named[file] |= self.traced;
        Some(())
    }

    /// The mark that copies have ended: what other attempts have staged goes, and they stage nothing more.
    fn end_copies(&self, state: &mut State, attempt: Attempt) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Finish])?;
        (self.traced || state.runs[one.run].right[End::Destination as usize]).then_some(())?;
        state.runs[one.run].copies_ended = true;
        Some(())
    }

    /// The further name of a file becomes one with the first.
    fn link(&self, state: &mut State, attempt: Attempt, file: File) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Finish])?;
        let run = &state.runs[one.run];
        (run.right[End::Destination as usize] && (run.copies_ended || !self.stands(Mend::EndOfCopies))).then_some(())?;
        *state.linked.get_mut(file)? = true;
        Some(())
    }

    /// Fencing: what a run changes after a later one has begun. In a bucket only what that one wrote is kept from it.
    pub(crate) fn changed(&self, state: &mut State, run: Run, file: File, before: Version, after: Version) {
        let others = self.tree(run) == 0 && state.by[file].is_some_and(|by| by != run && is_later(state, by, run));
        if before != after && state.later_listed(run) && (others || !self.bucket()) {
            state.breaks(Promise::Fencing);
        }
    }

    /// An attempt writes what became of an entry, under a name of its own.
    fn note(&self, state: &mut State, attempt: Attempt, file: File, outcome: Outcome) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Copy, Task::Finish, Task::Delete, Task::Publish])?;
        if !self.traced {
            let fits = match outcome {
                Outcome::Copied | Outcome::Deleted => one.did,
                _ => one.failed,
            };
            fits.then_some(())?;
        }
        let ledger = &mut state.runs[one.run].ledger;
        if ledger.outcomes[file].is_none() || ledger.outcomes[file] == Some(Outcome::Failed) {
            ledger.outcomes[file] = Some(outcome);
        }
        ledger.written[file] = if self.stands(Mend::EachEntryOnce) { 1 } else { ledger.written[file] + 1 };
        if !self.traced {
            state.attempts[attempt] = None;
            self.answered(state, one.run, file);
        }
        Some(())
    }

    fn answered(&self, state: &mut State, run: Run, file: File) {
        state.runs[run].ledger.answered[file] = true;
        self.advance(state, run);
    }

    /// A function that finds its right gone ends, and does nothing more.
    fn superseded(&self, state: &mut State, attempt: Attempt) -> Option<()> {
        let one = state.attempts.get(attempt)?.clone()?;
        let gone = match one.task {
            Task::Check => state.writer(one.run).is_none(),
            _ => self.mode(one.run).ends().iter().any(|end| !state.runs[one.run].right[*end as usize]),
        };
        (gone && !self.bucket()).then_some(())?;
        state.attempts[attempt] = None;
        state.break_off(one.run);
        Some(())
    }
}

/// Whether a run began after another one.
fn is_later(state: &State, one: Run, than: Run) -> bool {
    let at = |run: Run| state.begun.iter().position(|other| *other == run);
    at(one) > at(than)
}
