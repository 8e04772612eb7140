//! Holds what real runs did against the protocol: each event of a trace is a step that it allows.

use crate::protocol::{Action, Protocol};
use crate::scene::Scene;
use crate::state::{Faults, Mode, Run, Version};
use serde::Deserialize;
use std::fs::read_to_string;

/// The first line of a trace: the runs, and what stood at both ends. The events follow, one a line.
#[derive(Deserialize)]
struct Head {
    modes: Vec<Mode>,
    resumes: Vec<Option<Run>>,
    buckets: [bool; 2],
    beside: bool,
    source: Vec<Version>,
    destination: Vec<Version>,
}

pub fn check(files: &[&str]) -> bool {
    let mut events = 0;
    let mut refused = 0;
    for file in files {
        match held(&read_to_string(file).unwrap_or_else(|error| panic!("{file}: {error}"))) {
            Ok(count) => events += count,
            Err(said) => {
                refused += 1;
                println!("{file}: {said}");
            }
        }
    }
    println!("{} traces, {events} events, {refused} refused", files.len());
    refused == 0
}

fn held(text: &str) -> Result<usize, String> {
    let mut lines = text.lines().enumerate();
    let (_, first) = lines.next().ok_or("it is empty")?;
    let head: Head = serde_json::from_str(first).map_err(|error| error.to_string())?;
    let scene = Scene {
        name: "a trace",
        modes: head.modes,
        buckets: head.buckets,
        alias: false,
        backup: false,
        resumes: head.resumes,
        same: false,
        beside: head.beside,
        names: false,
        source: head.source,
        destination: head.destination,
        bounds: Faults::default(),
        attempts: 0,
        skew: 0,
    };
    let protocol = Protocol { scene, without: None, traced: true };
    let mut state = protocol.initial();
    let mut count = 0;
    for (number, line) in lines {
        let action: Action = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        state = protocol.step(&state, &action).ok_or_else(|| format!("line {}: no step: {line}", number + 1))?;
        if let Some(promise) = state.broken {
            return Err(format!("line {}: promise {} breaks: {line}", number + 1, promise as u8));
        }
        count += 1;
    }
    Ok(count)
}
