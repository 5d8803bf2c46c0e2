//! Checks of this machine for the studio: GDAL and its drivers, PROJ and its data, folders that
//! must be writable, the desktop's file dialogs. Each check states what it found and, for a fault,
//! the remedy. No check changes a setting or a file.

use std::path::{Path, PathBuf};

use crate::raster;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Something works less well than it could.
    Warning,
    /// Something that the studio needs does not work.
    Error,
}

/// One line of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct DoctorCheck {
    /// Name of the check, for example `proj`. Stable.
    pub name: &'static str,
    /// How it ended.
    pub health: Health,
    /// Result as text.
    pub seen: String,
    /// Correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl DoctorCheck {
    /// Nothing to do.
    pub fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self {
            name,
            health: Health::Ok,
            seen: seen.into(),
            advice: None,
        }
    }

    /// Works less well than it could.
    pub fn warning(name: &'static str, seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            health: Health::Warning,
            seen: seen.into(),
            advice: Some(advice.into()),
        }
    }

    /// Does not work.
    pub fn error(name: &'static str, seen: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            name,
            health: Health::Error,
            seen: seen.into(),
            advice: Some(advice.into()),
        }
    }
}

/// Every check that needs no window, in the order in which a person reads them. Takes well under a
/// second.
pub fn examine() -> Vec<DoctorCheck> {
    let mut checks = vec![program()];
    let environment = raster::environment();
    checks.push(gdal(&environment));
    checks.push(drivers(&environment));
    checks.push(proj(&environment));
    checks.push(gdal_data(
        std::env::var_os("GDAL_DATA").map(PathBuf::from).as_deref(),
    ));
    checks.push(network(&environment));
    for (name, folder) in folders() {
        checks.push(check_writable(name, folder.as_deref()));
    }
    checks.push(display());
    checks.push(portal());
    checks
}

fn program() -> DoctorCheck {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let system = system_name().unwrap_or_else(|| std::env::consts::OS.to_owned());
    let seen = format!(
        "Taco Studio {} on {system}, {}, {threads} threads",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::ARCH
    );
    DoctorCheck::ok("program", seen)
}

/// `PRETTY_NAME` of `/etc/os-release`, which Linux has.
fn system_name() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn gdal(environment: &raster::Environment) -> DoctorCheck {
    let kind = if cfg!(feature = "bundled-gdal") {
        "inside the program"
    } else {
        "of the system"
    };
    let seen = format!(
        "GDAL {} {kind}, {} drivers",
        environment.gdal_version,
        environment.drivers.len()
    );
    if environment
        .tiff_compressions
        .iter()
        .any(|name| name == "ZSTD")
    {
        return DoctorCheck::ok("gdal", seen);
    }
    let advice = "GeoTIFFs compressed with zstd can't be read here; use the build with GDAL \
        inside, or a GDAL with libzstd";
    DoctorCheck::warning("gdal", seen, advice)
}

fn drivers(environment: &raster::Environment) -> DoctorCheck {
    if environment.missing.is_empty() {
        return DoctorCheck::ok(
            "drivers",
            "every driver that Earth-observation data comes in is there",
        );
    }
    let names = environment.missing.join(", ");
    let advice = if cfg!(feature = "bundled-gdal") {
        "files of these formats stay closed; convert them with a full GDAL, or build with \
            --no-default-features --features system-gdal"
    } else {
        "install the plugins of your distribution's GDAL, or use the build with GDAL inside"
    };
    DoctorCheck::warning("drivers", format!("missing: {names}"), advice)
}

fn proj(environment: &raster::Environment) -> DoctorCheck {
    let version = &environment.proj_version;
    match (environment.proj_ok, &environment.proj_note) {
        (true, None) => DoctorCheck::ok("proj", format!("PROJ {version}; EPSG:4326 resolves")),
        (true, Some(note)) => DoctorCheck::warning(
            "proj",
            format!("PROJ {version}; EPSG:4326 resolves with the data inside the program; {note}"),
            "nothing breaks; unset PROJ_DATA and PROJ_LIB, or point them at data of this version, \
                to be rid of this line",
        ),
        (false, note) => DoctorCheck::error(
            "proj",
            format!(
                "PROJ {version}; EPSG codes do not resolve: {}",
                note.as_deref().unwrap_or("no reason given")
            ),
            "unset PROJ_DATA and PROJ_LIB, or install proj-data of this version",
        ),
    }
}

