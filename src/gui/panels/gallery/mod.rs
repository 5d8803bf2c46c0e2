//! The gallery: a card with a thumbnail for each filtered sample of level 0. Thumbnails are
//! computed in the background, visible ones first, and cached on disk.

mod pictures;
pub mod state;

use std::sync::Arc;

use arrow::array::UInt32Array;
use arrow::compute::{SortOptions, sort_to_indices};
use egui::{
    Align, Frame, Layout, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2,
};

use crate::container::ContainerReader;
use crate::error::{Error, Result};
use crate::gui::action::Action;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, Button, FieldNote, RowsOutput, Segment, VirtualRows, paint};
use crate::gui::{filters, icons};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, is_padding};
use crate::raster::Preset;
use crate::studio::{Document, RowRef};
use pictures::{CardState, Pictures, ThumbnailBands};
use state::{DEFAULT_CARD_SIZE, GalleryPanel, SortedRoots};

/// Height of the line below a thumbnail, in points.
const CAPTION_HEIGHT: f32 = 24.0;
const CARD_GAP: f32 = 10.0;
const MIN_CARD_SIZE: f32 = 84.0;
const MAX_CARD_SIZE: f32 = 300.0;
/// Rows of level 0 in which a sample that is not padding is looked for.
const ROWS_SEARCHED: usize = 1000;
/// Most children of a FOLDER whose FILEs can be chosen.
const CHILDREN_LISTED: usize = 256;

impl Panel for GalleryPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document().filter(|document| document.rows(0) > 0) else {
            let why = tr!("Open a dataset with rasters first.");
            widgets::draw_empty_state(ui, icons::SQUARES_FOUR, tr!("No pictures"), why);
            return;
        };
        refresh_choices(self, cx, document);
        toolbar_ui(ui, self, document);
        filters::bar_ui(ui, cx, document, 0);
        cx.want_level(0);
        if self.files.is_empty() {
            let why = tr!("The first sample holds no FILE.");
            widgets::draw_empty_state(ui, icons::SQUARES_FOUR, tr!("No pictures"), why);
            return;
        }
        let kept = cx.studio.filtered_rows().cloned();
        let kept_rows = kept.as_ref().and_then(|kept| kept.rows(0));
        let key = cx.document_key();
        let mut sorted: Option<Arc<SortedRoots>> = None;
        if let (Some(column), Some(open)) = (self.sort.clone(), document.opened_dataset()) {
            let filtered = kept.as_ref().map(ValueId::from_arc);
            let (reader, kept, name) = (open.reader.clone(), kept.clone(), column.clone());
            self.order.update(
                cx.jobs,
                (key, filtered.clone(), column.clone()),
                tr!("Sort"),
                move |ctx| {
                    let rows = kept.as_ref().and_then(|kept| kept.rows(0));
                    let sorted = sort_roots_by_column(reader.as_ref(), &name, rows, ctx)?;
                    Ok(Arc::new(SortedRoots::new(sorted)))
                },
            );
            match self.order.get(&(key, filtered, column)) {
                Some(Ok(order)) => sorted = Some(order.clone()),
                Some(Err(error)) => {
                    let why = FieldNote::Error(error.summary().to_owned());
                    widgets::note_ui(ui, &why);
                }
                None => {}
            }
        }
        // `None`: a card for each row of level 0, in their order.
        let listed: Option<&[u32]> = sorted.as_ref().map(|sorted| sorted.rows()).or(kept_rows);
        let count = listed.map_or(document.rows(0), <[u32]>::len);
        let row_of = |card: usize| listed.map_or(card as u32, |rows| rows[card]);
        grid_ui(ui, self, cx, document, count, &row_of, &|root| {
            find_card(root, sorted.as_deref(), kept_rows)
        });
    }
}

/// The card of a row of level 0, of which `kept_rows` passed the filters.
fn find_card(root: u32, sorted: Option<&SortedRoots>, kept_rows: Option<&[u32]>) -> Option<usize> {
    match (sorted, kept_rows) {
        (Some(sorted), _) => sorted.find_card(root),
        // Filters keep rows in ascending order.
        (None, Some(rows)) => rows.binary_search(&root).ok(),
        (None, None) => Some(root as usize),
    }
}

