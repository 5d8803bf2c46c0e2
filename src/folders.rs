//! The folders of the user that the studio writes into by itself. Must never create one: whoever writes does that.

use std::path::PathBuf;

/// Settings: `TACO_STUDIO_CONFIG_DIR`, or what the system says.
pub fn config_dir() -> Option<PathBuf> {
    named("TACO_STUDIO_CONFIG_DIR").or_else(|| project().map(|dirs| dirs.config_dir().to_owned()))
}

/// What lasts: sample datasets, drafts kept safe, crash reports, the log. `TACO_STUDIO_DATA_DIR`, or what the system says.
pub fn data_dir() -> Option<PathBuf> {
    named("TACO_STUDIO_DATA_DIR").or_else(|| project().map(|dirs| dirs.data_dir().to_owned()))
}

/// What can be made again: thumbnails, blocks of remote files. The folder `files` in `TACO_STUDIO_CACHE_DIR`, or in what the system says,
/// so that whoever empties it never touches what others keep beside it.
pub fn cache_dir() -> Option<PathBuf> {
    let place = named("TACO_STUDIO_CACHE_DIR").or_else(|| project().map(|dirs| dirs.cache_dir().to_owned()));
    Some(place?.join("files"))
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn project() -> Option<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "taco-studio")
}
