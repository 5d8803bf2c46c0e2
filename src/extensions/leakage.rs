//! Leakage between the parts of a split: equal bytes, overlapping footprints, overlapping
//! footprints at the same time. Works on metadata only and never reads pixels.
//!
//! Footprints overlap when at least a given share of the smaller one is inside the other, so that
//! adjacent tiles do not count. Samples with only a centroid leak to samples with an equal
//! centroid.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::DataType;
use geo::{
    Area, BooleanOps, BoundingRect, Distance, Intersects, LineString, MultiLineString,
    MultiPolygon, Polygon, Translate,
};

use crate::error::{Error, Result};
use crate::footprint::{
    self, Detail, SampleTimes, StatedLocation, StatedLocationReader, Unfolded, times_of_row,
};
use crate::jobs::JobContext;
use crate::model::Value;

/// Options of the search.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LeakageRequest {
    /// The level of the parts; `None`: the first level with the column.
    pub level: Option<usize>,
    /// The column with the part's name. Where no level has `split`, `tortilla:data_split` is used
    /// instead.
    pub column: String,
    /// Minimum share of the smaller footprint that overlaps, in (0, 1].
    pub min_overlap: f64,
    /// Maximum number of days between samples that count as simultaneous.
    pub days: f64,
}

impl Default for LeakageRequest {
    fn default() -> Self {
        Self {
            level: None,
            column: SPLIT_COLUMN.into(),
            min_overlap: 0.001,
            days: 1.0,
        }
    }
}

/// Leakage between parts.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Leakage {
    /// The column with the part's name.
    pub column: String,
    /// The level of the column.
    pub level: usize,
    /// All parts.
    pub parts: Vec<SplitPart>,
    /// Pairs in different parts with overlapping footprints or equal centroids.
    pub footprints: Vec<Leak>,
    /// Those of them that are simultaneous.
    pub times: Vec<Leak>,
    /// Pairs in different parts with equal bytes.
    pub content: Vec<Leak>,
    /// Pairs of parts whose time spans overlap, so that later samples can inform earlier ones.
    pub spans: Vec<[String; 2]>,
    /// Properties that could not be compared, with the reason, for the user.
    pub unknown: Vec<String>,
    /// False when there were too many neighbouring pairs to compare all.
    pub complete: bool,
}

/// One part of the split.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct SplitPart {
    /// Its name.
    pub name: String,
    /// Number of samples, on the level of the locations where hashes are on another.
    pub samples: u64,
    /// Number of samples with a footprint or centroid.
    pub placed: u64,
    /// Number of samples with a time.
    pub timed: u64,
    /// First and last time, in microseconds since 1970 UTC.
    pub span: Option<[i64; 2]>,
}

/// Leakage between two parts.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Leak {
    /// Names of the parts.
    pub parts: [String; 2],
    /// Number of pairs of samples.
    pub pairs: u64,
    /// Number of samples of each part that occur in a pair.
    pub samples: [u64; 2],
    /// The first pairs.
    pub examples: Vec<LeakPair>,
}

/// Two samples in different parts that leak.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct LeakPair {
    /// Path of the sample in the first part.
    pub one: String,
    /// Path of the sample in the second part.
    pub other: String,
    /// Share of the smaller footprint that overlaps; `None` for centroids and content.
    pub overlap: Option<f64>,
    /// Days between the samples; 0 when their times overlap, `None` when a time is missing.
    pub days: Option<f64>,
}

impl Leakage {
    /// True when samples leak. Overlapping time spans alone do not count.
    pub fn leaks(&self) -> bool {
        !(self.footprints.is_empty() && self.content.is_empty())
    }

    /// One sentence per kind of leakage, for the user.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (leaks, what) in [
            (&self.footprints, "cover the same ground"),
            (&self.times, "cover the same ground at the same time"),
            (&self.content, "have the same bytes"),
        ] {
            for leak in leaks {
                let [a, b] = &leak.parts;
                let mut line = format!(
                    "{} samples of {a} and {} of {b} {what} ({} pairs)",
                    leak.samples[0], leak.samples[1], leak.pairs
                );
                if let Some(LeakPair { one, other, .. }) = leak.examples.first() {
                    line.push_str(&format!(", for example {one} and {other}"));
                }
                lines.push(line);
            }
        }
        lines
    }
}

