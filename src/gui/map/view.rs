//! Conversions between degrees, the plane and the screen. The plane is Web Mercator: x from 0 at
//! 180° W to 1 at 180° E, y from 0 in the north to 1 in the south, cut at about 85°.

use std::f64::consts::PI;

use egui::{Pos2, Rect, Vec2, vec2};

use crate::ops::Footprints;

/// The latitude at which the plane ends.
const MAX_LATITUDE: f64 = 85.051_128;

/// Plane x of a longitude in degrees; continues beyond ±180.
pub fn plane_x(lon: f64) -> f64 {
    lon / 360.0 + 0.5
}

/// Plane y of a latitude in degrees.
pub fn plane_y(lat: f64) -> f64 {
    let lat = lat.clamp(-MAX_LATITUDE, MAX_LATITUDE).to_radians();
    0.5 - (PI / 4.0 + lat / 2.0).tan().ln() / (2.0 * PI)
}

/// Longitude in degrees of a plane x, not wrapped.
pub fn longitude_at(x: f64) -> f64 {
    (x - 0.5) * 360.0
}

/// Latitude in degrees of a plane y.
pub fn latitude_at(y: f64) -> f64 {
    (2.0 * ((0.5 - y) * 2.0 * PI).exp().atan() - PI / 2.0).to_degrees()
}

/// Wraps a longitude to ±180°.
pub fn wrap_longitude(lon: f64) -> f64 {
    if (-180.0..=180.0).contains(&lon) {
        lon
    } else {
        (lon + 180.0).rem_euclid(360.0) - 180.0
    }
}

/// View of the map: centre in plane coordinates, and scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapView {
    /// Centre in plane coordinates.
    pub middle: [f64; 2],
    /// Scale: points per width of the plane.
    pub scale: f64,
}

impl MapView {
    /// Largest scale.
    pub const NEAREST: f64 = 3.0e7;

    /// All of the Earth.
    pub fn whole(size: Vec2) -> Self {
        Self {
            middle: [0.5, plane_y(12.0)],
            scale: f64::from(size.x.max(size.y * 1.2)),
        }
    }

    /// The plane's rectangle `[left, top, right, bottom]` with a margin.
    pub fn for_rectangle([left, top, right, bottom]: [f64; 4], size: Vec2) -> Self {
        let (width, height) = ((right - left).max(1e-5), (bottom - top).max(1e-5));
        let scale = (f64::from(size.x) * 0.82 / width).min(f64::from(size.y) * 0.82 / height);
        Self {
            middle: [(left + right) / 2.0, (top + bottom) / 2.0],
            scale: scale.clamp(f64::from(size.x) * 0.6, 6.0e5),
        }
    }

    /// Plane coordinates of a screen position.
    pub fn plane(&self, rect: Rect, at: Pos2) -> [f64; 2] {
        let from = at - rect.center();
        [
            self.middle[0] + f64::from(from.x) / self.scale,
            self.middle[1] + f64::from(from.y) / self.scale,
        ]
    }

    /// Screen position of plane coordinates.
    pub fn screen(&self, rect: Rect, plane: [f64; 2]) -> Pos2 {
        rect.center() + self.measure_offset_from_middle(plane)
    }

    /// Vector in points from the centre to plane coordinates.
    pub fn measure_offset_from_middle(&self, [x, y]: [f64; 2]) -> Vec2 {
        vec2(
            ((x - self.middle[0]) * self.scale) as f32,
            ((y - self.middle[1]) * self.scale) as f32,
        )
    }

    /// Visible part of the plane: left, top, right, bottom.
    pub fn visible_rectangle(&self, size: Vec2) -> [f64; 4] {
        let (across, down) = (
            f64::from(size.x) / self.scale / 2.0,
            f64::from(size.y) / self.scale / 2.0,
        );
        [
            self.middle[0] - across,
            self.middle[1] - down,
            self.middle[0] + across,
            self.middle[1] + down,
        ]
    }

