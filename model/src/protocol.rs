//! The protocol: what an execution does, step by step. What its functions do is in `work`.

use crate::scene::{Mend, Scene};
use crate::state::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A step. Traces of real runs are written in the same words.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    // The world
    Write {
        end: End,
        file: File,
        version: Version,
    },
    Lose {
        run: Run,
        file: Option<File>,
    },
    Stop {
        run: Run,
    },
    // An execution
    TakeTurn {
        run: Run,
    },
    List {
        run: Run,
    },
    ListInPart {
        run: Run,
    },
    Partition {
        run: Run,
    },
    Compare {
        run: Run,
    },
    Withdraw {
        run: Run,
    },
    Summarise {
        run: Run,
    },
    Leave {
        run: Run,
    },
    // Its functions
    Begin {
        attempt: Attempt,
        run: Run,
        task: Task,
        file: File,
    },
    Kill {
        attempt: Attempt,
    },
    Stage {
        attempt: Attempt,
        end: End,
    },
    Fence {
        attempt: Attempt,
        end: End,
        run: Run,
    },
    MarkFenced {
        attempt: Attempt,
    },
    Refuse {
        attempt: Attempt,
    },
    Read {
        attempt: Attempt,
        file: File,
    },
    Place {
        attempt: Attempt,
        file: File,
        version: Version,
    },
    Look {
        attempt: Attempt,
        end: End,
    },
    LookAtEntry {
        attempt: Attempt,
        file: File,
    },
    Keep {
        attempt: Attempt,
        file: File,
    },
    Unlink {
        attempt: Attempt,
        end: End,
        file: File,
    },
    EndCopies {
        attempt: Attempt,
    },
    Link {
        attempt: Attempt,
        file: File,
    },
    Switch {
        attempt: Attempt,
        tree: usize,
    },
    Retire {
        attempt: Attempt,
        tree: usize,
    },
    Note {
        attempt: Attempt,
        file: File,
        outcome: Outcome,
    },
    Denied {
        attempt: Attempt,
    },
    Superseded {
        attempt: Attempt,
    },
    Return {
        attempt: Attempt,
    },
    // What a trace says besides
    /// An execution goes on no more.
    Ended {
        run: Run,
    },
    /// A run's staging directory is gone, by itself or by somebody else.
    Unstage {
        run: Run,
        end: End,
    },
    /// What stands there now: what the steps came to.
    Stands {
        end: End,
        file: File,
        version: Version,
    },
    Writers {
        runs: Vec<Run>,
    },
    Closed {
        run: Run,
        green: bool,
    },
}

#[derive(Clone, Debug)]
pub struct Protocol {
    pub scene: Scene,
    pub without: Option<Mend>,
    /// A trace is held against it: listing takes time, and a task has many files.
    pub traced: bool,
}

impl Protocol {
    pub fn stands(&self, mend: Mend) -> bool {
        self.without != Some(mend)
    }

    pub fn mode(&self, run: Run) -> Mode {
        self.scene.modes[run]
    }

    /// The tree that a run writes: a version of its own where it publishes.
    pub fn tree(&self, run: Run) -> usize {
        if self.mode(run) == Mode::Publish {
            run + 1
        } else {
            0
        }
    }

    /// Whether the destination is a bucket.
    pub fn bucket(&self) -> bool {
        self.scene.buckets[End::Destination as usize]
    }

    /// What stands at the destination of a run; the source itself where both are one place.
    pub fn there(&self, state: &State, run: Run, file: File) -> Version {
        if self.scene.alias {
            state.source[file]
        } else {
            state.trees[self.tree(run)][file]
        }
    }

