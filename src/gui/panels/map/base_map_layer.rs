//! Land, coasts and graticule of the map.

use egui::{Mesh, Painter, Pos2, Rect, Shape, Stroke, pos2, vec2};

use crate::gui::map::{
    BaseMap, MapView, latitude_at, longitude_at, plane_x, plane_y, wrap_longitude,
};
use crate::gui::theme::{ThemeTokens, font};
use crate::gui::widgets::paint;

pub(super) fn base_ui(
    painter: &Painter,
    t: &ThemeTokens,
    base: &BaseMap,
    view: &MapView,
    rect: Rect,
) {
    let [_, top, _, bottom] = view.visible_rectangle(rect.size());
    let mut land = Mesh::default();
    let mut coasts: Vec<Shape> = Vec::new();
    for piece in &base.pieces {
        let [left, up, right, down] = piece.bounds;
        if down < top || up > bottom {
            continue;
        }
        for turn in view.turns(rect.size(), left, right) {
            let origin = view.screen(rect, [left + turn, up]);
            let place = |at: &[f32; 2]| origin + vec2(at[0], at[1]) * view.scale as f32;
            let first = land.vertices.len() as u32;
            for at in &piece.vertices {
                land.colored_vertex(place(at), t.mapland);
            }
            land.indices
                .extend(piece.indices.iter().map(|index| first + index));
            for ring in &piece.rings {
                coast(
                    &mut coasts,
                    ring.iter().map(place),
                    rect,
                    Stroke::new(1.0, t.mapline),
                );
            }
        }
    }
    painter.add(Shape::mesh(land));
    painter.extend(coasts);
}

/// The visible segments of a coastline.
fn coast(shapes: &mut Vec<Shape>, points: impl Iterator<Item = Pos2>, rect: Rect, stroke: Stroke) {
    let near = rect.expand(4.0);
    let mut line: Vec<Pos2> = Vec::new();
    let mut last: Option<Pos2> = None;
    for at in points {
        let shows = last.is_some_and(|last| Rect::from_two_pos(last, at).intersects(near));
        match last.filter(|_| shows) {
            Some(last) if line.is_empty() => line.extend([last, at]),
            Some(_) => line.push(at),
            None if !line.is_empty() => shapes.push(Shape::line(std::mem::take(&mut line), stroke)),
            None => {}
        }
        last = Some(at);
    }
    if !line.is_empty() {
        shapes.push(Shape::line(line, stroke));
    }
}

/// Draws the graticule, with labels at the left and lower edge.
pub(super) fn graticule_ui(painter: &Painter, t: &ThemeTokens, view: &MapView, rect: Rect) {
    let [left, top, right, bottom] = view.visible_rectangle(rect.size());
    let degrees = longitude_at(right) - longitude_at(left);
    let steps = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0,
    ];
    let step = steps
        .into_iter()
        .find(|step| degrees / step <= 8.0)
        .unwrap_or(45.0);
    let places = if step < 0.1 {
        2
    } else {
        usize::from(step < 1.0)
    };
    let stroke = Stroke::new(1.0, t.grid);
    let mut lon = (longitude_at(left) / step).ceil() * step;
    while lon <= longitude_at(right) {
        let x = view.screen(rect, [plane_x(lon), 0.0]).x;
        painter.vline(x, rect.y_range(), stroke);
        let label = Rect::from_center_size(pos2(x, rect.bottom() - 9.0), vec2(64.0, 14.0));
        paint::text_center(
            painter,
            label,
            &format_degrees(
                wrap_longitude(lon),
                places,
                tr!("E" in "compass"),
                tr!("W" in "compass"),
            ),
            font::mono(10.0),
            t.tx3,
        );
        lon += step;
    }
    let (north, south) = (latitude_at(top.max(0.0)), latitude_at(bottom.min(1.0)));
    let mut lat = (south / step).ceil() * step;
    while lat <= north {
        let y = view.screen(rect, [0.0, plane_y(lat)]).y;
        painter.hline(rect.x_range(), y, stroke);
        let label = Rect::from_min_size(pos2(rect.left() + 4.0, y - 14.0), vec2(64.0, 14.0));
        paint::text_left(
            painter,
            label,
            &format_degrees(lat, places, tr!("N" in "compass"), tr!("S" in "compass")),
            font::mono(10.0),
            t.tx3,
        );
        lat += step;
    }
}

fn format_degrees(value: f64, places: usize, positive: &str, negative: &str) -> String {
    let side = if value > 1e-9 {
        positive
    } else if value < -1e-9 {
        negative
    } else {
        ""
    };
    format!("{:.places$}°{side}", value.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_coast_that_shows_is_drawn() {
        let rect = Rect::from_min_size(pos2(0.0, 0.0), vec2(100.0, 100.0));
        let coast_of = |points: &[(f32, f32)]| {
            let mut shapes = Vec::new();
            coast(
                &mut shapes,
                points.iter().map(|&(x, y)| pos2(x, y)),
                rect,
                Stroke::NONE,
            );
            let points = |shape: &Shape| {
                if let Shape::Path(path) = shape {
                    path.points.len()
                } else {
                    0
                }
            };
            shapes.iter().map(points).collect::<Vec<_>>()
        };
        assert_eq!(
            coast_of(&[
                (10.0, 10.0),
                (20.0, 20.0),
                (500.0, 20.0),
                (500.0, 500.0),
                (50.0, 50.0),
                (60.0, 60.0)
            ]),
            [3, 3]
        );
        assert_eq!(
            coast_of(&[(-500.0, 50.0), (500.0, 50.0)]),
            [2],
            "one that crosses from end to end"
        );
        assert!(coast_of(&[(500.0, 0.0), (500.0, 500.0), (0.0, 500.0)]).is_empty());
    }
}
