//! The preview of an operation: what is read, what is written where, and what prevents it.

use std::path::PathBuf;

use super::line::ReportLine;
use crate::container::{BuildOptions, dataset_around, output_exists};
use crate::files::free_bytes;
use crate::gui::dropped_paths::display_path;
use crate::gui::widgets::paint;
use crate::model::is_remote;
use crate::ops::DatasetOutline;
use crate::studio::Command;

/// Where an operation writes, and whether it replaces what is there.
#[derive(Clone, Debug)]
pub struct Destination {
    pub path: PathBuf,
    pub replace: bool,
}

impl Destination {
    /// That of a dataset to write.
    pub fn of_dataset(options: &BuildOptions) -> Self {
        Self {
            path: options.target.clone(),
            replace: options.overwrite,
        }
    }
}

/// A preview: lines that describe the effects, and the command.
#[derive(Debug)]
pub struct OperationPreview {
    pub lines: Vec<ReportLine>,
    /// Why the command can't run.
    pub obstacle: Option<String>,
    /// `None`: the button only closes the dialog.
    pub command: Option<Command>,
}

impl OperationPreview {
    pub fn new(command: Command) -> Self {
        Self {
            lines: Vec::new(),
            obstacle: None,
            command: Some(command),
        }
    }

    /// A preview of doing nothing.
    pub fn without_command() -> Self {
        Self {
            lines: Vec::new(),
            obstacle: None,
            command: None,
        }
    }

    pub fn line(mut self, line: ReportLine) -> Self {
        self.lines.push(line);
        self
    }

    /// Adds the outline of a dataset.
    pub fn outline(self, outline: &DatasetOutline) -> Self {
        let rows: Vec<String> = outline
            .rows
            .iter()
            .enumerate()
            .map(|(level, rows)| format!("L{level} {}", paint::format_grouped_number(*rows as u64)))
            .collect();
        let size = outline
            .size_bytes
            .map(|bytes| format!(", {}", paint::format_bytes(bytes)))
            .unwrap_or_default();
        let (format, generation) = (outline.format.badge(), outline.format.generation());
        let text = tr!(
            "Reads: {format}, generation {generation}, samples {rows}{size}",
            format,
            generation,
            rows = rows.join(" "),
            size
        );
        let mut preview = self.line(ReportLine::fact(text));
        if let Some(lacking) = &outline.lacking {
            let (opened, count) = (lacking.opened, lacking.count);
            preview = preview.line(ReportLine::warning(tr!(
                "{opened} of {count} parts of this dataset are open.",
                opened,
                count
            )));
        }
        preview
    }

    /// Checks the destination of a dataset: as [`Self::output`]; one inside another dataset is a
    /// warning.
    pub fn destination(self, destination: &Destination) -> Self {
        let target = &destination.path;
        let exists = match output_exists(target) {
            Ok(exists) => exists,
            Err(error) => return self.line(ReportLine::error(error.report())),
        };
        let preview = self.output(destination, exists);
        // The files to be replaced are already at their final path.
        match dataset_around(target).filter(|_| !exists) {
            Some(dataset) => preview.line(ReportLine::warning(tr!(
                "This is inside the dataset {path}, whose readers would take the new one for a \
                    part of it.",
                path = display_path(&dataset)
            ))),
            None => preview,
        }
    }

    /// Checks an output: an existing one is an obstacle unless it is replaced.
    pub fn output(mut self, destination: &Destination, exists: bool) -> Self {
        let (target, replace) = (&destination.path, destination.replace);
        let shown = display_path(target);
        let free = free_bytes(target)
            .filter(|_| !is_remote(target))
            .map(|bytes| {
                tr!(
                    ", {free} free on its disk",
                    free = paint::format_bytes(bytes)
                )
            })
            .unwrap_or_default();
        self.lines.push(match (exists, replace) {
            (false, _) => ReportLine::fact(tr!("Writes: {path}{free}", path = shown, free)),
            (true, true) => ReportLine::warning(tr!("Replaces: {path}{free}", path = shown, free)),
            (true, false) => ReportLine::error(tr!(
                "{path} exists already. Choose another name, or replace it.",
                path = shown
            )),
        });
        if exists && !replace {
            self.obstacle
                .get_or_insert_with(|| tr!("The destination exists already").into());
        }
        self
    }

    pub fn obstacle(mut self, why: impl Into<String>) -> Self {
        self.obstacle.get_or_insert_with(|| why.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(path: &Path, replace: bool) -> OperationPreview {
        let path = path.to_owned();
        OperationPreview::without_command().destination(&Destination { path, replace })
    }

    #[test]
    fn a_destination_must_be_new_and_outside_of_datasets() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let plain = check(&at("new.tacozip"), false);
        assert!(plain.obstacle.is_none() && plain.lines.len() == 1);
        std::fs::write(at("old.tacozip"), "").expect("writes");
        assert!(check(&at("old.tacozip"), false).obstacle.is_some());
        assert!(check(&at("old.tacozip"), true).obstacle.is_none());

        std::fs::create_dir_all(at("set/METADATA")).expect("folders");
        std::fs::write(at("set/COLLECTION.json"), "{}").expect("writes");
        let inside = check(&at("set/new.tacozip"), false);
        assert!(inside.obstacle.is_none(), "a warning");
        assert!(
            format!("{:?}", inside.lines).contains("inside the dataset"),
            "{:?}",
            inside.lines
        );
        assert!(check(&at("set"), true).lines.len() == 1, "is replaced");
    }
}