/// Input: one sample. Small, as a dataset may have millions.
#[derive(Clone, Debug)]
pub struct LeakSample {
    /// Name of its part; samples with `None` are ignored.
    pub part: Option<Arc<str>>,
    /// Location, time and hash from its columns.
    pub facts: LeakFacts,
    /// True when its level is that of the locations, so that a missing location or time counts.
    pub compares_location_and_time: bool,
    /// True when its level is that of the hashes, so that a missing hash counts.
    pub compares_hash: bool,
}

/// Location, time and hash of a sample.
#[derive(Clone, Debug, Default)]
pub struct LeakFacts {
    /// Location, in the CRS of its columns; `None` without one.
    stated: Option<Box<StatedLocation>>,
    /// First and last time, in microseconds since 1970.
    time: Option<[i64; 2]>,
    hash: Option<Arc<str>>,
}

/// Columns with location and time.
pub const LOCATION_AND_TIME_COLUMNS: [&str;
    footprint::COLUMNS.len() + footprint::TIME_COLUMNS.len()] = {
    let places = footprint::COLUMNS.len();
    let mut names = [""; footprint::COLUMNS.len() + footprint::TIME_COLUMNS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = if at < places {
            footprint::COLUMNS[at]
        } else {
            footprint::TIME_COLUMNS[at - places]
        };
        at += 1;
    }
    names
};
/// Default column of the parts.
pub const SPLIT_COLUMN: &str = "split";
/// The column of the first generation.
pub const OLD_SPLIT_COLUMN: &str = "tortilla:data_split";
/// Column with the hash of the data.
pub const HASH_COLUMN: &str = "content:sha256";
/// Maximum number of neighbouring pairs that are compared.
const PAIRS_LIMIT: u64 = 20_000_000;
const EXAMPLES: usize = 10;

impl LeakFacts {
    /// Reads the columns through `value`, which returns a column's value and type.
    pub fn from_row_values(
        reader: &StatedLocationReader,
        value: &dyn Fn(&str) -> (Value, DataType),
    ) -> Self {
        let SampleTimes { start, end, .. } = times_of_row(value);
        let time = match (start, end) {
            (Some(start), Some(end)) => Some([start.min(end), start.max(end)]),
            (Some(at), None) | (None, Some(at)) => Some([at, at]),
            (None, None) => None,
        };
        let hash = match value(HASH_COLUMN).0 {
            Value::Text(hash) => Some(hash),
            _ => None,
        };
        let stated = reader.read(&|name| value(name).0);
        Self {
            stated: (!stated.is_empty()).then(|| Box::new(stated)),
            time,
            hash,
        }
    }
}

/// Location of a sample in degrees. Across the antimeridian, longitudes continue above 180.
enum Ground {
    Area { shape: MultiPolygon, area: f64 },
    Line(MultiLineString),
    Point([f64; 2]),
}

/// Bounding box of a sample, for the sweep from west to east.
struct SampleBox {
    /// Index of the sample.
    sample: usize,
    /// `[west, south, east, north]` in degrees, after the shift.
    bounds: [f64; 4],
    /// Degrees by which the sample was moved east: 0, or -360 for a copy across the antimeridian.
    shift: f64,
}

