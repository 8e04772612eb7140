//! The scenes that are explored, and the mends that can be taken out.

use crate::state::{Faults, Mode, Run, Version};

/// A rule of the product that the model can leave out, to show that it finds what the rule is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mend {
    /// Runs that write to one place take turns.
    Turns,
    /// CheckMount removes the staging directories of earlier runs, or a write to a bucket names what it replaces.
    Fencing,
    /// Objects of the ledger are named and counted.
    CountedLedger,
    /// What times call unchanged needs a proof.
    ProofOfUnchanged,
    /// A function that kept an extra looks for its right again before it deletes it.
    LookAfterKeeping,
    /// A mark at the destination is looked for at the source.
    MarkOfPlace,
    /// What is copied is what was listed.
    PinnedSource,
    /// A sync asks the source once more before it deletes.
    LookAtSource,
    /// A sync deletes nothing after an incomplete listing.
    CompleteListing,
    /// A move deletes only what its comparison found equal.
    ProofOfCopy,
    /// Files are written aside, and get their name when they are whole.
    StagedFiles,
    /// Attempts write outcomes of their own, and readers take each entry once.
    EachEntryOnce,
    /// The link is switched when every entry has its outcome.
    WholeVersion,
    /// Copies end before further names of files are linked, whoever of them wakes up later.
    EndOfCopies,
    /// A limit that the docs name: nothing is frozen between a look at the right and what follows within 0.25 s.
    NoFreezeInTheWindow,
    /// A limit that the docs name: no CheckMount that lost its turn makes the directory anew.
    NoLateCheck,
}

#[derive(Clone, Debug)]
pub struct Scene {
    pub name: &'static str,
    pub modes: Vec<Mode>,
    /// Which of both ends is a bucket: the source, the destination.
    pub buckets: [bool; 2],
    /// Both names lead to one place.
    pub alias: bool,
    pub backup: bool,
    /// Which run each resumes.
    pub resumes: Vec<Option<Run>>,
    /// Both runs have one request.
    pub same: bool,
    /// The runs copy what manifests name: they may write beside each other.
    pub beside: bool,
    /// Each file has two names.
    pub names: bool,
    pub source: Vec<Version>,
    pub destination: Vec<Version>,
    /// Bounds of what goes wrong.
    pub bounds: Faults,
    pub attempts: usize,
    /// By how many versions the source's clock is behind.
    pub skew: u8,
}

fn scene(name: &'static str, modes: &[Mode], source: &[Version], destination: &[Version]) -> Scene {
    Scene {
        name,
        modes: modes.to_vec(),
        buckets: [false; 2],
        alias: false,
        backup: false,
        resumes: vec![None; modes.len()],
        same: false,
        beside: false,
        names: false,
        source: source.to_vec(),
        destination: destination.to_vec(),
        bounds: Faults { kills: 1, twice: 1, stops: 1, writes: 1, losses: 0, unread: 0 },
        attempts: 3,
        skew: 0,
    }
}

/// All scenes. Version 9 is what only the destination has.
pub fn scenes() -> Vec<Scene> {
    use Mode::*;
    let mut copies = scene("two copies", &[Copy, Copy], &[1, 1], &[0, 0]);
    copies.same = true;
    let mut resumed = scene("a copy, resumed", &[Copy, Copy], &[1, 1], &[0, 0]);
    resumed.resumes = vec![None, Some(0)];
    let mut lost = scene("a copy that loses an object of its ledger", &[Copy], &[1, 1], &[0, 0]);
    lost.bounds.losses = 1;
    let mut rolled_back = scene("copies of what is rolled back, clocks apart", &[Copy, Copy], &[1, 1], &[0, 0]);
    rolled_back.bounds = Faults { kills: 0, twice: 1, stops: 0, writes: 2, losses: 0, unread: 0 };
    rolled_back.skew = 1;
    let mut syncs = scene("two syncs that keep what they delete", &[Sync, Sync], &[1, 0], &[0, 9]);
    syncs.backup = true;
    syncs.bounds.unread = 1;
    let mut moves = scene("a move, and the same again", &[Move, Move], &[1, 1], &[0, 0]);
    moves.bounds.kills = 0;
    let mut alias = scene("a move between two names of one place", &[Move], &[1, 1], &[1, 1]);
    alias.alias = true;
    let mut names = scene("a copy of files with two names", &[Copy], &[1, 1], &[0, 0]);
    names.names = true;
    let mut beside = scene("a move beside a sync", &[Move, Sync], &[1, 1], &[0, 9]);
    beside.bounds.kills = 0;
    let publish = scene("two versions published", &[Publish, Publish], &[1, 1], &[9, 9]);
    let rollback = scene("a version published, and a rollback", &[Publish, Rollback], &[1, 1], &[9, 9]);
    let mut to_bucket = scene("two copies to a bucket", &[Copy, Copy], &[1, 1], &[0, 9]);
    to_bucket.buckets[1] = true;
    let mut synced_bucket = scene("two syncs of a bucket", &[Sync, Sync], &[1, 0], &[0, 9]);
    synced_bucket.buckets[1] = true;
    vec![copies, resumed, lost, rolled_back, syncs, moves, alias, names, beside, publish, rollback, to_bucket, synced_bucket]
}

/// Each mend, the scene in which it is taken out, and the break that the rule ended.
pub const BREAKS: [(Mend, &str, &str); 15] = [
    (Mend::Fencing, "two copies", "zombie over newer"),
    (Mend::Fencing, "two copies to a bucket", "zombie over newer, in a bucket"),
    (Mend::CountedLedger, "a copy that loses an object of its ledger", "lost ledger object"),
    (Mend::ProofOfUnchanged, "copies of what is rolled back, clocks apart", "rollback at the source"),
    (Mend::LookAfterKeeping, "two syncs that keep what they delete", "backup's freeze"),
    (Mend::MarkOfPlace, "a move between two names of one place", "alias"),
    (Mend::Turns, "a move beside a sync", "two runs at one place"),
    (Mend::PinnedSource, "two copies", "source changed while it was copied"),
    (Mend::LookAtSource, "two syncs that keep what they delete", "extra that came to the source"),
    (Mend::CompleteListing, "two syncs that keep what they delete", "incomplete listing"),
    (Mend::ProofOfCopy, "a move, and the same again", "move without a proof"),
    (Mend::StagedFiles, "two copies", "part of a file"),
    (Mend::EachEntryOnce, "two copies", "entry counted twice"),
    (Mend::EndOfCopies, "a copy of files with two names", "names of a file parted by a copy that woke up late"),
    (Mend::WholeVersion, "two versions published", "version that is not whole"),
];

/// Limits that the docs name, and the scene that shows each.
pub const LIMITS: [(Mend, &str, &str); 2] = [
    (Mend::NoFreezeInTheWindow, "two syncs that keep what they delete", "frozen within 0.25 s after a look"),
    (Mend::NoLateCheck, "two copies", "CheckMount frozen before it makes the directory"),
];
