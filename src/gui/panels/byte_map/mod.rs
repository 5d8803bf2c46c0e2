//! The byte map of a container: each cell is a range of the file, coloured by its content; hovering
//! names the sample.

pub mod state;

use std::sync::Arc;

use egui::{
    Color32, Frame, Margin, Mesh, Pos2, Rect, Role, Sense, Shape, Stroke, StrokeKind, Ui, Vec2,
    WidgetInfo, pos2, vec2,
};

use crate::container::Physical;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, paint};
use crate::model::SamplePath;
use crate::ops::{ByteLayout, BytePart, byte_layout};
use crate::studio::{Document, RowRef};
use state::ByteMapPanel;

const CELL: f32 = 8.0;
const GAP: f32 = 1.0;

fn colour(part: BytePart, t: &ThemeTokens) -> Color32 {
    match part {
        BytePart::Header => t.acc,
        BytePart::Data => t.info.gamma_multiply(0.75),
        BytePart::Meta => t.keyword,
        BytePart::Parquet => t.ok,
        BytePart::Collection => t.warn,
        BytePart::Other => t.tx3,
        BytePart::Directory => t.tx2,
        BytePart::Gap => t.err,
    }
}

impl Panel for ByteMapPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return widgets::draw_empty_state(
                ui,
                icons::MEMORY,
                tr!("No bytes"),
                tr!("Open a dataset first."),
            );
        };
        let Some(open) = document.opened_dataset() else {
            return widgets::draw_empty_state(
                ui,
                icons::MEMORY,
                tr!("A draft has no bytes yet"),
                tr!("Write the draft, then open it."),
            );
        };
        let key = cx.document_key();
        if self.made_for != Some(key) {
            *self = ByteMapPanel {
                made_for: Some(key),
                ..ByteMapPanel::default()
            };
        }
        if matches!(open.reader.physical(), Physical::Tacocat(_)) {
            let reader = open.reader.clone();
            self.parts.update(cx.jobs, key, tr!("Parts"), move |ctx| {
                match reader.physical() {
                    Physical::Tacocat(index) => Ok(index
                        .part_names(ctx)?
                        .iter()
                        .map(|name| name.to_string())
                        .collect()),
                    _ => Ok(Vec::new()),
                }
            });
        }
        let (reader, part) = (open.reader.clone(), self.part.clone());
        self.layout.update(
            cx.jobs,
            (key, part.clone()),
            tr!("Layout of the bytes"),
            move |ctx| byte_layout(reader.as_ref(), part.as_deref(), ctx).map(Arc::new),
        );
        let layout = match self.layout.get(&(key, self.part.clone())) {
            Some(Ok(layout)) => layout.clone(),
            Some(Err(error)) => {
                let why = error.to_string();
                return widgets::draw_empty_state(
                    ui,
                    icons::MEMORY,
                    tr!("No map of the bytes"),
                    &why,
                );
            }
            None => {
                widgets::spinner(ui, 24.0);
                return;
            }
        };
        head_ui(ui, self, &layout);
        let area = ui.available_rect_before_wrap();
        let side = if area.width() > 620.0 { 270.0 } else { 0.0 };
        let (map, list) = area.split_left_right_at_x(area.right() - side);
        map_ui(ui, self, cx, document, &layout, map.shrink(8.0));
        if side > 0.0 {
            list_ui(ui, &layout, list);
        }
    }
}

fn head_ui(ui: &mut Ui, panel: &mut ByteMapPanel, layout: &ByteLayout) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(10, 5))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
            if let Some(parts) = panel.parts.latest().filter(|parts| !parts.is_empty()) {
                let current = panel.part.clone().unwrap_or_else(|| parts[0].clone());
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("Part of the dataset"),
                    &current,
                    210.0,
                    true,
                    parts,
                ) {
                    panel.part = Some(parts[index].clone());
                }
            }
            let (size, members) = (
                paint::format_bytes(layout.size_bytes),
                paint::format_grouped_number(layout.members),
            );
            let aligned = paint::format_grouped_number(layout.aligned);
            let text = if layout.data_first { tr!(
                    "{size} in {members} members, data before tables, {aligned} of them begin at a \
                        multiple of 64 bytes",
                    size,
                    members,
                    aligned
                ) } else { tr!(
                    "{size} in {members} members, tables before data, {aligned} of them begin at a \
                        multiple of 64 bytes",
                    size,
                    members,
                    aligned
                ) };
            let text = theme::rich_text(text).text_style(text_style("small12")).color(t.tx2);
            ui.add(egui::Label::new(text).truncate());
        });
        });
}

