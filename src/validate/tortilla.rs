//! Checks TORTILLA 0.5 and TACO 0.2 datasets against their specifications: sample ranges, ids,
//! enumerations, parts, and the classes stac-tortilla and rai-tortilla. Unreadable footers are
//! among the reader's notes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use arrow::array::Array;

use super::pit::sample_location;
use crate::container::{ContainerReader, HEADER_SIZE, TortillaReader, stated_format};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Report, Rule, Skeleton};
use crate::raster;
use crate::text::PrintableLine;

/// Columns of a stac-tortilla; the shape has another name in TACO 0.2.
const STAC: [&str; 5] = [
    "stac:crs",
    "stac:geotransform",
    "stac:raster_shape",
    "stac:time_start",
    "stac:time_end",
];
/// Columns of a stac-tortilla that need a value for each sample, under both names of the shape.
pub const STAC_CORE: [&str; 6] = [
    "stac:crs",
    "stac:geotransform",
    "stac:raster_shape",
    "stac:tensor_shape",
    "stac:time_start",
    "stac:time_end",
];
/// Columns of a rai-tortilla.
const RAI: [&str; 9] = [
    "rai:elevation",
    "rai:cisi",
    "rai:gdp",
    "rai:hdi",
    "rai:gmi",
    "rai:pop",
    "rai:admin0",
    "rai:admin1",
    "rai:admin2",
];
/// Alternative names of these columns in TACO 0.2 and in the Python tools.
const OTHER_NAMES: [(&str, &str); 2] = [
    ("stac:raster_shape", "stac:tensor_shape"),
    ("rai:elevation", "rai:ele"),
];

/// All checks of the first generation.
///
/// # Errors
/// When a table cannot be read, or the job is cancelled.
pub fn check(tortilla: &TortillaReader, report: &mut Report, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Checking the tortillas"), None);
    check_headers(tortilla, report)?;
    for part in tortilla.missing_parts() {
        report.add(
            Rule::TortillaParts,
            Location::Member(part.printable_line().to_string()),
            tr!("This part is missing."),
        );
    }
    check_numbers(tortilla, report);
    let tree = tortilla.levels().skeleton(ctx)?;
    for level in 0..tree.levels.len() {
        ctx.check()?;
        check_ids(&tree, level, report);
        check_words(tortilla, &tree, level, report, ctx)?;
        check_overlap(tortilla, &tree, level, report, ctx)?;
        let fields = tortilla.levels().fields(level);
        let names: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        check_class(&names, level, "stac", &STAC, report);
        check_class(&names, level, "rai", &RAI, report);
        check_nulls(tortilla, &tree, level, &names, report, ctx)?;
    }
    for (level, column) in tortilla.widened_columns() {
        let at = Location::Column {
            level: *level,
            name: column.name.clone(),
        };
        let found = column
            .found
            .iter()
            .cloned()
            .reduce(|parts, last| tr!("{parts} and {last}", parts, last))
            .unwrap_or_default();
        let message = tr!(
            "The nested tortillas hold {column} as {found}; it is shown as {shown}.",
            column = column.name,
            found,
            shown = column.into
        );
        report.add(Rule::TortillaTypes, at, message);
    }
    if tortilla.chunks().is_some() {
        check_chain(tortilla, &tree, report, ctx)?;
    }
    check_collection(tortilla, report);
    Ok(())
}

/// The linked list must have rows for the contents of every nested tortilla, as readers of
/// streamable datasets use nothing else.
fn check_chain(
    tortilla: &TortillaReader,
    tree: &Skeleton,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    for (level, table) in tree.levels.iter().enumerate() {
        let below = tree.levels.get(level + 1);
        let parents: HashSet<u32> = below
            .iter()
            .flat_map(|below| below.parents.iter().copied())
            .collect();
        let childless = (0..table.len() as u32)
            .filter(|row| table.folder[*row as usize] && !parents.contains(row));
        for row in childless {
            ctx.check()?;
            // A nested tortilla may be empty.
            if tortilla
                .local_meta(level, row)
                .is_ok_and(|inside| inside.rows() == 0)
            {
                continue;
            }
            let at = Location::Sample {
                level,
                row,
                path: tree.path(level, row),
            };
            report.add(
                Rule::TortillaChain,
                at,
                tr!("The chain of the footer has no row for what is inside this nested tortilla."),
            );
        }
    }
    Ok(())
}

