//! Links the codecs that `gdal-toolchain.cmake` enables in the bundled GDAL. Must find the same files as that file.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=packaging/build.rs");
    println!("cargo:rerun-if-env-changed=TACO_STUDIO_CODECS");
    if std::env::var_os("CARGO_FEATURE_BUNDLED_GDAL").is_none() {
        return;
    }
    // zstd is last: in programs that use Parquet, zstd-sys already provides its symbols.
    for (archive, needed_by_others) in [("webp", false), ("sharpyuv", true), ("openjp2", false), ("deflate", false), ("zstd", true)]
    {
        match find(archive) {
            // The archive's full path at the end of the command line, after GDAL's archives, which refer to it.
            Some(path) => println!("cargo:rustc-link-arg={}", path.display()),
            None if needed_by_others => {}
            None => println!(
                "cargo:warning=lib{archive} was not found: the bundled GDAL is built without it (packaging/run installs it)"
            ),
        }
    }
}

fn find(archive: &str) -> Option<PathBuf> {
    let mut folders = Vec::new();
    if let Some(root) = std::env::var_os("TACO_STUDIO_CODECS") {
        folders.push(Path::new(&root).join("lib"));
    }
    if let Ok(entries) = std::fs::read_dir("/usr/lib") {
        let multiarch = entries.filter_map(|entry| Some(entry.ok()?.path()));
        folders.extend(multiarch.filter(|path| path.to_string_lossy().ends_with("-linux-gnu")));
    }
    folders.extend(["/usr/lib64", "/usr/lib", "/opt/homebrew/lib", "/usr/local/lib"].map(PathBuf::from));
    let endings = ["a", "so", "dylib"].into_iter();
    let mut candidates = endings.flat_map(|ending| folders.iter().map(move |folder| folder.join(format!("lib{archive}.{ending}"))));
    candidates.find(|path| path.exists())
}
