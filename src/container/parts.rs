//! Divides a dataset into several ZIPs or FOLDERs, by size or by column values: which level-0
//! samples go into which part, and its name.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data_size::{add_size, too_much_data_error};
use super::{Assembly, Format};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{SkeletonLevel, is_padding};

/// How to split a dataset into parts. Plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(default)]
pub struct PartOptions {
    /// Maximum bytes of sample data in a part, metadata not counted; a larger sample gets a part of
    /// its own. `None`: no limit.
    pub size_bytes: Option<u64>,
    /// Columns of level 0: one group of parts for each combination of their values.
    pub group_by: Vec<String>,
    /// Indexes to write beside the parts: [`Format::Tacocat`], [`Format::TacocatFile`],
    /// [`Format::Tacollection`].
    pub consolidate: Vec<Format>,
}

/// One part of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPart {
    /// Its file name.
    pub name: String,
    /// Its level-0 samples, as row numbers of the whole dataset.
    pub roots: Vec<u32>,
    /// Bytes of sample data.
    pub data_bytes: u64,
}

/// Level-0 samples with the same values of the columns to group by.
struct PartGroup {
    /// The values, joined by `_`; `None` when there are no such columns.
    value: Option<String>,
    /// Row numbers.
    roots: Vec<u32>,
}

/// Parses a size in bytes such as `4GB`, `512 MB`, `1024k` or `2048`: units of 1024,
/// case-insensitive, as the Python tools do.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when `text` is not a size.
pub fn parse_size(text: &str) -> Result<u64> {
    let malformed = || malformed_size_error(text);
    let upper = text.trim().to_uppercase();
    let digits = upper
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(upper.len());
    let (number, unit) = upper.split_at(digits);
    let (whole, fraction) = number
        .split_once('.')
        .map_or((number, None), |(whole, fraction)| (whole, Some(fraction)));
    if whole.is_empty()
        || fraction.is_some_and(|fraction| fraction.is_empty() || fraction.contains('.'))
    {
        return Err(malformed());
    }
    let factor = match unit.trim_start() {
        "" | "B" => 1u64,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => return Err(malformed()),
    };
    let bytes = match fraction {
        None => whole
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(factor))
            .ok_or_else(malformed)?,
        Some(_) => (number.parse::<f64>().map_err(|_| malformed())? * factor as f64) as u64,
    };
    Ok(bytes)
}

fn malformed_size_error(text: &str) -> Error {
    Error::usage(format!("{text:?} is not a size"))
        .hint("write it like 4GB, 512MB, 1024KB or 2048B")
}

/// Converts a value to a file name component as the Python tools do: characters that file systems
/// refuse become `_`, runs of `_` and spaces become one `_`, and leading and trailing `_` are
/// removed.
pub fn file_name_of(value: &str) -> String {
    let mut name = String::with_capacity(value.len());
    for letter in value.chars() {
        let is_replaced = matches!(
            letter,
            '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|' | '\'' | '_'
        );
        if is_replaced || letter.is_whitespace() || letter.is_control() {
            if !name.ends_with('_') {
                name.push('_');
            }
        } else {
            name.push(letter);
        }
    }
    name.trim_matches('_').to_owned()
}

