//! Finds the common value of each property at each position, and the rasters that differ from it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use geo::{Area, BooleanOps, Polygon};

use super::ConsistencyOptions;
use super::headers::{Headers, PlacedHeader as Header};
use super::positions::{NodeId, SamplePositions};
use crate::digits::six_digits;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Consistency, Outlier, Position, PropertyAgreement, RasterProperty, SamplePath};
use crate::raster::{CrsKind, DegreesTransform, apply_geotransform};

/// Maximum difference between two overlaps that count as equal, as a share of the ground.
const SAME_OVERLAP: f64 = 0.01;
const DAY: i64 = 86_400_000_000;
const HOUR: i64 = 3_600_000_000;

/// Transformations to degrees, by the index of the system; few are needed.
type SystemWays = HashMap<u32, Option<DegreesTransform>>;

/// The rasters at one position.
struct PositionGroup<'a> {
    node: NodeId,
    rasters: Vec<&'a Header>,
}

/// Data about the other rasters of a root that properties need.
struct Context<'a> {
    headers: &'a Headers,
    options: &'a ConsistencyOptions,
    /// The position of the first raster of a root, and the rasters there by root.
    reference: NodeId,
    reference_place: &'a [u32],
    reference_name: Arc<str>,
    first: HashMap<u32, &'a Header>,
}

/// Compares the rasters at each position.
pub fn compare(
    headers: &Headers,
    places: &SamplePositions,
    options: &ConsistencyOptions,
    ctx: &JobContext,
) -> Result<Consistency> {
    let mut by_node: BTreeMap<&[u32], PositionGroup<'_>> = BTreeMap::new();
    for header in &headers.rasters {
        let place = places
            .nodes
            .get(header.node as usize)
            .map_or(&[][..], |node| &node.place);
        by_node
            .entry(place)
            .or_insert_with(|| PositionGroup {
                node: header.node,
                rasters: Vec::new(),
            })
            .rasters
            .push(header);
    }
    let groups: Vec<PositionGroup<'_>> = by_node.into_values().collect();
    let mut consistency = Consistency {
        roots: headers.roots,
        headers: headers.rasters.len(),
        non_rasters: headers.non_rasters,
        unread: headers.unread,
        ..Consistency::default()
    };
    // A position present in few roots is not used as the reference.
    let most = groups
        .iter()
        .map(|group| group.rasters.len())
        .max()
        .unwrap_or_default();
    let Some(first) = groups.iter().find(|group| group.rasters.len() * 2 > most) else {
        return Ok(consistency);
    };
    let context = Context {
        headers,
        options,
        reference: first.node,
        reference_place: places
            .nodes
            .get(first.node as usize)
            .map_or(&[], |node| &node.place),
        reference_name: places.name(first.node).into(),
        first: first
            .rasters
            .iter()
            .map(|header| (header.root, *header))
            .collect(),
    };
    let mut before: HashMap<&[u32], &PositionGroup<'_>> = HashMap::new();
    for group in &groups {
        ctx.check()?;
        let place: &[u32] = places
            .nodes
            .get(group.node as usize)
            .map_or(&[], |node| &node.place);
        let above = &place[..place.len().saturating_sub(1)];
        let mut position = Position {
            level: place.len(),
            place: place.to_vec(),
            name: places.name(group.node),
            rasters: group.rasters.len(),
            ..Position::default()
        };
        let previous = before
            .get(above)
            .map(|previous| (places.name(previous.node), *previous));
        context.fill(group, previous, &mut position);
        consistency.positions.push(position);
        if group.rasters.iter().any(|header| header.time.is_some()) {
            before.insert(above, group);
        }
    }
    blame_reference(&mut consistency, &context);
    Ok(consistency)
}

/// What CRS are compared by: all UTM zones of a datum are of one kind.
#[derive(Clone, PartialEq, Eq, Hash)]
enum SystemKind {
    Utm(String),
    Other(Option<u32>),
}