/// The content kind of each cell: the kind with the most bytes; gaps and tables take precedence
/// over data, so that small ones show.
fn cells_of(layout: &ByteLayout, count: usize) -> Vec<BytePart> {
    let mut cells = Vec::with_capacity(count);
    let mut index = 0;
    for cell in 0..count as u128 {
        let from = (u128::from(layout.size_bytes) * cell / count as u128) as u64;
        let to =
            ((u128::from(layout.size_bytes) * (cell + 1) / count as u128) as u64).max(from + 1);
        while layout
            .stretches
            .get(index)
            .is_some_and(|stretch| stretch.to <= from)
        {
            index += 1;
        }
        let mut best = BytePart::Data;
        let mut look = index;
        while let Some(stretch) = layout
            .stretches
            .get(look)
            .filter(|stretch| stretch.from < to)
        {
            if stretch.part != BytePart::Data {
                best = stretch.part;
                break;
            }
            look += 1;
        }
        cells.push(best);
    }
    cells
}

fn map_ui(
    ui: &mut Ui,
    panel: &mut ByteMapPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    layout: &Arc<ByteLayout>,
    rect: Rect,
) {
    let t = theme::tokens(ui);
    let step = CELL + GAP;
    let (columns, rows) = (
        (rect.width() / step).floor() as usize,
        (rect.height() / step).floor() as usize,
    );
    let response = ui.interact(rect, ui.scope_id().with("byte-map"), Sense::click());
    response.widget_info(|| {
        WidgetInfo::labeled(
            Role::Image,
            true,
            tr!("Bytes of {file}", file = &layout.file),
        )
    });
    if columns == 0 || rows == 0 {
        return;
    }
    let count = (columns * rows).min(layout.size_bytes.max(1) as usize);
    let id = ValueId::from_arc(layout);
    if panel
        .cells
        .as_ref()
        .is_none_or(|(of, wide, high, _)| (of, *wide, *high) != (&id, columns, rows))
    {
        panel.cells = Some((id.clone(), columns, rows, Arc::new(cells_of(layout, count))));
    }
    let Some(cells) = panel.cells.as_ref().map(|(.., cells)| cells.clone()) else {
        return;
    };
    let mut mesh = Mesh::default();
    for (cell, part) in cells.iter().enumerate() {
        mesh.add_colored_rect(place_cell(rect.min, columns, cell), colour(*part, t));
    }
    let painter = ui.painter_at(rect);
    painter.add(Shape::mesh(mesh));
    let byte_of =
        |cell: usize| (u128::from(layout.size_bytes) * cell as u128 / count as u128) as u64;
    // The byte range of the selected sample, searched among all members.
    let selected = cx
        .session
        .selection
        .sample
        .and_then(|at| Some((at, format!("DATA/{}", document.path(at)?.to_archive()))));
    let marked = &mut panel.marked;
    if let Some((at, name)) = selected.clone() {
        let layout = layout.clone();
        marked.update(
            cx.jobs,
            (id.clone(), at),
            tr!("Place of the sample"),
            move |_| {
                let own = layout
                    .stretches
                    .iter()
                    .find(|stretch| *stretch.name == *name);
                Ok(own.map(|own| (own.from, own.to)))
            },
        );
    }
    let own = selected.and_then(|(at, _)| match marked.get(&(id, at)) {
        Some(Ok(own)) => *own,
        _ => None,
    });
    if let Some((from, to)) = own {
        for cell in 0..count {
            if byte_of(cell) < to && byte_of(cell + 1) > from {
                painter.rect_stroke(
                    place_cell(rect.min, columns, cell),
                    0,
                    Stroke::new(1.5, t.tx),
                    StrokeKind::Outside,
                );
            }
        }
    }
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let at = (pointer - rect.min) / step;
    let cell = at.y as usize * columns + (at.x as usize).min(columns - 1);
    if cell >= count {
        return;
    }
    let (from, to) = (byte_of(cell), byte_of(cell + 1).max(byte_of(cell) + 1));
    let first = layout
        .stretches
        .partition_point(|stretch| stretch.to <= from);
    let inside: Vec<_> = layout.stretches[first..]
        .iter()
        .take_while(|stretch| stretch.from < to)
        .collect();
    let Some(stretch) = inside
        .iter()
        .find(|stretch| stretch.part == cells[cell])
        .or(inside.first())
        .copied()
    else {
        return;
    };
    painter.rect_stroke(
        place_cell(rect.min, columns, cell),
        0,
        Stroke::new(1.5, t.accfill),
        StrokeKind::Outside,
    );
    let what = if stretch.name.is_empty() {
        crate::text::translate_text(stretch.part.label())
    } else {
        &stretch.name
    };
    let what = match inside.len().saturating_sub(1) {
        0 => what.to_owned(),
        others => tr_n!(
            others,
            "{what}, and {n} more here",
            "{what}, and {n} more here",
            what,
            n = others
        ),
    };
    let (first, last) = (
        paint::format_grouped_number(stretch.from),
        paint::format_grouped_number(stretch.to - 1),
    );
    let range = tr!(
        "bytes {first} to {last}, {size}",
        first,
        last,
        size = paint::format_bytes(stretch.to - stretch.from)
    );
    let sample = sample_of(document, &stretch.name);
    if response.clicked() && sample.is_some() {
        cx.request(Request::Select(sample));
    }
    response.on_hover_text_at_pointer(theme::rich_text(format!("{what}\n{range}")));
}

