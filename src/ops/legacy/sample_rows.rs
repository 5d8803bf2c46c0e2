//! The samples of one tortilla of 2.0, of a draft or of a dataset laid out for the writers, as the
//! writer of the first generation asks for them. A dataset of a million samples does not have to
//! become a draft first.

use std::borrow::Cow;

use arrow::array::{ArrayRef, UInt32Array};
use arrow::compute::take;

use crate::container::{Assembly, RowSource};
use crate::error::{Error, Result};
use crate::model::{AssetPath, Modified, Payload, Tortilla, is_padding};
use crate::table::array_of;

/// Data of a sample.
#[derive(Clone, Copy)]
pub enum SampleData<'a> {
    /// A FOLDER.
    Folder,
    /// Bytes in memory.
    Bytes(&'a [u8]),
    /// A file or a byte range of one, its size in bytes and its modification time.
    Asset(&'a AssetPath, u64, Modified),
}

impl SampleData<'_> {
    /// The source for the writer; `None` for a FOLDER.
    pub fn source(&self) -> Option<RowSource> {
        match *self {
            SampleData::Folder => None,
            SampleData::Bytes(bytes) => Some(RowSource::Bytes(bytes.to_vec().into())),
            SampleData::Asset(path, size, modified) => Some(RowSource::Asset {
                path: path.clone(),
                size,
                modified,
            }),
        }
    }
}

/// The samples of one tortilla, by their number in it.
pub trait SampleRows: Sync + Sized {
    /// Number of samples.
    fn count(&self) -> usize;

    /// Id of a sample.
    fn id(&self, row: usize) -> &str;

    /// Data of a sample.
    fn data(&self, row: usize) -> SampleData<'_>;

    /// The samples of a FOLDER; `None` for a FILE.
    fn child_rows(&self, row: usize) -> Option<Self>;

    /// Name and values of every metadata column, for these samples.
    ///
    /// # Errors
    /// When a value is not of the type of its column.
    fn columns(&self, rows: &[usize]) -> Result<Vec<(String, ArrayRef)>>;

    /// False for padding, and for a FOLDER of nothing else.
    fn is_real(&self, row: usize) -> bool {
        let is_padded = |of: &Self, row: usize| is_padding(of.id(row));
        !is_padded(self, row)
            && self
                .child_rows(row)
                .is_none_or(|below| (0..below.count()).any(|row| !is_padded(&below, row)))
    }
}

impl<'a> SampleRows for &'a Tortilla {
    fn count(&self) -> usize {
        self.samples.len()
    }

    fn id(&self, row: usize) -> &str {
        &self.samples[row].id
    }

    fn data(&self, row: usize) -> SampleData<'_> {
        match &self.samples[row].payload {
            Payload::Folder(_) => SampleData::Folder,
            Payload::Bytes(bytes) => SampleData::Bytes(bytes),
            Payload::Asset {
                path,
                size,
                modified,
            } => SampleData::Asset(path, *size, *modified),
        }
    }

    fn child_rows(&self, row: usize) -> Option<Self> {
        let tortilla: &'a Tortilla = self;
        tortilla.samples[row].children().map(AsRef::as_ref)
    }

    fn columns(&self, rows: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        let mut columns = Vec::with_capacity(self.schema.len());
        for (index, field) in self.schema.iter().enumerate() {
            let values = rows.iter().map(|&row| self.samples[row].value(index));
            columns.push((field.name.clone(), array_of(field, values)?));
        }
        Ok(columns)
    }
}

/// The samples of level 0, or the children of a FOLDER, of an assembly.
pub struct AssemblyRows<'a> {
    assembly: &'a Assembly,
    depth: usize,
    /// Their rows in the level.
    rows: Cow<'a, [u32]>,
}

impl<'a> AssemblyRows<'a> {
    /// The samples of level 0.
    pub fn roots(assembly: &'a Assembly) -> Self {
        let roots = assembly.tree.levels.first().map_or(0, |level| level.len());
        Self {
            assembly,
            depth: 0,
            rows: (0..roots as u32).collect::<Vec<_>>().into(),
        }
    }
}

