//! The map of a dataset as SVG and GeoJSON: the footprints of samples and the extents of its parts
//! over the built-in land polygons.

use geo::{BoundingRect, Geometry};
use serde_json::{Value as Json, json};

use super::footprint::ItemFootprint;
use super::{Described, Facts, footprint};
use crate::container::Assembly;
use crate::error::Result;
use crate::extensions::tortilla::countries::read_countries;
use crate::footprint::{BoxOfDegrees, box_of_extent, box_polygon};
use crate::jobs::JobContext;

/// Maximum number of footprints on a map.
const SHOWN: usize = 1500;
/// Maximum number of footprints in the GeoJSON of a README.
const MAX_LISTED: usize = 100;
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;

/// Style of the map, for the page or the image that has it.
pub(super) const MAP_STYLE: &str = ".sea{fill:#dce5eb}.land{fill:#efede7;stroke:#b3b2aa;\
    stroke-width:.5}\
.grid{fill:none;stroke:#cbd6de;stroke-width:.5}svg text{font-size:9px;fill:#5f636b}\
.samples{fill:#f0883a;fill-opacity:.35;stroke:#b4540c;stroke-width:.6}.file{fill:#1b5ca8;\
    fill-opacity:.06;stroke:#1b5ca8}\
.whole{fill:none;stroke:#b4540c;stroke-dasharray:4 3}";

/// The map of a dataset as an SVG image of its own; `None` for a dataset without locations.
///
/// # Errors
/// When the metadata can't be read.
pub fn map_image(assembly: &Assembly, facts: &Facts, ctx: &JobContext) -> Result<Option<String>> {
    let map = map_of(&Described::new(assembly, facts, ctx)?, ctx)?;
    Ok(map.map(|map| {
        let opened = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" "
        );
        let styled = map.svg.replacen("<svg ", &opened, 1);
        styled.replacen('>', &format!("><style>{MAP_STYLE}</style>"), 1)
    }))
}

/// The map of a dataset.
pub(super) struct Map {
    /// SVG image.
    pub svg: String,
    /// GeoJSON.
    pub geojson: String,
    /// Caption, one sentence.
    pub caption: String,
}

/// `[west, south, east, north]` in degrees; east > 180 across the antimeridian.
type DegreeBounds = [f64; 4];

/// The map of footprints and of the parts' extents; `None` for a dataset without locations.
pub(super) fn map_of(described: &Described<'_>, ctx: &JobContext) -> Result<Option<Map>> {
    let files = file_boxes(described);
    let level = footprint::level_with_places(described.assembly, described.facts.level);
    let rows = described
        .assembly
        .levels
        .get(level)
        .map_or(0, |table| table.batch.num_rows());
    let step = rows.div_ceil(SHOWN).max(1);
    // A few are enough for a map, and footprints are costly.
    let shown: Vec<u32> = (0..rows as u32).step_by(step).collect();
    let places = footprint::places(described.assembly, level, &shown, ctx)?;
    let footprints: Vec<DegreeBounds> = places
        .iter()
        .filter_map(|place| place.bbox.map(going_on))
        .collect();
    let whole = described.bbox.map(going_on);
    let all = footprints
        .iter()
        .chain(files.iter().map(|(_, bounds)| bounds));
    let Some(bounds) = whole.or_else(|| enclosing_bounds(all.clone())) else {
        return Ok(None);
    };
    // The stated extent may be smaller than that of the samples.
    let near: Vec<DegreeBounds> = all.map(|one| shift_box_near(*one, bounds)).collect();
    let view = view_of(enclosing_bounds(near.iter().chain([&bounds])).unwrap_or(bounds));
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Map of the locations of \
            the samples\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" class=\"sea\"/>\n<path class=\"land\" \
            d=\"{}\"/>\n",
        land(view, ctx)?
    );
    svg.push_str(&graticule(view));
    let mut shapes = String::new();
    for footprint in &footprints {
        shapes.push_str(&rect_of(view, *footprint, 3.0));
    }
    svg.push_str(&format!("<path class=\"samples\" d=\"{shapes}\"/>\n"));
    for (name, bounds) in &files {
        let outline = rect_of(view, *bounds, 6.0);
        svg.push_str(&format!(
            "<path class=\"file\" d=\"{outline}\"><title>{}</title></path>\n",
            escape_html(name)
        ));
    }
    svg.push_str(&format!(
        "<path class=\"whole\" d=\"{}\"/>\n</svg>",
        rect_of(view, bounds, 8.0)
    ));
    let count = match (footprints.len(), step) {
        (0, _) => "the extent of the dataset".to_owned(),
        (count, 1) => format!("{count} samples of level {level}"),
        (count, _) => format!("{count} of the {rows} samples of level {level}"),
    };
    let files_text = if files.len() > 1 {
        format!(" in {} files", files.len())
    } else {
        String::new()
    };
    let caption = format!("Outlines of {count}{files_text}; land from Natural Earth.");
    Ok(Some(Map {
        svg,
        geojson: geojson(described.bbox, &files, &places),
        caption,
    }))
}