/// The classes of a tortilla with these columns: `stac-tortilla`, `rai-tortilla`, both or neither.
pub fn classes(names: &HashSet<&str>) -> Vec<&'static str> {
    let whole = |wanted: &[&str]| wanted.iter().all(|name| has_column(names, name));
    [
        ("stac-tortilla", whole(&STAC)),
        ("rai-tortilla", whole(&RAI)),
    ]
    .into_iter()
    .filter_map(|(name, is)| is.then_some(name))
    .collect()
}

fn has_column(names: &HashSet<&str>, name: &str) -> bool {
    let other = OTHER_NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, other)| *other);
    names.contains(name) || other.is_some_and(|other| names.contains(other))
}

fn check_class(
    names: &HashSet<&str>,
    level: usize,
    namespace: &str,
    wanted: &[&str],
    report: &mut Report,
) {
    let missing: Vec<&str> = wanted
        .iter()
        .copied()
        .filter(|name| !has_column(names, name))
        .collect();
    // Other columns of the namespace do not indicate the class.
    if !missing.is_empty() && missing.len() < wanted.len() {
        let message = tr!(
            "This is no {namespace}-tortilla: {columns} is missing.",
            namespace,
            columns = missing.join(", ")
        );
        report.add(Rule::TortillaClass, Location::Level(level), message);
    }
}

/// Counts samples without a value in the core columns of a stac-tortilla.
fn check_nulls(
    tortilla: &TortillaReader,
    tree: &Skeleton,
    level: usize,
    names: &HashSet<&str>,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let columns: Vec<&str> = STAC_CORE
        .into_iter()
        .filter(|name| names.contains(name))
        .collect();
    if columns.is_empty() {
        return Ok(());
    }
    let table = tortilla
        .levels()
        .columns(level, &columns, ctx)?
        .to_batch()?;
    for name in columns {
        ctx.check()?;
        let Some(nulls) = table
            .column_by_name(name)
            .and_then(|column| column.logical_nulls())
        else {
            continue;
        };
        let rows: Vec<u32> = (0..table.num_rows())
            .filter(|&row| nulls.is_null(row))
            .map(|row| row as u32)
            .collect();
        let Some(first) = rows.first() else { continue };
        let path = tree.path(level, *first);
        let message = tr_n!(
            rows.len(),
            "{n} sample, {path}, has no value in this core column.",
            "{n} samples, {path} the first, have no value in this core column.",
            n = rows.len(),
            path
        );
        let rule = if name == "stac:time_end" {
            Rule::TortillaEndNull
        } else {
            Rule::TortillaCoreNull
        };
        report.add(
            rule,
            Location::Column {
                level,
                name: name.to_owned(),
            },
            message,
        );
    }
    Ok(())
}

fn check_headers(tortilla: &TortillaReader, report: &mut Report) -> Result<()> {
    for (file, root) in tortilla.files().iter().zip(tortilla.roots()) {
        let at = || Location::Member(name_of(file.path()));
        let bytes = file.read(0, root.header.end)?;
        let used = match (stated_format(&bytes), root.header.is_taco()) {
            // Headers of the first releases have no reserved bytes but the last ones.
            (Some(_), _) => 66,
            (None, true) if bytes[26..42].iter().all(|&byte| byte == 0) => 66,
            (None, true) => 42,
            (None, false) => 26,
        };
        if root.header.end == HEADER_SIZE && bytes.iter().skip(used).any(|&byte| byte != 0) {
            let message = tr!(
                "The header's bytes from {used} on are reserved; some are not zero.",
                used
            );
            report.add(Rule::TortillaHeader, at(), message);
        }
        if root.header.partitions == 0 {
            report.add(
                Rule::TortillaHeader,
                at(),
                tr!("The header says that the dataset has no part."),
            );
        }
    }
    Ok(())
}