/// Computes the leakage between the parts of `samples`. `path_of` returns the path of the sample at
/// an index.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for invalid thresholds, or when the job is cancelled.
pub fn leakage(
    samples: &[LeakSample],
    path_of: &dyn Fn(usize) -> String,
    request: &LeakageRequest,
    level: usize,
    ctx: &JobContext,
) -> Result<Leakage> {
    if !(request.min_overlap > 0.0 && request.min_overlap <= 1.0 && request.days >= 0.0) {
        return Err(Error::usage(
            "the least overlap has to be above 0 and at most 1, and the days not below 0",
        ));
    }
    ctx.stage(tr!("Looking for leaks"), None);
    let mut names: Vec<&Arc<str>> = samples
        .iter()
        .filter_map(|sample| sample.part.as_ref())
        .collect();
    names.sort_unstable();
    names.dedup();
    let parts: Vec<Option<usize>> = samples
        .iter()
        .map(|sample| names.binary_search(&sample.part.as_ref()?).ok())
        .collect();
    let grounds = resolve_grounds(samples, ctx)?;
    let mut finder = LeakFinder {
        samples,
        path_of,
        parts: &parts,
        names: &names,
        request,
        footprints: BTreeMap::new(),
        times: BTreeMap::new(),
    };
    let complete = finder.find_overlaps(&grounds, ctx)?;
    let content = finder.find_equal_bytes();
    let (footprints, times) = (
        finder.build_leaks(&finder.footprints),
        finder.build_leaks(&finder.times),
    );
    let summaries = summarize_parts(samples, &parts, &grounds, &names);
    let mut unknown = Vec::new();
    let total: u64 = summaries.iter().map(|part| part.samples).sum();
    let unplaced = total - summaries.iter().map(|part| part.placed).sum::<u64>();
    if unplaced > 0 {
        unknown.push(tr!(
            "{count} of {total} samples have no location",
            count = unplaced,
            total = total
        ));
    }
    let untimed = total - summaries.iter().map(|part| part.timed).sum::<u64>();
    if untimed > 0 {
        unknown.push(tr!(
            "{count} of {total} samples have no time",
            count = untimed,
            total = total
        ));
    }
    let compared: Vec<&LeakSample> = samples
        .iter()
        .filter(|sample| sample.part.is_some() && sample.compares_hash)
        .collect();
    let hashes = compared.iter().filter(|sample| sample.facts.hash.is_some());
    let unhashed = compared.len() - hashes.count();
    if unhashed > 0 {
        unknown.push(tr!(
            "{count} of {total} samples have no {column}",
            count = unhashed,
            total = compared.len(),
            column = HASH_COLUMN
        ));
    }
    let mut spans = Vec::new();
    for (at, one) in summaries.iter().enumerate() {
        for other in &summaries[at + 1..] {
            if let (Some([a, b]), Some([c, d])) = (one.span, other.span)
                && a <= d
                && c <= b
            {
                spans.push([one.name.clone(), other.name.clone()]);
            }
        }
    }
    Ok(Leakage {
        column: request.column.clone(),
        level,
        parts: summaries,
        footprints,
        times,
        content,
        spans,
        unknown,
        complete,
    })
}

/// Counts the samples of each part.
fn summarize_parts(
    samples: &[LeakSample],
    parts: &[Option<usize>],
    grounds: &[Option<Ground>],
    names: &[&Arc<str>],
) -> Vec<SplitPart> {
    let mut summaries: Vec<SplitPart> = names
        .iter()
        .map(|name| SplitPart {
            name: name.to_string(),
            ..SplitPart::default()
        })
        .collect();
    let compared = samples.iter().zip(parts).zip(grounds);
    for ((sample, part), ground) in
        compared.filter(|((sample, _), _)| sample.compares_location_and_time)
    {
        let Some(summary) = part.and_then(|part| summaries.get_mut(part)) else {
            continue;
        };
        summary.samples += 1;
        summary.placed += u64::from(ground.is_some());
        if let Some([start, end]) = sample.facts.time {
            summary.timed += 1;
            let span = summary.span.unwrap_or([start, end]);
            summary.span = Some([span[0].min(start), span[1].max(end)]);
        }
    }
    summaries
}

/// Location of each sample that is in a part.
fn resolve_grounds(samples: &[LeakSample], ctx: &JobContext) -> Result<Vec<Option<Ground>>> {
    let nowhere = StatedLocation::default();
    let stated: Vec<&StatedLocation> = samples
        .iter()
        .map(|sample| {
            let stated = sample.facts.stated.as_deref();
            stated.filter(|_| sample.part.is_some()).unwrap_or(&nowhere)
        })
        .collect();
    let found = footprint::resolve(&stated, Detail::Exact, convert_shape, ctx)?;
    Ok(found.into_iter().map(Option::flatten).collect())
}

fn convert_shape(unfolded: &Unfolded) -> Option<Ground> {
    let polygons = unfolded
        .areas
        .iter()
        .filter_map(|rings| build_polygon(rings));
    let shape = MultiPolygon(polygons.collect());
    let area = shape.unsigned_area();
    if area > 0.0 {
        return Some(Ground::Area { shape, area });
    }
    if !unfolded.lines.is_empty() {
        let lines = unfolded.lines.iter().map(|points| build_line(points));
        return Some(Ground::Line(MultiLineString(lines.collect())));
    }
    unfolded.points.first().map(|&place| Ground::Point(place))
}

/// The first ring is the outer one; `None` without rings.
fn build_polygon(rings: &[Vec<[f64; 2]>]) -> Option<Polygon> {
    let mut rings = rings.iter().map(|ring| build_line(ring));
    Some(Polygon::new(rings.next()?, rings.collect()))
}

