//! The table of targets: reader, maximum input length, mutation.

use std::sync::OnceLock;

use taco_studio::error::{Kind, Result};

use crate::mutate::{self, Mutation};
use crate::{containers, texts};

/// One target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name of the target, its corpus folder and its dictionary.
    pub name: &'static str,
    /// Maximum length of an input in bytes.
    pub longest: usize,
    /// Reads an input.
    pub run: fn(&[u8]),
    /// Mutates an input.
    pub mutate: Mutation,
}

/// Every target.
pub fn all() -> Vec<Target> {
    let target = |name, longest, run, mutate| Target {
        name,
        longest,
        run,
        mutate,
    };
    vec![
        target("zip", 32 << 10, containers::zip, mutate::in_place),
        target("table", 16 << 10, containers::table, mutate::parquet),
        target("wkb", 1 << 10, texts::wkb, mutate::plain),
        target("tortilla", 32 << 10, containers::tortilla, mutate::in_place),
        target("chain", 48 << 10, containers::chain, mutate::in_place),
        target("taco3", 48 << 10, containers::taco3, mutate::in_place),
        target("avro", 16 << 10, containers::avro, mutate::plain),
        target("tacocat", 32 << 10, containers::tacocat, mutate::in_place),
        target("collection", 16 << 10, texts::collection, mutate::json),
        target("project", 32 << 10, texts::project, mutate::project),
        target("journal", 8 << 10, texts::journal, mutate::journal),
        target("script", 8 << 10, texts::script, mutate::json),
        target("sql", 1 << 10, texts::sql, mutate::sql),
    ]
}

/// The value, if any. An error is the expected result for invalid input, but an internal error is a
/// finding.
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

/// Whether errors are printed: for seeds, which should have none.
fn is_telling() -> bool {
    static TELLING: OnceLock<bool> = OnceLock::new();
    *TELLING.get_or_init(|| std::env::var_os("TACO_STUDIO_FUZZ_ERRORS").is_some())
}
