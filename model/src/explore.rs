//! Everything that may come next, for the checker: the script of nobody.

use crate::protocol::{Action, Protocol};
use crate::scene::Mend;
use crate::state::*;
use stateright::{Model, Property};

pub const HOLDS: &str = "the promises hold";
pub const ENDS: &str = "each run can end well";

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.initial()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        self.of_the_world(state, actions);
        for run in 0..state.runs.len() {
            self.of_execution(state, run, actions);
        }
        for (attempt, one) in state.alive() {
            if state.faults.kills < self.scene.bounds.kills {
                actions.push(Action::Kill { attempt });
            }
            match one.task {
                Task::Check => self.of_check(state, attempt, one, actions),
                Task::Copy => self.of_copy(state, attempt, one, actions),
                Task::Finish => self.of_finish(state, attempt, one, actions),
                Task::Delete => self.of_delete(state, attempt, one, actions),
                Task::Publish => self.of_publish(attempt, one, actions),
            }
            if !self.bucket() {
                actions.push(Action::Superseded { attempt });
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        self.step(state, &action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(HOLDS, |_, state: &State| state.broken.is_none()),
            Property::sometimes(ENDS, |model: &Protocol, state: &State| {
                let wanted = if model.scene.alias { Status::Refused } else { Status::Green };
                let well = |run: &RunState| run.status == wanted || (model.scene.same && run.status == Status::Skipped);
                state.runs.0.iter().all(|run| well(run))
            }),
        ]
    }
}

impl Protocol {
    fn of_the_world(&self, state: &State, actions: &mut Vec<Action>) {
        let (spent, most) = (&state.faults, &self.scene.bounds);
        for file in 0..state.source.len() {
            if spent.writes < most.writes {
                actions.push(Action::Write { end: End::Source, file, version: 2 + spent.writes });
                if state.source[file] > 1 {
                    actions.push(Action::Write { end: End::Source, file, version: 1 });
                }
            }
        }
        if spent.losses < most.losses {
            for run in 0..state.runs.len() {
                actions.push(Action::Lose { run, file: None });
                actions.extend((0..state.source.len()).map(|file| Action::Lose { run, file: Some(file) }));
            }
        }
    }

    fn of_execution(&self, state: &State, run: Run, actions: &mut Vec<Action>) {
        let one = &state.runs[run];
        if one.phase == Phase::Leave {
            actions.push(Action::Leave { run });
        }
        if one.status != Status::Going {
            return;
        }
        if one.phase > Phase::Plan && state.faults.stops < self.scene.bounds.stops {
            actions.push(Action::Stop { run });
        }
        match one.phase {
            // Only what has ended is resumed.
            Phase::Plan if self.scene.resumes[run].is_some_and(|one| state.going(one)) => {}
            Phase::Plan => actions.push(Action::TakeTurn { run }),
            Phase::Check => self.of_task(state, run, Task::Check, 0, actions),
            Phase::List => {
                actions.push(Action::List { run });
                if state.faults.unread < self.scene.bounds.unread {
                    actions.push(Action::ListInPart { run });
                }
            }
            Phase::Partition => actions.push(Action::Partition { run }),
            Phase::Compare => actions.push(Action::Compare { run }),
            Phase::Copy | Phase::Delete => {
                let task = if one.phase == Phase::Copy { Task::Copy } else { Task::Delete };
                for file in (0..state.source.len()).filter(|file| !one.ledger.answered[*file]) {
                    self.of_task(state, run, task, file, actions);
                }
            }
            Phase::Finish => self.of_task(state, run, Task::Finish, 0, actions),
            Phase::Publish => {
                self.of_task(state, run, Task::Publish, 0, actions);
                if !self.stands(Mend::WholeVersion) {
                    self.of_task(state, run, Task::Publish, 0, actions);
                }
            }
            Phase::Withdraw => actions.push(Action::Withdraw { run }),
            Phase::Summarise => actions.push(Action::Summarise { run }),
            Phase::Leave | Phase::Over => {}
        }
    }

