//! What exploring asks of the application beyond commands: remembered queries, where rows are saved, the export of a subset.

use std::path::PathBuf;

use egui::Context;

use super::App;
use super::cx::Ask;
use super::dialogs::Dialog;
use super::picker::Wish;
use super::view_state::QueryBook;
use crate::query::Query;
use crate::studio::Command;

impl App {
    pub(super) fn remember_queries(&mut self, book: QueryBook) {
        self.view.queries = book;
        self.save();
    }

    /// Asks for the file; the rows are read when it is known.
    pub(super) fn save_rows(&mut self, ctx: &Context, query: Query) {
        self.session.rows_to_save = Some(query);
        self.pick(ctx, Wish::SaveRows);
    }

    /// The file for the rows was chosen.
    pub(super) fn rows_target(&mut self, target: Option<PathBuf>) {
        if let Some((query, target)) = self.session.rows_to_save.take().zip(target) {
            self.asks.push(Ask::Run(Command::SaveRows { query, target }));
        }
    }

    pub(super) fn export_subset(&mut self, sql: Option<String>) {
        let Some(open) = self.studio.document().and_then(|document| document.opened()) else { return };
        let input = open.reader.info().path.clone();
        let id = open.reader.collection().id().to_owned();
        let folder = self.view.target.clone().or_else(|| directories::UserDirs::new().map(|dirs| dirs.home_dir().to_owned()));
        self.dialogs.open(Dialog::export_subset(input, &folder.unwrap_or_default(), &id, sql));
    }
}