    /// Clamps centre and scale.
    pub fn clamp(&mut self, size: Vec2) {
        self.scale = self.scale.clamp(f64::from(size.x) * 0.6, Self::NEAREST);
        self.middle[0] = self.middle[0].rem_euclid(1.0);
        self.middle[1] = self.middle[1].clamp(0.0, 1.0);
    }

    /// Whole turns by which `left..right` of the plane has to be shifted to be visible, at most a
    /// few.
    pub fn turns(&self, size: Vec2, left: f64, right: f64) -> impl Iterator<Item = f64> + use<> {
        let [from, _, to, _] = self.visible_rectangle(size);
        let first = (from - right).ceil() as i64;
        let last = (to - left).floor() as i64;
        (first..=last.min(first + 4)).map(|turn| turn as f64)
    }
}

/// Footprints in plane coordinates: centre and half of the larger extent by row; NaN without a
/// footprint.
#[derive(Clone, Debug, Default)]
pub struct ProjectedFootprints {
    /// Centres.
    pub middles: Vec<[f32; 2]>,
    /// Half extents.
    pub half_extents: Vec<f32>,
    /// Bounds of all footprints: left, top, right, bottom. Right is above 1 where they cross the
    /// antimeridian.
    pub bounds: Option<[f64; 4]>,
}

impl ProjectedFootprints {
    /// Projects every row. Slow for a million rows: run it in a job.
    pub fn new(footprints: &Footprints) -> Self {
        let mut projected = Self {
            middles: Vec::with_capacity(footprints.rows()),
            half_extents: Vec::with_capacity(footprints.rows()),
            bounds: None,
        };
        let mut boxes: Vec<[f64; 4]> = Vec::with_capacity(footprints.rows());
        for row in 0..footprints.rows() as u32 {
            let ring = footprints.points_of_row(row);
            if ring.is_empty() {
                projected.middles.push([f32::NAN; 2]);
                projected.half_extents.push(0.0);
                continue;
            }
            let mut b = [
                f64::INFINITY,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NEG_INFINITY,
            ];
            for &[lon, lat] in ring {
                let (x, y) = (plane_x(f64::from(lon)), plane_y(f64::from(lat)));
                b = [b[0].min(x), b[1].min(y), b[2].max(x), b[3].max(y)];
            }
            projected
                .middles
                .push([((b[0] + b[2]) / 2.0) as f32, ((b[1] + b[3]) / 2.0) as f32]);
            projected
                .half_extents
                .push(((b[2] - b[0]).max(b[3] - b[1]) / 2.0) as f32);
            boxes.push(b);
        }
        projected.bounds = enclose_boxes(&boxes);
        projected
    }
}

/// Share of the width that a view across the antimeridian has to save: maps begin and end at the
/// antimeridian by custom.
const SAVED_SHARE: f64 = 0.8;
/// Steps of longitude in which gaps between footprints are looked for.
const GAP_STEPS: usize = 1024;

/// The box around boxes `[left, top, right, bottom]` on the plane, whose x goes round.
fn enclose_boxes(boxes: &[[f64; 4]]) -> Option<[f64; 4]> {
    let in_order = shifted_bounds(boxes, 0.0)?;
    let mut taken = [false; GAP_STEPS];
    for [left, _, right, _] in boxes {
        let first = (left * GAP_STEPS as f64).floor();
        let count = ((right * GAP_STEPS as f64).floor() - first).min(GAP_STEPS as f64) as usize + 1;
        let first = first.rem_euclid(GAP_STEPS as f64) as usize;
        (0..count.min(GAP_STEPS)).for_each(|step| taken[(first + step) % GAP_STEPS] = true);
    }
    // Twice around, so that a gap at the end and the beginning is one.
    let (mut longest, mut length, mut middle) = (0, 0, 0.0);
    for step in 0..2 * GAP_STEPS {
        length = if taken[step % GAP_STEPS] {
            0
        } else {
            length + 1
        };
        if length > longest && length < GAP_STEPS {
            (longest, middle) = (
                length,
                (step as f64 + 1.0 - length as f64 / 2.0) / GAP_STEPS as f64,
            );
        }
    }
    let across = shifted_bounds(boxes, middle.rem_euclid(1.0))?;
    Some(
        if longest > 0 && across[2] - across[0] < SAVED_SHARE * (in_order[2] - in_order[0]) {
            across
        } else {
            in_order
        },
    )
}

