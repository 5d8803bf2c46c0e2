//! What the user of this session has agreed to: programs that may be started, other servers that may be asked. Only the command line
//! and clicks in the window add to it: a project, a recipe or a script can't. Must not be written anywhere.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Agreed {
    /// Every program, from `--allow-commands`.
    any_program: bool,
    /// Programs with their arguments.
    programs: HashSet<Vec<String>>,
    /// Scripts may say how to reach other machines, from `--allow-connect`.
    connect: bool,
    /// Scheme and host of servers.
    servers: HashSet<String>,
}

static AGREED: Mutex<Option<Agreed>> = Mutex::new(None);

fn with<T>(change: impl FnOnce(&mut Agreed) -> T) -> T {
    let mut agreed: MutexGuard<'_, Option<Agreed>> = AGREED.lock().unwrap_or_else(PoisonError::into_inner);
    change(agreed.get_or_insert_default())
}

/// Lets every program start that is asked for in this session.
pub fn allow_all_programs() {
    with(|agreed| agreed.any_program = true);
}

/// Lets this program start, with these arguments and no others.
pub fn allow_program(program: &[String]) {
    with(|agreed| agreed.programs.insert(program.to_vec()));
}

/// True when this program may be started.
pub fn allows_program(program: &[String]) -> bool {
    with(|agreed| agreed.any_program || agreed.programs.contains(program))
}

/// Lets scripts choose servers, profiles and tokens.
pub fn allow_connect() {
    with(|agreed| agreed.connect = true);
}

/// True when scripts may choose servers, profiles and tokens.
pub fn allows_connect() -> bool {
    with(|agreed| agreed.connect)
}

/// What a server is agreed to by: scheme and host of an address, or scheme and bucket.
pub fn server_of(address: &str) -> String {
    let end = address.match_indices('/').nth(2).map_or(address.len(), |(at, _)| at);
    address[..end].to_ascii_lowercase()
}

/// Lets projects read from this server.
pub fn allow_server(server: &str) {
    with(|agreed| agreed.servers.insert(server.to_owned()));
}

/// True when projects may read from this server.
pub fn allows_server(server: &str) -> bool {
    with(|agreed| agreed.servers.contains(server))
}

/// A program with its arguments in one line, where each argument begins and ends, and nothing that a terminal obeys.
pub fn described(program: &[String]) -> String {
    let quoted: Vec<String> = program.iter().map(|argument| format!("\"{}\"", argument.escape_debug())).collect();
    crate::text::printable(&quoted.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_is_not_all_of_them() {
        let program = |last: &str| ["consent-test", last].map(str::to_owned);
        assert!(!allows_program(&program("a")));
        allow_program(&program("a"));
        assert!(allows_program(&program("a")) && !allows_program(&program("b")));
        assert_eq!(described(&["sh".into(), "a \"b\"\n\u{202e}c".into()]), r#""sh" "a \"b\"\n\u{202e}c""#);
    }
}
