//! Taco Studio: build, check, write, open and explore TACO datasets, in a window and headless.
//!
//! One headless core is used by the window, the command line and the tests. What reads or writes
//! datasets without changing a draft is a function of [`ops`]. What changes the open document is a
//! [`studio::Command`] that [`studio::Studio`] runs, with a [`studio::Event`] as its result. Each
//! module may import only those above it in this table; a test in `tests/tidy.rs` keeps that true.
//! The head comment of each module says more about it, and what it must never do.
//!
//! | module | owns |
//! |---|---|
//! | `windows_api` | calls of Windows that the standard library lacks; on Windows only |
//! | [`text`] | texts of the interface in the user's language |
//! | [`digits`] | numbers as short text, round numbers |
//! | [`error`] | the one error type: what happened, where, what to do |
//! | [`folders`] | the user's folders that the studio writes into by itself |
//! | [`consent`] | what the user of this session agreed to: programs, servers |
//! | [`file_lock`] | locks of files and folders between processes |
//! | [`work_files`] | temporary files and folders: names, locks, leftovers of stopped processes |
//! | [`files`] | opening regular files, and members within the folder of their dataset |
//! | [`handles`] | open files of this machine: a bounded number of handles |
//! | [`zip_format`] | structures of ZIP archives: directory, headers, records |
//! | [`model`] | plain data: samples, tortillas, the collection, findings, the rule table |
//! | [`jobs`] | work off the interface thread: progress, cancel, newest request wins |
//! | [`table`] | Parquet bytes ⇄ level tables, values ⇄ columns |
//! | [`remote`] | other machines: addresses, credentials, requests, disk cache, uploads |
//! | [`folder_archive`] | a folder that is one unit, such as a Zarr store, as a ZIP |
//! | [`unpack`] | bytes of compressed members of archives |
//! | [`raster`] | everything that GDAL does |
//! | [`footprint`] | where and when samples are: footprints in degrees, boxes, times |
//! | [`container`] | on-disk formats: detect, read, plan, write |
//! | [`validate`] | checks → reports of findings |
//! | [`query`] | SQL over levels |
//! | [`extensions`] | columns and collection fields computed from the samples, each in one file |
//! | [`export`] | what catalogues need: STAC, GeoParquet, Croissant, DataCite, data cards |
//! | [`draft`] | edits with their inverses, history |
//! | [`ops`] | operations on datasets without a session, with typed input and output |
//! | [`binding`] | for other languages: an open dataset, operations by name |
//! | [`studio`] | the session: document, commands and events, history, live check, autosave, jobs |
//! | [`cli`] | arguments → one function of `ops`, or a session; text and JSON out |
//! | [`gui`] | the window; the only module that names egui |
//! | [`program`] | arguments → command line or window |
//!
//! # Where to begin
//!
//! **An extension**: a file in its folder of [`extensions`] and its line in the list `ENTRIES` of
//! that folder: in `sample/mod.rs`, with an `ENTRY` in the extension's own file; in
//! `tortilla/entries.rs` and `collection/entries.rs`, where most entries are constants beside the
//! list. Options and columns are declared, so the window, the command line and the help have it at
//! once.
//!
//! **A rule**: a line in the table of `model/rule.rs`, the check in [`validate`], a broken dataset
//! in `tests/rules` that gives exactly its code. Then
//! `TACO_STUDIO_WRITE_REFERENCE=1 ./packaging/test reference` writes `docs/RULES.md`, and
//! `TACO_STUDIO_WRITE_TEXTS=1 ./packaging/test texts` gathers the rule's sentence; its Spanish is
//! written into `assets/text/es.po`. A missing translation is listed by the tests, and stops a
//! release.
//!
//! **A container**: an implementation of [`container::ContainerReader`] in a folder of `container`,
//! with
//! - a variant of `Format` in `container/detect.rs`, where the format is detected from its first
//!   bytes or its folder, and in `container/detect_remote.rs` for addresses that are folders;
//! - a variant of `Physical` in `container/mod.rs`, for whoever needs the format behind the trait;
//! - what the compiler then demands: the names of the format, `container/open.rs`, the check in
//!   `validate/mod.rs`, the layout of its bytes in `ops/byte_map.rs`, the way GDAL reads it in
//!   `ops/tables.rs`;
//! - what the compiler does not demand: its media type in `export/mod.rs`, and whether it is of a
//!   generation that has to be moved to 2.0 in `ops/migrate/mod.rs`;
//! - a dataset in `tests/fixtures/golden` with what an independent reader saw in it.
//!
//! **An operation**: a request (plain data) with its [`ops::Operation`] in a file of [`ops`], an
//! [`ops::OperationOutput`] unless it ends in one that is there, and a line in the list of
//! `ops/operation_list.rs`. Scripts, the modules for Python and C, agents and every session can
//! run it then: as [`studio::Command::Operate`], with its label, its paths and the consent to its
//! programs; the documentation of the request is that of the modules, too. The command line has a
//! file with its arguments and a variant of [`cli::Verb`], which calls `operate` of
//! `cli/runner.rs`; the window has a form in `gui/dialogs/operation/forms`, listed there
//! by the `Action` that opens it, and says in `gui/command_handling.rs` what follows the end.
//!
//! **A panel of the window**: a line with its title, icon and side in `gui/pane.rs`, a type in
//! `gui/panels` that holds what it keeps between frames and implements `Panel`, a line of `panels!`
//! in `gui/panels/mod.rs`, which the compiler demands, and an `Action` that shows it, which a test
//! demands. What several panels share is a field of `Session`. What a panel requests of the studio
//! or of another panel is a `Request`; it changes neither by itself.
//!
//! **A menu entry**, which is also one of the palette and may have keys: an `Action` in
//! `gui/action.rs`, its words in `gui/action_info.rs`, when it is enabled in
//! `gui/action_enabled.rs`, and what it does in `gui/command_handling.rs`.
//!
//! **A column of the level table** in the window: a variant of `TableKind` in
//! `gui/panels/table/state.rs`, its head in `refresh` and its cell in `cell` of
//! `gui/panels/table/mod.rs`; the compiler demands the cell.
//!
//! **An edit, what the check finds in it, a fix, and undo**: a panel calls `run` of
//! `gui/panel_context.rs`; `gui/command_handling.rs` takes the request after the frame, and
//! `studio/mod.rs` the command. `studio/edit.rs` changes the draft (`draft/history.rs`), with undo
//! beside it, and starts the check in `studio/document_check.rs`, which receives its report, too.
//! `gui/panels/problems/mod.rs` shows that, with the fixes that `studio/fix.rs` finds; a fix is an
//! edit as any other.
//!
//! **A command**: a variant of [`studio::Command`] (plain data) for what changes the document, or
//! of [`studio::DocumentRead`] for what scripts read of it, its arm in `studio/mod.rs` or
//! `studio/document_read.rs`, and its paths in `visit_paths`, so that scripts find them from their
//! folder; the compiler demands both. What the window reads is a [`jobs::AsyncValue`].
//!
//! **A verb of the command line**: a variant of [`cli::Verb`], a row in `docs/COMMAND-LINE.md`, and
//! a section of `docs/COMMANDS.md`, which
//! `TACO_STUDIO_WRITE_REFERENCE=1 ./packaging/test reference` writes.
//!
//! **A text of the window** is written in `tr!`, `tr_n!` or `mark!` ([`text`]);
//! `TACO_STUDIO_WRITE_TEXTS=1 ./packaging/test texts` brings template and catalogues up to date.
//! **A language**: a translation of `assets/text/studio.pot` beside it, named in `text.rs`. Errors,
//! the log and the command line are English.
//!
//! **A dependency**: after Cargo.toml and Cargo.lock,
//! `TACO_STUDIO_WRITE_LICENCES=1 ./packaging/test licences` lists its licence in
//! `docs/LICENCES.md`; one that the list of allowed licences does not have fails the test.

#[macro_use]
pub mod text;

// What the references and other languages show is documented item by item; elsewhere a doc says
// what the name does not.
#[warn(missing_docs)]
pub mod binding;
pub mod cli;
pub mod consent;
pub mod container;
pub mod digits;
pub mod draft;
#[warn(missing_docs)]
pub mod error;
pub mod export;
#[warn(missing_docs)]
pub mod extensions;
pub mod file_lock;
pub mod files;
pub mod folder_archive;
pub mod folders;
pub mod footprint;
pub mod gui;
pub mod handles;
pub mod jobs;
#[warn(missing_docs)]
pub mod model;
#[warn(missing_docs)]
pub mod ops;
pub mod program;
pub mod query;
pub mod raster;
pub mod remote;
pub mod studio;
pub mod table;
pub mod unpack;
pub mod validate;
#[cfg(windows)]
pub mod windows_api;
pub mod work_files;
pub mod zip_format;
