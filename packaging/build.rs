//! Links the codecs that `gdal-toolchain.cmake` enables in the bundled GDAL (must find the same
//! files as that file), and for Windows the icon, version and manifest of the program. The modules
//! of other languages (`c`, `python`) are linked by it, too.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let is_program = env::var("CARGO_PKG_NAME").is_ok_and(|package| package == "taco-studio");
    println!(
        "cargo:rerun-if-changed={}",
        if is_program {
            "packaging/build.rs"
        } else {
            "../build.rs"
        }
    );
    println!("cargo:rerun-if-env-changed=TACO_STUDIO_CODECS");
    println!("cargo:rerun-if-env-changed=TACO_STUDIO_STUBS");
    let windows = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "windows");
    if windows && is_program {
        resources();
        // As much stack for the main thread as on other systems; one megabyte is less than GDAL and
        // the query engine may take.
        println!(
            "cargo:rustc-link-arg={}",
            if is_gnu() {
                "-Wl,--stack,8388608"
            } else {
                "/STACK:8388608"
            }
        );
    }
    if env::var_os("CARGO_FEATURE_BUNDLED_GDAL").is_none() {
        return;
    }
    // Libraries that `linux/stubs/build` made.
    let stubs = env::var("TACO_STUDIO_STUBS").ok();
    // zstd is last: in programs that use Parquet, zstd-sys already provides its symbols.
    for (archive, needed_by_others) in [
        ("webp", false),
        ("sharpyuv", true),
        ("openjp2", false),
        ("deflate", false),
        ("blosc", false),
        ("snappy", true),
        ("lz4", true),
        ("zstd", true),
    ] {
        match find(archive, windows, is_program || stubs.is_some()) {
            // The archive's full path at the end of the command line, after GDAL's archives, which
            // refer to it.
            Some(path) => println!("cargo:rustc-link-arg={}", path.display()),
            None if needed_by_others => {}
            None => println!(
                "cargo:warning=lib{archive} was not found: the bundled GDAL is built without it \
                    (packaging/run installs it)"
            ),
        }
    }
    if let Some(folder) = stubs {
        // It is searched first. The archives above need libraries that the linker has passed when
        // it comes to them. Older systems have functions of libc.so in the others.
        println!("cargo:rerun-if-changed={folder}/stamp");
        println!("cargo:rustc-link-search=native={folder}");
        for library in [
            "stdc++",
            "gcc_s",
            "m",
            "c",
            ":libpthread.so.0",
            ":libdl.so.2",
            ":librt.so.1",
        ] {
            println!("cargo:rustc-link-arg=-Wl,--no-as-needed,-l{library}");
        }
        if is_program {
            println!("cargo:rustc-link-arg-bins=-Wl,--wrap=__libc_start_main");
        }
    }
    if windows && is_gnu() {
        // The compiler's C++ library as an archive: `windows/cross` puts it there, and this folder
        // is searched first.
        if let Some(root) = env::var_os("TACO_STUDIO_CODECS") {
            println!(
                "cargo:rustc-link-search=native={}",
                Path::new(&root).join("lib").display()
            );
        }
        // Libraries of the system that GDAL and PROJ use, which their crates name for Microsoft's
        // linker alone; then those of the compiler, which the codecs need and which the linker has
        // passed when it comes to them.
        for library in [
            "wbemuuid", "ole32", "oleaut32", "shell32", "psapi", "ws2_32", "mingwex", "gcc",
            "msvcrt",
        ] {
            println!("cargo:rustc-link-arg=-l{library}");
        }
    }
}

fn is_gnu() -> bool {
    env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|environment| environment == "gnu")
}

/// The archive, which makes the program one file; a shared library for modules, as distributions
/// compile archives for programs alone, unless `linux/stubs` defines what that leaves open.
fn find(archive: &str, windows: bool, archive_first: bool) -> Option<PathBuf> {
    let mut folders = Vec::new();
    if let Some(root) = env::var_os("TACO_STUDIO_CODECS") {
        folders.push(Path::new(&root).join("lib"));
    }
    // This system's libraries are not for Windows.
    if !windows {
        let machine = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
        folders.push(Path::new("/usr/lib").join(format!("{machine}-linux-gnu")));
        folders.extend(
            [
                "/usr/lib64",
                "/usr/lib",
                "/opt/homebrew/lib",
                "/usr/local/lib",
            ]
            .map(PathBuf::from),
        );
    }
    let endings = if archive_first {
        ["a", "so", "dylib"]
    } else {
        ["so", "dylib", "a"]
    };
    let mut candidates = endings.iter().flat_map(|ending| {
        folders
            .iter()
            .map(move |folder| folder.join(format!("lib{archive}.{ending}")))
    });
    candidates.find(|path| path.exists())
}

/// Compiles `windows/taco-studio.rc` with windres (MinGW's, also of another name: `WINDRES`), and
/// links it.
fn resources() {
    println!("cargo:rerun-if-env-changed=WINDRES");
    for file in [
        "packaging/windows/taco-studio.rc",
        "packaging/windows/taco-studio.manifest",
        "assets/icon.ico",
    ] {
        println!("cargo:rerun-if-changed={file}");
    }
    let Some(out) = env::var_os("OUT_DIR") else {
        return;
    };
    let number = |part| env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
    // Microsoft's linker takes the compiled resources as they are, GNU's as an object.
    let (format, name) = if is_gnu() {
        ("coff", "resources.o")
    } else {
        ("res", "resources.res")
    };
    let out = Path::new(&out).join(name);
    let named = env::var("WINDRES").ok();
    let programs = named
        .as_deref()
        .into_iter()
        .chain(["x86_64-w64-mingw32-windres", "windres"]);
    for program in programs {
        let mut command = Command::new(program);
        command.args([
            "--codepage=65001",
            "-I",
            "packaging/windows",
            "-I",
            "assets",
            "-O",
            format,
            "-i",
        ]);
        command
            .arg("packaging/windows/taco-studio.rc")
            .arg("-o")
            .arg(&out);
        command.arg(format!(
            "-DVERSION_NUMBERS={},{},{},0",
            number("MAJOR"),
            number("MINOR"),
            number("PATCH")
        ));
        // Bare words: quotes do not survive every shell that windres starts its preprocessor with.
        command.arg(format!(
            "-DVERSION_WORD={}.{}.{}",
            number("MAJOR"),
            number("MINOR"),
            number("PATCH")
        ));
        match command.status() {
            Ok(status) if status.success() => {
                return println!("cargo:rustc-link-arg={}", out.display());
            }
            Ok(_) => println!(
                "cargo:warning={program} could not compile packaging/windows/taco-studio.rc"
            ),
            Err(_) => {}
        }
    }
    println!(
        "cargo:warning=windres is not here: the program has no icon, version and manifest (install \
            MinGW-w64)"
    );
}
