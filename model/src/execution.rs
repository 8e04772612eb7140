//! What an execution does: its turn, the listing, the books.

use crate::protocol::{Action, Protocol};
use crate::scene::Mend;
use crate::state::*;

impl Protocol {
    /// A run enters the list of writers. It takes out those that have ended, and is to fence them.
    pub(crate) fn take_turn(&self, state: &mut State, run: Run) -> Option<()> {
        (state.going(run) && state.runs[run].phase == Phase::Plan).then_some(())?;
        let taken = state.list.iter().any(|one| one.run != run && state.going(one.run));
        if taken && self.stands(Mend::Turns) && !self.scene.beside {
            self.scene.same.then_some(())?;
            state.runs[run].status = Status::Skipped;
            return Some(());
        }
        let (left, ended): (Vec<_>, Vec<_>) =
            state.list.drain(..).partition(|one| one.run != run && state.runs[one.run].status == Status::Going);
        let mut fences: Vec<Run> = ended.into_iter().flat_map(|one| one.fences.into_iter().chain([one.run])).collect();
        fences.retain(|one| *one != run);
        fences.dedup();
        state.list = left;
        state.list.push(Writer { run, fences });
        state.runs[run].phase = Phase::Check;
        Some(())
    }

    /// Both ends are listed in step, and what needs no copy is settled.
    pub(crate) fn list(&self, state: &mut State, run: Run, complete: bool) -> Option<()> {
        (state.runs[run].phase == Phase::List).then_some(())?;
        let files = state.source.len();
        let rows: Vec<Row> = (0..files)
            .map(|file| Row { source: vec![state.source[file]], destination: vec![self.there(state, run, file)] })
            .collect();
        let earlier = self.scene.resumes[run].map(|one| state.runs[one].ledger.clone());
        let ledger = &mut state.runs[run].ledger;
        ledger.rows = Some(rows.clone());
        ledger.listing = true;
        ledger.complete = complete;
        if !complete {
            // The first file could not be read; the listing goes on without it.
            ledger.rows.as_mut()?[0].source = vec![];
            ledger.outcomes[0] = Some(Outcome::Failed);
            ledger.written[0] = 1;
            state.faults.unread += 1;
        }
        for file in 0..files {
            let (source, there) = (rows[file].source[0], rows[file].destination[0]);
            let pinned = earlier.as_ref().and_then(|one| one.rows.as_ref()).map(|rows| rows[file].source.clone());
            if let Some(pinned) = pinned.filter(|one| !one.is_empty()) {
                let row = &mut ledger.rows.as_mut()?[file];
                row.source = if self.traced { [pinned, row.source.clone()].concat() } else { pinned };
            }
            let want = ledger.rows.as_ref()?[file].source.first().copied().unwrap_or(NOTHING);
            let proven = want == there;
            let by_time = source <= there.saturating_add(self.scene.skew) && there != NOTHING;
            let unchanged = if self.stands(Mend::ProofOfUnchanged) { proven } else { by_time };
            if want != NOTHING && ledger.outcomes[file].is_none() && unchanged && !self.traced {
                ledger.outcomes[file] = Some(Outcome::Unchanged);
                ledger.written[file] = 1;
                if !proven {
                    state.broken.get_or_insert(Promise::NoGreenLie);
                }
            }
        }
        state.runs[run].phase = Phase::Partition;
        Some(())
    }

    pub(crate) fn partition(&self, state: &mut State, run: Run) -> Option<()> {
        let one = &mut state.runs[run];
        (one.phase == Phase::Partition).then_some(())?;
        one.phase = Phase::Copy;
        if !one.ledger.listing && self.stands(Mend::CountedLedger) {
            state.break_off(run);
            return Some(());
        }
        for file in 0..state.source.len() {
            let row = &one.ledger.rows.as_ref()?[file];
            let wanted = !self.traced && row.source.iter().any(|one| *one != NOTHING) && one.ledger.listing;
            one.ledger.named[file] = wanted;
            one.ledger.shards[file] = wanted && one.ledger.outcomes[file].is_none();
            one.ledger.answered[file] = !one.ledger.shards[file];
        }
        self.advance(state, run);
        Some(())
    }

    /// Goes on to the next phase of a run whose functions have all answered.
    pub fn advance(&self, state: &mut State, run: Run) {
        let one = &mut state.runs[run];
        if self.traced || !one.ledger.answered.iter().all(|one| *one) {
            return;
        }
        if one.phase == Phase::Copy && self.scene.names {
            one.phase = Phase::Finish;
        } else if one.phase == Phase::Copy {
            self.copied(state, run);
        } else if one.phase == Phase::Delete {
            one.phase = Phase::Withdraw;
        }
    }

    /// All is in its place, and what comes after a copy follows.
    pub(crate) fn copied(&self, state: &mut State, run: Run) {
        let mode = self.mode(run);
        state.runs[run].phase = match mode {
            Mode::Move => Phase::Compare,
            Mode::Publish => Phase::Publish,
            Mode::Sync => Phase::Delete,
            _ => Phase::Withdraw,
        };
        if mode == Mode::Sync {
            self.begin_deletion(state, run);
        }
    }

    /// What a sync deletes: extras, unless an entry was not copied or a part was not listed.
    pub(crate) fn begin_deletion(&self, state: &mut State, run: Run) {
        let whole = state.runs[run].ledger.complete || !self.stands(Mend::CompleteListing);
        let failed =
            self.stands(Mend::CompleteListing) && state.runs[run].ledger.outcomes.contains(&Some(Outcome::Failed));
        let ledger = &mut state.runs[run].ledger;
        let Some(rows) = &ledger.rows else { return };
        for (file, row) in rows.iter().enumerate() {
            let extra =
                row.source.iter().all(|one| *one == NOTHING) && row.destination.iter().any(|one| *one != NOTHING);
            ledger.answered[file] = !(extra && whole && !failed);
        }
        self.advance(state, run);
    }

