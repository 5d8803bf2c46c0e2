//! Drafts of assemblies: samples that refer to the bytes of the containers that they come from.

use std::sync::Arc;

use crate::container::{Assembly, RowSource};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Collection, Dataset, Payload, Sample, Tortilla};
use crate::table::value_at;

/// The draft of an assembly.
///
/// # Errors
/// When the work is cancelled.
pub fn draft_of_assembly(assembly: &Assembly, ctx: &JobContext) -> Result<Dataset> {
    let mut below: Vec<Vec<Sample>> = Vec::new();
    let mut schema_below: crate::model::Schema = Arc::from([]);
    for depth in (0..assembly.levels.len()).rev() {
        ctx.check()?;
        let level = &assembly.levels[depth];
        let tree = &assembly.tree.levels[depth];
        let schema = level.batch.schema();
        let fields: crate::model::Schema = schema
            .fields()
            .iter()
            .skip(2)
            .map(|f| crate::model::FieldSpec::new(f.name(), f.data_type().clone()))
            .collect();
        let mut groups: Vec<Vec<Sample>> = Vec::new();
        let mut children = std::mem::take(&mut below).into_iter();
        let mut last = None;
        for row in 0..tree.len() {
            let payload = match &level.sources[row] {
                RowSource::Folder => {
                    // An empty FOLDER has no group: the next one is another FOLDER's.
                    let full = !tree.children(row as u32).is_empty();
                    let samples = if full {
                        children.next().unwrap_or_default()
                    } else {
                        Vec::new()
                    };
                    Payload::Folder(Arc::new(Tortilla {
                        schema: schema_below.clone(),
                        samples,
                    }))
                }
                RowSource::Bytes(bytes) => Payload::Bytes(bytes.to_vec().into()),
                RowSource::Asset {
                    path,
                    size,
                    modified,
                } => Payload::Asset {
                    path: path.clone(),
                    size: *size,
                    modified: *modified,
                },
            };
            let values = level
                .batch
                .columns()
                .iter()
                .skip(2)
                .map(|column| value_at(column, row))
                .collect();
            let parent = if depth == 0 { 0 } else { tree.parents[row] };
            if last != Some(parent) {
                groups.push(Vec::new());
                last = Some(parent);
            }
            if let Some(group) = groups.last_mut() {
                group.push(Sample {
                    id: tree.id(row as u32).into(),
                    payload,
                    values,
                });
            }
        }
        below = groups;
        schema_below = fields;
    }
    let samples = below.into_iter().next().unwrap_or_default();
    let collection = Collection {
        fields: assembly.collection.descriptive_fields(),
    };
    Ok(Dataset {
        collection,
        root: Arc::new(Tortilla {
            schema: schema_below,
            samples,
        }),
    })
}
