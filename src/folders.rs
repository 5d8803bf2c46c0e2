//! The folders of the user that the studio writes into by itself, and how: what lies in them is for their owner alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Variables that name such a folder.
const VARIABLES: [&str; 3] = ["TACO_STUDIO_CONFIG_DIR", "TACO_STUDIO_DATA_DIR", "TACO_STUDIO_CACHE_DIR"];

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

/// Makes a folder, with those above it, into which only its owner may look. One that is there already is brought to that, unless
/// it is a folder that the user named in the environment, which may hold other things.
///
/// # Errors
/// What the system says when the folder can't be made.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    if !VARIABLES.iter().any(|variable| named(variable).is_some_and(|named| named == folder)) {
        // Somebody else's folder stays as it is; so does one on a file system without permissions.
        let _ = narrow(&folder.metadata()?, |mode| std::fs::set_permissions(folder, mode), 0o700);
    }
    Ok(())
}

/// Opens a file that only its owner may read; one that is there already is brought to that.
///
/// # Errors
/// What the system says when the file can't be opened.
pub fn open_private(options: OpenOptions, path: &Path) -> io::Result<File> {
    let file = private(options).open(path)?;
    let _ = make_file_private(&file);
    Ok(file)
}

/// The same options with the permissions of a new file for its owner only.
pub fn private(mut options: OpenOptions) -> OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Lets nobody but its owner read an open file.
///
/// # Errors
/// What the system says.
pub fn make_file_private(file: &File) -> io::Result<()> {
    narrow(&file.metadata()?, |mode| file.set_permissions(mode), 0o600)
}

#[cfg(unix)]
fn narrow(data: &std::fs::Metadata, set: impl FnOnce(std::fs::Permissions) -> io::Result<()>, most: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = data.permissions().mode() & 0o7777;
    if mode & !most == 0 { Ok(()) } else { set(PermissionsExt::from_mode(mode & most)) }
}

/// Elsewhere the folders of a user are the user's own by where they lie.
#[cfg(not(unix))]
fn narrow(_: &std::fs::Metadata, _: impl FnOnce(std::fs::Permissions) -> io::Result<()>, _: u32) -> io::Result<()> {
    Ok(())
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn project() -> Option<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "taco-studio")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn private_folders_and_files_are_for_their_owner_only_even_where_they_were_wider() {
        let place = tempfile::tempdir().expect("a folder");
        let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
        let (new, old) = (place.path().join("a/new"), place.path().join("old"));
        std::fs::create_dir(&old).expect("makes");
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o755)).expect("sets");
        for folder in [&new, &old] {
            make_private(folder).expect("makes");
            assert_eq!(mode(folder), 0o700);
        }
        let (new, old) = (new.join("log"), old.join("log"));
        std::fs::write(&old, "x").expect("writes");
        std::fs::set_permissions(&old, PermissionsExt::from_mode(0o644)).expect("sets");
        for file in [&new, &old] {
            let mut options = OpenOptions::new();
            options.create(true).append(true);
            open_private(options, file).expect("opens");
            assert_eq!(mode(file), 0o600);
        }
    }
}