    pub fn initial(&self) -> State {
        let files = self.scene.source.len();
        let mut trees = vec![self.scene.destination.clone()];
        for mode in &self.scene.modes {
            if *mode == Mode::Publish {
                trees.push(vec![NOTHING; files]);
            }
        }
        State {
            source: self.scene.source.clone(),
            trees,
            linked: vec![false; if self.scene.names { files } else { 0 }],
            by: vec![None; files],
            link: 0,
            list: vec![],
            runs: Runs(self.scene.modes.iter().map(|_| Arc::new(RunState::new(files))).collect()),
            begun: vec![],
            attempts: vec![None; self.scene.attempts],
            faults: Faults::default(),
            broken: None,
        }
    }

    /// The state after a step; nothing where the protocol does not allow it.
    pub fn step(&self, state: &State, action: &Action) -> Option<State> {
        let mut next = state.clone();
        match *action {
            Action::Write { end, file, version } => self.written(&mut next, end, file, version),
            Action::Lose { run, file } => lose(&mut next, run, file)?,
            Action::Stop { run } => {
                next.going(run).then_some(())?;
                next.runs[run].status = Status::Stopped;
                next.faults.stops += 1;
            }
            Action::TakeTurn { run } => self.take_turn(&mut next, run)?,
            Action::List { run } => self.list(&mut next, run, true)?,
            Action::ListInPart { run } => self.list(&mut next, run, false)?,
            Action::Partition { run } => self.partition(&mut next, run)?,
            Action::Compare { run } => self.compare(&mut next, run)?,
            Action::Withdraw { run } => self.withdraw(&mut next, run)?,
            Action::Summarise { run } => self.summarise(&mut next, run)?,
            Action::Leave { run } => self.leave(&mut next, run)?,
            Action::Ended { run } if next.going(run) => next.runs[run].status = Status::Stopped,
            Action::Ended { .. } => {}
            Action::Unstage { run, end } => next.runs[run].right[end as usize] = false,
            Action::Stands { .. } | Action::Writers { .. } | Action::Closed { .. } => self.said(&mut next, action)?,
            _ => self.work(&mut next, action)?,
        }
        self.judge(&mut next);
        if !self.traced {
            next.attempts.sort_unstable_by(|one, other| (one.is_none(), one).cmp(&(other.is_none(), other)));
        }
        Some(next)
    }

    /// What holds in every state.
    fn judge(&self, state: &mut State) {
        if state.trees[state.link].contains(&PART) || state.source.contains(&PART) {
            state.breaks(Promise::Visibility);
        }
        let Some(run) = (0..state.runs.len()).find(|run| state.link != 0 && self.tree(*run) == state.link) else {
            return;
        };
        let rows = state.runs[run].ledger.rows.clone().unwrap_or_default();
        if rows.iter().enumerate().any(|(file, row)| !row.source.contains(&state.trees[state.link][file])) {
            state.breaks(Promise::Visibility);
        }
    }

    fn written(&self, state: &mut State, end: End, file: File, version: Version) {
        let place = if end == End::Source || self.scene.alias { &mut state.source } else { &mut state.trees[0] };
        place[file] = version;
        state.faults.writes += 1;
        if end == End::Destination {
            state.by[file] = None;
        }
        for run in (0..state.runs.len()).filter(|_| self.traced) {
            if state.runs[run].phase != Phase::Partition {
                continue;
            }
            let rows = state.runs[run].ledger.rows.get_or_insert_default();
            let seen = if end == End::Source { &mut rows[file].source } else { &mut rows[file].destination };
            seen.push(version);
        }
    }
}

/// The ledger loses an object: the listing, or what concerns one file.
fn lose(state: &mut State, run: Run, file: Option<File>) -> Option<()> {
    let ledger = &mut state.runs[run].ledger;
    match file {
        None => {
            ledger.listing.then_some(())?;
            ledger.listing = false;
        }
        Some(file) if ledger.shards[file] => ledger.shards[file] = false,
        Some(file) => {
            matches!(ledger.outcomes[file], Some(Outcome::Copied)).then_some(())?;
            ledger.outcomes[file] = None;
        }
    }
    state.faults.losses += 1;
    Some(())
}