/// Checks that parts opened together agree on the number of parts.
fn check_numbers(tortilla: &TortillaReader, report: &mut Report) {
    let counts: BTreeSet<u64> = tortilla
        .roots()
        .iter()
        .map(|root| root.header.partitions)
        .collect();
    let files = tortilla.files().len() as u64;
    if files > 1 && counts.len() > 1 {
        let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
        let message = tr!(
            "The parts state different totals: {counts}.",
            counts = counts.join(", ")
        );
        report.add(Rule::TortillaParts, Location::Dataset, message);
    } else if let Some(&count) = counts.first()
        && files > 1
        && files > count
    {
        let message = tr!(
            "The parts state a total of {count}; {files} were found.",
            count,
            files
        );
        report.add(Rule::TortillaParts, Location::Dataset, message);
    }
    // The other parts cannot be found for a file without a part number in its name.
    if let ([file], [root]) = (tortilla.files(), tortilla.roots())
        && root.header.partitions > 1
        && crate::container::part_name(&name_of(file.path())).is_none()
    {
        let message = tr!(
            "This is one of {parts} parts, but its name has no number.",
            parts = root.header.partitions
        );
        report.add(
            Rule::TortillaParts,
            Location::Member(name_of(file.path())),
            message,
        );
    }
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn check_ids(tree: &Skeleton, level: usize, report: &mut Report) {
    let table = &tree.levels[level];
    let mut seen: HashSet<(u32, &str)> = HashSet::with_capacity(table.len());
    for row in 0..table.len() as u32 {
        let at = || sample_location(tree, level, row);
        let parent = if level == 0 {
            0
        } else {
            table.parents[row as usize]
        };
        if table.id(row).is_empty() {
            report.add(Rule::IdCharacters, at(), tr!("tortilla:id is empty."));
        }
        if !seen.insert((parent, table.id(row))) {
            let message = tr!(
                "Two samples of one tortilla have the id {id}.",
                id = table.id(row).printable_line()
            );
            report.add(Rule::IdUnique, at(), message);
        }
    }
}

fn check_words(
    tortilla: &TortillaReader,
    tree: &Skeleton,
    level: usize,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let names = ["tortilla:file_format", "tortilla:data_split"];
    let table = tortilla.levels().columns(level, &names, ctx)?;
    // A level has few distinct values: each is checked once.
    let mut known: HashMap<String, bool> = HashMap::new();
    let at = |row: usize| sample_location(tree, level, row as u32);
    for (row, format) in table.strings(names[0])?.iter().flatten().enumerate() {
        let format = format.unwrap_or("null");
        let is_driver =
            |name: &str| matches!(name, "BYTES" | "TORTILLA") || raster::is_driver_name(name);
        if !*known
            .entry(format.to_owned())
            .or_insert_with(|| is_driver(format))
        {
            let found = format.printable_line();
            let message = tr!(
                "tortilla:file_format is {found}: neither BYTES nor TORTILLA nor a driver of GDAL.",
                found
            );
            report.add(Rule::TortillaFormat, at(row), message);
        }
    }
    if let Some(splits) = table
        .column_index(names[1])
        .map(|_| table.strings(names[1]))
        .transpose()?
        .flatten()
    {
        for (row, split) in splits.iter().enumerate() {
            if let Some(split) =
                split.filter(|split| !matches!(*split, "train" | "test" | "validation"))
            {
                let found = split.printable_line();
                let message = tr!(
                    "tortilla:data_split is {found}; it has to be train, test or validation.",
                    found
                );
                report.add(Rule::TortillaSplit, at(row), message);
            }
        }
    }
    Ok(())
}

/// Checks that samples of one tortilla do not overlap.
fn check_overlap(
    tortilla: &TortillaReader,
    tree: &Skeleton,
    level: usize,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let positions = tortilla.levels().positions(level, ctx)?;
    let sources = if tortilla.files().len() > 1 {
        Some(tortilla.levels().row_parts(level, ctx)?)
    } else {
        None
    };
    let mut ranges: BTreeMap<u32, Vec<(u64, u64, u32)>> = BTreeMap::new();
    for row in 0..tree.levels[level].len() as u32 {
        if let Some((offset, size)) = positions.range(row).filter(|range| range.1 > 0) {
            let part = sources
                .as_ref()
                .and_then(|sources| sources.rows.get(row as usize))
                .copied()
                .unwrap_or(0);
            ranges.entry(part).or_default().push((offset, size, row));
        }
    }
    for ranges in ranges.values_mut() {
        ctx.check()?;
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            let [(offset, size, first), (next, _, row)] = [pair[0], pair[1]];
            if offset.saturating_add(size) > next {
                let at = Location::Sample {
                    level,
                    row,
                    path: tree.path(level, row),
                };
                let message = tr!(
                    "Its bytes begin at {next}, inside those of {other}, which are {size} at \
                        {offset}.",
                    next,
                    other = tree.path(level, first),
                    size,
                    offset
                );
                report.add(Rule::TortillaOverlap, at, message);
            }
        }
    }
    Ok(())
}

fn check_collection(tortilla: &TortillaReader, report: &mut Report) {
    let taco = tortilla
        .roots()
        .first()
        .is_some_and(|root| root.header.is_taco());
    if !taco || report.has(Rule::CollectionRead) {
        return;
    }
    super::taco_0_2::check(&tortilla.collection().fields, report);
}
