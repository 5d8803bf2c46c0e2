//! A temporary folder of this process, in memory where available, for readers that take paths.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder. It remains when the process is killed by a signal; `packaging/fuzz` sets a folder
/// that it removes.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let shared = Path::new("/dev/shm");
        let above = match std::env::var_os("TACO_STUDIO_FUZZ_PLACE") {
            Some(named) => PathBuf::from(named),
            None if shared.is_dir() => shared.to_owned(),
            None => std::env::temp_dir(),
        };
        let folder = above.join(format!("taco-studio-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        folder
    })
}

/// Writes an input to a file of this name, and returns the path.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// Removes the folder.
pub fn clear() {
    let _ = std::fs::remove_dir_all(folder());
}
