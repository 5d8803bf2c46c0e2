//! `doctor`: checks of this machine, as text or JSON. The checks themselves are `ops::doctor`'s,
//! and the window's for graphics.

use super::output::{print, print_json};
use crate::error::Result;
use crate::ops::doctor::{DoctorCheck, Health};

/// Prints the checks; returns the exit code: 0 when nothing that the studio needs is broken,
/// else 1.
///
/// # Errors
/// When standard output takes nothing.
pub fn report(checks: &[DoctorCheck], json: bool) -> Result<u8> {
    let healthy = checks.iter().all(|check| check.health != Health::Error);
    if json {
        print_json(&serde_json::json!({ "healthy": healthy, "checks": checks }))?;
    } else {
        print(&text(checks))?;
    }
    Ok(u8::from(!healthy))
}

fn text(checks: &[DoctorCheck]) -> String {
    let width = checks
        .iter()
        .map(|check| check.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let mark = match check.health {
            Health::Ok => "ok     ",
            Health::Warning => "warning",
            Health::Error => "error  ",
        };
        text.push_str(&format!("{mark}  {:width$}  {}\n", check.name, check.seen));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("{:9}{:width$}  → {advice}\n", "", ""));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_error_is_a_bad_end() {
        let fine = [
            DoctorCheck::ok("gdal", "there"),
            DoctorCheck::warning("display", "none", "start one"),
        ];
        assert_eq!(report(&fine, true).expect("prints"), 0);
        let broken = [DoctorCheck::error("data", "can't be written", "make room")];
        assert_eq!(report(&broken, true).expect("prints"), 1);
        assert_eq!(
            text(&broken),
            "error    data  can't be written\n               → make room\n"
        );
    }
}