/// GDAL's own support files. A folder of another version is the usual leftover of an activated
/// Python environment.
fn gdal_data(folder: Option<&Path>) -> DoctorCheck {
    let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) else {
        return DoctorCheck::ok(
            "gdal data",
            "GDAL_DATA is not set; the program's own files are used",
        );
    };
    let shown = folder.display();
    if folder.join("gdalvrt.xsd").exists() || folder.join("tms_NZTM2000.json").exists() {
        return DoctorCheck::ok(
            "gdal data",
            format!("GDAL_DATA is {shown}, which holds GDAL's files"),
        );
    }
    DoctorCheck::warning(
        "gdal data",
        format!("GDAL_DATA is {shown}, which does not hold GDAL's files"),
        "unset GDAL_DATA; the program has its own",
    )
}

fn network(environment: &raster::Environment) -> DoctorCheck {
    if environment.curl {
        DoctorCheck::ok(
            "network",
            "GDAL reads http, S3, Google Cloud and Azure addresses",
        )
    } else {
        DoctorCheck::warning(
            "network",
            "this GDAL has no curl",
            "remote rasters stay closed; use the build with GDAL inside",
        )
    }
}

/// The folders that the studio writes into by itself, by their names in `doctor`.
fn folders() -> Vec<(&'static str, Option<PathBuf>)> {
    vec![
        ("settings", crate::folders::config_dir()),
        ("cache", crate::folders::cache_dir()),
        ("data", crate::folders::data_dir()),
        ("temporary files", Some(std::env::temp_dir())),
    ]
}

/// Tries to write where it counts: permissions, a read-only mount and a full disk look alike to the
/// person.
fn check_writable(name: &'static str, folder: Option<&Path>) -> DoctorCheck {
    let consequence = match name {
        "settings" => "layout, theme and recent datasets are forgotten at the end",
        "cache" => "thumbnails and remote data are fetched anew each time",
        "data" => "unsaved drafts can't be kept safe, and no crash report is written",
        _ => "netCDF previews and some conversions fail",
    };
    let Some(folder) = folder else {
        return DoctorCheck::warning(
            name,
            "there is no home folder",
            format!("set HOME; until then {consequence}"),
        );
    };
    let shown = folder.display();
    // The nearest existing folder is checked, so that no folder is created.
    let there = folder
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    match tempfile::Builder::new()
        .prefix(".taco-studio-")
        .tempfile_in(there)
    {
        Ok(_) => DoctorCheck::ok(name, format!("{shown} can be written")),
        Err(error) => {
            let advice =
                format!("make it writable, or free space on its disk; until then {consequence}");
            DoctorCheck::error(name, format!("{shown} can't be written: {error}"), advice)
        }
    }
}

fn display() -> DoctorCheck {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !cfg!(target_os = "linux") {
        return DoctorCheck::ok("display", "the desktop's own");
    }
    match (set("DISPLAY"), set("WAYLAND_DISPLAY")) {
        (true, true) => DoctorCheck::ok(
            "display",
            "X11 and Wayland; X11 is used, because files can be dropped there",
        ),
        (true, false) => DoctorCheck::ok("display", "X11"),
        (false, true) => DoctorCheck::warning(
            "display",
            "Wayland without X11: files can't be dropped on the window",
            "install Xwayland, or use Open and paste",
        ),
        (false, false) => DoctorCheck::warning(
            "display",
            "no display: no window can open",
            "start from a desktop session; every command of taco-studio --help works without",
        ),
    }
}