/// Extents of the parts, with their names.
fn file_boxes(described: &Described<'_>) -> Vec<(String, DegreeBounds)> {
    described
        .source_extents()
        .filter_map(read_named_box)
        .collect()
}

/// File and box of one of `taco:sources` → `extents`.
fn read_named_box(extent: &Json) -> Option<(String, DegreeBounds)> {
    let name = extent
        .get("file")
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    Some((name, going_on(box_of_extent(extent)?)))
}

/// A box that goes on beyond 180 degrees where it crosses the antimeridian.
fn going_on([west, south, east, north]: BoxOfDegrees) -> DegreeBounds {
    [
        west,
        south,
        if west > east { east + 360.0 } else { east },
        north,
    ]
}

fn rect(rect: geo::Rect<f64>) -> Option<DegreeBounds> {
    let bounds = [rect.min().x, rect.min().y, rect.max().x, rect.max().y];
    bounds
        .iter()
        .all(|number| number.is_finite())
        .then_some(bounds)
}

fn enclosing_bounds<'a>(boxes: impl Iterator<Item = &'a DegreeBounds>) -> Option<DegreeBounds> {
    boxes.copied().reduce(|a, b| {
        [
            a[0].min(b[0]),
            a[1].min(b[1]),
            a[2].max(b[2]),
            a[3].max(b[3]),
        ]
    })
}

/// The visible region: the data with a margin, at least the size of a country and at most the
/// Earth.
fn view_of([west, south, east, north]: DegreeBounds) -> DegreeBounds {
    let ratio = WIDTH / HEIGHT;
    let width = ((east - west) * 1.6)
        .max((north - south) * 1.6 * ratio)
        .clamp(24.0, 360.0);
    let height = (width / ratio).min(180.0);
    let (x, y) = ((west + east) / 2.0, (south + north) / 2.0);
    let x = if width >= 360.0 { 0.0 } else { x };
    let y = y.clamp(-90.0 + height / 2.0, 90.0 - height / 2.0);
    [
        x - width / 2.0,
        y - height / 2.0,
        x + width / 2.0,
        y + height / 2.0,
    ]
}

fn place_of([west, south, east, north]: DegreeBounds, lon: f64, lat: f64) -> (f64, f64) {
    (
        (lon - west) / (east - west) * WIDTH,
        (north - lat) / (north - south) * HEIGHT,
    )
}

/// A box shifted by a multiple of 360 degrees to be nearest to another one.
fn shift_box_near([west, south, east, north]: DegreeBounds, to: DegreeBounds) -> DegreeBounds {
    let turn = (((to[0] + to[2]) / 2.0 - (west + east) / 2.0) / 360.0).round() * 360.0;
    [west + turn, south, east + turn, north]
}

/// A box as an SVG path, at least `least` pixels wide and high, shifted to the visible region.
fn rect_of(view: DegreeBounds, bounds: DegreeBounds, least: f64) -> String {
    let [west, south, east, north] = shift_box_near(bounds, view);
    let ((left, top), (right, bottom)) = (place_of(view, west, north), place_of(view, east, south));
    let (left, right) = widen_span(left, right, least);
    let (top, bottom) = widen_span(top, bottom, least);
    format!("M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}Z")
}

fn widen_span(low: f64, high: f64, least: f64) -> (f64, f64) {
    let more = ((least - (high - low)) / 2.0).max(0.0);
    (low - more, high + more)
}

/// The land in the visible region as one SVG path, without points less than a pixel apart.
fn land(view: DegreeBounds, ctx: &JobContext) -> Result<String> {
    let mut path = String::new();
    let pixel = (view[2] - view[0]) / WIDTH;
    for country in &read_countries() {
        ctx.check()?;
        for polygon in &country.land {
            let Some(bounds) = polygon.bounding_rect().and_then(rect) else {
                continue;
            };
            for turn in [-360.0, 0.0, 360.0] {
                let outside = bounds[2] + turn < view[0]
                    || bounds[0] + turn > view[2]
                    || bounds[3] < view[1]
                    || bounds[1] > view[3];
                if outside || (bounds[2] - bounds[0]).max(bounds[3] - bounds[1]) < pixel {
                    continue;
                }
                for ring in std::iter::once(polygon.exterior()).chain(polygon.interiors()) {
                    let mut last: Option<(f64, f64)> = None;
                    let mut count = 0;
                    let mut text = String::new();
                    for at in &ring.0 {
                        // Points far outside are clamped.
                        let (x, y) = place_of(view, at.x + turn, at.y);
                        let (x, y) = (x.clamp(-WIDTH, 2.0 * WIDTH), y.clamp(-HEIGHT, 2.0 * HEIGHT));
                        if last.is_none_or(|(a, b)| (a - x).abs().max((b - y).abs()) >= 1.0) {
                            text.push_str(&format!(
                                "{}{x:.1} {y:.1}",
                                if last.is_none() { 'M' } else { 'L' }
                            ));
                            last = Some((x, y));
                            count += 1;
                        }
                    }
                    if count > 2 {
                        path.push_str(&text);
                        path.push('Z');
                    }
                }
            }
        }
    }
    Ok(path)
}

