//! `inspect`: describes a dataset. Reports no findings; that is `validate`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::operation::{Operation, OperationOutput, PathVisitor, visit_read_dataset};
use crate::container::{self, ContainerReader, LevelSet, OpenOptions, Physical};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::dtype_name;
use crate::validate::classes;

/// Opens a dataset and describes its levels and its collection. Plain data.
///
/// # Errors
/// Those of opening the dataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InspectRequest {
    /// The dataset.
    pub input: PathBuf,
    /// How to open it.
    pub open: OpenOptions,
}

/// A dataset that was opened to describe it.
#[derive(Clone)]
pub struct Inspected {
    /// The dataset.
    pub reader: Arc<dyn ContainerReader>,
}

impl std::fmt::Debug for Inspected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspected")
            .field("path", &self.reader.info().path)
            .finish_non_exhaustive()
    }
}

impl Operation for InspectRequest {
    type Output = Inspected;
    const READ_ONLY: bool = true;

    fn label(&self) -> String {
        tr!("Open {path}", path = self.input.display())
    }

    fn visit_paths(&mut self, visit: &mut PathVisitor<'_>) {
        visit_read_dataset(&mut self.input, &mut self.open, visit);
    }

    fn run(&self, ctx: &JobContext) -> Result<Inspected> {
        Ok(Inspected {
            reader: container::open_with(&self.input, &self.open, ctx)?,
        })
    }
}

impl Inspected {
    /// Header fields of the older generations, one entry for each file; null for other containers.
    pub fn older_generation(&self) -> Json {
        let Physical::Tortilla(tortilla) = self.reader.physical() else {
            return Json::Null;
        };
        let fields = self.reader.levels().fields(0);
        let names = fields.iter().map(|field| field.name.as_str()).collect();
        let files = tortilla
            .files()
            .iter()
            .zip(tortilla.roots())
            .map(|(file, root)| {
                let header = &root.header;
                json!({
                    "file": file.path().file_name().map(|name| name.to_string_lossy()),
                    "size_bytes": file.size_bytes(),
                    "magic": if header.is_taco() { "WX" } else { "#y" },
                    "footer_offset": header.footer.0,
                    "footer_length": header.footer.1,
                    "partitions": header.partitions,
                    "collection_offset": header.collection.map(|place| place.0),
                    "collection_length": header.collection.map(|place| place.1),
                })
            });
        json!({
            "files": files.collect::<Vec<_>>(),
            "missing_parts": tortilla.missing_parts(),
            "classes": classes(&names),
        })
    }
}

fn write_level_json(levels: &LevelSet, level: usize) -> Json {
    let fields = levels.fields(level);
    let columns: Vec<Json> = fields
        .iter()
        .map(|f| json!({ "name": f.name, "type": dtype_name(&f.dtype) }))
        .collect();
    json!({ "level": level, "rows": levels.rows(level), "columns": columns })
}

impl OperationOutput for Inspected {
    fn to_json(&self) -> Json {
        let (levels, info, collection) = (
            self.reader.levels(),
            self.reader.info(),
            self.reader.collection(),
        );
        let list = (0..levels.count()).map(|level| write_level_json(levels, level));
        json!({
            "path": info.path.display().to_string(),
            "format": info.format.name(),
            "generation": info.format.generation(),
            "size_bytes": info.size_bytes,
            "id": collection.fields.get("id"),
            "levels": list.collect::<Vec<_>>(),
            "collection": collection.fields,
            "notes": self.reader.notes().iter().map(|finding| finding.json()).collect::<Vec<_>>(),
            "tortilla": self.older_generation(),
        })
    }

    fn summary(&self) -> String {
        let levels = self.reader.levels();
        let rows: Vec<String> = (0..levels.count())
            .map(|level| levels.rows(level).to_string())
            .collect();
        let samples = tr!("{rows} samples by level", rows = rows.join(", "));
        format!("{}: {samples}", self.reader.info().path.display())
    }

    fn output_paths(&self) -> Vec<&Path> {
        Vec::new()
    }
}
