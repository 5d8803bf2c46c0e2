//! The chunks of a sample of a streamable dataset: their position in the raster and in the file,
//! and one chunk read alone by a range request.

use std::sync::Arc;

use egui::{
    Color32, Frame, Margin, Painter, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2,
    vec2,
};

use super::names::{number, numbers_apart};
use super::state::{ChunkPicture, ChunkRange, ChunksState, PreviewPanel};
use super::transform::Transform;
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, paint};
use crate::gui::{icons, textures};
use crate::ops::{ChunkArray, ChunkPlace, chunks_of, is_streamable, read_chunk};
use crate::raster::{PixelNumber, Rgba};
use crate::studio::{Document, RowRef};

/// Most chunks in the list; others are selected on the picture.
const MAX_LISTED: usize = 4096;

/// Requests the chunk list of the selected sample.
pub fn refresh(
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    key: DocumentKey,
    at: RowRef,
) {
    let Some(open) = document
        .opened_dataset()
        .filter(|open| is_streamable(open.reader.as_ref()))
    else {
        return;
    };
    let state = &mut panel.chunks;
    if state.made_for != Some((key, at)) {
        let grid = state.grid;
        *state = ChunksState {
            made_for: Some((key, at)),
            grid,
            ..ChunksState::default()
        };
    }
    state.take_chunk();
    let reader = open.reader.clone();
    state
        .list
        .update(cx.jobs, (key, at), tr!("Chunks"), move |ctx| {
            Ok(Arc::new(chunks_of(reader.as_ref(), at.level, at.row, ctx)?))
        });
}

fn covers_pixel(chunk: &ChunkPlace, (column, row): (usize, usize)) -> bool {
    let inside = |axis: usize, at: usize| {
        (chunk.start[axis]..chunk.start[axis] + chunk.count[axis]).contains(&(at as u64))
    };
    inside(1, row) && inside(2, column)
}

fn rows_text(chunk: &ChunkPlace) -> String {
    tr!(
        "rows {rows}, columns {columns}",
        rows = format_index_range(chunk, 1),
        columns = format_index_range(chunk, 2)
    )
}

fn format_index_range(chunk: &ChunkPlace, axis: usize) -> String {
    format!(
        "{}–{}",
        chunk.start[axis],
        (chunk.start[axis] + chunk.count[axis]).saturating_sub(1)
    )
}

/// Draws the chunk outlines over the picture.
pub fn grid_ui(
    painter: &Painter,
    t: &ThemeTokens,
    state: &ChunksState,
    transform: Transform,
    rect: Rect,
) {
    let Some(places) = state.places().filter(|_| state.grid) else {
        return;
    };
    // One plane only: the chunks of other planes have the same outlines.
    for chunk in places.iter().filter(|chunk| chunk.start[0] == 0) {
        let corner =
            |column: u64, row: u64| transform.screen_from_pixel([column as f64, row as f64]);
        let place = Rect::from_two_pos(
            corner(chunk.start[2], chunk.start[1]),
            corner(
                chunk.start[2] + chunk.count[2],
                chunk.start[1] + chunk.count[1],
            ),
        );
        if place.width() < 3.0 || !place.intersects(rect) {
            continue;
        }
        painter.rect_stroke(
            place,
            0,
            Stroke::new(1.0, t.line2.gamma_multiply(0.8)),
            StrokeKind::Middle,
        );
    }
    if let Some(chosen) = places.iter().find(|chunk| chunk.index == state.chosen) {
        let corner =
            |column: u64, row: u64| transform.screen_from_pixel([column as f64, row as f64]);
        let place = Rect::from_two_pos(
            corner(chosen.start[2], chosen.start[1]),
            corner(
                chosen.start[2] + chosen.count[2],
                chosen.start[1] + chosen.count[1],
            ),
        );
        painter.rect_stroke(place, 0, Stroke::new(2.0, t.accfill), StrokeKind::Inside);
    }
}