fn build_line(points: &[[f64; 2]]) -> LineString {
    points.iter().map(|&[x, y]| (x, y)).collect()
}

#[derive(Default)]
struct LeakingPairs {
    pairs: u64,
    members: [HashSet<usize>; 2],
    examples: Vec<LeakPair>,
}

struct LeakFinder<'a> {
    samples: &'a [LeakSample],
    path_of: &'a dyn Fn(usize) -> String,
    parts: &'a [Option<usize>],
    names: &'a [&'a Arc<str>],
    request: &'a LeakageRequest,
    footprints: BTreeMap<(usize, usize), LeakingPairs>,
    times: BTreeMap<(usize, usize), LeakingPairs>,
}

impl LeakFinder<'_> {
    /// Sweeps from west to east: only samples of other parts whose boxes overlap in longitude are
    /// compared. Returns false when there were too many pairs.
    fn find_overlaps(&mut self, grounds: &[Option<Ground>], ctx: &JobContext) -> Result<bool> {
        let path_of = self.path_of;
        let boxes = build_boxes(grounds, self.parts);
        // The boxes of each part that reach as far east as the current one begins.
        let mut open_boxes: Vec<Vec<&SampleBox>> = self.names.iter().map(|_| Vec::new()).collect();
        let mut compared = 0u64;
        // A pair of which one is shifted by 360 degrees may be found twice.
        let mut shifted_pairs: HashSet<(usize, usize)> = HashSet::new();
        for (at, current) in boxes.iter().enumerate() {
            if at % 256 == 0 {
                ctx.check()?;
            }
            let Some(part) = self.parts[current.sample] else {
                continue;
            };
            for (other_part, others) in open_boxes.iter_mut().enumerate() {
                others.retain(|other| other.bounds[2] >= current.bounds[0]);
                if other_part == part {
                    continue;
                }
                for other in others.iter() {
                    compared += 1;
                    if other.bounds[1] > current.bounds[3] || other.bounds[3] < current.bounds[1] {
                        continue;
                    }
                    let Some(overlap) =
                        find_overlap(grounds, other, current, self.request.min_overlap)
                    else {
                        continue;
                    };
                    let pair = (
                        other.sample.min(current.sample),
                        other.sample.max(current.sample),
                    );
                    if (other.shift != 0.0
                        || current.shift != 0.0
                        || do_both_cross_180(grounds, pair))
                        && !shifted_pairs.insert(pair)
                    {
                        continue;
                    }
                    let (a, b) = if other_part < part {
                        (other.sample, current.sample)
                    } else {
                        (current.sample, other.sample)
                    };
                    let days = self.days_between(a, b);
                    let key = (part.min(other_part), part.max(other_part));
                    let example = || example_of(path_of, [a, b], overlap.share, days);
                    add_pair(self.footprints.entry(key).or_default(), [a, b], &example);
                    if days.is_some_and(|days| days <= self.request.days) {
                        add_pair(self.times.entry(key).or_default(), [a, b], &example);
                    }
                }
            }
            if compared > PAIRS_LIMIT {
                return Ok(false);
            }
            open_boxes[part].push(current);
        }
        Ok(true)
    }

    fn days_between(&self, a: usize, b: usize) -> Option<f64> {
        let ([a, b], [c, d]) = (self.samples[a].facts.time?, self.samples[b].facts.time?);
        let gap = c.saturating_sub(b).max(a.saturating_sub(d)).max(0);
        Some(gap as f64 / 86_400e6)
    }

    fn find_equal_bytes(&self) -> Vec<Leak> {
        let mut by_hash: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, sample) in self.samples.iter().enumerate() {
            if let (Some(hash), Some(_)) = (&sample.facts.hash, self.parts[at]) {
                by_hash.entry(hash).or_default().push(at);
            }
        }
        let mut groups: Vec<Vec<usize>> = by_hash
            .into_values()
            .filter(|members| members.len() > 1)
            .collect();
        groups.sort_unstable();
        let mut found: BTreeMap<(usize, usize), LeakingPairs> = BTreeMap::new();
        for group in groups {
            let mut by_part: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for at in group {
                by_part
                    .entry(self.parts[at].unwrap_or_default())
                    .or_default()
                    .push(at);
            }
            let by_part: Vec<(usize, Vec<usize>)> = by_part.into_iter().collect();
            for (index, (part, ones)) in by_part.iter().enumerate() {
                for (other_part, others) in &by_part[index + 1..] {
                    let pairs = found.entry((*part, *other_part)).or_default();
                    pairs.pairs += ones.len() as u64 * others.len() as u64;
                    pairs.members[0].extend(ones);
                    pairs.members[1].extend(others);
                    if pairs.examples.len() < EXAMPLES
                        && let (Some(&one), Some(&other)) = (ones.first(), others.first())
                    {
                        let example = example_of(self.path_of, [one, other], None, None);
                        pairs.examples.push(example);
                    }
                }
            }
        }
        self.build_leaks(&found)
    }

    fn build_leaks(&self, found: &BTreeMap<(usize, usize), LeakingPairs>) -> Vec<Leak> {
        let mut leaks = Vec::with_capacity(found.len());
        for (&(a, b), pairs) in found {
            leaks.push(Leak {
                parts: [self.names[a].to_string(), self.names[b].to_string()],
                pairs: pairs.pairs,
                samples: [pairs.members[0].len() as u64, pairs.members[1].len() as u64],
                examples: pairs.examples.clone(),
            });
        }
        leaks
    }
}