/// Brings files, captions, order and thumbnails to the present state of the document.
fn refresh_choices(panel: &mut GalleryPanel, cx: &mut PanelContext<'_>, document: &Document) {
    let key = cx.document_key();
    if panel.shown_document == Some(key) {
        return;
    }
    let files = list_files_of_first_sample(document);
    // Choices survive edits while they remain valid.
    if !files.iter().any(|(path, _)| *path == panel.file) {
        let raster = files
            .iter()
            .find(|(_, name)| is_shown_as_raster(name))
            .or(files.first());
        panel.file = raster.map(|(path, _)| path.clone()).unwrap_or_default();
    }
    panel.files = files;
    let fields = document.fields(0);
    let is_same_document = panel
        .shown_document
        .is_some_and(|(document, _)| document == key.0);
    if is_same_document {
        for column in &mut panel.captions {
            column.take_if(|name| !has_field(&fields, name));
        }
    } else {
        let cloud = fields
            .iter()
            .find(|field| field.name.to_ascii_lowercase().contains("cloud"))
            .map(|field| field.name.clone());
        panel.captions = [
            find_field_name(&fields, &["split", "split:split", "ml:split"]),
            cloud,
        ];
    }
    panel.sort.take_if(|name| !is_sortable(&fields, name));
    panel.pictures = Pictures::new(cx.session.environment.cache_dir.clone());
    panel.shown_document = Some(key);
}

/// True for a name that may be that of a raster: the icon of the file says so, too.
fn is_shown_as_raster(name: &str) -> bool {
    icons::of_file(name) == icons::IMAGE
}

fn has_field(fields: &[FieldSpec], name: &str) -> bool {
    fields.iter().any(|field| field.name == name)
}

/// True for a column by which the cards can be sorted.
fn is_sortable(fields: &[FieldSpec], name: &str) -> bool {
    list_sort_columns(fields).any(|column| column == name)
}

fn list_sort_columns(fields: &[FieldSpec]) -> impl Iterator<Item = &str> {
    let columns = fields.iter().filter(|field| !field.dtype.is_nested());
    std::iter::once("id").chain(columns.map(|field| field.name.as_str()))
}

fn find_field_name(fields: &[FieldSpec], names: &[&str]) -> Option<String> {
    names
        .iter()
        .find(|name| has_field(fields, name))
        .map(|name| (*name).to_owned())
}

/// Name of a file to choose. The file of a sample that is a FILE has none.
fn name_or_sample((path, name): &(Vec<u32>, String)) -> &str {
    if path.is_empty() {
        tr!("the sample itself")
    } else {
        name
    }
}

/// Positions and names of the FILEs of the first sample that is not padding; the name is empty for
/// a sample that is a FILE.
fn list_files_of_first_sample(document: &Document) -> Vec<(Vec<u32>, String)> {
    let tree = document.tree();
    let Some(top) = tree.levels.first() else {
        return Vec::new();
    };
    let first = (0..top.len().min(ROWS_SEARCHED) as u32)
        .find(|&row| !is_padding(top.id(row)))
        .unwrap_or(0);
    let mut found = Vec::new();
    let mut stack = vec![(
        RowRef {
            level: 0,
            row: first,
        },
        Vec::new(),
        Vec::<String>::new(),
    )];
    while let Some((at, path, names)) = stack.pop() {
        let level = &tree.levels[at.level];
        if !level.folder[at.row as usize] {
            found.push((path, names.join(" / ")));
            continue;
        }
        for (position, &row) in level
            .children(at.row)
            .iter()
            .enumerate()
            .take(CHILDREN_LISTED)
            .rev()
        {
            let child = RowRef {
                level: at.level + 1,
                row,
            };
            let id = document.id(child).unwrap_or_default().to_owned();
            let path = path.iter().copied().chain([position as u32]).collect();
            stack.push((child, path, names.iter().cloned().chain([id]).collect()));
        }
    }
    found
}

/// The FILE at these positions below a row of level 0; `None` where there is a FOLDER or nothing.
fn find_file_of_sample(document: &Document, row: u32, path: &[u32]) -> Option<RowRef> {
    let at = document.find_descendant(RowRef { level: 0, row }, path)?;
    let level = document.tree().levels.get(at.level)?;
    (!*level.folder.get(at.row as usize)?).then_some(at)
}