/// Draws the section in the sidebar; nothing for samples without chunks.
pub fn side_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let t = theme::tokens(ui);
    let Some(places) = panel.chunks.places().cloned() else {
        return;
    };
    let pinned = panel.side.pinned;
    let state = &mut panel.chunks;
    // A pinned pixel selects its chunk.
    if let Some(under) =
        pinned.and_then(|pixel| places.iter().find(|chunk| covers_pixel(chunk, pixel)))
        && !places.iter().any(|chunk| {
            chunk.index == state.chosen && pinned.is_some_and(|pixel| covers_pixel(chunk, pixel))
        })
    {
        state.chosen = under.index;
    }
    widgets::section_header(ui, tr!("Chunks"), |ui| {
        let text = tr_n!(
            places.len(),
            "{n} chunk",
            "{n} chunks",
            n = paint::format_grouped_number(places.len() as u64)
        );
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx3),
        );
    });
    let mut read = false;
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            widgets::checkbox(ui, &mut state.grid, tr!("Show the chunks on the picture"));
            let named: Vec<String> = places
                .iter()
                .take(MAX_LISTED)
                .map(|chunk| format!("{}  {}", chunk.index, rows_text(chunk)))
                .collect();
            let position = places
                .iter()
                .position(|chunk| chunk.index == state.chosen)
                .unwrap_or(0);
            let current = places
                .get(position)
                .map(|chunk| format!("{}  {}", chunk.index, rows_text(chunk)))
                .unwrap_or_default();
            let width = ui.available_width();
            if let Some(index) = widgets::combo(ui, tr!("Chunk"), &current, width, true, &named) {
                state.chosen = places.get(index).map_or(0, |chunk| chunk.index);
            }
            let Some(chunk) = places.get(position) else {
                return;
            };
            let (size, offset) = (
                paint::format_grouped_number(chunk.size),
                paint::format_grouped_number(chunk.offset),
            );
            let stored = match chunk.dtype.as_deref() {
                Some(dtype) => tr!("{size} bytes at {offset}, {dtype}", size, offset, dtype),
                None => tr!(
                    "{size} bytes at {offset}, of a type that is not decoded",
                    size,
                    offset
                ),
            };
            ui.add(
                egui::Label::new(theme::rich_text(stored).font(font::mono(11.0)).color(t.tx2))
                    .wrap(),
            );
            let blocked = state
                .reading
                .is_pending()
                .then_some(tr!("A chunk is being read"));
            let button = Button::secondary(tr!("Read chunk"))
                .icon(icons::DOWNLOAD_SIMPLE)
                .with_disabled_reason(blocked);
            read = ui
                .add(button.tooltip(tr!("Read this range of bytes alone, and decode it")))
                .clicked();
            if let Some(why) = &state.failed {
                widgets::note_ui(ui, &widgets::FieldNote::Error(why.clone()));
            }
            if let Some((index, array)) = state.read.clone() {
                array_ui(ui, state, cx.jobs, index, &array);
            }
        });
    if read && let (Some(path), Some(open)) = (document.path(at), document.opened_dataset()) {
        let state = &mut panel.chunks;
        let chunk = format!("{}::{}", path.to_archive(), state.chosen);
        let (reader, label) = (open.reader.clone(), tr!("Read {chunk}", chunk = &chunk));
        state.failed = None;
        state
            .reading
            .update(cx.jobs, state.chosen, &label, move |ctx| {
                read_chunk(reader.as_ref(), &chunk, ctx)
            });
    }
}

/// Draws the chunk that was read: shape, picture, summary.
fn array_ui(
    ui: &mut Ui,
    state: &mut ChunksState,
    jobs: &crate::jobs::Jobs,
    index: u64,
    array: &Arc<ChunkArray>,
) {
    let t = theme::tokens(ui);
    let [bands, rows, columns] = array.shape;
    let dtype = &array.dtype;
    let text = tr!(
        "Chunk {index}: {bands} × {rows} × {columns}, {dtype}",
        index,
        bands,
        rows,
        columns,
        dtype
    );
    ui.label(
        theme::rich_text(text)
            .font(font::semibold(12.0))
            .color(t.tx),
    );
    let id = ValueId::from_arc(array);
    let work = array.clone();
    state
        .seen
        .update(jobs, id.clone(), tr!("Picture of the chunk"), move |_| {
            Ok(Arc::new(seen_of(&work)))
        });
    let Some(Ok(seen)) = state.seen.get(&id) else {
        return;
    };
    if state.texture.as_ref().is_none_or(|(of, _)| *of != id) {
        state.texture = Some((id, textures::upload(ui.ctx(), "chunk", &seen.image)));
    }
    let ([low, high], mean) = (
        numbers_apart([seen.range.low, seen.range.high]),
        number(seen.range.mean),
    );
    let text = tr!("band 1: {low} to {high}, mean {mean}", low, high, mean);
    ui.label(theme::rich_text(text).font(font::mono(11.0)).color(t.tx2));
    let Some((_, texture)) = &state.texture else {
        return;
    };
    let size = texture.size_vec2();
    let scale = (ui.available_width() / size.x).min(200.0 / size.y);
    let (rect, response) = ui.allocate_exact_size(size * scale, Sense::hover());
    response.widget_info(|| {
        WidgetInfo::labeled(Role::Image, true, tr!("Values of chunk {index}", index))
    });
    let all = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    ui.painter().image(texture.id(), rect, all, Color32::WHITE);
    ui.painter()
        .rect_stroke(rect, 0, Stroke::new(1.0, t.line2), StrokeKind::Outside);
    ui.allocate_exact_size(vec2(1.0, 2.0), Sense::hover());
}