impl<'a> Context<'a> {
    fn fill(
        &self,
        group: &PositionGroup<'a>,
        previous: Option<(String, &PositionGroup<'a>)>,
        position: &mut Position,
    ) {
        let wanted =
            |property: RasterProperty| !self.options.skipped_properties.contains(&property);
        let rasters = || group.rasters.iter().copied();
        if wanted(RasterProperty::DataType) {
            *position.agreement_mut(RasterProperty::DataType) =
                compare_exactly(rasters(), |header| Some(header.dtype), &|key| {
                    self.find_text(*key)
                });
        }
        if wanted(RasterProperty::Bands) {
            *position.agreement_mut(RasterProperty::Bands) =
                compare_exactly(rasters(), |header| Some(header.bands), &|key: &u32| {
                    key.to_string().into()
                });
        }
        if wanted(RasterProperty::Size) {
            let name = |(width, height): &(u32, u32)| format!("{width} × {height}").into();
            *position.agreement_mut(RasterProperty::Size) =
                compare_exactly(rasters(), |header| Some(header.size), &name);
        }
        let systems = self.systems(group);
        // Pixel sizes in different units are not comparable.
        let odd: HashSet<u32> = systems.outliers.iter().map(|outlier| outlier.row).collect();
        if wanted(RasterProperty::Crs) {
            *position.agreement_mut(RasterProperty::Crs) = systems;
        }
        if wanted(RasterProperty::PixelSize) {
            *position.agreement_mut(RasterProperty::PixelSize) = self.pixel_sizes(group, &odd);
        }
        if wanted(RasterProperty::Nodata) {
            *position.agreement_mut(RasterProperty::Nodata) =
                compare_exactly(rasters(), |header| Some(header.nodata), &|key| {
                    self.find_text(*key)
                });
        }
        if wanted(RasterProperty::Overlap) && group.node != self.reference {
            *position.agreement_mut(RasterProperty::Overlap) = self.overlaps(group);
        }
        if wanted(RasterProperty::TimeOrder)
            && let Some((name, previous)) = previous
        {
            *position.agreement_mut(RasterProperty::TimeOrder) = order(group, &name, previous);
        }
    }

    fn find_text(&self, number: u32) -> Arc<str> {
        self.headers
            .texts
            .get(number as usize)
            .cloned()
            .unwrap_or_default()
    }

    fn crs_name(&self, crs: Option<u32>) -> Arc<str> {
        match crs.and_then(|crs| self.headers.systems.get(crs as usize)) {
            Some(system) => system.name.clone(),
            None => tr!("none" in "value of a raster").into(),
        }
    }

    /// CRS: compared with the first raster of the root if the two agree in most roots; otherwise
    /// with the kind of CRS in all roots.
    fn systems(&self, group: &PositionGroup<'a>) -> PropertyAgreement {
        let kinds = self.kinds_of_systems(group);
        if group.node == self.reference {
            return kinds;
        }
        let odd_reference: HashSet<u32> = {
            let first = PositionGroup {
                node: self.reference,
                rasters: self.first.values().copied().collect(),
            };
            self.kinds_of_systems(&first)
                .outliers
                .into_iter()
                .map(|outlier| outlier.root)
                .collect()
        };
        let pairs: Vec<(&Header, &Header)> = group
            .rasters
            .iter()
            .filter_map(|header| Some((*header, *self.first.get(&header.root)?)))
            .collect();
        let same = |(own, first): &(&Header, &Header)| own.crs == first.crs;
        let agreeing = pairs.iter().filter(|pair| same(pair)).count();
        if agreeing * 2 <= pairs.len() || pairs.len() < 2 {
            return kinds;
        }
        // If the first raster of a root is itself the outlier, its siblings are compared with those
        // of other roots.
        let odd_kind: HashSet<u32> = kinds.outliers.iter().map(|outlier| outlier.row).collect();
        let name = &self.reference_name;
        let mut outliers: Vec<Outlier> = Vec::new();
        for pair in &pairs {
            let (own, first) = *pair;
            let differs = if odd_reference.contains(&first.root) {
                odd_kind.contains(&own.row)
            } else {
                !same(pair)
            };
            if differs {
                let reference = tr!("{name} is {crs}", name, crs = self.crs_name(first.crs)).into();
                outliers.push(Outlier {
                    reference,
                    ..make_outlier(own, self.crs_name(own.crs))
                });
            }
        }
        let common = tr!("as {name}", name);
        let distinct_values = 1 + outliers
            .iter()
            .map(|outlier| &outlier.found)
            .collect::<HashSet<_>>()
            .len();
        PropertyAgreement {
            common,
            agreeing: pairs.len() - outliers.len(),
            compared: pairs.len(),
            distinct_values,
            outliers,
        }
    }

    /// Kinds of CRS; all UTM zones of a datum form one kind.
    fn kinds_of_systems(&self, group: &PositionGroup<'a>) -> PropertyAgreement {
        // The kinds of few systems are looked up once each.
        let mut known: HashMap<Option<u32>, SystemKind> = HashMap::new();
        for header in &group.rasters {
            known
                .entry(header.crs)
                .or_insert_with(|| self.classify_crs(header.crs));
        }
        let mut agreement = compare_exactly(
            group.rasters.iter().copied(),
            |header| known.get(&header.crs).cloned(),
            &|kind| self.name_system_kind(kind, group),
        );
        let by_row: HashMap<u32, &Header> = group
            .rasters
            .iter()
            .map(|header| (header.row, *header))
            .collect();
        for outlier in &mut agreement.outliers {
            if let Some(header) = by_row.get(&outlier.row) {
                outlier.found = self.crs_name(header.crs);
            }
        }
        agreement
    }

    fn find_crs_kind(&self, crs: Option<u32>) -> Option<&CrsKind> {
        let system = self.headers.systems.get(crs? as usize)?;
        system.kind.as_ref()
    }

    fn classify_crs(&self, crs: Option<u32>) -> SystemKind {
        match self.find_crs_kind(crs) {
            Some(kind) if kind.utm_zone.is_some() => SystemKind::Utm(kind.datum.clone()),
            _ => SystemKind::Other(crs),
        }
    }

    fn name_system_kind(&self, kind: &SystemKind, group: &PositionGroup<'a>) -> Arc<str> {
        match kind {
            SystemKind::Other(crs) => self.crs_name(*crs),
            SystemKind::Utm(datum) => {
                let codes: HashSet<u32> = group
                    .rasters
                    .iter()
                    .filter_map(|header| header.crs)
                    .filter(|&crs| {
                        self.find_crs_kind(Some(crs))
                            .is_some_and(|kind| kind.utm_zone.is_some() && kind.datum == *datum)
                    })
                    .collect();
                match codes.len() {
                    1 => self.crs_name(codes.into_iter().next()),
                    zones => tr!("UTM, {zones} zones", zones).into(),
                }
            }
        }
    }

    fn pixel_sizes(
        &self,
        group: &PositionGroup<'a>,
        odd_systems: &HashSet<u32>,
    ) -> PropertyAgreement {
        let in_degrees = |header: &&Header| self.find_unit_metres(header).is_none();
        let degrees = group
            .rasters
            .iter()
            .filter(|header| in_degrees(header))
            .count()
            * 2
            > group.rasters.len();
        let comparable =
            |header: &&&Header| in_degrees(header) == degrees && !odd_systems.contains(&header.row);
        let sizes: Vec<(&Header, Option<[f64; 2]>)> = group
            .rasters
            .iter()
            .filter(comparable)
            .map(|header| {
                let scale = self.find_unit_metres(header).unwrap_or(1.0);
                let size = header
                    .transform()
                    .map(|t| [t[1].hypot(t[4]) * scale, t[2].hypot(t[5]) * scale]);
                (*header, size)
            })
            .collect();
        let placed: Vec<[f64; 2]> = sizes.iter().filter_map(|(_, size)| *size).collect();
        let located = placed.len() * 2 > sizes.len();
        let unit = if degrees { "°" } else { " m" };
        let common = if located {
            common_size(&placed, &|a, b| self.is_same_size(a, b))
        } else {
            None
        };
        judge_agreement(
            sizes,
            |size| self.agrees_on_size(*size, common),
            |size| self.name_pixel_size(*size, unit),
            self.name_pixel_size(common, unit),
        )
    }

    /// Length of the unit of a raster's CRS in metres; `None` for degrees.
    fn find_unit_metres(&self, header: &Header) -> Option<f64> {
        self.find_crs_kind(header.crs)
            .map_or(Some(1.0), |kind| kind.metres)
    }

    fn is_same_size(&self, a: [f64; 2], b: [f64; 2]) -> bool {
        (0..2).all(|axis| (a[axis] - b[axis]).abs() <= self.options.tolerance * b[axis].abs())
    }

    fn name_pixel_size(&self, size: Option<[f64; 2]>, unit: &str) -> Arc<str> {
        match size {
            None => tr!("none" in "value of a raster").into(),
            Some([x, y]) if self.is_same_size([x, x], [y, y]) => {
                format!("{}{unit}", six_digits(x)).into()
            }
            Some([x, y]) => format!("{} × {}{unit}", six_digits(x), six_digits(y)).into(),
        }
    }

    fn agrees_on_size(&self, size: Option<[f64; 2]>, common: Option<[f64; 2]>) -> bool {
        match (size, common) {
            (Some(size), Some(common)) => self.is_same_size(size, common),
            (None, None) => true,
            _ => false,
        }
    }

    fn overlaps(&self, group: &PositionGroup<'a>) -> PropertyAgreement {
        let mut ways = HashMap::new();
        let mut shares: Vec<(&Header, f64)> = Vec::new();
        for header in &group.rasters {
            if let Some(first) = self.first.get(&header.root)
                && let Some(share) = self.overlap(first, header, &mut ways)
            {
                shares.push((*header, share));
            }
        }
        let percent = |share: f64| (share * 100.0).round() as i64;
        let mut counts: HashMap<i64, usize> = HashMap::new();
        shares
            .iter()
            .for_each(|(_, share)| *counts.entry(percent(*share)).or_default() += 1);
        let Some((common, _)) = counts
            .into_iter()
            .max_by_key(|&(share, count)| (count, share))
        else {
            return PropertyAgreement::default();
        };
        let name = |share: f64| -> Arc<str> { format!("{} %", percent(share)).into() };
        let agrees = |share: &f64| (share - common as f64 / 100.0).abs() <= SAME_OVERLAP;
        let mut agreement = judge_agreement(
            shares,
            agrees,
            |share| name(*share),
            format!("{common} %").into(),
        );
        for outlier in &mut agreement.outliers {
            outlier.reference = self.reference_name.clone();
        }
        agreement
    }

    /// Share of the first raster's area that the other covers; `None` when one has no
    /// georeferencing.
    fn overlap(&self, first: &Header, other: &Header, ways: &mut SystemWays) -> Option<f64> {
        if first.crs.is_some() && first.crs == other.crs {
            let (first, other) = (
                find_corners(first.transform()?, first.size),
                find_corners(other.transform()?, other.size),
            );
            return covered_share(first, other);
        }
        let first = self.find_corners_in_degrees(first, ways)?;
        let other = self.find_corners_in_degrees(other, ways)?;
        covered_share(first, shift_ring_to(other, first))
    }

    /// Corners in longitude and latitude (EPSG:4326).
    fn find_corners_in_degrees(
        &self,
        header: &Header,
        ways: &mut SystemWays,
    ) -> Option<[[f64; 2]; 4]> {
        let (transform, crs) = (header.transform()?, header.crs?);
        let (width, height) = header.size;
        let system = self.headers.systems.get(crs as usize)?;
        let way = ways
            .entry(crs)
            .or_insert_with(|| DegreesTransform::from_system(&system.wkt));
        way.as_ref()?
            .corners(transform, width as usize, height as usize)
    }
}

/// The most frequent value, and the rasters that differ from it.
fn compare_exactly<'a, K: Eq + Hash + Clone>(
    rasters: impl Iterator<Item = &'a Header>,
    key: impl Fn(&Header) -> Option<K>,
    name: &dyn Fn(&K) -> Arc<str>,
) -> PropertyAgreement {
    let keyed: Vec<(&Header, K)> = rasters
        .filter_map(|header| Some((header, key(header)?)))
        .collect();
    let mut counts: HashMap<&K, (usize, usize)> = HashMap::new();
    for (at, (_, key)) in keyed.iter().enumerate() {
        counts.entry(key).or_insert((0, usize::MAX - at)).0 += 1;
    }
    // Once for each value: a name may look at all rasters.
    let names: HashMap<K, Arc<str>> = counts
        .keys()
        .map(|key| ((*key).clone(), name(key)))
        .collect();
    let Some((common, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
        return PropertyAgreement::default();
    };
    let common = common.clone();
    let named = |key: &K| names.get(key).cloned().unwrap_or_default();
    judge_agreement(keyed, |key| *key == common, named, named(&common))
}

/// Differing values are outliers only if more than half of the rasters agree.
fn judge_agreement<V>(
    values: Vec<(&Header, V)>,
    agrees: impl Fn(&V) -> bool,
    name: impl Fn(&V) -> Arc<str>,
    common: Arc<str>,
) -> PropertyAgreement {
    let compared = values.len();
    let differing: Vec<(&Header, &V)> = values
        .iter()
        .filter(|(_, value)| !agrees(value))
        .map(|(header, value)| (*header, value))
        .collect();
    let agreeing = compared - differing.len();
    let is_common = agreeing * 2 > compared;
    let distinct_values = differing
        .iter()
        .map(|(_, value)| name(value))
        .collect::<HashSet<_>>()
        .len()
        + usize::from(agreeing > 0);
    PropertyAgreement {
        common: if is_common {
            common.to_string()
        } else {
            String::new()
        },
        agreeing,
        compared,
        distinct_values,
        outliers: if is_common {
            differing
                .into_iter()
                .map(|(header, value)| make_outlier(header, name(value)))
                .collect()
        } else {
            Vec::new()
        },
    }
}

fn make_outlier(header: &Header, found: Arc<str>) -> Outlier {
    Outlier {
        root: header.root,
        row: header.row,
        path: SamplePath::default(),
        found,
        reference: "".into(),
    }
}

/// The common pixel size: the most frequent one or the median, whichever agrees with more rasters.
fn common_size(sizes: &[[f64; 2]], same: &impl Fn([f64; 2], [f64; 2]) -> bool) -> Option<[f64; 2]> {
    let mut counts: HashMap<[u64; 2], usize> = HashMap::new();
    sizes
        .iter()
        .for_each(|size| *counts.entry(size.map(f64::to_bits)).or_default() += 1);
    let frequent = counts
        .into_iter()
        .max_by_key(|&(bits, count)| (count, bits))
        .map(|(bits, _)| bits.map(f64::from_bits))?;
    let middle = [find_median(sizes, 0)?, find_median(sizes, 1)?];
    let agreeing = |common: [f64; 2]| sizes.iter().filter(|size| same(**size, common)).count();
    Some(if agreeing(middle) > agreeing(frequent) {
        middle
    } else {
        frequent
    })
}

fn find_median(sizes: &[[f64; 2]], axis: usize) -> Option<f64> {
    let mut values: Vec<f64> = sizes.iter().map(|size| size[axis]).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn find_corners(transform: [f64; 6], (width, height): (u32, u32)) -> [[f64; 2]; 4] {
    let (width, height) = (f64::from(width), f64::from(height));
    [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
        .map(|(column, row)| apply_geotransform(transform, column, row))
}

/// A ring in degrees, shifted by multiples of 360 degrees to the longitudes of another one.
fn shift_ring_to(ring: [[f64; 2]; 4], other: [[f64; 2]; 4]) -> [[f64; 2]; 4] {
    let turns = ((other[0][0] - ring[0][0]) / 360.0).round();
    ring.map(|[x, y]| [x + turns * 360.0, y])
}

/// Share of the first ring's area that the second one covers.
fn covered_share(a: [[f64; 2]; 4], b: [[f64; 2]; 4]) -> Option<f64> {
    let ((west, east), (south, north)) = (find_range(&a, 0), find_range(&a, 1));
    let ((other_west, other_east), (other_south, other_north)) =
        (find_range(&b, 0), find_range(&b, 1));
    let (width, height) = (east - west, north - south);
    if !(width * height).is_finite() || width <= 0.0 || height <= 0.0 {
        return None;
    }
    // Most rasters are axis-aligned rectangles.
    if is_axis_aligned(&a) && is_axis_aligned(&b) {
        let across = (east.min(other_east) - west.max(other_west)).max(0.0);
        let down = (north.min(other_north) - south.max(other_south)).max(0.0);
        return Some(across * down / (width * height));
    }
    let (a, b) = (make_polygon(&a), make_polygon(&b));
    let area = a.unsigned_area();
    (area > 0.0).then(|| a.intersection(&b).unsigned_area() / area)
}

fn find_range(ring: &[[f64; 2]; 4], axis: usize) -> (f64, f64) {
    let values = ring.map(|point| point[axis]);
    (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    )
}

fn is_axis_aligned(ring: &[[f64; 2]; 4]) -> bool {
    ring[0][1] == ring[1][1]
        && ring[1][0] == ring[2][0]
        && ring[2][1] == ring[3][1]
        && ring[3][0] == ring[0][0]
}

fn make_polygon(ring: &[[f64; 2]; 4]) -> Polygon<f64> {
    Polygon::new(
        ring.iter().map(|&[x, y]| (x, y)).collect::<Vec<_>>().into(),
        Vec::new(),
    )
}

/// The order of the start times of siblings.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum TimeOrder {
    Earlier,
    SameDay,
    Later,
}

fn order(group: &PositionGroup<'_>, name: &str, previous: &PositionGroup<'_>) -> PropertyAgreement {
    let before: HashMap<u32, i64> = previous
        .rasters
        .iter()
        .filter_map(|header| Some((header.root, header.time?)))
        .collect();
    let gaps: Vec<(&Header, i64)> = group
        .rasters
        .iter()
        .filter_map(|header| {
            Some((
                *header,
                header.time?.checked_sub(*before.get(&header.root)?)?,
            ))
        })
        .collect();
    let days: HashMap<u32, bool> = gaps
        .iter()
        .filter_map(|(header, gap)| {
            let own = header.time?;
            Some((
                header.row,
                own.div_euclid(DAY) == (own - gap).div_euclid(DAY),
            ))
        })
        .collect();
    let mut values: Vec<(&Header, (TimeOrder, i64))> = Vec::with_capacity(gaps.len());
    for (header, gap) in gaps {
        let order = if days.get(&header.row) == Some(&true) {
            TimeOrder::SameDay
        } else if gap < 0 {
            TimeOrder::Earlier
        } else {
            TimeOrder::Later
        };
        values.push((header, (order, gap)));
    }
    let mut counts: HashMap<TimeOrder, (usize, usize)> = HashMap::new();
    for (at, (_, (order, _))) in values.iter().enumerate() {
        counts.entry(*order).or_insert((0, usize::MAX - at)).0 += 1;
    }
    let Some((common, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else {
        return PropertyAgreement::default();
    };
    let named = match common {
        TimeOrder::Earlier => tr!("earlier than {name}", name),
        TimeOrder::SameDay => tr!("same day as {name}", name),
        TimeOrder::Later => tr!("later than {name}", name),
    };
    let mut agreement = judge_agreement(
        values,
        |(order, _)| *order == common,
        name_time_order,
        named.into(),
    );
    for outlier in &mut agreement.outliers {
        outlier.reference = name.into();
    }
    agreement
}

fn name_time_order((order, gap): &(TimeOrder, i64)) -> Arc<str> {
    match order {
        TimeOrder::SameDay => tr!("the same day").into(),
        _ => name_gap(*gap).into(),
    }
}

fn name_gap(gap: i64) -> String {
    let (size, earlier) = (gap.unsigned_abs(), gap < 0);
    let length = match size / DAY as u64 {
        0 => tr!("{hours} h", hours = (size + HOUR as u64 / 2) / HOUR as u64),
        days => tr!("{days} d", days),
    };
    if earlier {
        tr!("{length} earlier", length)
    } else {
        tr!("{length} later", length)
    }
}

/// If at least two siblings of a root's first raster all differ from it in the same way, the first
/// raster is the outlier.
fn blame_reference(consistency: &mut Consistency, context: &Context<'_>) {
    let Some(at) = consistency
        .positions
        .iter()
        .position(|position| position.place == context.reference_place)
    else {
        return;
    };
    for property in [RasterProperty::Crs, RasterProperty::Overlap] {
        let mut found: HashMap<u32, Vec<(usize, Outlier)>> = HashMap::new();
        let mut compared = 0;
        for (index, position) in consistency
            .positions
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != at)
        {
            let agreement = position.agreement(property);
            compared += usize::from(agreement.compared > 0);
            for outlier in agreement
                .outliers
                .iter()
                .filter(|outlier| !outlier.reference.is_empty())
            {
                found
                    .entry(outlier.root)
                    .or_default()
                    .push((index, outlier.clone()));
            }
        }
        let mut moved: Vec<Outlier> = Vec::new();
        for (root, outliers) in found {
            let same = outliers
                .windows(2)
                .all(|pair| pair[0].1.found == pair[1].1.found);
            let Some(first) = context
                .first
                .get(&root)
                .filter(|_| compared >= 2 && outliers.len() == compared && same)
            else {
                continue;
            };
            for (index, _) in &outliers {
                let agreement = consistency.positions[*index].agreement_mut(property);
                agreement.outliers.retain(|outlier| outlier.root != root);
                agreement.agreeing += 1;
            }
            let Some((index, sibling)) = outliers.first() else {
                continue;
            };
            let name = consistency.positions[*index].title();
            let (found, reference) = match property {
                RasterProperty::Crs => (
                    context.crs_name(first.crs),
                    tr!("{name} is {crs}", name, crs = &sibling.found).into(),
                ),
                _ => (sibling.found.clone(), name.into()),
            };
            moved.push(Outlier {
                root,
                row: first.row,
                path: SamplePath::default(),
                found,
                reference,
            });
        }
        if moved.is_empty() {
            continue;
        }
        moved.sort_by_key(|outlier| outlier.row);
        let rasters = consistency.positions[at].rasters;
        let others = consistency
            .positions
            .iter()
            .map(|position| position.agreement(property).common.clone())
            .nth(1)
            .unwrap_or_default();
        let agreement = consistency.positions[at].agreement_mut(property);
        if agreement.compared == 0 {
            *agreement = PropertyAgreement {
                common: others,
                agreeing: rasters,
                compared: rasters,
                distinct_values: 1,
                outliers: Vec::new(),
            };
        }
        agreement.agreeing = agreement.agreeing.saturating_sub(moved.len());
        agreement.distinct_values += 1;
        agreement.outliers.extend(moved);
        agreement.outliers.sort_by_key(|outlier| outlier.row);
        agreement.outliers.dedup_by_key(|outlier| outlier.row);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::validate::header_cache;

    #[test]
    fn each_value_is_named_once_however_many_rasters_have_it() {
        let header = |row: u32| {
            let bands = if row.is_multiple_of(3) { 4 } else { 3 };
            let shape = header_cache::HeaderShape {
                bands,
                size: (1, 1),
                ..Default::default()
            };
            Header::of_root(row, header_cache::ComparedHeader::new(shape, None))
        };
        let rasters: Vec<Header> = (0..300).map(header).collect();
        let named = Cell::new(0);
        let name = |bands: &u32| -> Arc<str> {
            named.set(named.get() + 1);
            bands.to_string().into()
        };
        let found = compare_exactly(rasters.iter(), |header| Some(header.bands), &name);
        assert_eq!(
            (found.common.as_str(), found.agreeing, found.outliers.len()),
            ("3", 200, 100)
        );
        assert!(found.outliers.iter().all(|outlier| &*outlier.found == "4"));
        assert_eq!(named.get(), 2);
    }
}
