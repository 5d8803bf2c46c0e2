//! Draws the open dialog and does what it requests.

use std::path::PathBuf;

use egui::Context;

use super::App;
use super::dialogs::Next;
use super::panel_context::Request;
use super::settings::Settings;
use super::theme::{self, Theme};
use crate::consent;
use crate::model::{Profile, is_remote};
use crate::remote::{self, Access};
use crate::studio::{Command, LogLevel};

impl App {
    /// Applies and stores settings.
    pub(super) fn apply_settings(&mut self, ctx: &Context, theme: Theme, settings: Settings) {
        // The check runs again.
        if settings.language != self.view.settings.language && self.studio.document().is_some() {
            self.requests.push(Request::Run(Command::Validate {
                deep: false,
                profile: Profile::Tools,
            }));
        }
        (self.view.theme, self.view.settings) = (theme, settings);
        theme::set(ctx, self.view.theme);
        self.view.settings.apply(ctx);
        self.save();
    }

    /// Draws the open dialog.
    pub(super) fn dialogs_ui(&mut self, ctx: &Context) {
        if !self.dialogs.is_open() {
            return;
        }
        let mut dialogs = std::mem::take(&mut self.dialogs);
        let next = self.with_cx(|cx| dialogs.show(ctx, cx));
        self.dialogs = dialogs;
        match next {
            Next::Stay | Next::Close => {}
            Next::Do(ask) | Next::Also(ask) => self.requests.push(ask),
            Next::Settings(theme, settings) => self.apply_settings(ctx, theme, settings),
            Next::Addresses(access, paths) => {
                self.file_dialog = None;
                self.open_addresses(access, paths);
            }
            Next::Paths(request, paths) => {
                self.file_dialog = None;
                self.handle_picked_paths(request, paths, true);
            }
        }
    }

    /// Opens addresses that the user typed, with these remote settings.
    fn open_addresses(&mut self, access: Access, paths: Vec<PathBuf>) {
        // Scripts can use the dialog, but only the user can grant access to servers.
        let is_known = access == remote::access();
        if !is_known && self.driver.is_some() && !consent::allows_connect() {
            self.studio.log(
                LogLevel::Error,
                "a script may not say how to reach other machines without --allow-connect",
            );
            return;
        }
        for path in paths.iter().filter(|path| is_remote(path)) {
            consent::allow_server(&consent::server_of(&path.to_string_lossy()));
        }
        self.requests
            .push(Request::Run(Command::Connect { access }));
        self.requests.push(Request::OpenPaths(paths));
    }
}
