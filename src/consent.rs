//! The user's consents of this session: programs that may be started, servers that may be
//! contacted. Only command-line options and clicks in the window add to it; projects, recipes and
//! scripts cannot. Never stored. Refusals say how the user consents where this process runs.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How the user of this process consents, for the hints of refusals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConsentRoute {
    /// Options of the command, which is run again.
    #[default]
    Command,
    /// Options with which the server for agents is started.
    AgentServer,
    /// Functions of the modules for Python and C.
    Library,
}

impl ConsentRoute {
    /// How to permit the programs that an error names.
    pub fn programs_hint(self) -> &'static str {
        match self {
            Self::Command => "if you trust what is named, run it again with --allow-commands",
            Self::AgentServer => {
                "the user agrees by starting `taco-studio mcp` with --allow-commands"
            }
            Self::Library => {
                "if you trust what is named, call allow_programs() first; in C, \
                 taco_allow_programs()"
            }
        }
    }

    /// How to permit a write to the other machine that an error names.
    pub fn connect_hint(self) -> &'static str {
        match self {
            Self::Command => "if you trust the address, run it again with --allow-connect",
            Self::AgentServer => {
                "the user agrees by starting `taco-studio mcp` with --allow-connect"
            }
            Self::Library => {
                "if you trust the address, call allow_connect() first; in C, taco_allow_connect()"
            }
        }
    }
}

#[derive(Default)]
struct Agreed {
    route: ConsentRoute,
    /// All programs, from `--allow-commands`.
    any_program: bool,
    /// Single programs with their arguments.
    programs: HashSet<Vec<String>>,
    /// Scripts may choose connections, from `--allow-connect`.
    connect: bool,
    /// Servers, by scheme and host.
    servers: HashSet<String>,
}

static AGREED: Mutex<Option<Agreed>> = Mutex::new(None);

fn with_consents<T>(change: impl FnOnce(&mut Agreed) -> T) -> T {
    let mut agreed: MutexGuard<'_, Option<Agreed>> =
        AGREED.lock().unwrap_or_else(PoisonError::into_inner);
    change(agreed.get_or_insert_default())
}

/// States how the user of this process consents.
pub fn set_route(route: ConsentRoute) {
    with_consents(|agreed| agreed.route = route);
}

/// How the user of this process consents.
pub fn route() -> ConsentRoute {
    with_consents(|agreed| agreed.route)
}

/// Permits all programs in this session.
pub fn allow_all_programs() {
    with_consents(|agreed| agreed.any_program = true);
}

/// Permits this program with exactly these arguments.
pub fn allow_program(program: &[String]) {
    with_consents(|agreed| agreed.programs.insert(program.to_vec()));
}

/// True when this program may be started.
pub fn allows_program(program: &[String]) -> bool {
    with_consents(|agreed| agreed.any_program || agreed.programs.contains(program))
}

/// Permits scripts to choose servers, profiles and tokens.
pub fn allow_connect() {
    with_consents(|agreed| agreed.connect = true);
}

/// True when scripts may choose servers, profiles and tokens.
pub fn allows_connect() -> bool {
    with_consents(|agreed| agreed.connect)
}

/// The key of a server's consent: scheme and host of an address, or scheme and bucket.
pub fn server_of(address: &str) -> String {
    let end = address
        .match_indices('/')
        .nth(2)
        .map_or(address.len(), |(at, _)| at);
    address[..end].to_ascii_lowercase()
}

/// Permits projects to read from this server.
pub fn allow_server(server: &str) {
    with_consents(|agreed| agreed.servers.insert(server.to_owned()));
}

/// True when projects may read from this server.
pub fn allows_server(server: &str) -> bool {
    with_consents(|agreed| agreed.servers.contains(server))
}

/// A program and its arguments on one line, with arguments quoted and control characters escaped.
pub fn format_program(program: &[String]) -> String {
    let quoted: Vec<String> = program
        .iter()
        .map(|argument| format!("\"{}\"", argument.escape_debug()))
        .collect();
    crate::text::printable(&quoted.join(" ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hint_names_the_option_or_function() {
        for (route, programs, connect) in [
            (ConsentRoute::Command, "--allow-commands", "--allow-connect"),
            (
                ConsentRoute::AgentServer,
                "--allow-commands",
                "--allow-connect",
            ),
            (ConsentRoute::Library, "allow_programs()", "allow_connect()"),
        ] {
            assert!(route.programs_hint().contains(programs), "{route:?}");
            assert!(route.connect_hint().contains(connect), "{route:?}");
        }
    }

    #[test]
    fn one_program_is_not_all_of_them() {
        let program = |last: &str| ["consent-test", last].map(str::to_owned);
        assert!(!allows_program(&program("a")));
        allow_program(&program("a"));
        assert!(allows_program(&program("a")) && !allows_program(&program("b")));
        assert_eq!(
            format_program(&["sh".into(), "a \"b\"\n\u{202e}c".into()]),
            r#""sh" "a \"b\"\n\u{202e}c""#
        );
    }
}