/// File dialogs come from the desktop's portal over the session bus.
fn portal() -> DoctorCheck {
    if !cfg!(target_os = "linux") {
        return DoctorCheck::ok("file dialogs", "the system's own");
    }
    let services =
        std::env::var("XDG_DATA_DIRS").unwrap_or_else(|_| "/usr/local/share:/usr/share".into());
    let service = "dbus-1/services/org.freedesktop.portal.Desktop.service";
    let installed = services
        .split(':')
        .any(|folder| Path::new(folder).join(service).exists());
    judge_portal(session_bus(), installed)
}

fn judge_portal(bus: Result<(), String>, installed: bool) -> DoctorCheck {
    const INSTEAD: &str =
        "until then type or paste paths (Ctrl+Shift+O), or drop files on the window";
    match (bus, installed) {
        (Ok(()), true) => DoctorCheck::ok("file dialogs", "the desktop's portal is there"),
        (Ok(()), false) => DoctorCheck::warning(
            "file dialogs",
            "no portal is installed",
            format!(
                "install xdg-desktop-portal and the part for your desktop (-gtk, -kde, -gnome); \
                    {INSTEAD}"
            ),
        ),
        (Err(reason), _) => DoctorCheck::warning(
            "file dialogs",
            reason,
            format!("start the studio inside a desktop session; {INSTEAD}"),
        ),
    }
}

#[cfg(unix)]
fn session_bus() -> Result<(), String> {
    let address = std::env::var("DBUS_SESSION_BUS_ADDRESS")
        .ok()
        .filter(|address| !address.is_empty());
    let by_default = std::env::var("XDG_RUNTIME_DIR")
        .ok()
        .map(|folder| format!("unix:path={folder}/bus"));
    let Some(address) = address.or(by_default) else {
        return Err("there is no session bus".into());
    };
    let Some(path) = address
        .split(';')
        .find_map(|part| part.strip_prefix("unix:path="))
    else {
        // Abstract sockets and other transports: not reachable through the file system, taken as
        // there.
        return Ok(());
    };
    let path = path.split(',').next().unwrap_or(path);
    std::os::unix::net::UnixStream::connect(path)
        .map(|_| ())
        .map_err(|error| format!("the session bus at {path} does not answer: {error}"))
}

#[cfg(not(unix))]
fn session_bus() -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_judged_by_writing_into_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("not/there/yet");
        assert_eq!(check_writable("cache", Some(&inside)).health, Health::Ok);
        assert!(!inside.exists(), "looking makes nothing");
        // A folder can't be created in a file.
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("written");
        let blocked = check_writable("data", Some(&file.join("taco-studio")));
        assert_eq!(blocked.health, Health::Error);
        assert!(
            blocked
                .advice
                .is_some_and(|advice| advice.contains("drafts"))
        );
        assert_eq!(check_writable("settings", None).health, Health::Warning);
    }

    #[test]
    fn a_foreign_gdal_data_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(gdal_data(Some(folder.path())).health, Health::Warning);
        std::fs::write(folder.path().join("gdalvrt.xsd"), "").expect("written");
        assert_eq!(gdal_data(Some(folder.path())).health, Health::Ok);
        assert_eq!(gdal_data(None).health, Health::Ok);
    }

    #[test]
    fn no_portal_and_no_bus_are_told_apart() {
        assert_eq!(judge_portal(Ok(()), true).health, Health::Ok);
        assert!(
            judge_portal(Ok(()), false)
                .advice
                .is_some_and(|advice| advice.contains("xdg-desktop-portal"))
        );
        assert!(
            judge_portal(Err("there is no session bus".into()), true)
                .seen
                .contains("session bus")
        );
    }

    #[test]
    fn proj_data_of_another_version_is_a_warning_and_none_an_error() {
        let mut environment = raster::environment();
        environment.proj_ok = true;
        environment.proj_note = Some("the PROJ data in /x does not fit".into());
        assert_eq!(proj(&environment).health, Health::Warning);
        environment.proj_ok = false;
        assert_eq!(proj(&environment).health, Health::Error);
        environment.missing = vec!["netCDF"];
        assert!(drivers(&environment).seen.contains("netCDF"));
    }
}