fn example_of(
    path_of: &dyn Fn(usize) -> String,
    [a, b]: [usize; 2],
    overlap: Option<f64>,
    days: Option<f64>,
) -> LeakPair {
    LeakPair {
        one: path_of(a),
        other: path_of(b),
        overlap,
        days,
    }
}

fn add_pair(pairs: &mut LeakingPairs, [a, b]: [usize; 2], example: &dyn Fn() -> LeakPair) {
    pairs.pairs += 1;
    pairs.members[0].insert(a);
    pairs.members[1].insert(b);
    if pairs.examples.len() < EXAMPLES {
        pairs.examples.push(example());
    }
}

/// The boxes of the samples that are in a part, sorted by west; a footprint across the antimeridian
/// has a second, shifted box.
fn build_boxes(grounds: &[Option<Ground>], parts: &[Option<usize>]) -> Vec<SampleBox> {
    let mut boxes = Vec::with_capacity(grounds.len());
    for (sample, ground) in grounds.iter().enumerate() {
        if parts[sample].is_none() {
            continue;
        }
        let bounds = match ground {
            None => continue,
            // With a margin of about 10 cm.
            Some(Ground::Point([x, y])) => [x - 1e-6, y - 1e-6, x + 1e-6, y + 1e-6],
            Some(Ground::Area { shape, .. }) => match shape.bounding_rect() {
                Some(bounds) => [
                    bounds.min().x,
                    bounds.min().y,
                    bounds.max().x,
                    bounds.max().y,
                ],
                None => continue,
            },
            Some(Ground::Line(lines)) => match lines.bounding_rect() {
                Some(bounds) => [
                    bounds.min().x,
                    bounds.min().y,
                    bounds.max().x,
                    bounds.max().y,
                ],
                None => continue,
            },
        };
        boxes.push(SampleBox {
            sample,
            bounds,
            shift: 0.0,
        });
        if bounds[2] > 180.0 {
            let [west, south, east, north] = bounds;
            boxes.push(SampleBox {
                sample,
                bounds: [west - 360.0, south, east - 360.0, north],
                shift: -360.0,
            });
        }
    }
    boxes.sort_unstable_by(|a, b| {
        a.bounds[0]
            .total_cmp(&b.bounds[0])
            .then(a.sample.cmp(&b.sample))
    });
    boxes
}

fn do_both_cross_180(grounds: &[Option<Ground>], (a, b): (usize, usize)) -> bool {
    extends_beyond_180(grounds[a].as_ref()) && extends_beyond_180(grounds[b].as_ref())
}

fn extends_beyond_180(ground: Option<&Ground>) -> bool {
    let bounds = match ground {
        Some(Ground::Area { shape, .. }) => shape.bounding_rect(),
        Some(Ground::Line(lines)) => lines.bounding_rect(),
        _ => None,
    };
    bounds.is_some_and(|bounds| bounds.max().x > 180.0)
}

/// Two locations overlap.
struct Overlap {
    /// Share of the smaller footprint; `None` unless both are areas.
    share: Option<f64>,
}

