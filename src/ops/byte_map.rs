//! How the bytes of an archive are laid out: header, data, tables, directory, and the gaps between
//! them.

use crate::container::{ContainerReader, Physical};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::zip_format::CentralDirectory;

/// Bytes of a local header before the name.
const LOCAL: u64 = 30;
/// Bytes between two members that are fields and descriptors of the format, not a gap.
const SLACK: u64 = 64;

/// Kind of a byte range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BytePart {
    /// TACO_HEADER.
    Header,
    /// The bytes of a sample.
    Data,
    /// The table of one FOLDER.
    Meta,
    /// The table of a level.
    Parquet,
    /// COLLECTION.json.
    Collection,
    /// Another member.
    Other,
    /// The central directory and the end of the archive.
    Directory,
    /// Bytes that belong to nothing.
    Gap,
}

impl BytePart {
    /// In the order of lists.
    pub const ALL: [BytePart; 8] = [
        BytePart::Header,
        BytePart::Data,
        BytePart::Meta,
        BytePart::Parquet,
        BytePart::Collection,
        BytePart::Other,
        BytePart::Directory,
        BytePart::Gap,
    ];

    /// The word for it.
    pub fn label(self) -> &'static str {
        match self {
            BytePart::Header => "TACO_HEADER",
            BytePart::Data => mark!("data of samples"),
            BytePart::Meta => mark!("tables of FOLDERs"),
            BytePart::Parquet => mark!("tables of levels"),
            BytePart::Collection => "COLLECTION.json",
            BytePart::Other => mark!("other members"),
            BytePart::Directory => mark!("central directory"),
            BytePart::Gap => mark!("gaps"),
        }
    }
}

/// A stretch of bytes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ByteStretch {
    /// First byte.
    pub from: u64,
    /// The byte after the last one.
    pub to: u64,
    /// Kind of the range.
    pub part: BytePart,
    /// The member's name; empty for what is none.
    pub name: Box<str>,
}

/// The layout of one archive. Every byte is in exactly one stretch, in order.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ByteLayout {
    /// The archive.
    pub file: String,
    /// Its size.
    pub size_bytes: u64,
    /// The stretches.
    pub stretches: Vec<ByteStretch>,
    /// Members of which the data begin at a multiple of 64 bytes.
    pub aligned: u64,
    /// How many members there are.
    pub members: u64,
    /// Stretches and bytes of each kind, in the order of [`BytePart::ALL`].
    sums: [(u64, u64); 8],
    /// True when the data of samples come before the tables, as suits readers over a network.
    pub data_first: bool,
}

impl ByteLayout {
    /// Stretches and bytes of a kind.
    pub fn sum(&self, part: BytePart) -> (u64, u64) {
        self.sums[part as usize]
    }
}

/// The byte map of the archive, or of one part of a TACOCAT (the first when not named).
///
/// # Errors
/// For a FOLDER, which has no archive, for an unknown part, and when the central directory can't be
/// read.
pub fn byte_layout(
    reader: &dyn ContainerReader,
    part: Option<&str>,
    ctx: &JobContext,
) -> Result<ByteLayout> {
    match reader.physical() {
        Physical::Zip(zip) => layout_of(
            zip.directory()?,
            zip.file().size_bytes(),
            reader.info().path.display().to_string(),
            ctx,
        ),
        Physical::Tacocat(index) => {
            let name = match part {
                Some(name) => name.to_owned(),
                None => index
                    .part_names(ctx)?
                    .first()
                    .map(|name| name.to_string())
                    .unwrap_or_default(),
            };
            let zip = index.part(&name)?;
            layout_of(zip.directory()?, zip.file().size_bytes(), name, ctx)
        }
        Physical::Folder(_) => Err(Error::usage(
            "a FOLDER has no layout of its own: every sample is a file",
        )),
        Physical::Joined(_) => Err(Error::usage("datasets opened as one have a layout each")
            .hint("open one of them alone")),
        Physical::Tortilla(_) | Physical::Taco3(_) | Physical::Early(_) => Err(Error::unsupported(
            "the layout of this generation's files is not shown",
        )
        .hint("migrate it to 2.0 to see its bytes")),
    }
}

