//! What functions do that take something away: they look, keep, unlink, switch the link, and retire versions.

use crate::protocol::Protocol;
use crate::scene::Mend;
use crate::state::*;

impl Protocol {
    pub(crate) fn look(&self, state: &mut State, attempt: Attempt, end: End) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Check, Task::Copy, Task::Finish, Task::Delete, Task::Publish])?;
        state.runs[one.run].right[end as usize].then_some(())?;
        state.attempts[attempt].as_mut()?.fresh = true;
        Some(())
    }

    /// The last look at both ends before a deletion. What is not as it must be stays.
    pub(crate) fn look_at_entry(&self, state: &mut State, attempt: Attempt, file: File) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Delete])?;
        let (here, there) = (state.source[file], self.there(state, one.run, file));
        let ledger = &state.runs[one.run].ledger;
        let fits = match self.mode(one.run) {
            Mode::Move => {
                here == ledger.proven[file] && (here == there || !self.stands(Mend::ProofOfCopy)) && here != NOTHING
            }
            _ => {
                let listed = ledger.rows.as_ref()?[file].destination.contains(&there) && there != NOTHING;
                listed && (here == NOTHING || !self.stands(Mend::LookAtSource))
            }
        };
        let asks = self.stands(Mend::LookAtSource);
        let mine = state.attempts[attempt].as_mut()?;
        if asks {
            mine.source_had = here != NOTHING;
        }
        mine.looked = fits || (self.traced && mine.looked);
        mine.failed = !fits;
        Some(())
    }

    /// What a sync deletes is linked into `backup_to` first; that may take long.
    pub(crate) fn keep(&self, state: &mut State, attempt: Attempt, file: File) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Delete])?;
        let there = self.there(state, one.run, file);
        (one.looked && there != NOTHING).then_some(())?;
        let mine = state.attempts[attempt].as_mut()?;
        mine.kept = there;
        if self.stands(Mend::LookAfterKeeping) {
            mine.fresh = false;
        }
        Some(())
    }

    pub(crate) fn unlink(&self, state: &mut State, attempt: Attempt, end: End, file: File) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Delete])?;
        let frozen = one.kept != NOTHING && !self.stands(Mend::LookAfterKeeping);
        let row = state.runs[one.run].ledger.rows.as_ref()?[file].clone();
        (one.looked && (one.fresh || frozen || self.scene.buckets[end as usize])).then_some(())?;
        if end == End::Source {
            let here = state.source[file];
            (self.mode(one.run) == Mode::Move && here == state.runs[one.run].ledger.proven[file]).then_some(())?;
            state.source[file] = NOTHING;
            if state.trees[0][file] != here || self.scene.alias {
                state.breaks(Promise::Elsewhere);
            }
        } else {
            let there = self.there(state, one.run, file);
            (self.mode(one.run) == Mode::Sync && there != NOTHING).then_some(())?;
            (frozen || row.destination.contains(&there)).then_some(())?;
            self.changed(state, one.run, file, there, NOTHING);
            state.trees[0][file] = NOTHING;
            if one.source_had || !state.runs[one.run].ledger.complete {
                state.breaks(Promise::NoLoss);
            }
            if self.scene.backup && one.kept != there {
                state.breaks(Promise::Elsewhere);
            }
        }
        state.attempts[attempt].as_mut()?.did = true;
        Some(())
    }

    /// The link leads to the run's version from now on, if that is whole.
    pub(crate) fn switch(&self, state: &mut State, attempt: Attempt, tree: usize) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Publish])?;
        let ledger = &state.runs[one.run].ledger;
        state.runs[one.run].right[End::Destination as usize].then_some(())?;
        (tree == self.tree(one.run)).then_some(())?;
        let done = |file: usize| matches!(ledger.outcomes[file], Some(Outcome::Copied | Outcome::Unchanged));
        let whole = (0..state.source.len()).all(|file| !ledger.named[file] || done(file)) && ledger.complete;
        (whole || tree == 0 || !self.stands(Mend::WholeVersion)).then_some(())?;
        (tree != 0 || !state.trees[0].contains(&NOTHING)).then_some(())?;
        if state.link != tree && !state.later(one.run).is_empty() {
            state.breaks(Promise::Fencing);
        }
        state.link = tree;
        state.attempts[attempt].as_mut()?.did = true;
        Some(())
    }

    /// An old version goes: not the one that the link leads to.
    pub(crate) fn retire(&self, state: &mut State, attempt: Attempt, tree: usize) -> Option<()> {
        let one = self.of(state, attempt, &[Task::Publish])?;
        (one.fresh && one.did && tree != self.tree(one.run) && self.mode(one.run) == Mode::Publish).then_some(())?;
        if state.link == tree {
            state.breaks(Promise::Elsewhere);
        }
        state.trees[tree].fill(NOTHING);
        state.attempts[attempt].as_mut()?.fresh = false;
        Some(())
    }
}