fn sort_roots_by_column(
    reader: &dyn ContainerReader,
    column: &str,
    rows: Option<&[u32]>,
    ctx: &JobContext,
) -> Result<Vec<u32>> {
    let table = match reader.levels().decoded_table(0) {
        Some(table) => table.as_ref().clone(),
        None => reader.levels().columns(0, &[column], ctx)?,
    };
    let index = table
        .column_index(column)
        .ok_or_else(|| Error::usage(format!("there is no column {column}")))?;
    let mut array = table.column(index)?;
    ctx.check()?;
    let sort_error = |error| Error::usage(format!("column {column} has no order")).because(error);
    if let Some(rows) = rows {
        array = arrow::compute::take(array.as_ref(), &UInt32Array::from(rows.to_vec()), None)
            .map_err(sort_error)?;
    }
    let order = sort_to_indices(
        &array,
        Some(SortOptions {
            descending: false,
            nulls_first: false,
        }),
        None,
    )
    .map_err(sort_error)?;
    let indexes = order.values().iter().copied().take(array.len());
    Ok(match rows {
        Some(rows) => indexes
            .map(|index| rows.get(index as usize).copied().unwrap_or(0))
            .collect(),
        None => indexes.collect(),
    })
}

fn toolbar_ui(ui: &mut Ui, panel: &mut GalleryPanel, document: &Document) {
    let t = theme::tokens(ui);
    let opened = document.opened_dataset().is_some();
    let fields = document.fields(0);
    Frame::NONE
        .inner_margin(Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.set_height(26.0);
            ui.horizontal_centered(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                if panel.files.len() > 1 {
                    widgets::draw_control_label(ui, tr!("Show" in "a file of each sample"));
                    let names: Vec<&str> = panel.files.iter().map(name_or_sample).collect();
                    let current = panel
                        .files
                        .iter()
                        .find(|(path, _)| *path == panel.file)
                        .map_or("", name_or_sample);
                    if let Some(index) =
                        widgets::combo(ui, tr!("File of each sample"), current, 104.0, true, &names)
                    {
                        panel.file = panel.files[index].0.clone();
                    }
                }
                widgets::draw_control_label(ui, tr!("as" in "show a file as these bands"));
                let label = |preset: Preset| crate::text::translate_text(preset.label());
                let mut labels = vec![tr!("Best bands")];
                labels.extend(Preset::ALL.map(label));
                let current = panel.preset.map_or(labels[0], label);
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("Bands of the cards"),
                    current,
                    128.0,
                    false,
                    &labels,
                ) {
                    panel.preset = index.checked_sub(1).map(|index| Preset::ALL[index]);
                }
                if opened && ui.available_width() > 330.0 {
                    widgets::draw_control_label(ui, tr!("sort" in "before the order of the cards"));
                    let mut names = vec![tr!("as stored").to_owned()];
                    names.extend(list_sort_columns(&fields).map(str::to_owned));
                    let current = panel.sort.clone().unwrap_or_else(|| names[0].clone());
                    if let Some(index) = widgets::combo(
                        ui,
                        tr!("Order of the cards"),
                        &current,
                        104.0,
                        false,
                        &names,
                    ) {
                        panel.sort = (index > 0).then(|| names[index].clone());
                    }
                }
                if ui.available_width() > 220.0 {
                    widgets::draw_control_label(ui, tr!("stretch"));
                    let choices = [
                        Segment::new(true, tr!("Shared" in "stretch")),
                        Segment::new(false, tr!("Each" in "stretch")),
                    ];
                    let mut shared = panel.has_shared_stretch();
                    if widgets::draw_segments(ui, "gallery-stretch", &mut shared, &choices)
                        .changed()
                    {
                        panel.shared_stretch = Some(shared);
                    }
                }
                captions_ui(
                    ui,
                    &mut panel.captions,
                    &fields
                        .iter()
                        .map(|field| field.name.clone())
                        .collect::<Vec<_>>(),
                );
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let width = ui.available_width().min(150.0);
                    if width > 90.0 {
                        widgets::slider(
                            ui,
                            tr!("Size of the cards"),
                            &mut panel.size,
                            MIN_CARD_SIZE..=MAX_CARD_SIZE,
                            DEFAULT_CARD_SIZE,
                            width,
                        );
                    }
                });
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

