//! Explores the scenes, takes the mends out one by one, and holds traces of real runs against the protocol.

mod execution;
mod explore;
mod protocol;
mod removal;
mod scene;
mod state;
mod trace;
mod work;

use crate::explore::{ENDS, HOLDS};
use crate::protocol::Protocol;
use crate::scene::{scenes, Mend, Scene, BREAKS, LIMITS};
use stateright::{Checker, HasDiscoveries, Model};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let well = match words.as_slice() {
        ["explore"] => scenes().into_iter().map(explore).fold(true, |all, one| all & one),
        ["explore", name] => explore(scene_of(name)),
        ["breaks"] => broken(&BREAKS) & broken(&LIMITS),
        ["breaks", mend] => {
            let some: Vec<_> = BREAKS.into_iter().filter(|(one, _, _)| format!("{one:?}") == **mend).collect();
            !some.is_empty() && broken(&some)
        }
        ["traces", files @ ..] => trace::check(files),
        _ => {
            eprintln!("fanout-model explore [SCENE] | breaks [RULE] | traces FILE...");
            false
        }
    };
    if well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn scene_of(name: &str) -> Scene {
    scenes().into_iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no scene is called {name:?}"))
}

/// Every state of a scene.
fn explore(scene: Scene) -> bool {
    let name = scene.name;
    let begun = std::time::Instant::now();
    let checker = Protocol { scene, without: None, traced: false }.checker().threads(2).spawn_bfs().join();
    println!(
        "{name}: {} states, {} steps deep, {:.0} s",
        checker.unique_state_count(),
        checker.max_depth(),
        begun.elapsed().as_secs_f64()
    );
    if let Some(path) = checker.discovery(HOLDS) {
        tell(&path);
        return false;
    }
    if checker.discovery(ENDS).is_none() {
        println!("  no run can end well");
        return false;
    }
    true
}

/// The shortest way to each break, where its mend is taken out.
fn broken(breaks: &[(Mend, &str, &str)]) -> bool {
    let mut well = true;
    for (mend, scene, what) in breaks {
        let protocol = Protocol { scene: scene_of(scene), without: Some(*mend), traced: false };
        let checker = protocol.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
        match checker.discovery(HOLDS) {
            Some(path) => {
                let promise = path.last_state().broken.expect("a break names its promise");
                let steps = path.into_actions().len();
                println!("{what}: without {mend:?}, promise {} breaks after {steps} steps ({scene})", promise as u8);
            }
            None => {
                println!(
                    "{what}: without {mend:?} nothing breaks in {} states ({scene})",
                    checker.unique_state_count()
                );
                well = false;
            }
        }
    }
    well
}

fn tell(path: &stateright::Path<state::State, protocol::Action>) {
    println!("  promise {:?} breaks:", path.last_state().broken);
    for (state, action) in path.clone().into_vec() {
        let at_work: Vec<String> =
            state.alive().map(|(id, one)| format!("{id}: {:?} of run {}", one.task, one.run)).collect();
        if let Some(action) = action {
            println!("    {action:?}  ({})", at_work.join(", "));
        }
    }
}
