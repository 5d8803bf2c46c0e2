//! The files of a FOLDER against its levels (§6.4).

use std::collections::HashSet;
use std::path::Path;

use crate::container::{ContainerReader, FolderReader};
use crate::error::{IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{Location, META_NAME, Report, Rule, safe_relative};

/// Samples on disk, and files that no level names.
pub fn check(folder: &FolderReader, report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage("Checking the files", None);
    let tree = folder.levels().skeleton(ctx)?;
    let data = folder.info().path.join("DATA");
    let mut named = HashSet::with_capacity(tree.total());
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            if row % 1024 == 0 {
                ctx.check()?;
            }
            let path = tree.path(depth, row);
            let mut name = path.to_archive();
            let at = Location::Sample { level: depth, row, path };
            if !safe_relative(&name) {
                report.add(Rule::FolderPath, at, format!("{} leads outside DATA/.", name.escape_debug()));
                continue;
            }
            if level.folder[row as usize] {
                name = format!("{name}/{META_NAME}");
            }
            if !data.join(&name).is_file() {
                report.add(Rule::FolderMissing, at, format!("DATA/{name} is not there."));
            }
            named.insert(name);
        }
    }
    let mut stray = Vec::new();
    if data.is_dir() {
        walk(&data, "", &named, &mut stray, ctx)?;
    }
    for name in stray {
        report.add(Rule::FolderStray, Location::Member(format!("DATA/{name}")), "No level names this file.");
    }
    Ok(())
}

fn walk(folder: &Path, prefix: &str, named: &HashSet<String>, stray: &mut Vec<String>, ctx: &JobContext) -> Result<()> {
    ctx.check()?;
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        let entry = entry.io_at("read the folder", folder)?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // Links are not followed: a loop would have no end.
        let kind = entry.file_type().io_at("read the folder", folder)?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{name}/"), named, stray, ctx)?;
        } else if !named.contains(&name) {
            stray.push(name);
        }
    }
    Ok(())
}