impl SampleRows for AssemblyRows<'_> {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn id(&self, row: usize) -> &str {
        self.assembly.tree.levels[self.depth].id(self.rows[row])
    }

    fn data(&self, row: usize) -> SampleData<'_> {
        match &self.assembly.levels[self.depth].sources[self.rows[row] as usize] {
            RowSource::Folder => SampleData::Folder,
            RowSource::Bytes(bytes) => SampleData::Bytes(bytes),
            RowSource::Asset {
                path,
                size,
                modified,
            } => SampleData::Asset(path, *size, *modified),
        }
    }

    fn child_rows(&self, row: usize) -> Option<Self> {
        let (level, row) = (&self.assembly.tree.levels[self.depth], self.rows[row]);
        if !level.folder[row as usize] {
            return None;
        }
        Some(Self {
            assembly: self.assembly,
            depth: self.depth + 1,
            rows: level.children(row).into(),
        })
    }

    fn columns(&self, rows: &[usize]) -> Result<Vec<(String, ArrayRef)>> {
        let batch = &self.assembly.levels[self.depth].batch;
        let chosen: UInt32Array = rows
            .iter()
            .map(|&row| self.rows[row])
            .collect::<Vec<_>>()
            .into();
        let is_whole = chosen.len() == batch.num_rows()
            && chosen.values().iter().copied().eq(0..chosen.len() as u32);
        let schema = batch.schema();
        // The first two columns are id and type.
        let columns = schema
            .fields()
            .iter()
            .zip(batch.columns())
            .skip(2)
            .map(|(field, column)| {
                let values = if is_whole {
                    Ok(column.clone())
                } else {
                    take(column, &chosen, None)
                };
                Ok((
                    field.name().clone(),
                    values
                        .map_err(|error| Error::internal("rows can't be chosen").because(error))?,
                ))
            });
        columns.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field};

    use super::super::columns::FooterForm;
    use super::super::{DraftForm, draft_of};
    use super::*;
    use crate::container::{TortillaDraft, TortillaItem};
    use crate::jobs::JobContext;
    use crate::model::{Collection, Dataset, FieldSpec, Sample, Value, padding_file};

    fn file(id: &str, values: Vec<Value>) -> Sample {
        Sample {
            payload: Payload::Bytes(id.as_bytes().into()),
            values: values.into(),
            ..Sample::new_file(id, "", 0)
        }
    }

    /// FOLDERs with placeholders, and columns on both levels.
    fn dataset() -> Dataset {
        let shape = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
        let below = [
            FieldSpec::new("b:note", DataType::Utf8),
            FieldSpec::new("stac:tensor_shape", shape),
        ];
        let list = |numbers: &[i64]| {
            Value::List(numbers.iter().map(|number| Value::Int(*number)).collect())
        };
        let scene = |id: &str, rows: i64| {
            let files = vec![
                file("a.txt", vec![Value::text(id), list(&[3, rows, 20])]),
                padding_file(1),
                file("c.txt", vec![Value::Null, list(&[rows, 20])]),
            ];
            let mut folder = Sample::new_folder(
                id,
                Tortilla {
                    schema: below.to_vec().into(),
                    samples: files,
                },
            );
            folder.values = vec![Value::text("train"), Value::Float(rows as f64)].into();
            folder
        };
        let empty = Sample::new_folder(
            "__TACOPAD__0",
            Tortilla::new(vec![padding_file(0), padding_file(1), padding_file(2)]),
        );
        let mut root = Tortilla::new(vec![scene("p", 10), empty, scene("q", 11)]);
        root.schema = vec![
            FieldSpec::new("split", DataType::Utf8),
            FieldSpec::new("rows", DataType::Float64),
        ]
        .into();
        Dataset {
            collection: Collection::template(),
            root: root.into(),
        }
    }

    fn assert_same(a: &TortillaDraft, b: &TortillaDraft) {
        assert_eq!(a.footer, b.footer);
        assert_eq!(a.items.len(), b.items.len());
        for pair in a.items.iter().zip(&b.items) {
            match pair {
                (TortillaItem::Nested(a), TortillaItem::Nested(b)) => assert_same(a, b),
                (TortillaItem::Source(a), TortillaItem::Source(b)) => assert_eq!(a, b),
                _ => panic!("one is a tortilla, the other a file"),
            }
        }
    }

    #[test]
    fn a_laid_out_dataset_gives_the_same_tortilla_as_its_draft() {
        let (dataset, ctx) = (dataset(), JobContext::default());
        let assembly = Assembly::of_dataset(&dataset, &ctx).expect("lays out");
        for (taco, text) in [(false, false), (true, false), (false, true)] {
            let form = DraftForm {
                footer: FooterForm { taco, text },
                stream: false,
            };
            let (of_draft, lost) = draft_of(&&*dataset.root, "", form, &ctx).expect("fits");
            let (of_levels, also_lost) =
                draft_of(&AssemblyRows::roots(&assembly), "", form, &ctx).expect("fits");
            assert_same(&of_draft, &of_levels);
            assert_eq!(lost, also_lost);
            assert_eq!(
                (of_levels.items.len(), of_levels.footer.num_rows()),
                (2, 2),
                "padding is left out"
            );
        }
    }
}
