//! Taco Studio: build, check, write, open and explore TACO datasets, in a window and headless.
//!
//! One headless core is driven alike by the window, the command line and the tests: [`studio::Studio`] takes
//! [`studio::Command`]s and gives [`studio::Event`]s. Each module may import only those above it in this table; a test in
//! `tests/tidy.rs` keeps that true.
//!
//! | module | owns |
//! |---|---|
//! | [`text`] | texts of the interface in the user's language |
//! | [`error`] | the one error type: what happened, where, what to do |
//! | [`folders`] | the user's folders that the studio writes into by itself |
//! | [`model`] | plain data: samples, tortillas, the collection, the tree's skeleton, findings and the rule table |
//! | [`jobs`] | work off the interface thread: progress, cancel, newest request wins |
//! | [`table`] | Parquet bytes ⇄ level tables, values ⇄ columns |
//! | [`remote`] | bytes of other machines: addresses, credentials, requests, the disk cache |
//! | [`raster`] | everything that GDAL does |
//! | [`container`] | on-disk formats: detect, read, plan, write |
//! | [`validate`] | checks → reports of findings |
//! | [`query`] | SQL over levels |
//! | [`extensions`] | columns and collection fields computed from the samples, each in one file |
//! | [`export`] | what catalogues ask for: STAC, GeoParquet, Croissant, DataCite, data cards |
//! | [`draft`] | edits with their inverses, history |
//! | [`studio`] | commands, events, the document, the verbs |
//! | [`cli`] | arguments → commands; text and JSON out |
//! | [`gui`] | the window; the only module that names egui |
//!
//! Where to begin: to add an extension, a file in its folder of [`extensions`] and a line in that folder's list; a container,
//! implement [`container::ContainerReader`] and name it in `container/detect.rs`; a rule, add a line to the table in
//! `model/rule.rs` and the check in `validate`; a command, add a variant to [`studio::Command`] and its verb in a file of `studio`.

#[macro_use]
pub mod text;

pub mod cli;
pub mod container;
pub mod draft;
pub mod error;
pub mod export;
pub mod extensions;
pub mod folders;
pub mod gui;
pub mod jobs;
pub mod model;
pub mod query;
pub mod raster;
pub mod remote;
pub mod studio;
pub mod table;
pub mod validate;
