//! Opens a TACO ZIP: reads the header, the Parquet footers and COLLECTION.json; everything else on
//! demand.

use std::path::Path;
use std::sync::OnceLock;

use super::header::{HEADER_END, HeaderEntry, TacoHeader};
use super::member_name::member_of;
use super::rezipped::rezipped_dataset;
use crate::container::offset_check::{ends_before, tiling_parts};
use crate::container::{
    ByteSource, ContainerInfo, ContainerReader, Format, LevelSet, OpeningFacts, Physical,
    read_collection,
};
use crate::error::{Cause, Error, Kind, Result, separate_transient_error};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Collection, Finding, Location, Rule};
use crate::table::{LevelTable, TableHead};
use crate::zip_format::{BLOCK, CentralDirectory, LocalHeader};

/// An opened TACO ZIP.
pub struct ZipReader {
    opening: OpeningFacts,
    file: ByteSource,
    header: Option<TacoHeader>,
    directory: OnceLock<CentralDirectory>,
    /// Whether the ranges in the levels tile the data; computed for remote archives only.
    tiling: OnceLock<bool>,
}

impl ZipReader {
    /// Opens the archive. When TACO_HEADER is unusable, the central directory is used instead, with
    /// a note.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when neither leads to level tables, or a level
    /// table is unreadable.
    pub fn open(path: &Path) -> Result<Self> {
        let file = ByteSource::open(path)?;
        let opened = Self::open_file(file, path);
        if let Err(error) = &opened
            && error.kind() == Kind::Format
            && let Ok(Some(rezipped)) =
                ByteSource::open(path).and_then(|file| rezipped_dataset(&file))
        {
            return Err(rezipped.error(path));
        }
        opened
    }

    fn open_file(file: ByteSource, path: &Path) -> Result<Self> {
        let start = file.read(0, HEADER_END.min(file.size_bytes()))?;
        let mut notes = Vec::new();
        let in_file =
            |entry: &HeaderEntry| entry.size > 0 && file.contains(entry.offset, entry.size);
        let mut header = match TacoHeader::parse(&start) {
            Ok(header) if header.entries.iter().all(in_file) => Some(header),
            Ok(_) => {
                let bytes = file.size_bytes();
                notes.push(header_note(tr!(
                    "TACO_HEADER points outside the file, which has {bytes} bytes.",
                    bytes
                )));
                None
            }
            Err(error) => {
                notes.push(header_note(error.sentence()));
                None
            }
        };
        let directory = OnceLock::new();
        if let Some(header) = &header {
            file.prefetch_tables(&header.entries)?;
        }
        let read = header
            .as_ref()
            .map(|header| ArchiveContents::read(&file, header.levels(), Some(header.collection())));
        let mut read = read.transpose()?;
        // The header's ranges may be wrong. When the directory agrees with them, the table itself
        // is damaged.
        if let (Some(stated), Some(contents)) = (&header, &read)
            && !contents.is_whole()
            && let Ok(found) = separate_transient_error(CentralDirectory::read(&file))?
        {
            let (levels, collection) = by_name(&file, &found)?;
            let stands_elsewhere = !levels.is_empty()
                && (levels != stated.levels() || collection != Some(stated.collection()));
            let _ = directory.set(found);
            if stands_elsewhere {
                notes.push(header_note(describe_header_difference(
                    stated, &levels, collection,
                )));
                read = Some(ArchiveContents::read(&file, &levels, collection)?);
                header = None;
            }
        }
        let contents = match read {
            Some(contents) => contents,
            None => {
                let found = CentralDirectory::read(&file)?;
                let (levels, collection) = by_name(&file, &found)?;
                let _ = directory.set(found);
                ArchiveContents::read(&file, &levels, collection)?
            }
        };
        if contents.heads.is_empty() {
            return Err(Error::format("the archive has no METADATA/level0.parquet").at_path(path));
        }
        let heads = contents.heads.into_iter().enumerate().map(|(level, head)| {
            head.map_err(|error| {
                let unreadable =
                    Error::format(format!("METADATA/level{level}.parquet can't be read"));
                unreadable.because(error).of_level(level).at_path(path)
            })
        });
        let levels = LevelSet::new(heads.collect::<Result<_>>()?);
        let info = ContainerInfo {
            format: Format::Zip,
            path: path.to_owned(),
            size_bytes: Some(file.size_bytes()),
        };
        let opening = OpeningFacts::new(info, levels, contents.collection, notes);
        Ok(Self {
            opening,
            file,
            header,
            directory,
            tiling: OnceLock::new(),
        })
    }

    /// The archive as a byte source.
    pub fn file(&self) -> &ByteSource {
        &self.file
    }

    /// The header, when it is usable.
    pub fn header(&self) -> Option<&TacoHeader> {
        self.header.as_ref()
    }

