//! Rasters drawn at their coordinates on the map: the selected one, or also its siblings. Read in
//! jobs, a few at a time, in the size of a small picture; a grid of points follows the raster's own
//! coordinate system.

use std::sync::Arc;

use egui::epaint::Vertex;
use egui::{Color32, Mesh, Painter, Rect, Shape, TextureHandle, Ui, pos2};

use super::raster_state::{PlacedPicture, ShownRasters};
use super::state::MapPanel;
use crate::error::{Error, Result};
use crate::gui::map::{MapView, plane_x, plane_y};
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::preview::{first_file, list_files_around};
use crate::gui::textures;
use crate::jobs::JobContext;
use crate::raster::{PreviewRequest, RasterInfo, RasterSource, preview};
use crate::studio::{Document, RowRef};

/// Side of a picture in pixels.
const SIDE: usize = 768;
/// Cells of the grid along each side.
const CELLS: usize = 12;
/// Most rasters at one time.
const MOST: usize = 12;
/// Rasters read at one time.
const AT_ONCE: usize = 2;

/// The selected raster, as the preview shows it.
pub fn selected_raster(cx: &PanelContext<'_>, document: &Document) -> Option<RowRef> {
    cx.session
        .selection
        .sample
        .and_then(|at| first_file(document, Some(at)))
}

/// Reads the rasters that are wanted, and draws those that are known; the selected one on top.
pub fn ui(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    painter: &Painter,
    view: &MapView,
    rect: Rect,
) {
    let shown = panel.rasters.shown;
    let at = selected_raster(cx, document).filter(|_| shown != ShownRasters::Nothing);
    let Some(at) = at else {
        return panel.rasters.list.clear();
    };
    let rows = if shown == ShownRasters::Siblings {
        list_files_around(document, at, MOST)
    } else {
        vec![at]
    };
    let key = cx.document_key();
    let list = &mut panel.rasters.list;
    list.retain(|row, _| rows.contains(row));
    let mut running = list.values().filter(|one| one.asked.is_pending()).count();
    for &row in std::iter::once(&at).chain(rows.iter().filter(|row| **row != at)) {
        let one = list.entry(row).or_default();
        if one.asked.key() != Some(&(key, row)) && running < AT_ONCE {
            running += 1;
            let place = document.raster_later(row);
            one.asked
                .update(cx.jobs, (key, row), tr!("Raster on the map"), move |ctx| {
                    let (source, _) = place()?;
                    read_placed_picture(source, ctx).map(Arc::new)
                });
        }
        if one.texture.is_none()
            && let Some(Ok(placed)) = one.asked.get(&(key, row))
        {
            one.texture = Some(textures::upload(ui.ctx(), "map-raster", &placed.image));
        }
    }
    let known = panel
        .rasters
        .list
        .get(&at)
        .and_then(|one| one.asked.get(&(key, at))?.as_ref().ok());
    if let Some([left, top, right, bottom]) = known
        .map(|placed| bounds_of(placed))
        .filter(|_| panel.rasters.zooms)
    {
        let fit = |points: f32, plane: f64| f64::from(points) * 0.6 / plane.max(1e-9);
        let scale = fit(rect.width(), right - left)
            .min(fit(rect.height(), bottom - top))
            .min(MapView::NEAREST);
        panel.view = Some(MapView {
            middle: [(left + right) / 2.0, (top + bottom) / 2.0],
            scale,
        });
        panel.rasters.zooms = false;
    }
    let list = &panel.rasters.list;
    for row in rows
        .iter()
        .filter(|row| **row != at)
        .chain(std::iter::once(&at))
    {
        let Some(one) = list.get(row) else { continue };
        if let (Some(texture), Some(Ok(placed))) = (&one.texture, one.asked.get(&(key, *row))) {
            painter.add(Shape::mesh(mesh(placed, texture, view, rect)));
        }
    }
}

/// Reads a raster in the size of a picture, with the coordinates of its grid.
fn read_placed_picture(source: RasterSource, ctx: &JobContext) -> Result<PlacedPicture> {
    let image = preview(&PreviewRequest::new(source, (SIDE, SIDE)), ctx)?;
    let grid = grid_of(&image.info)
        .ok_or_else(|| Error::usage("this raster states no place on the Earth"))?;
    Ok(PlacedPicture {
        image: image.rgba,
        grid,
    })
}