fn captions_ui(ui: &mut Ui, captions: &mut [Option<String>; 2], columns: &[String]) {
    let button = ui.add(Button::icon_only(
        icons::COLUMNS,
        tr!("Captions of the cards"),
    ));
    egui::Popup::menu(&button)
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            ui.set_min_width(240.0);
            for (caption, title) in captions
                .iter_mut()
                .zip([tr!("On the picture"), tr!("Below it")])
            {
                ui.horizontal(|ui| {
                    ui.label(theme::rich_text(title).font(font::regular(12.0)));
                    let mut names = vec![tr!("nothing" in "caption of a card").to_owned()];
                    names.extend(columns.iter().cloned());
                    let current = caption.clone().unwrap_or_else(|| names[0].clone());
                    if let Some(index) = widgets::combo(ui, title, &current, 140.0, false, &names) {
                        *caption = (index > 0).then(|| names[index].clone());
                    }
                });
            }
        });
}

fn grid_ui(
    ui: &mut Ui,
    panel: &mut GalleryPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    count: usize,
    row_of: &dyn Fn(usize) -> u32,
    card_of: &dyn Fn(u32) -> Option<usize>,
) {
    let width = ui.available_width() - 2.0 * CARD_GAP;
    let size = panel.size.clamp(MIN_CARD_SIZE, MAX_CARD_SIZE);
    let across = (((width + CARD_GAP) / (size + CARD_GAP)).floor() as usize).max(1);
    let card_width = (width - CARD_GAP * (across - 1) as f32) / across as f32;
    let height = card_width * 0.9 + CAPTION_HEIGHT + 4.0;
    let lines = count.div_ceil(across);
    let mut requests = Vec::new();
    let mut scroll = panel.scroll;
    let selected = cx.session.selection.sample;
    let has_shared_stretch = panel.has_shared_stretch();
    let mut pictures = std::mem::take(&mut panel.pictures);
    let bands = panel
        .preset
        .map_or(ThumbnailBands::Best, ThumbnailBands::Preset);
    pictures.begin_frame(has_shared_stretch);
    let root = selected.and_then(|at| document.node(at)?.0.first().copied());
    let current = root.and_then(card_of).filter(|index| *index < count);
    let list = VirtualRows::new(tr!("Gallery"), lines as u64)
        .row_height(height)
        .sense(Sense::hover());
    let list = list.cursor(current.map(|index| (index / across) as u64));
    let mut clicked = false;
    let out = list.show(ui, &mut scroll, |ui, line, rect, response| {
        let first = line * across as u64 + 1;
        response
            .widget_info(|| WidgetInfo::labeled(Role::Row, true, tr!("Cards from {first}", first)));
        for column in 0..across {
            let index = line as usize * across + column;
            if index >= count {
                break;
            }
            let row = row_of(index);
            let left = rect.left() + CARD_GAP + column as f32 * (card_width + CARD_GAP);
            let card =
                Rect::from_min_size(pos2(left, rect.top() + 6.0), vec2(card_width, height - 6.0));
            clicked |= card_ui(
                ui,
                document,
                panel,
                &mut pictures,
                row,
                &bands,
                card,
                selected,
                &mut requests,
            );
        }
    });
    if clicked {
        out.response.request_focus();
    }
    if let Some(index) = find_card_after_keys(&out, current, across, count) {
        scroll.reveal((index / across) as u64);
        let row = row_of(index);
        requests.push(Request::Select(Some(
            find_file_of_sample(document, row, &panel.file).unwrap_or(RowRef { level: 0, row }),
        )));
    }
    if out.entered && current.is_some() {
        requests.push(Request::Do(Action::ShowPreview));
    }
    // Prefetch the thumbnails of the following screens.
    for line in out.visible.end
        ..(out.visible.end + 2 * (out.visible.end - out.visible.start)).min(lines as u64)
    {
        for index in (line as usize * across..(line as usize + 1) * across)
            .take_while(|&index| index < count)
        {
            if let Some(at) = find_file_of_sample(document, row_of(index), &panel.file) {
                pictures.queue_prefetch(at, &bands);
            }
        }
    }
    pictures.start_jobs(cx.jobs, document);
    panel.pictures = pictures;
    panel.scroll = scroll;
    cx.requests.extend(requests);
}

/// The card that the arrow keys move to from the `current` one; `None` when none was pressed.
fn find_card_after_keys(
    out: &RowsOutput,
    current: Option<usize>,
    across: usize,
    count: usize,
) -> Option<usize> {
    let last = count.checked_sub(1)?;
    match (out.moved_to, out.sideways, current) {
        (None, 0, _) => None,
        (_, _, None) => Some(0),
        (Some(line), _, Some(current)) => {
            Some((line as usize * across + current % across).min(last))
        }
        (None, step, Some(current)) => Some(current.saturating_add_signed(step.into()).min(last)),
    }
}