/// The square of a cell in rows of `columns` cells from the corner `origin`.
fn place_cell(origin: Pos2, columns: usize, cell: usize) -> Rect {
    let at = vec2((cell % columns) as f32, (cell / columns) as f32) * (CELL + GAP);
    Rect::from_min_size(origin + at, Vec2::splat(CELL))
}

/// The sample stored in a member.
fn sample_of(document: &Document, name: &str) -> Option<RowRef> {
    let path = name.strip_prefix("DATA/")?;
    let path = path.strip_suffix("/__meta__").unwrap_or(path);
    let (level, row) = document.tree().find(&SamplePath::parse(path))?;
    Some(RowRef { level, row })
}

fn list_ui(ui: &mut Ui, layout: &ByteLayout, rect: Rect) {
    let t = theme::tokens(ui);
    ui.painter()
        .vline(rect.left() + 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    let mut line = Rect::from_min_size(rect.min + vec2(12.0, 4.0), vec2(rect.width() - 24.0, 20.0));
    for part in BytePart::ALL {
        let (count, bytes) = layout.sum(part);
        if count == 0 && part != BytePart::Gap {
            continue;
        }
        let square =
            Rect::from_center_size(pos2(line.left() + 5.0, line.center().y), vec2(10.0, 10.0));
        ui.painter().rect_filled(square, 1, colour(part, t));
        let what = crate::text::translate_text(part.label());
        let text = match count {
            0 => what.to_owned(),
            count => format!("{} {what}", paint::format_grouped_number(count)),
        };
        paint::text_left(
            ui.painter(),
            line.with_min_x(line.left() + 18.0),
            &text,
            font::regular(12.0),
            t.tx2,
        );
        let size = if count == 0 {
            tr!("none" in "bytes of a kind").to_owned()
        } else {
            paint::format_bytes(bytes)
        };
        paint::text_right(ui.painter(), line, &size, font::mono(11.5), t.tx);
        let response = ui.interact(
            line,
            ui.scope_id().with(("bytes-part", part.label())),
            Sense::hover(),
        );
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("{text}: {size}")));
        line = line.translate(vec2(0.0, 20.0));
    }
}
