//! Checks the files of a FOLDER against its levels (TACO 2.0, section 6.4).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::container::{ContainerReader, FolderReader};
use crate::error::{IoContext, Result};
use crate::files::Outside;
use crate::jobs::JobContext;
use crate::model::{Location, META_NAME, Report, Rule, is_remote, place_below, safe_relative};
use crate::remote::RemoteFile;
use crate::text::PrintableLine;

/// Number of files requested from a server in parallel.
const ASKED: usize = 32;

/// Checks for missing samples, and for files that no level names.
///
/// # Errors
/// When a folder cannot be listed, or the job is cancelled.
pub fn check(
    folder: &FolderReader,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    ctx.stage(tr!("Checking the files"), None);
    let tree = folder.levels().skeleton(ctx)?;
    let data = place_below(&folder.info().path, "DATA");
    let remote = is_remote(&data);
    let mut asked = Vec::new();
    let mut named = HashSet::with_capacity(tree.total());
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            if row % 1024 == 0 {
                ctx.check()?;
            }
            let path = tree.path(depth, row);
            let mut name = path.to_archive();
            let at = Location::Sample {
                level: depth,
                row,
                path,
            };
            if !safe_relative(&name) {
                report.add(
                    Rule::FolderPath,
                    at,
                    tr!("{name} leads outside DATA/.", name = name.printable_line()),
                );
                continue;
            }
            if level.folder[row as usize] {
                name = format!("{name}/{META_NAME}");
            }
            if remote {
                asked.push((place_below(&data, &name), name.clone(), at));
            } else {
                match folder.root().file(&format!("DATA/{name}")) {
                    Ok(_) => {}
                    Err(Outside::LeadsOut(target)) => {
                        report.add(Rule::FolderLink, at, leads_out(&name, &target))
                    }
                    Err(why) if why.is_missing() => report.add(
                        Rule::FolderMissing,
                        at,
                        tr!("DATA/{name} does not exist.", name),
                    ),
                    Err(why) => {
                        let message =
                            tr!("DATA/{path} can't be read.", path = name.printable_line());
                        let why = why
                            .into_error("read the sample", &data.join(&name))
                            .sentence();
                        report.add(Rule::FolderMissing, at, format!("{message} {why}"));
                    }
                }
            }
            named.insert(name);
        }
    }
    if deep {
        ask(&asked, report, ctx)?;
    }
    let mut stray = Vec::new();
    if !remote && data.is_dir() {
        walk_folder(&data, "", &named, &mut stray, ctx)?;
    }
    let above = if stray.iter().any(|(_, link)| *link) {
        folders_of(&named)
    } else {
        HashSet::new()
    };
    // A symbolic link in place of a folder is reported with the samples below it.
    for (name, _) in stray
        .into_iter()
        .filter(|(name, link)| !(*link && above.contains(name.as_str())))
    {
        report.add(
            Rule::FolderStray,
            Location::Member(format!("DATA/{name}")),
            tr!("No level names this file."),
        );
    }
    Ok(())
}

/// The message for a member that is, or is below, a symbolic link to outside.
pub(super) fn leads_out(name: &str, target: &Path) -> String {
    let (name, target) = (name.printable_line(), target.display().to_string());
    tr!(
        "DATA/{name} is a link that leads out of the dataset, to {target}.",
        name,
        target = target.printable_line()
    )
}

/// All parent folders of these files.
pub(super) fn folders_of<S: AsRef<str>>(files: &HashSet<S>) -> HashSet<&str> {
    files
        .iter()
        .map(AsRef::as_ref)
        .flat_map(|file| file.match_indices('/').map(move |(at, _)| &file[..at]))
        .collect()
}

/// Requests every remote file, which only a deep check does. Files that no level names cannot be
/// found, as servers list no folders.
fn ask(files: &[(PathBuf, String, Location)], report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Asking for the files"), Some(files.len() as u64));
    for some in files.chunks(ASKED) {
        ctx.check()?;
        let paths: Vec<&Path> = some.iter().map(|(path, ..)| path.as_path()).collect();
        for ((_, name, at), answer) in some.iter().zip(RemoteFile::open_all(&paths, 1)?) {
            if let Err(error) = answer {
                let message = format!(
                    "{} {}",
                    tr!("DATA/{name} does not exist.", name),
                    error.sentence()
                );
                report.add(Rule::FolderMissing, at.clone(), message);
            }
        }
        ctx.step(some.len() as u64);
    }
    Ok(())
}

fn walk_folder(
    folder: &Path,
    prefix: &str,
    named: &HashSet<String>,
    stray: &mut Vec<(String, bool)>,
    ctx: &JobContext,
) -> Result<()> {
    ctx.check()?;
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // Symbolic links are not followed, as they may form a loop.
        let kind = entry.file_type().io_at("read the folder", folder)?;
        if kind.is_dir() {
            walk_folder(&entry.path(), &format!("{name}/"), named, stray, ctx)?;
        } else if !named.contains(&name) {
            stray.push((name, kind.is_symlink()));
        }
    }
    Ok(())
}