    /// The central directory, read on first use; a failed read is retried on the next call.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn directory(&self) -> Result<&CentralDirectory> {
        if let Some(known) = self.directory.get() {
            return Ok(known);
        }
        let found = CentralDirectory::read(&self.file)?;
        Ok(self.directory.get_or_init(|| found))
    }

    /// Member name of the sample at `row` of `level`; for a FOLDER, of its `__meta__`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when there is no such row.
    pub fn member_name(&self, level: usize, row: u32) -> Result<String> {
        let tree = self.opening.levels.skeleton(&JobContext::default())?;
        let table = tree
            .levels
            .get(level)
            .filter(|table| (row as usize) < table.len());
        let table = table.ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))?;
        Ok(member_of(
            &tree.archive_path(level, row),
            table.folder[row as usize],
        ))
    }

    /// True when `size` bytes at `offset` are the data of the member `name`, that is, its local
    /// header ends at `offset`.
    ///
    /// # Errors
    /// When the archive cannot be read for now (a failed request or a cancelled job).
    pub fn is_data_of(&self, name: &str, offset: u64, size: u64) -> Result<bool> {
        if self.file.is_remote() {
            return Ok(separate_transient_error(self.member_range(name))?
                .is_ok_and(|range| range == (offset, size)));
        }
        // The extra field is empty, or ZIP64 for members larger than 4 GiB.
        for extra in [0u64, 20] {
            let Some(local) = offset.checked_sub(30 + name.len() as u64 + extra) else {
                continue;
            };
            let Ok(header) = separate_transient_error(LocalHeader::read(&self.file, local))? else {
                continue;
            };
            if header.data == offset
                && &*header.name == name
                && (header.size == u32::MAX || u64::from(header.size) == size)
            {
                return Ok(true);
            }
        }
        // Behind the name of an aligned member is padding of unknown length.
        Ok(offset.is_multiple_of(BLOCK)
            && separate_transient_error(self.member_range(name))?
                .is_ok_and(|range| range == (offset, size)))
    }

    /// `(offset, size)` of the member `name`. The level table's `stated` range is used when the
    /// member at that offset has this name; some published archives state ranges of other samples
    /// below level 0.
    ///
    /// # Errors
    /// As [`ZipReader::member_range`].
    pub fn range_of(&self, name: &str, stated: Option<(u64, u64)>) -> Result<(u64, u64)> {
        if self.file.is_remote() {
            return match stated {
                Some(range)
                    if separate_transient_error(self.tiles(&JobContext::default()))?
                        .unwrap_or(false) =>
                {
                    Ok(range)
                }
                _ => self.member_range(name),
            };
        }
        match stated.filter(|&(offset, size)| self.file.contains(offset, size)) {
            Some((offset, size)) if self.is_data_of(name, offset, size)? => Ok((offset, size)),
            _ => self.member_range(name),
        }
    }

    /// True when the levels' ranges tile the data between header and tables, which proves them
    /// right without a request.
    ///
    /// # Errors
    /// When a level table cannot be read.
    pub fn tiles(&self, ctx: &JobContext) -> Result<bool> {
        if let Some(known) = self.tiling.get() {
            return Ok(*known);
        }
        let Some(header) = &self.header else {
            return Ok(false);
        };
        let tile = tiling_parts(&self.opening.levels, 1, HEADER_END, &|_, _| Some(0), ctx)?.first()
            == Some(&true);
        let holds = tile && ends_before(&self.opening.levels, header.levels(), ctx)?;
        Ok(*self.tiling.get_or_init(|| holds))
    }

    /// `(offset, size)` of the member `name`, from the central directory.
    ///
    /// # Errors
    /// [`Kind::Format`](crate::error::Kind::Format) when there is no such member, or it is
    /// compressed, encrypted or outside the file.
    pub fn member_range(&self, name: &str) -> Result<(u64, u64)> {
        let directory = self.directory()?;
        let entry = directory
            .find(name)
            .ok_or_else(|| missing_member_error(name))?;
        if entry.method == 0
            && entry.flags & 1 == 0
            && self.file.is_remote()
            && let Some(start) = directory.data_by_next(entry)
        {
            return Ok((start, entry.size));
        }
        let header = LocalHeader::read(&self.file, entry.local)?;
        if entry.method != 0 || entry.flags & 1 != 0 {
            return Err(Error::format(
                "the member is compressed or encrypted; TACO archives only store",
            )
            .at_place(name)
            .caused_by(Cause::CompressedMember)
            .hint(
                "unpack the archive and open the folder, or write it again with `taco-studio \
                    repair`",
            ));
        }
        if !self.file.contains(header.data, entry.size) {
            return Err(Error::format("the member runs past the end of the file").at_place(name));
        }
        Ok((header.data, entry.size))
    }
}