/// The box around boxes that are moved by whole turns until their left side is in `from..from + 1`.
fn shifted_bounds(boxes: &[[f64; 4]], from: f64) -> Option<[f64; 4]> {
    boxes
        .iter()
        .map(|&[left, top, right, bottom]| {
            let turns = (left - from).floor();
            [left - turns, top, right - turns, bottom]
        })
        .reduce(|all, b| {
            [
                all[0].min(b[0]),
                all[1].min(b[1]),
                all[2].max(b[2]),
                all[3].max(b[3]),
            ]
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    #[test]
    fn degrees_and_plane_agree() {
        for (lon, lat) in [(0.0, 0.0), (-77.03, -12.05), (179.9, 71.0), (-180.0, -84.0)] {
            assert!((longitude_at(plane_x(lon)) - lon).abs() < 1e-9);
            assert!((latitude_at(plane_y(lat)) - lat).abs() < 1e-9, "{lat}");
        }
        assert!(plane_y(90.0) < 1e-6 && plane_y(-90.0) > 1.0 - 1e-6);
        assert_eq!(
            (
                wrap_longitude(190.0),
                wrap_longitude(-190.0),
                wrap_longitude(180.0)
            ),
            (-170.0, 170.0, 180.0)
        );
    }

    #[test]
    fn bounds_are_the_narrow_ones_at_the_antimeridian() {
        let bounds = |boxes: &[[f64; 2]]| {
            let boxes: Vec<[f64; 4]> = boxes
                .iter()
                .map(|&[west, east]| [plane_x(west), 0.4, plane_x(east), 0.6])
                .collect();
            enclose_boxes(&boxes).map(|[left, _, right, _]| {
                [longitude_at(left), longitude_at(right)].map(|lon| (lon * 1e6).round() / 1e6)
            })
        };
        assert_eq!(bounds(&[]), None);
        assert_eq!(bounds(&[[10.0, 11.0], [-5.0, 2.0]]), Some([-5.0, 11.0]));
        assert_eq!(
            bounds(&[[178.0, 179.0], [-179.5, -179.0]]),
            Some([178.0, 181.0])
        );
        assert_eq!(bounds(&[[178.0, 182.0]]), Some([178.0, 182.0]));
        assert_eq!(
            bounds(&[[-182.0, -178.0], [170.0, 171.0]]),
            Some([170.0, 182.0])
        );
        // Around a pole, and all around in small steps.
        assert_eq!(
            bounds(&[[-180.0, 180.0], [178.0, 182.0]]).map(|[west, _]| west),
            Some(-180.0)
        );
        let all: Vec<[f64; 2]> = (0..720)
            .map(|step| [f64::from(step) / 2.0 - 180.0; 2])
            .collect();
        assert_eq!(bounds(&all), Some([-180.0, 179.5]));
    }

    #[test]
    fn the_map_repeats_where_it_shows_more_than_once() {
        let view = MapView {
            middle: [0.0, 0.5],
            scale: 1000.0,
        };
        // The view spans -0.5 to 0.5: a point at 0.9 is drawn one turn to the left, a point at 0.2
        // unchanged.
        let turns = |x: f64| view.turns(vec2(1000.0, 500.0), x, x).collect::<Vec<_>>();
        assert_eq!(turns(0.9), [-1.0]);
        assert_eq!(turns(0.2), [0.0]);
    }

    #[test]
    fn screen_and_plane_agree_both_ways() {
        let rect = Rect::from_min_size(pos2(10.0, 20.0), vec2(800.0, 600.0));
        let view = MapView {
            middle: [0.3, 0.4],
            scale: 123_456.0,
        };
        let at = pos2(123.0, 456.0);
        assert!((view.screen(rect, view.plane(rect, at)) - at).length() < 0.01);
    }
}
