//! What there is: both ends, the list of writers, each run with its ledger, and the functions at work.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// A content of a file, numbered in the order in which somebody made it.
pub type Version = u8;
pub type File = usize;
pub type Run = usize;
/// A function at work: where it stands in `State::attempts`.
pub type Attempt = usize;

pub const NOTHING: Version = 0;
/// What a reader sees of a file that is being written in its place.
pub const PART: Version = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Source,
    Destination,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    Copy,
    Sync,
    Move,
    /// Copies into a version of its own, and switches the link to it.
    Publish,
    /// Switches the link to the version that was there first.
    Rollback,
}

impl Mode {
    pub fn ends(self) -> &'static [End] {
        if self == Mode::Move {
            &[End::Destination, End::Source]
        } else {
            &[End::Destination]
        }
    }
}

/// Where an execution is. The order is that of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    Plan,
    Check,
    List,
    Partition,
    Copy,
    Finish,
    Compare,
    Delete,
    Publish,
    Withdraw,
    Summarise,
    Leave,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Going,
    Stopped,
    Skipped,
    Refused,
    Failed,
    Green,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    Check,
    Copy,
    /// Links further names of files once all are copied.
    Finish,
    Delete,
    Publish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Copied,
    Unchanged,
    Failed,
    Deleted,
    Kept,
}

/// What a listing saw of a file: the versions that stood there meanwhile, one where it was done at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row {
    pub source: Vec<Version>,
    pub destination: Vec<Version>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    /// What was listed, as it was; `listing` tells whether the ledger still has it, `complete` whether it is all.
    pub rows: Option<Vec<Row>>,
    pub listing: bool,
    pub complete: bool,
    pub shards: Vec<bool>,
    pub named: Vec<bool>,
    pub outcomes: Vec<Option<Outcome>>,
    pub written: Vec<u8>,
    pub answered: Vec<bool>,
    pub proven: Vec<Version>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RunState {
    pub status: Status,
    pub phase: Phase,
    /// A function failed for good: it tidies up, and ends red.
    pub broke_off: bool,
    /// Its staging directory stands at the source, at the destination: its right to write there.
    pub right: [bool; 2],
    /// The mark in its staging directory: no attempt at a copy gives a file its place any more.
    pub copies_ended: bool,
    pub ledger: Ledger,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptState {
    pub run: Run,
    pub task: Task,
    pub file: File,
    /// It looked at its right, and acts before it would have to look again.
    pub fresh: bool,
    /// It looked at the entry that it is to delete, and found it as it must be.
    pub looked: bool,
    /// Whether the source had the file when it looked there, or when it began.
    pub source_had: bool,
    pub kept: Version,
    pub staged: Version,
    pub failed: bool,
    pub did: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    pub run: Run,
    pub fences: Vec<Run>,
}

/// What went wrong so far: each scene bounds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    pub kills: u8,
    pub twice: u8,
    pub stops: u8,
    pub writes: u8,
    pub losses: u8,
    pub unread: u8,
}

/// The promises of the design that the model holds, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Promise {
    Conservation = 1,
    Visibility = 2,
    Idempotence = 3,
    Pinned = 4,
    NoLoss = 7,
    NoGreenLie = 8,
    Fencing = 10,
    Elsewhere = 14,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub source: Vec<Version>,
    /// The trees at the destination; only a publishing run has one of its own, the others share the first.
    pub trees: Vec<Vec<Version>>,
    /// Whether the further name of a file is one with its first name; empty where no file has one.
    pub linked: Vec<bool>,
    /// Which run wrote a file of the first tree last.
    pub by: Vec<Option<Run>>,
    pub link: usize,
    pub list: Vec<Writer>,
    pub runs: Runs,
    /// The runs that have begun at the destination, in their order.
    pub begun: Vec<Run>,
    pub attempts: Vec<Option<AttemptState>>,
    pub faults: Faults,
    pub broken: Option<Promise>,
}

/// The runs, shared between states until one changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Runs(pub Vec<Arc<RunState>>);

impl Runs {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Index<Run> for Runs {
    type Output = RunState;

    fn index(&self, run: Run) -> &RunState {
        &self.0[run]
    }
}

impl IndexMut<Run> for Runs {
    fn index_mut(&mut self, run: Run) -> &mut RunState {
        Arc::make_mut(&mut self.0[run])
    }
}

impl RunState {
    pub fn new(files: usize) -> RunState {
        let ledger = Ledger {
            rows: None,
            listing: false,
            complete: true,
            shards: vec![false; files],
            named: vec![false; files],
            outcomes: vec![None; files],
            written: vec![0; files],
            answered: vec![false; files],
            proven: vec![NOTHING; files],
        };
        RunState { status: Status::Going, phase: Phase::Plan, broke_off: false, right: [false; 2], copies_ended: false, ledger }
    }
}

impl State {
    pub fn going(&self, run: Run) -> bool {
        self.runs[run].status == Status::Going
    }

    pub fn alive(&self) -> impl Iterator<Item = (Attempt, &AttemptState)> {
        self.attempts.iter().enumerate().filter_map(|(id, one)| one.as_ref().map(|one| (id, one)))
    }

    pub fn writer(&self, run: Run) -> Option<&Writer> {
        self.list.iter().find(|one| one.run == run)
    }

    /// The runs that have begun after another.
    pub fn later(&self, run: Run) -> &[Run] {
        let after = self.begun.iter().rposition(|one| *one == run).map_or(0, |at| at + 1);
        &self.begun[after..]
    }

    /// Whether a later run has begun, and listed what it found.
    pub fn later_listed(&self, run: Run) -> bool {
        self.later(run).iter().any(|one| self.runs[*one].ledger.rows.is_some())
    }

    /// A function of a run failed for good: what was staged goes, and the run ends red.
    pub fn break_off(&mut self, run: Run) {
        if self.going(run) && self.runs[run].phase < Phase::Withdraw {
            self.runs[run].broke_off = true;
            self.runs[run].phase = Phase::Withdraw;
        }
    }

    pub fn breaks(&mut self, promise: Promise) {
        self.broken.get_or_insert(promise);
    }
}