fn missing_member_error(name: &str) -> Error {
    Error::format("the sample is not in the archive")
        .at_place(name)
        .caused_by(Cause::MissingMember)
}

impl ContainerReader for ZipReader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (asset, _) = self.asset(level, row)?;
        let AssetPath::Range { offset, size, .. } = asset else {
            return Err(Error::internal("an archive gave no range"));
        };
        TableHead::read(self.file.parquet(offset, size)?)?.decode(&JobContext::default())
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        let name = self.member_name(level, row)?;
        let stated = self
            .opening
            .levels
            .positions(level, &JobContext::default())?
            .range(row);
        let (offset, size) = self.range_of(&name, stated)?;
        Ok((self.file.range(offset, size), size))
    }

    fn prefetch_meta(&self, level: usize, rows: &[u32]) -> Result<()> {
        if !self.file.is_remote() {
            return Ok(());
        }
        let positions = self
            .opening
            .levels
            .positions(level, &JobContext::default())?;
        let ranges: Vec<(u64, u64)> = rows
            .iter()
            .filter_map(|&row| positions.range(row))
            .collect();
        self.file.prefetch(&ranges)
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Zip(self)
    }
}

/// The level tables and collection that TACO_HEADER locates, as far as readable.
struct ArchiveContents {
    heads: Vec<Result<TableHead>>,
    collection: Result<Collection>,
}

impl ArchiveContents {
    fn read(
        file: &ByteSource,
        levels: &[HeaderEntry],
        collection: Option<HeaderEntry>,
    ) -> Result<Self> {
        let heads = levels.iter().map(|entry| read_table_head(file, *entry));
        let heads = heads.collect::<Result<_>>()?;
        Ok(Self {
            heads,
            collection: separate_transient_error(collection_at(file, collection))?,
        })
    }

    fn is_whole(&self) -> bool {
        self.collection.is_ok() && self.heads.iter().all(Result::is_ok)
    }
}

fn header_note(message: String) -> Finding {
    Finding::new(
        Rule::ZipHeader,
        Location::Member("TACO_HEADER".into()),
        message,
    )
}

/// Describes where header and directory differ.
fn describe_header_difference(
    header: &TacoHeader,
    levels: &[HeaderEntry],
    collection: Option<HeaderEntry>,
) -> String {
    if levels.len() != header.levels().len() {
        return tr_n!(
            header.levels().len(),
            "TACO_HEADER lists {listed} level table; the archive holds {found}.",
            "TACO_HEADER lists {listed} level tables; the archive holds {found}.",
            listed = header.levels().len(),
            found = levels.len()
        );
    }
    let level = levels
        .iter()
        .zip(header.levels())
        .position(|(found, stated)| found != stated);
    let (name, found, stated) = match level {
        Some(level) => (
            format!("METADATA/level{level}.parquet"),
            Some(levels[level]),
            header.levels()[level],
        ),
        None => (
            "COLLECTION.json".to_owned(),
            collection,
            header.collection(),
        ),
    };
    match found {
        Some(found) => tr!(
            "TACO_HEADER states {stated} bytes at {place} for {name}; it has {found} bytes at \
                {own}.",
            name,
            stated = stated.size,
            place = stated.offset,
            found = found.size,
            own = found.offset
        ),
        None => tr!("{name} is not in the archive.", name),
    }
}

/// Level tables and collection located by member name, for archives without a usable header.
fn by_name(
    file: &ByteSource,
    directory: &CentralDirectory,
) -> Result<(Vec<HeaderEntry>, Option<HeaderEntry>)> {
    let mut levels = Vec::new();
    while let Some(level) = find_entry(
        file,
        directory,
        &format!("METADATA/level{}.parquet", levels.len()),
    )? {
        levels.push(level);
    }
    Ok((levels, find_entry(file, directory, "COLLECTION.json")?))
}

/// The data of a member; `None` when it is missing, unreadable or outside the file.
fn find_entry(
    file: &ByteSource,
    directory: &CentralDirectory,
    name: &str,
) -> Result<Option<HeaderEntry>> {
    let Some(entry) = directory.find(name) else {
        return Ok(None);
    };
    let Ok(header) = separate_transient_error(LocalHeader::read(file, entry.local))? else {
        return Ok(None);
    };
    let inside = file.contains(header.data, entry.size);
    Ok(inside.then_some(HeaderEntry {
        offset: header.data,
        size: entry.size,
    }))
}

fn read_table_head(file: &ByteSource, entry: HeaderEntry) -> Result<Result<TableHead>> {
    let table = file.parquet(entry.offset, entry.size);
    separate_transient_error(table.and_then(TableHead::read))
}

fn collection_at(file: &ByteSource, entry: Option<HeaderEntry>) -> Result<Collection> {
    let entry = entry.ok_or_else(|| Error::format("COLLECTION.json is missing"))?;
    read_collection(file, entry.offset, entry.size)
}
