//! The user's folders that the studio writes to; their contents are private to the owner.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Environment variables that override these folders.
const VARIABLES: [&str; 3] = [
    "TACO_STUDIO_CONFIG_DIR",
    "TACO_STUDIO_DATA_DIR",
    "TACO_STUDIO_CACHE_DIR",
];

static OWN_PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file by which other processes start this program, where the process runs another one,
/// such as Python. The first call counts.
pub fn set_own_program(file: PathBuf) {
    OWN_PROGRAM.get_or_init(|| file);
}

/// The file by which other processes start this program.
///
/// # Errors
/// The system's error when the path of this process is unknown.
pub fn own_program() -> io::Result<PathBuf> {
    OWN_PROGRAM
        .get()
        .cloned()
        .map_or_else(std::env::current_exe, Ok)
}

/// Settings: `TACO_STUDIO_CONFIG_DIR`, or the system's folder.
pub fn config_dir() -> Option<PathBuf> {
    folder_from_variable("TACO_STUDIO_CONFIG_DIR")
        .or_else(|| project().map(|dirs| dirs.config_dir().to_owned()))
}

/// File with the settings of the window; the command line reads those that are not of the window
/// alone.
pub fn settings_file() -> Option<PathBuf> {
    Some(config_dir()?.join("window.json"))
}

/// Persistent data: sample datasets, autosaved drafts, crash reports, the log.
/// `TACO_STUDIO_DATA_DIR`, or the system's folder.
pub fn data_dir() -> Option<PathBuf> {
    folder_from_variable("TACO_STUDIO_DATA_DIR")
        .or_else(|| project().map(|dirs| dirs.data_dir().to_owned()))
}

/// Cache: thumbnails, blocks of remote files. The subfolder `files` of `TACO_STUDIO_CACHE_DIR` or
/// of the system's folder, so that clearing the cache never deletes files of other programs.
pub fn cache_dir() -> Option<PathBuf> {
    let place = folder_from_variable("TACO_STUDIO_CACHE_DIR")
        .or_else(|| project().map(|dirs| dirs.cache_dir().to_owned()));
    Some(place?.join("files"))
}

/// Creates a folder and its parents, accessible to the owner only (mode 0700). An existing folder
/// is restricted too, unless it is set by an environment variable, as it may contain other files.
///
/// # Errors
/// The system's error when the folder cannot be created.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    if !VARIABLES
        .iter()
        .any(|variable| folder_from_variable(variable).is_some_and(|named| named == folder))
    {
        // Fails for a folder of another owner, or on a file system without permissions; both are
        // left unchanged.
        let _ = narrow_permissions(
            &folder.metadata()?,
            |mode| std::fs::set_permissions(folder, mode),
            0o700,
        );
    }
    Ok(())
}

/// Opens a file accessible to the owner only (mode 0600); an existing file is restricted.
///
/// # Errors
/// The system's error when the file cannot be opened.
pub fn open_private(options: OpenOptions, path: &Path) -> io::Result<File> {
    let file = private(options).open(path)?;
    let _ = make_file_private(&file);
    Ok(file)
}

/// Adds the mode 0600 for new files.
#[cfg_attr(
    not(unix),
    allow(unused_mut, reason = "there is no mode to add on other systems")
)]
pub fn private(mut options: OpenOptions) -> OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Restricts an open file to its owner.
///
/// # Errors
/// The system's error.
pub fn make_file_private(file: &File) -> io::Result<()> {
    narrow_permissions(&file.metadata()?, |mode| file.set_permissions(mode), 0o600)
}

#[cfg(unix)]
fn narrow_permissions(
    data: &std::fs::Metadata,
    set: impl FnOnce(std::fs::Permissions) -> io::Result<()>,
    most: u32,
) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = data.permissions().mode() & 0o7777;
    if mode & !most == 0 {
        Ok(())
    } else {
        set(PermissionsExt::from_mode(mode & most))
    }
}

/// On other systems the user's folders are private by location.
#[cfg(not(unix))]
fn narrow_permissions(
    _: &std::fs::Metadata,
    _: impl FnOnce(std::fs::Permissions) -> io::Result<()>,
    _: u32,
) -> io::Result<()> {
    Ok(())
}

fn folder_from_variable(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
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
