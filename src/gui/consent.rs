//! Consent to what a file requests instead of the user: programs of a recipe, folders that a
//! project watches, servers that a project reads from. Consent holds for this session.

use std::path::PathBuf;

use super::App;
use super::dialogs::Consent;
use super::dropped_paths;
use super::panel_context::{Confirmation, Request};
use crate::consent;
use crate::studio::{Command, Server};
use crate::text::PrintableLine;

impl App {
    /// Asks before programs start; true when the command waits for the answer. Scripts can't
    /// answer: for them the studio refuses programs that `--allow-commands` does not allow.
    pub(super) fn asks_for_programs(&mut self, command: &Command) -> bool {
        if self.driver.is_some() {
            return false;
        }
        let programs = self.studio.programs_of(command);
        if programs.is_empty() {
            return false;
        }
        self.ask_for_programs(programs, Request::Run(command.clone()));
        true
    }

    /// Asks whether these programs may start; handles the request if they may. A script can't
    /// answer, so nothing happens then.
    pub(super) fn ask_for_programs(&mut self, programs: Vec<Vec<String>>, then: Request) {
        if self.driver.is_some() {
            return;
        }
        let lines = programs
            .iter()
            .map(|program| consent::format_program(program))
            .collect();
        let then = Request::Agreed(Confirmation::Programs(programs), Box::new(then));
        self.dialogs.open(Consent::start_programs(lines, then));
    }

    /// Asks before a project with files on other servers is opened.
    pub(super) fn ask_for_servers(&mut self, path: PathBuf, servers: &[Server]) {
        let line =
            |server: &Server| format!("{}: {}", server.host.printable_line(), server.files_text());
        let hosts = servers.iter().map(|server| server.host.clone()).collect();
        let then = Request::Agreed(
            Confirmation::Servers(hosts),
            Box::new(Request::Run(Command::OpenProject { path })),
        );
        self.dialogs.open(Consent::read_servers(
            servers.iter().map(line).collect(),
            then,
        ));
    }

    /// Asks before folders named by a project are watched. While a script runs, nothing is watched.
    pub(super) fn ask_to_watch(&mut self, folders: Vec<PathBuf>) {
        if self.driver.is_some() {
            return;
        }
        let (known, new): (Vec<PathBuf>, Vec<PathBuf>) = folders
            .into_iter()
            .partition(|folder| self.watch_agreed.contains(folder));
        self.requests.extend(
            known
                .into_iter()
                .map(|folder| Request::Run(Command::Watch { folder })),
        );
        let Some(first) = new.first().cloned() else {
            return;
        };
        let lines = new
            .iter()
            .map(|folder| {
                dropped_paths::display_path(folder)
                    .printable_line()
                    .to_string()
            })
            .collect();
        // The request carries the first folder; the others follow after consent.
        let then = Request::Agreed(
            Confirmation::Watching(new),
            Box::new(Request::Run(Command::Watch { folder: first })),
        );
        self.dialogs.open(Consent::watch_folders(lines, then));
    }

    /// Watches folders that the user chose.
    pub(super) fn watch_chosen(&mut self, folders: Vec<PathBuf>) {
        self.watch_agreed.extend(folders.iter().cloned());
        self.requests.extend(
            folders
                .into_iter()
                .map(|folder| Request::Run(Command::Watch { folder })),
        );
    }

    /// Records consent and handles the request.
    pub(super) fn record_consent(&mut self, agreement: Confirmation, then: Request) {
        match agreement {
            Confirmation::Programs(programs) => programs
                .iter()
                .for_each(|program| consent::allow_program(program)),
            Confirmation::Servers(hosts) => {
                hosts.iter().for_each(|host| consent::allow_server(host))
            }
            Confirmation::Watching(folders) => {
                self.watch_agreed.extend(folders.iter().cloned());
                self.requests.extend(
                    folders
                        .into_iter()
                        .skip(1)
                        .map(|folder| Request::Run(Command::Watch { folder })),
                );
            }
        }
        self.requests.push(then);
    }
}
