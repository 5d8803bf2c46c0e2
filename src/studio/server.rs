//! Servers that hold files of a project.

/// A server that holds files of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Scheme and host, or scheme and bucket.
    pub host: String,
    /// Number of samples on it.
    pub files: u64,
}

impl Server {
    /// Number of files as text for the user.
    pub fn files_text(&self) -> String {
        if self.files == 1 {
            "1 file".to_owned()
        } else {
            format!("{} files", self.files)
        }
    }
}