    /// A move compares both ends; only what is equal may go at the source.
    pub(crate) fn compare(&self, state: &mut State, run: Run) -> Option<()> {
        (self.traced || state.runs[run].phase == Phase::Compare).then_some(())?;
        for file in 0..state.source.len() {
            let (here, there) = (state.source[file], self.there(state, run, file));
            let ledger = &mut state.runs[run].ledger;
            let equal = here == there || !self.stands(Mend::ProofOfCopy);
            let done = matches!(ledger.outcomes[file], Some(Outcome::Copied | Outcome::Unchanged)) || self.traced;
            ledger.proven[file] = if equal && done { here } else { NOTHING };
            ledger.answered[file] = ledger.proven[file] == NOTHING;
        }
        state.runs[run].phase = Phase::Delete;
        self.advance(state, run);
        Some(())
    }

    /// What the run staged goes, and with it its right to write.
    pub(crate) fn withdraw(&self, state: &mut State, run: Run) -> Option<()> {
        (state.runs[run].phase == Phase::Withdraw).then_some(())?;
        state.runs[run].right = [false; 2];
        state.runs[run].phase = Phase::Summarise;
        // Summarise, the next run's plan and its CheckMount take longer than what was seen before counts.
        if self.stands(Mend::NoFreezeInTheWindow) {
            for one in state.attempts.iter_mut().flatten().filter(|one| one.run == run) {
                one.fresh = false;
            }
        }
        Some(())
    }

    /// The books: what was listed has one outcome each, or the run is not green.
    pub(crate) fn summarise(&self, state: &mut State, run: Run) -> Option<()> {
        let one = &state.runs[run];
        (one.phase == Phase::Summarise).then_some(())?;
        let mode = self.mode(run);
        let ledger = &one.ledger;
        let counted = |file: File| match self.stands(Mend::CountedLedger) {
            true => ledger.named[file] || ledger.outcomes[file].is_some(),
            false => ledger.outcomes[file].is_some(),
        };
        let files = 0..state.source.len();
        let done = |file: File| matches!(ledger.outcomes[file], Some(one) if one != Outcome::Failed);
        let all = files.clone().filter(|file| counted(*file)).all(done);
        let once = self.stands(Mend::EachEntryOnce) || ledger.written.iter().all(|times| *times <= 1);
        let green = mode == Mode::Rollback || (all && once && ledger.complete);
        let green = green && !one.broke_off;
        let listed =
            |file: &File| ledger.rows.as_ref().is_some_and(|rows| rows[*file].source.iter().any(|one| *one != NOTHING));
        let lied = green && mode != Mode::Rollback && files.clone().filter(listed).any(|file| !done(file));
        let went_well = mode != Mode::Rollback && files.filter(listed).all(done) && ledger.complete;
        let status = if green { Status::Green } else { Status::Failed };
        if one.status == Status::Going {
            if lied {
                state.broken.get_or_insert(Promise::Conservation);
            }
            if went_well && !once {
                state.broken.get_or_insert(Promise::Idempotence);
            }
            state.runs[run].status = status;
        }
        state.runs[run].phase = Phase::Leave;
        Some(())
    }

    /// A run that owes nothing leaves the list; any other stays, for the next one to take its place.
    pub(crate) fn leave(&self, state: &mut State, run: Run) -> Option<()> {
        let one = &state.runs[run];
        ((one.phase == Phase::Leave || self.traced) && one.right == [false; 2]).then_some(())?;
        state.list.retain(|one| one.run != run);
        state.runs[run].phase = Phase::Over;
        if !self.traced && state.alive().all(|(_, one)| one.run != run) && !self.scene.resumes.contains(&Some(run)) {
            // Nobody reads its ledger any more. Only whether it had listed is still asked.
            let listed = state.runs[run].ledger.rows.is_some();
            if self.mode(run) != Mode::Publish {
                let new = RunState::new(state.source.len()).ledger;
                state.runs[run].ledger = Ledger { rows: listed.then(Vec::new), ..new };
            }
        }
        Some(())
    }

    /// What a trace says of the state that its steps came to.
    pub(crate) fn said(&self, state: &mut State, action: &Action) -> Option<()> {
        match action {
            Action::Stands { end: End::Source, file, version } => (state.source[*file] == *version).then_some(()),
            Action::Stands { file, version, .. } => (state.trees[0][*file] == *version).then_some(()),
            Action::Writers { runs } => {
                // A run between other ends, which is not recorded, takes out those that have ended too.
                let left = |one: &Writer| runs.contains(&one.run) || state.runs[one.run].status == Status::Going;
                let mut list = std::mem::take(&mut state.list);
                list.retain(left);
                state.list = list;
                let mut listed: Vec<Run> = state.list.iter().map(|one| one.run).collect();
                listed.sort_unstable();
                (listed == *runs).then_some(())
            }
            Action::Closed { run, green } => {
                let ledger = &state.runs[*run].ledger;
                let fine = |file: File| match ledger.outcomes[file] {
                    Some(one) => one != Outcome::Failed,
                    None => !ledger.named[file],
                };
                (!green || (0..state.source.len()).all(fine)).then_some(())
            }
            _ => None,
        }
    }
}