impl PartOptions {
    /// Plans the parts without writing. When grouping by columns, padding on level 0 is left out,
    /// as it belongs to no group.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when a column does not exist, or two groups have
    /// the same file name.
    pub fn plan(
        &self,
        assembly: &Assembly,
        target: &Path,
        format: Format,
        ctx: &JobContext,
    ) -> Result<Vec<PlannedPart>> {
        if self.size_bytes == Some(0) {
            return Err(Error::usage("the size of a part must be at least one byte"));
        }
        let sizes = root_sizes(assembly)?;
        let name = target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            Error::usage("the output has no file name from which those of the parts can be derived")
                .at_path(target)
        })?;
        let (stem, ending) = match name.rfind('.') {
            Some(dot) if dot > 0 && format != Format::Folder => name.split_at(dot),
            _ => (name, ""),
        };
        let mut planned = Vec::new();
        let mut value_of_name: HashMap<String, String> = HashMap::new();
        for PartGroup { value, roots } in self.group_roots(assembly, ctx)? {
            let group = match &value {
                None => stem.to_owned(),
                Some(value) => format!("{stem}_{}", file_name_of(value)),
            };
            // Names that differ only in case are one file on some systems.
            if let Some(other) =
                value_of_name.insert(group.to_lowercase(), value.clone().unwrap_or_default())
            {
                let value = value.unwrap_or_default();
                return Err(Error::usage(format!(
                    "the values {other:?} and {value:?} give the same file name {group}{ending}"
                ))
                .hint("group by another column, or rename one of the values"));
            }
            let parts = self.fill_parts(roots, &sizes);
            let is_single = parts.len() == 1;
            for (number, roots) in parts.into_iter().enumerate() {
                let name = if is_single {
                    format!("{group}{ending}")
                } else {
                    format!("{group}_part{:04}{ending}", number + 1)
                };
                let data_bytes = roots.iter().map(|&root| sizes[root as usize]).sum();
                planned.push(PlannedPart {
                    name,
                    roots,
                    data_bytes,
                });
            }
        }
        if planned.is_empty() {
            return Err(Error::invalid("the dataset has no samples"));
        }
        let mut names = HashSet::new();
        match planned
            .iter()
            .find(|part| !names.insert(part.name.to_lowercase()))
        {
            Some(part) => Err(
                Error::usage(format!("two parts would have the name {}", part.name))
                    .hint("group by another column, or rename one of the values"),
            ),
            None => Ok(planned),
        }
    }

    /// Checks that `consolidate` can be written for parts of `format`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when `format` is FOLDER and `consolidate` is not
    /// empty, or `consolidate` has a format that is not an index.
    pub fn check(&self, format: Format) -> Result<()> {
        if !self.consolidate.is_empty() && format != Format::Zip {
            return Err(Error::usage("an index joins ZIPs, not FOLDERs")
                .hint("write the parts as ZIP, or leave the index out"));
        }
        match self
            .consolidate
            .iter()
            .find(|format| index_name(**format).is_none())
        {
            Some(format) => Err(Error::usage(format!(
                "{} is not an index over other datasets",
                format.description()
            ))),
            None => Ok(()),
        }
    }

    /// File names of the indexes beside the parts, in writing order.
    pub fn index_names(&self) -> impl Iterator<Item = &str> {
        self.consolidate
            .iter()
            .filter_map(|&format| index_name(format))
    }

    /// Smallest part size in bytes that gives at most `count` parts, so that they are of similar
    /// size.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) when the groups alone are more than `count`, or a
    /// column does not exist.
    pub fn find_part_size(
        &self,
        assembly: &Assembly,
        count: usize,
        ctx: &JobContext,
    ) -> Result<u64> {
        let sizes = root_sizes(assembly)?;
        let groups: Vec<Vec<u32>> = self
            .group_roots(assembly, ctx)?
            .into_iter()
            .map(|group| group.roots)
            .collect();
        if groups.len() > count {
            let error = Error::usage(format!(
                "the columns to group by have {} values, and {count} parts are asked for",
                groups.len()
            ));
            return Err(error.hint("choose more parts, or group by fewer columns"));
        }
        // `most` always fits: each group is one part.
        let (mut least, mut most) = (1, sizes.iter().sum::<u64>().max(1));
        while least < most {
            ctx.check()?;
            let middle = least + (most - least) / 2;
            if count_parts(&groups, &sizes, middle) <= count {
                most = middle
            } else {
                least = middle + 1
            }
        }
        Ok(most)
    }

    /// Rows of level 0 by their values of `group_by`, in order of first appearance; one group
    /// without a value when `group_by` is empty.
    fn group_roots(&self, assembly: &Assembly, ctx: &JobContext) -> Result<Vec<PartGroup>> {
        let (Some(level), Some(tree)) = (assembly.levels.first(), assembly.tree.levels.first())
        else {
            return Ok(Vec::new());
        };
        let rows = 0..tree.len() as u32;
        if self.group_by.is_empty() {
            return Ok(vec![PartGroup {
                value: None,
                roots: rows.collect(),
            }]);
        }
        let texts: Vec<Vec<String>> = self
            .group_by
            .iter()
            .map(|name| format_column(&level.batch, name))
            .collect::<Result<_>>()?;
        let mut groups: Vec<PartGroup> = Vec::new();
        // Compared value by value: (a_b, c) and (a, b_c) are two groups, although their file names
        // are equal.
        let mut group_indexes: HashMap<Vec<&str>, usize> = HashMap::new();
        let mut padding = 0;
        for row in rows {
            if is_padding(tree.id(row)) {
                padding += 1;
                continue;
            }
            let values: Vec<&str> = texts
                .iter()
                .map(|column| column[row as usize].as_str())
                .collect();
            let name = values.join("_");
            let index = *group_indexes.entry(values).or_insert_with(|| {
                groups.push(PartGroup {
                    value: Some(name),
                    roots: Vec::new(),
                });
                groups.len() - 1
            });
            groups[index].roots.push(row);
        }
        if padding > 0 {
            ctx.warn(format!(
                "{padding} padding samples of level 0 were left out, as they belong to no group"
            ));
        }
        Ok(groups)
    }

    /// Consecutive rows, greedily up to the size limit.
    fn fill_parts(&self, roots: Vec<u32>, sizes: &[u64]) -> Vec<Vec<u32>> {
        let Some(most) = self.size_bytes else {
            return vec![roots];
        };
        let mut parts: Vec<Vec<u32>> = Vec::new();
        let mut filled_bytes = 0u64;
        for root in roots {
            let size = sizes[root as usize];
            match parts.last_mut() {
                Some(part) if filled_bytes.saturating_add(size) <= most => {
                    part.push(root);
                    filled_bytes += size;
                }
                _ => {
                    parts.push(vec![root]);
                    filled_bytes = size;
                }
            }
        }
        parts
    }
}