/// Lines and labels of whole degrees.
fn graticule(view: DegreeBounds) -> String {
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0]
        .into_iter()
        .find(|step| (view[2] - view[0]) / step <= 8.0)
        .unwrap_or(60.0);
    let (mut lines, mut words) = (String::new(), String::new());
    let mut lon = (view[0] / step).ceil() * step;
    while lon <= view[2] {
        let (x, _) = place_of(view, lon, 0.0);
        lines.push_str(&format!("M{x:.1} 0V{HEIGHT}"));
        let shown = (lon + 180.0).rem_euclid(360.0) - 180.0;
        words.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{}\">{}</text>\n",
            x + 3.0,
            HEIGHT - 4.0,
            format_degrees(shown, "E", "W")
        ));
        lon += step;
    }
    let mut lat = (view[1] / step).ceil() * step;
    while lat <= view[3] {
        let (_, y) = place_of(view, 0.0, lat);
        lines.push_str(&format!("M0 {y:.1}H{WIDTH}"));
        words.push_str(&format!(
            "<text x=\"3\" y=\"{:.1}\">{}</text>\n",
            y - 3.0,
            format_degrees(lat, "N", "S")
        ));
        lat += step;
    }
    format!("<path class=\"grid\" d=\"{lines}\"/>\n{words}")
}

fn format_degrees(value: f64, positive: &str, negative: &str) -> String {
    let side = if value > 0.0 {
        positive
    } else if value < 0.0 {
        negative
    } else {
        ""
    };
    format!("{}°{side}", value.abs())
}

/// The outlines as a FeatureCollection (RFC 7946), cut at the antimeridian.
fn geojson(
    whole: Option<BoxOfDegrees>,
    files: &[(String, DegreeBounds)],
    places: &[ItemFootprint],
) -> String {
    let mut features: Vec<Json> = files
        .iter()
        .take(MAX_LISTED)
        .map(|(name, bounds)| encode_feature(name, &make_bounds_polygon(*bounds)))
        .collect();
    if features.is_empty() {
        let placed: Vec<&Geometry<f64>> = places
            .iter()
            .filter_map(|place| place.geometry.as_ref())
            .collect();
        let step = placed.len().div_ceil(MAX_LISTED).max(1);
        features = placed
            .into_iter()
            .step_by(step)
            .map(|geometry| encode_feature("", geometry))
            .collect();
    }
    if features.is_empty() {
        features.extend(whole.map(|bounds| encode_feature("extent", &box_polygon(bounds))));
    }
    json!({ "type": "FeatureCollection", "features": features }).to_string()
}

fn encode_feature(name: &str, geometry: &Geometry<f64>) -> Json {
    let properties = if name.is_empty() {
        json!({})
    } else {
        json!({ "name": name })
    };
    json!({
        "type": "Feature",
        "properties": properties,
        "geometry": footprint::geojson(geometry),
    })
}

fn make_bounds_polygon([west, south, east, north]: DegreeBounds) -> Geometry<f64> {
    let east = if east > 180.0 && west <= 180.0 && east - west < 360.0 {
        east - 360.0
    } else {
        east
    };
    box_polygon([west, south, east, north])
}

/// Text as content or attribute of HTML and SVG.
pub(crate) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_holds_the_data_and_stays_on_earth() {
        for bounds in [
            [-35.0, -8.0, -34.9, -7.9],
            [-180.0, -90.0, 180.0, 90.0],
            [170.0, -20.0, 195.0, -10.0],
            [0.0, 80.0, 5.0, 89.0],
        ] {
            let view = view_of(bounds);
            assert!(
                view[0] <= bounds[0]
                    && view[2] >= bounds[2]
                    && view[1] <= bounds[1]
                    && view[3] >= bounds[3],
                "{view:?}"
            );
            assert!(
                view[1] >= -90.0 && view[3] <= 90.0 && view[2] - view[0] <= 360.0,
                "{view:?}"
            );
            let path = rect_of(view, bounds, 3.0);
            assert!(
                path.starts_with('M') && path.ends_with('Z') && !path.contains("NaN"),
                "{path}"
            );
        }
    }
}
