//! The table of targets: what each reads, how long its inputs may be, how they are changed.

use std::sync::OnceLock;

use taco_studio::error::{Kind, Result};

use crate::mutate::{self, Mutation};
use crate::{containers, texts};

/// One reader, or a family of readers, with its inputs.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: that of its folder in the corpus, and of its dictionary.
    pub name: &'static str,
    /// Bytes of the longest input.
    pub longest: usize,
    /// Reads an input.
    pub run: fn(&[u8]),
    /// Makes a new input out of one.
    pub mutate: Mutation,
}

/// Every target.
pub fn all() -> Vec<Target> {
    let target = |name, longest, run, mutate| Target { name, longest, run, mutate };
    vec![
        target("zip", 32 << 10, containers::zip, mutate::in_place),
        target("table", 16 << 10, containers::table, mutate::parquet),
        target("wkb", 1 << 10, texts::wkb, mutate::plain),
        target("tortilla", 32 << 10, containers::tortilla, mutate::in_place),
        target("chain", 48 << 10, containers::chain, mutate::in_place),
        target("taco3", 48 << 10, containers::taco3, mutate::in_place),
        target("tacocat", 32 << 10, containers::tacocat, mutate::in_place),
        target("collection", 16 << 10, texts::collection, mutate::json),
        target("project", 32 << 10, texts::project, mutate::project),
        target("journal", 8 << 10, texts::journal, mutate::journal),
        target("script", 8 << 10, texts::script, mutate::json),
        target("sql", 1 << 10, texts::sql, mutate::sql),
    ]
}

/// The value, where there is one. An error is what bad input should give; that the studio itself is at fault is a finding.
#[track_caller]
pub fn expected<T>(outcome: Result<T>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(error.kind() != Kind::Internal, "{}", error.report());
            if is_telling() {
                println!("{}", error.report());
            }
            None
        }
    }
}

/// Whether errors are to be seen: of seeds, which should have none.
fn is_telling() -> bool {
    static TELLING: OnceLock<bool> = OnceLock::new();
    *TELLING.get_or_init(|| std::env::var_os("TACO_STUDIO_FUZZ_ERRORS").is_some())
}
