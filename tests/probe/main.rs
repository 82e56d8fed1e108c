//! Runs a program and measures it. `forge-probe RESULT PROGRAM [ARGUMENT…]` writes to `RESULT`:
//! wall time and processor time (user and system) in microseconds, peak memory in KiB, and the exit
//! code.
//!
//! The probe is a separate small program, because Linux counts the memory of a parent as the first
//! memory of its child. Processor time and peak memory include the programs that the measured
//! program runs and waits for.

use std::{process::ExitCode, time::Instant};

use wait4::Wait4;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("forge-probe: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let result = args.next().ok_or("no file for the result")?;
    let program = args.next().ok_or("no program")?;
    let begun = Instant::now();
    let used = std::process::Command::new(program)
        .args(args)
        .spawn()?
        .wait4()?;
    let wall = begun.elapsed().as_micros();
    let cpu = (used.rusage.utime + used.rusage.stime).as_micros();
    let peak = used.rusage.maxrss / 1024;
    let code = used.status.code().unwrap_or(-1);
    std::fs::write(result, format!("{wall} {cpu} {peak} {code}\n"))?;
    Ok(())
}