impl ChunkRange {
    fn from_values(values: &[PixelNumber]) -> Self {
        let finite = values
            .iter()
            .copied()
            .filter(|value| value.to_f64().is_finite());
        let count = finite.clone().count().max(1) as f64;
        let mean = finite.clone().map(PixelNumber::to_f64).sum::<f64>() / count;
        let zero = PixelNumber::Integer(0);
        let [low, high] = [
            finite.clone().reduce(PixelNumber::min),
            finite.reduce(PixelNumber::max),
        ]
        .map(|end| end.unwrap_or(zero));
        Self { low, high, mean }
    }
}

/// The first band as grey, or the first three as RGB, stretched from minimum to maximum.
fn seen_of(array: &ChunkArray) -> ChunkPicture {
    let [bands, rows, columns] = array.shape;
    let shown: Vec<Vec<PixelNumber>> = if bands >= 3 {
        (0..3).map(|band| array.band(band)).collect()
    } else {
        vec![array.band(0)]
    };
    let ranges: Vec<ChunkRange> = shown
        .iter()
        .map(|values| ChunkRange::from_values(values))
        .collect();
    let mut data = Vec::with_capacity(rows * columns * 4);
    for at in 0..rows * columns {
        let level = |band: usize| scale_to_byte(shown[band].get(at), &ranges[band]);
        let colours = if shown.len() == 3 {
            [level(0), level(1), level(2)]
        } else {
            [level(0); 3]
        };
        data.extend([colours[0], colours[1], colours[2], 255]);
    }
    ChunkPicture {
        image: Rgba {
            width: columns,
            height: rows,
            data,
        },
        range: ranges[0],
    }
}

/// Scales a value from the ends of its band to a byte; 127 where they are the same.
fn scale_to_byte(value: Option<&PixelNumber>, range: &ChunkRange) -> u8 {
    let [low, high] = [range.low, range.high].map(PixelNumber::to_f64);
    let value = value.map_or(f64::NAN, |value| value.to_f64());
    let part = if high > low {
        (value - low) / (high - low)
    } else {
        0.5
    };
    (part.clamp(0.0, 1.0) * 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AssetPath;

    #[test]
    fn a_chunk_is_seen_from_its_smallest_to_its_largest_value() {
        let array = ChunkArray {
            shape: [1, 1, 3],
            start: [0; 3],
            dtype: "|u1".into(),
            bytes: vec![10, 20, 30],
            place: AssetPath::file("/x"),
        };
        let seen = seen_of(&array);
        assert_eq!(
            seen.range,
            ChunkRange {
                low: PixelNumber::Integer(10),
                high: PixelNumber::Integer(30),
                mean: 20.0
            }
        );
        assert_eq!(seen.image.data[..8], [0, 0, 0, 255, 127, 127, 127, 255]);
        // Undecodable chunks must not panic.
        let broken = ChunkArray {
            bytes: Vec::new(),
            ..array
        };
        assert_eq!(seen_of(&broken).range.mean, 0.0);
    }

    #[test]
    fn a_pixel_lies_in_one_chunk() {
        let chunk = ChunkPlace {
            index: 3,
            start: [0, 128, 256],
            count: [1, 128, 64],
            offset: 0,
            size: 1,
            dtype: None,
        };
        assert!(covers_pixel(&chunk, (256, 128)) && covers_pixel(&chunk, (319, 255)));
        assert!(!covers_pixel(&chunk, (320, 128)) && !covers_pixel(&chunk, (256, 127)));
        assert_eq!(rows_text(&chunk), "rows 128–255, columns 256–319");
    }
}