    /// An attempt begins where none is at work, or twice where the queue delivers twice.
    fn of_task(&self, state: &State, run: Run, task: Task, file: File, actions: &mut Vec<Action>) {
        let Some(attempt) = state.attempts.iter().position(Option::is_none) else { return };
        let alone = !state.alive().any(|(_, one)| (one.run, one.task, one.file) == (run, task, file));
        if alone || state.faults.twice < self.scene.bounds.twice {
            actions.push(Action::Begin { attempt, run, task, file });
        }
    }

    fn of_check(&self, state: &State, attempt: Attempt, one: &AttemptState, actions: &mut Vec<Action>) {
        let ends = self.mode(one.run).ends();
        if !self.bucket() {
            for end in ends.iter().filter(|end| !state.runs[one.run].right[**end as usize]) {
                actions.push(Action::Stage { attempt, end: *end });
            }
            if self.stands(Mend::Fencing) {
                let fences = state.writer(one.run).map(|one| one.fences.clone()).unwrap_or_default();
                for run in fences {
                    actions.extend(ends.iter().map(|end| Action::Fence { attempt, end: *end, run }));
                }
            }
        }
        actions.push(Action::MarkFenced { attempt });
        actions.push(Action::Refuse { attempt });
    }

    fn of_copy(&self, state: &State, attempt: Attempt, one: &AttemptState, actions: &mut Vec<Action>) {
        let file = one.file;
        if one.did {
            actions.push(Action::Note { attempt, file, outcome: Outcome::Copied });
        } else if one.failed {
            actions.push(Action::Note { attempt, file, outcome: Outcome::Failed });
        } else if one.staged == NOTHING {
            actions.push(Action::Read { attempt, file });
        } else {
            let place = Action::Place { attempt, file, version: one.staged };
            let ended = state.runs[one.run].copies_ended;
            if (self.bucket() || ended) && self.step(state, &place).is_none() {
                actions.push(Action::Denied { attempt });
            }
            actions.push(place);
        }
    }

    fn of_finish(&self, state: &State, attempt: Attempt, one: &AttemptState, actions: &mut Vec<Action>) {
        if !state.runs[one.run].copies_ended && self.stands(Mend::EndOfCopies) {
            actions.push(Action::EndCopies { attempt });
            return;
        }
        let left = (0..state.linked.len()).filter(|file| !state.linked[*file]);
        actions.extend(left.map(|file| Action::Link { attempt, file }));
        actions.push(Action::Return { attempt });
    }

    fn of_delete(&self, state: &State, attempt: Attempt, one: &AttemptState, actions: &mut Vec<Action>) {
        let file = one.file;
        let end = if self.mode(one.run) == Mode::Move { End::Source } else { End::Destination };
        if one.did || one.failed {
            let outcome = if one.did { Outcome::Deleted } else { Outcome::Kept };
            actions.push(Action::Note { attempt, file, outcome });
            return;
        }
        if !one.looked {
            actions.push(Action::LookAtEntry { attempt, file });
            return;
        }
        if !one.fresh && !self.bucket() {
            actions.push(Action::Look { attempt, end });
        }
        let keeps = self.scene.backup && one.kept == NOTHING;
        if keeps && one.fresh {
            actions.push(Action::Keep { attempt, file });
        }
        if keeps {
            return;
        }
        let unlink = Action::Unlink { attempt, end, file };
        if (one.fresh || self.bucket()) && self.step(state, &unlink).is_none() {
            actions.push(Action::Denied { attempt });
        }
        actions.push(unlink);
    }

    fn of_publish(&self, attempt: Attempt, one: &AttemptState, actions: &mut Vec<Action>) {
        if !one.did {
            actions.push(Action::Switch { attempt, tree: self.tree(one.run) });
        } else if !one.fresh {
            actions.push(Action::Look { attempt, end: End::Destination });
        } else {
            actions.push(Action::Retire { attempt, tree: 0 });
        }
        actions.push(Action::Return { attempt });
    }
}