/// Plane coordinates of a grid over the whole raster; `None` without georeferencing.
fn grid_of(info: &RasterInfo) -> Option<Vec<[f64; 2]>> {
    let t = info.geotransform?;
    let step = |index: usize, size: usize| index as f64 / CELLS as f64 * size as f64;
    let points: Vec<[f64; 2]> = (0..=CELLS)
        .flat_map(|row| {
            (0..=CELLS).map(move |column| (step(column, info.width), step(row, info.height)))
        })
        .map(|(column, row)| {
            [
                t[0] + column * t[1] + row * t[2],
                t[3] + column * t[4] + row * t[5],
            ]
        })
        .collect();
    let lonlat: Option<Vec<[f64; 2]>> = info.to_lonlat(&points)?.into_iter().collect();
    let mut plane: Vec<[f64; 2]> = lonlat?
        .into_iter()
        .map(|[lon, lat]| [plane_x(lon), plane_y(lat)])
        .collect();
    // All on the side of the antimeridian where the first is.
    let first = plane.first()?[0];
    plane
        .iter_mut()
        .for_each(|at| at[0] -= (at[0] - first).round());
    Some(plane)
}

/// Left, top, right and bottom of the grid.
fn bounds_of(placed: &PlacedPicture) -> [f64; 4] {
    let start = [
        f64::INFINITY,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NEG_INFINITY,
    ];
    placed
        .grid
        .iter()
        .fold(start, |[left, top, right, bottom], &[x, y]| {
            [left.min(x), top.min(y), right.max(x), bottom.max(y)]
        })
}

fn mesh(placed: &PlacedPicture, texture: &TextureHandle, view: &MapView, rect: Rect) -> Mesh {
    let middle = placed.grid.iter().map(|at| at[0]).sum::<f64>() / placed.grid.len().max(1) as f64;
    let turn = -(middle - view.middle[0]).round();
    let mut mesh = Mesh::with_texture(texture.id());
    for (index, &[x, y]) in placed.grid.iter().enumerate() {
        let (row, column) = (index / (CELLS + 1), index % (CELLS + 1));
        let uv = pos2(column as f32 / CELLS as f32, row as f32 / CELLS as f32);
        mesh.vertices.push(Vertex {
            pos: view.screen(rect, [x + turn, y]),
            uv,
            color: Color32::WHITE,
        });
    }
    for row in 0..CELLS as u32 {
        for column in 0..CELLS as u32 {
            let first = row * (CELLS as u32 + 1) + column;
            let below = first + CELLS as u32 + 1;
            mesh.add_triangle(first, first + 1, below);
            mesh.add_triangle(below, first + 1, below + 1);
        }
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::describe;

    #[test]
    fn the_grid_has_the_corners_of_the_raster() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let tif = find_tif(&path).expect("a fixture is a GeoTIFF with a place");
        let info = describe(&RasterSource::from_user_path(
            crate::model::AssetPath::file(&tif),
        ))
        .expect("reads");
        let grid = grid_of(&info).expect("has a place");
        let corners = info.corners_lonlat.expect("has corners");
        let of = |index: usize| grid[index];
        for (index, [lon, lat]) in [0, CELLS, (CELLS + 1) * (CELLS + 1) - 1, (CELLS + 1) * CELLS]
            .into_iter()
            .zip(corners)
        {
            let [x, y] = of(index);
            assert!(
                (x - plane_x(lon)).abs() < 1e-9 && (y - plane_y(lat)).abs() < 1e-9,
                "{index}: {x} {y} for {lon} {lat}"
            );
        }
    }

    fn find_tif(folder: &std::path::Path) -> Option<std::path::PathBuf> {
        let mut below: Vec<_> = std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        below.sort();
        below.into_iter().find_map(|path| {
            if path.is_dir() {
                find_tif(&path)
            } else {
                path.extension()
                    .is_some_and(|ending| ending == "tif")
                    .then_some(path)
                    .filter(|path| {
                        describe(&RasterSource::from_user_path(
                            crate::model::AssetPath::file(path),
                        ))
                        .is_ok_and(|info| info.corners_lonlat.is_some())
                    })
            }
        })
    }
}