/// Number of parts of `size_bytes` that the groups are written as.
fn count_parts(groups: &[Vec<u32>], sizes: &[u64], size_bytes: u64) -> usize {
    let split = PartOptions {
        size_bytes: Some(size_bytes),
        ..PartOptions::default()
    };
    groups
        .iter()
        .map(|roots| split.fill_parts(roots.clone(), sizes).len())
        .sum()
}

/// Bytes of data of each level-0 sample, including its descendants.
///
/// # Errors
/// [`Kind::TooLarge`](crate::error::Kind::TooLarge) when the sum of all can't be an offset: no
/// other sum exceeds it.
fn root_sizes(assembly: &Assembly) -> Result<Vec<u64>> {
    let mut sources = assembly.levels.iter().flat_map(|level| &level.sources);
    let total = sources.try_fold(0, |total, source| add_size(total, source.size_bytes()));
    total.ok_or_else(too_much_data_error)?;
    // Those of the level below, from which the next level above is summed.
    let mut below: Vec<u64> = Vec::new();
    for (tree, level) in assembly.tree.levels.iter().zip(&assembly.levels).rev() {
        below = level
            .sources
            .iter()
            .enumerate()
            .map(|(row, source)| source.size_bytes() + sum_children(tree, row as u32, &below))
            .collect();
    }
    Ok(below)
}

/// The sum of the values of the children of a row; `below` are those of the next level.
fn sum_children(level: &SkeletonLevel, row: u32, below: &[u64]) -> u64 {
    level
        .children(row)
        .iter()
        .map(|&child| below.get(child as usize).copied().unwrap_or(0))
        .sum()
}

/// A column's values as the Python tools print them.
fn format_column(batch: &RecordBatch, name: &str) -> Result<Vec<String>> {
    let column = batch.column_by_name(name).ok_or_else(|| {
        let schema = batch.schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .skip(2)
            .map(|field| field.name().as_str())
            .collect();
        Error::usage(format!("level 0 has no column {name} to group by"))
            .hint(format!("its columns are {}", names.join(", ")))
    })?;
    let options = FormatOptions::default()
        .with_null("None")
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));
    let failed = |error| {
        Error::usage(format!("the values of {name} can't be used as file names")).because(error)
    };
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(failed)?;
    let is_boolean = *column.data_type() == arrow::datatypes::DataType::Boolean;
    let mut texts = Vec::with_capacity(column.len());
    for row in 0..column.len() {
        let text = formatter.value(row).try_to_string().map_err(failed)?;
        texts.push(match text.as_str() {
            "true" if is_boolean => "True".to_owned(),
            "false" if is_boolean => "False".to_owned(),
            _ => text,
        });
    }
    Ok(texts)
}