/// Draws a card. True when it was clicked.
#[expect(clippy::too_many_arguments, reason = "one card with all that it shows")]
fn card_ui(
    ui: &mut Ui,
    document: &Document,
    panel: &GalleryPanel,
    pictures: &mut Pictures,
    row: u32,
    bands: &ThumbnailBands,
    card: Rect,
    selected: Option<RowRef>,
    requests: &mut Vec<Request>,
) -> bool {
    let t = theme::tokens(ui);
    let at = RowRef { level: 0, row };
    let id = document.id(at).unwrap_or_default();
    let file = find_file_of_sample(document, row, &panel.file);
    let is_selected = selected == Some(at) || (selected.is_some() && selected == file);
    let response = ui.interact(card, ui.scope_id().with(("card", row)), Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(Role::ListBoxOption, true, is_selected, tr!("Card {id}", id))
    });
    let (picture, caption) = card.split_top_bottom_at_y(card.bottom() - CAPTION_HEIGHT);
    let painter = ui.painter().with_clip_rect(ui.clip_rect());
    match file {
        None => {
            painter.rect_filled(picture, 4, t.bg2);
            paint::draw_icon(&painter, picture.center(), icons::FILE, 20.0, t.txd);
        }
        Some(file) => match pictures.get(ui.ctx(), file, bands) {
            CardState::Picture(texture) => {
                crate::gui::panels::preview::siblings::picture(&painter, picture, texture)
            }
            CardState::Waiting => {
                painter.rect_filled(picture, 4, t.bg2);
                paint::draw_icon(
                    &painter,
                    picture.center() - vec2(0.0, 8.0),
                    icons::CIRCLE_NOTCH,
                    16.0,
                    t.tx3,
                );
                let line = Rect::from_center_size(
                    picture.center() + vec2(0.0, 12.0),
                    vec2(picture.width() - 8.0, 16.0),
                );
                paint::text_center(&painter, line, tr!("reading"), font::regular(11.0), t.tx3);
            }
            CardState::File(tile) => {
                let kind = crate::text::translate_text(tile.kind);
                ui.ctx()
                    .accesskit_node_builder(response.id, |node| node.set_description(kind));
                tile_ui(
                    &painter,
                    t,
                    picture,
                    tile,
                    document.id(file).unwrap_or_default(),
                );
            }
            CardState::Failed(why) => {
                let why = why.to_owned();
                failed_ui(ui, pictures, file, bands, picture, &why);
            }
        },
    }
    let (width, color) = if is_selected {
        (2.0, t.accfill)
    } else if response.hovered() {
        (1.0, t.ctl)
    } else {
        (0.0, t.line2)
    };
    if width > 0.0 {
        painter.rect_stroke(
            picture.expand(1.0),
            4,
            Stroke::new(width, color),
            StrokeKind::Outside,
        );
    }
    if let Some(text) = read_caption(document, at, panel.captions[0].as_deref()) {
        let galley = paint::layout_cut_line(
            &painter,
            &text,
            font::medium(11.0),
            t.tx,
            picture.width() * 0.7,
        );
        let badge = Rect::from_min_size(
            pos2(
                picture.right() - galley.size().x - 16.0,
                picture.top() + 5.0,
            ),
            vec2(galley.size().x + 11.0, 18.0),
        );
        painter.rect_filled(badge, 4, t.bg2.gamma_multiply(0.88));
        painter.galley(badge.center() - galley.size() / 2.0, galley, t.tx);
    }
    let mut right = caption.right();
    if let Some(text) = read_caption(document, at, panel.captions[1].as_deref()) {
        right = paint::text_right(
            &painter,
            caption.with_min_x(caption.center().x),
            &text,
            font::mono(11.0),
            t.tx2,
        ) - 6.0;
    }
    paint::text_left(
        &painter,
        caption.with_max_x(right),
        id,
        font::mono(12.0),
        if is_selected { t.acc } else { t.tx },
    );
    paint::focus_ring(ui, &response, 4);
    if response.clicked() {
        requests.push(Request::Select(Some(file.unwrap_or(at))));
    }
    if response.double_clicked() {
        requests.push(Request::Do(Action::ShowPreview));
    }
    response.clicked()
}