/// The overlap of two locations; two areas have to share at least the part `least` of the smaller.
fn find_overlap(
    grounds: &[Option<Ground>],
    one: &SampleBox,
    other: &SampleBox,
    least: f64,
) -> Option<Overlap> {
    match (
        grounds[one.sample].as_ref()?,
        grounds[other.sample].as_ref()?,
    ) {
        (Ground::Point(a), Ground::Point(b)) => {
            let same = (a[0] - b[0]).abs() <= 1e-6 && (a[1] - b[1]).abs() <= 1e-6;
            same.then_some(Overlap { share: None })
        }
        // Lines have no area: they share ground with an area that they cross, and with a line that
        // is the same.
        (Ground::Line(a), Ground::Line(b)) => (a.translate(one.shift, 0.0)
            == b.translate(other.shift, 0.0))
        .then_some(Overlap { share: None }),
        (Ground::Area { shape, .. }, Ground::Line(lines)) => lines
            .translate(other.shift, 0.0)
            .intersects(&shape.translate(one.shift, 0.0))
            .then_some(Overlap { share: None }),
        (Ground::Line(lines), Ground::Area { shape, .. }) => lines
            .translate(one.shift, 0.0)
            .intersects(&shape.translate(other.shift, 0.0))
            .then_some(Overlap { share: None }),
        (Ground::Line(lines), Ground::Point(place)) => {
            is_point_on_line(lines, one.shift, *place).then_some(Overlap { share: None })
        }
        (Ground::Point(place), Ground::Line(lines)) => {
            is_point_on_line(lines, other.shift, *place).then_some(Overlap { share: None })
        }
        (Ground::Area { shape, .. }, Ground::Point(place)) => {
            contains_shifted_point(shape, one.shift, *place).then_some(Overlap { share: None })
        }
        (Ground::Point(place), Ground::Area { shape, .. }) => {
            contains_shifted_point(shape, other.shift, *place).then_some(Overlap { share: None })
        }
        (
            Ground::Area {
                shape: a,
                area: area_a,
            },
            Ground::Area {
                shape: b,
                area: area_b,
            },
        ) => {
            let shared = match (one.shift, other.shift) {
                (x, y) if x == y => a.intersection(b),
                (x, y) => a.translate(x, 0.0).intersection(&b.translate(y, 0.0)),
            };
            let share = (shared.unsigned_area() / area_a.min(*area_b)).min(1.0);
            (share >= least).then_some(Overlap { share: Some(share) })
        }
    }
}

fn contains_shifted_point(shape: &MultiPolygon, shift: f64, [x, y]: [f64; 2]) -> bool {
    use geo::Contains;
    shape.contains(&geo::Point::new(x - shift, y))
}

fn is_point_on_line(lines: &MultiLineString, shift: f64, [x, y]: [f64; 2]) -> bool {
    geo::Euclidean.distance(&geo::Point::new(x - shift, y), lines) <= 1e-6
}

#[cfg(test)]
#[path = "leakage_tests.rs"]
mod tests;

#[cfg(test)]
mod place_tests {
    use super::*;

    #[test]
    fn a_corner_off_the_earth_moves_no_other_sample() {
        let sample = |south: f64, north: f64| {
            let ring = vec![(10.0, south), (11.0, south), (11.0, north), (10.0, north)];
            let shape = MultiPolygon(vec![Polygon::new(ring.into(), Vec::new())]);
            let facts = LeakFacts {
                stated: Some(Box::new(StatedLocation::from_geometry(
                    "EPSG:4326",
                    shape.into(),
                ))),
                ..LeakFacts::default()
            };
            LeakSample {
                part: Some(Arc::from("train")),
                facts,
                compares_location_and_time: true,
                compares_hash: true,
            }
        };
        let grounds = resolve_grounds(
            &[sample(89.0, 91.0), sample(20.0, 21.0)],
            &JobContext::default(),
        )
        .expect("works");
        let [None, Some(Ground::Area { shape, .. })] = grounds.as_slice() else {
            panic!("only the second has a place")
        };
        let bounds = shape.bounding_rect().expect("has corners");
        let near = |place: geo::Coord, x: f64, y: f64| {
            (place.x - x).abs() < 1e-6 && (place.y - y).abs() < 1e-6
        };
        assert!(
            near(bounds.min(), 10.0, 20.0) && near(bounds.max(), 11.0, 21.0),
            "{bounds:?}"
        );
    }
}