/// File name of an index beside its parts; `None` for formats that are not an index.
pub fn index_name(format: Format) -> Option<&'static str> {
    match format {
        Format::Tacocat => Some(".tacocat"),
        Format::TacocatFile => Some("__TACOCAT__"),
        Format::Tacollection => Some("TACOLLECTION.json"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Collection, Dataset, FieldSpec, Sample, Tortilla, Value};

    fn vectors(name: &str) -> serde_json::Map<String, serde_json::Value> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/vectors")
            .join(name);
        serde_json::from_slice(&std::fs::read(&path).expect("the vectors")).expect("JSON")
    }

    #[test]
    fn sizes_are_read_as_the_tools_read_them() {
        for (text, wanted) in vectors("parse_size.json") {
            assert_eq!(parse_size(&text).ok(), wanted.as_u64(), "{text:?}");
        }
        assert!(parse_size("99999999999999999999GB").is_err());
    }

    #[test]
    fn values_become_names_as_the_tools_spell_them() {
        for (text, wanted) in vectors("sanitize_filename.json") {
            assert_eq!(
                Some(file_name_of(&text).as_str()),
                wanted.as_str(),
                "{text:?}"
            );
        }
    }

    fn assembly(sizes: &[u64], regions: &[&str]) -> Assembly {
        let sample = |(number, (&size, region)): (usize, (&u64, &&str))| Sample {
            values: [Value::text(region)].into(),
            ..Sample::new_file(&format!("s{number}"), "/x", size)
        };
        let samples = sizes.iter().zip(regions).enumerate().map(sample).collect();
        let schema = [FieldSpec::new("region", arrow::datatypes::DataType::Utf8)].into();
        let dataset = Dataset {
            collection: Collection::template(),
            root: Tortilla { schema, samples }.into(),
        };
        Assembly::of_dataset(&dataset, &JobContext::default()).expect("lays out")
    }

    fn plan(
        parts: &PartOptions,
        sizes: &[u64],
        regions: &[&str],
    ) -> Result<Vec<(String, Vec<u32>)>> {
        let planned = parts.plan(
            &assembly(sizes, regions),
            Path::new("/out/a.b.tacozip"),
            Format::Zip,
            &JobContext::default(),
        )?;
        Ok(planned
            .into_iter()
            .map(|part| (part.name, part.roots))
            .collect())
    }

    #[test]
    fn parts_are_filled_in_order_and_named_as_the_tools_name_them() {
        let by_size = PartOptions {
            size_bytes: Some(10),
            ..PartOptions::default()
        };
        let planned = plan(&by_size, &[4, 6, 1, 30, 5], &["x"; 5]).expect("plans");
        let names: Vec<&str> = planned.iter().map(|part| part.0.as_str()).collect();
        assert_eq!(
            names,
            [
                "a.b_part0001.tacozip",
                "a.b_part0002.tacozip",
                "a.b_part0003.tacozip",
                "a.b_part0004.tacozip"
            ]
        );
        assert_eq!(
            planned
                .iter()
                .map(|part| part.1.clone())
                .collect::<Vec<_>>(),
            [vec![0, 1], vec![2], vec![3], vec![4]]
        );
        assert_eq!(
            plan(&by_size, &[4, 6], &["x"; 2]).expect("plans")[0].0,
            "a.b.tacozip",
            "one part has the plain name"
        );
        let both = PartOptions {
            size_bytes: Some(10),
            group_by: vec!["region".into()],
            ..PartOptions::default()
        };
        let planned = plan(&both, &[6, 6, 6, 1], &["ñ/o", "x", "ñ/o", "x"]).expect("plans");
        let wanted = [
            ("a.b_ñ_o_part0001.tacozip", vec![0]),
            ("a.b_ñ_o_part0002.tacozip", vec![2]),
            ("a.b_x.tacozip", vec![1, 3]),
        ];
        assert_eq!(planned, wanted.map(|(name, rows)| (name.to_owned(), rows)));
    }

    #[test]
    fn sizes_whose_sum_overflows_give_no_parts() {
        let sizes = [1, u64::MAX];
        let error = plan(&PartOptions::default(), &sizes, &["x"; 2]).expect_err("is too much");
        assert_eq!(error.kind(), crate::error::Kind::TooLarge, "{error:?}");
        let whole = assembly(&[1 << 62, 1 << 62], &["x"; 2]);
        assert!(
            PartOptions::default()
                .find_part_size(&whole, 1, &JobContext::default())
                .is_err()
        );
    }

    #[test]
    fn a_number_of_parts_gives_the_least_size_that_needs_no_more() {
        let (sizes, regions) = ([4, 6, 1, 30, 5, 5, 9], ["x"; 7]);
        for count in 1..=7 {
            let whole = assembly(&sizes, &regions);
            let size = PartOptions::default()
                .find_part_size(&whole, count, &JobContext::default())
                .expect("is possible");
            let parts = |size| {
                plan(
                    &PartOptions {
                        size_bytes: Some(size),
                        ..PartOptions::default()
                    },
                    &sizes,
                    &regions,
                )
                .expect("plans")
                .len()
            };
            assert!(
                parts(size) <= count && (size == 1 || parts(size - 1) > count),
                "{count} parts: {size} bytes"
            );
        }
        let grouped = PartOptions {
            group_by: vec!["region".into()],
            ..PartOptions::default()
        };
        let error = grouped
            .find_part_size(&assembly(&[1, 1], &["a", "b"]), 1, &JobContext::default())
            .expect_err("two groups");
        assert_eq!(error.kind(), crate::error::Kind::Usage);
    }

    #[test]
    fn values_that_would_share_a_file_are_refused() {
        let parts = PartOptions {
            group_by: vec!["region".into()],
            ..PartOptions::default()
        };
        let error = plan(&parts, &[1, 1], &["a/b", "a:b"])
            .expect_err("is refused")
            .to_string();
        assert!(error.contains("a/b") && error.contains("a:b"), "{error}");
        let missing = PartOptions {
            group_by: vec!["regions".into()],
            ..PartOptions::default()
        };
        assert!(
            plan(&missing, &[1], &["a"])
                .expect_err("is refused")
                .to_string()
                .contains("no column regions")
        );
    }
}