/// The text of a column for a caption; `None` when it is empty.
fn read_caption(document: &Document, at: RowRef, column: Option<&str>) -> Option<String> {
    column
        .map(|column| document.text(at, column))
        .filter(|text| !text.is_empty())
}

/// Draws a file without a picture: its kind, first lines and size.
fn tile_ui(
    painter: &egui::Painter,
    t: &theme::ThemeTokens,
    picture: Rect,
    tile: &pictures::FileTile,
    id: &str,
) {
    let painter = painter.with_clip_rect(painter.clip_rect().intersect(picture));
    if tile.size == 0 {
        painter.extend(egui::Shape::dashed_line(
            &[
                picture.left_top(),
                picture.right_top(),
                picture.right_bottom(),
                picture.left_bottom(),
                picture.left_top(),
            ],
            Stroke::new(1.0, t.line),
            4.0,
            3.0,
        ));
        paint::text_center(
            &painter,
            picture,
            crate::text::translate_text(tile.kind),
            font::regular(11.0),
            t.tx3,
        );
        return;
    }
    painter.rect_filled(picture, 4, t.bg2);
    let inner = picture.shrink(8.0);
    let head = inner.with_max_y(inner.top() + 16.0);
    paint::draw_icon(
        &painter,
        head.left_center() + vec2(7.0, 0.0),
        icons::of_file(id),
        13.0,
        t.tx3,
    );
    paint::text_left(
        &painter,
        head.with_min_x(head.left() + 20.0),
        crate::text::translate_text(tile.kind),
        font::medium(11.0),
        t.tx2,
    );
    let foot = inner.with_min_y(inner.bottom() - 14.0);
    for (index, line) in tile.lines.iter().enumerate() {
        let top = head.bottom() + 4.0 + index as f32 * 12.0;
        if top + 12.0 > foot.top() {
            break;
        }
        let place = Rect::from_min_size(pos2(inner.left(), top), vec2(inner.width(), 12.0));
        paint::text_left(&painter, place, line, font::mono(9.5), t.tx3);
    }
    paint::text_left(
        &painter,
        foot,
        &paint::format_bytes(tile.size),
        font::regular(11.0),
        t.tx3,
    );
}

fn failed_ui(
    ui: &mut Ui,
    pictures: &mut Pictures,
    file: RowRef,
    bands: &ThumbnailBands,
    picture: Rect,
    why: &str,
) {
    let t = theme::tokens(ui);
    let painter = ui
        .painter()
        .with_clip_rect(ui.clip_rect().intersect(picture));
    painter.rect_filled(picture, 4, t.errbg);
    paint::draw_icon(
        &painter,
        picture.center() - vec2(0.0, 22.0),
        icons::WARNING_OCTAGON,
        16.0,
        t.err,
    );
    let line = Rect::from_center_size(picture.center(), vec2(picture.width() - 12.0, 16.0));
    paint::text_center(&painter, line, why, font::regular(11.0), t.err);
    let retry = Rect::from_center_size(picture.center() + vec2(0.0, 20.0), vec2(40.0, 18.0));
    let response = ui.interact(
        retry,
        ui.scope_id().with(("retry", file.level, file.row)),
        Sense::click(),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Link, true, tr!("Retry picture")));
    paint::text_center(&painter, retry, tr!("Retry"), font::regular(12.0), t.info);
    if response.on_hover_text(theme::rich_text(why)).clicked() {
        pictures.forget(file, bands);
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    #[test]
    fn a_column_that_a_document_lacks_is_no_order_of_its_cards() {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
        let fields = [
            FieldSpec::new("cloud_cover", DataType::Float64),
            FieldSpec::new("bands", list),
        ];
        let sortable = |name: &str| is_sortable(&fields, name);
        assert!(sortable("id") && sortable("cloud_cover"));
        assert!(!sortable("bands") && !sortable("river"));
    }

    #[test]
    fn the_card_of_a_row_is_that_of_the_order_or_of_the_filter() {
        let sorted = SortedRoots::new(vec![7, 0, 3]);
        let kept = [0, 3, 7];
        assert_eq!(find_card(3, Some(&sorted), Some(&kept)), Some(2));
        assert_eq!(find_card(3, None, Some(&kept)), Some(1));
        assert_eq!(find_card(4, None, Some(&kept)), None);
        assert_eq!(find_card(4, None, None), Some(4));
    }
}