fn kind_of(name: &str) -> BytePart {
    match name {
        "TACO_HEADER" => BytePart::Header,
        "COLLECTION.json" => BytePart::Collection,
        _ if name.starts_with("METADATA/") => BytePart::Parquet,
        _ if name.ends_with("/__meta__") => BytePart::Meta,
        _ if name.starts_with("DATA/") => BytePart::Data,
        _ => BytePart::Other,
    }
}

fn layout_of(
    directory: &CentralDirectory,
    size_bytes: u64,
    file: String,
    ctx: &JobContext,
) -> Result<ByteLayout> {
    let mut order: Vec<usize> = (0..directory.entries.len()).collect();
    order.sort_by_key(|&index| directory.entries[index].local);
    let mut made = ByteLayout {
        file,
        size_bytes,
        ..ByteLayout::default()
    };
    let mut at = 0u64;
    for (place, &index) in order.iter().enumerate() {
        if place % 8192 == 0 {
            ctx.check()?;
        }
        let entry = &directory.entries[index];
        let from = entry.local.max(at);
        if from > at {
            made.stretches.push(ByteStretch {
                from: at,
                to: from,
                part: BytePart::Gap,
                name: "".into(),
            });
        }
        let next = order
            .get(place + 1)
            .map_or(directory.offset, |&index| directory.entries[index].local)
            .max(from);
        let least = entry
            .local
            .saturating_add(LOCAL + entry.name.len() as u64)
            .saturating_add(entry.stored);
        // Extra fields and descriptors belong to their member; only what is larger is a gap.
        let to = if next.saturating_sub(least) <= SLACK {
            next
        } else {
            least.min(next)
        };
        let to = to.min(size_bytes).max(from);
        // The gap between header and data is known where the member fills its range.
        if to == next && next.saturating_sub(entry.stored).is_multiple_of(64) {
            made.aligned += 1;
        }
        made.stretches.push(ByteStretch {
            from,
            to,
            part: kind_of(&entry.name),
            name: entry.name.clone(),
        });
        at = to;
    }
    if directory.offset > at {
        made.stretches.push(ByteStretch {
            from: at,
            to: directory.offset,
            part: BytePart::Gap,
            name: "".into(),
        });
        at = directory.offset;
    }
    if size_bytes > at {
        made.stretches.push(ByteStretch {
            from: at,
            to: size_bytes,
            part: BytePart::Directory,
            name: "".into(),
        });
    }
    made.stretches.retain(|stretch| stretch.to > stretch.from);
    let last_data = made
        .stretches
        .iter()
        .rposition(|stretch| stretch.part == BytePart::Data);
    let first_table = made
        .stretches
        .iter()
        .position(|stretch| stretch.part == BytePart::Parquet);
    for stretch in &made.stretches {
        let sum = &mut made.sums[stretch.part as usize];
        *sum = (sum.0 + 1, sum.1 + stretch.to - stretch.from);
        made.members += u64::from(!stretch.name.is_empty());
    }
    made.data_first = last_data
        .zip(first_table)
        .is_none_or(|(data, table)| data < table);
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container;
    use std::path::Path;

    #[test]
    fn every_byte_is_in_one_stretch() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/golden");
        let ctx = JobContext::default();
        for (path, parts) in [
            ("01_flat_zip/flat.tacozip", 1),
            ("05_nested3_zip/stack.tacozip", 3),
        ] {
            let reader = container::open(&fixtures.join(path), &ctx).expect("opens");
            let layout = byte_layout(reader.as_ref(), None, &ctx).expect("has a layout");
            let mut at = 0;
            for stretch in &layout.stretches {
                assert_eq!(stretch.from, at, "{path}");
                at = stretch.to;
            }
            assert_eq!(at, layout.size_bytes, "{path}");
            assert_eq!(layout.sum(BytePart::Header).0, 1);
            assert!(layout.sum(BytePart::Parquet).0 >= parts, "{path}");
            assert!(layout.sum(BytePart::Data).1 > 0 && layout.sum(BytePart::Directory).1 > 0);
            assert_eq!(layout.stretches[0].part, BytePart::Header);
        }
        let folder =
            container::open(&fixtures.join("04_nested2_folder/change"), &ctx).expect("opens");
        assert!(byte_layout(folder.as_ref(), None, &ctx).is_err());
    }
}
