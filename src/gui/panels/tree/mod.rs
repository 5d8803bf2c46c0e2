//! The hierarchy: every sample as a tree, with filters and marks.

pub mod drop_target;
pub mod state;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use egui::{Frame, Margin, Ui, vec2};

use crate::gui::action::Action;
use crate::gui::draft_structure::{RootCells, StructureSummary};
use crate::gui::drag::{self, Dragged, DropTarget};
use crate::gui::outline::{self, Gap, Outline, ancestors};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::panels::{structure, tray};
use crate::gui::sample_status::SampleStatus;
use crate::gui::theme::{self, font, text_style};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::{self, EmptyState, Segment, StatusMark, TextField, Tone, TreeRow, paint};
use crate::gui::{dropped_paths, filters, icons};
use crate::model::{SampleKind, is_padding};
use crate::query::Filter;
use crate::studio::{Command, Document, RowRef};
use state::{Show, TreePanel};

/// Largest range that Shift selects, in rows.
const MARKED_MAX: u64 = 100_000;

impl TreePanel {
    /// Unfolds the FOLDERs above a sample and scrolls to it.
    pub fn show(&mut self, document: &Document, at: RowRef) {
        self.open.extend(ancestors(document.tree(), at));
        self.root_open = true;
        self.changes += 1;
        self.reveal = Some(at);
    }

    fn toggle(&mut self, at: Option<RowRef>) {
        match at {
            None => self.root_open = !self.root_open,
            Some(at) => {
                if !self.open.remove(&at) {
                    self.open.insert(at);
                }
            }
        }
        self.changes += 1;
    }
}

impl Panel for TreePanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            let state = EmptyState {
                icon: icons::TREE_STRUCTURE,
                title: tr!("Nothing is open"),
                why: tr!("Drop files or folders into the window, or open a dataset."),
                actions: &[tr!("Open file…")],
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                cx.request(Request::Do(Action::OpenFile));
            }
            return;
        };
        Frame::NONE
            .inner_margin(Margin::symmetric(8, 8))
            .show(ui, |ui| filter_ui(ui, self, cx));
        let area = ui.available_rect_before_wrap();
        let foot = if document.opened_dataset().is_some() {
            96.0
        } else {
            tray::height(&mut self.tray, cx, document, area.height())
        };
        let (upper, lower) = area.split_top_bottom_at_y(area.bottom() - foot);
        structure::update_summary(cx);
        refresh(self, cx, document);
        ui.scope_builder(egui::UiBuilder::new().max_rect(upper), |ui| {
            tree_ui(ui, self, cx, document)
        });
        ui.scope_builder(egui::UiBuilder::new().max_rect(lower), |ui| match document
            .opened_dataset()
        {
            Some(_) => source_ui(ui, cx, document),
            None => tray::ui(ui, &mut self.tray, cx, document),
        });
    }
}

fn filter_ui(ui: &mut Ui, panel: &mut TreePanel, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    ui.spacing_mut().item_spacing.y = 6.0;
    let id = egui::Id::unique("hierarchy-filter");
    TextField::new(tr!("Filter ids"), &mut panel.filter)
        .id(id)
        .hide_label()
        .quiet()
        .icon(icons::FUNNEL)
        .hint(tr!("Filter ids, e.g. roi_00* or t02"))
        .show(ui);
    let problems = cx.session.status.samples.count_samples_with_findings();
    let padded = cx.session.totals().padded;
    let mut segments = vec![Segment::new(Show::All, tr!("All" in "samples"))];
    if problems > 0 || panel.show == Show::Problems {
        let segment = Segment::new(Show::Problems, tr!("With problems"))
            .icon(icons::WARNING_OCTAGON, Some(t.err));
        segments.push(segment.count(problems));
    }
    if padded > 0 || panel.show == Show::Padded {
        let segment =
            Segment::new(Show::Padded, tr!("Padded" in "samples")).icon(icons::CIRCLE_DASHED, None);
        segments.push(segment.count(padded));
    }
    if segments.len() > 1 {
        let width = ui.available_width();
        widgets::segmented_within(ui, "hierarchy-show", &mut panel.show, &segments, width);
    }
}

/// Rebuilds the outline when the document, the folding or the filter has changed.
fn refresh(panel: &mut TreePanel, cx: &mut PanelContext<'_>, document: &Document) {
    let key = cx.document_key();
    let status = cx.session.status.samples.clone();
    let kept = cx.studio.filtered_rows().cloned();
    let summary = cx.session.structure.summary.clone();
    follow_chip(panel, cx);
    panel.follow(cx.session.serial, document.tree(), cx.jobs);
    cx.session.selection.clear_marked_after_change(key);
    if panel.filter.trim().is_empty() && panel.show == Show::All && kept.is_none() {
        let wanted = Some((key, panel.changes, ValueId::from_arc(&summary)));
        if panel.made_for != wanted {
            let cells = RefCell::new(std::mem::take(&mut cx.session.structure.cells));
            let gaps = |at| structure::gaps(document, &summary, &mut cells.borrow_mut(), at);
            panel.outline = Arc::new(Outline::new(
                document.tree(),
                panel.root_open,
                &panel.open,
                &gaps,
            ));
            cx.session.structure.cells = cells.into_inner();
            panel.made_for = wanted;
        }
        return apply_filter(panel, cx, document, None);
    }
    panel.made_for = None;
    let (filter, show) = (panel.filter.trim().to_owned(), panel.show);
    let tree = document.tree().clone();
    let of = kept.as_ref().map(ValueId::from_arc);
    // With the dataset's filter alone, folded FOLDERs stay folded.
    let folded = filter.is_empty() && show == Show::All;
    let open = folded.then(|| (panel.root_open, panel.open.clone()));
    let wanted = (
        key,
        filter.clone(),
        show,
        ValueId::from_arc(&status),
        of,
        if folded { panel.changes } else { 0 },
    );
    let work_status = status.clone();
    panel
        .filtered
        .update(cx.jobs, wanted, tr!("Filter"), move |ctx| {
            ctx.check()?;
            let stays = |at: RowRef| kept.as_ref().is_none_or(|kept| kept.contains(at));
            if let Some((root_open, open)) = open {
                return Ok((
                    Arc::new(Outline::from_matching_rows(outline::keep_open(
                        &tree, root_open, &open, stays,
                    ))),
                    None,
                ));
            }
            let problems: std::collections::HashSet<RowRef> = match show {
                Show::Problems => work_status.samples_with_findings().collect(),
                _ => Default::default(),
            };
            let mut highest: Option<usize> = None;
            let rows = outline::keep(&tree, |at, id| {
                if !filter.is_empty() {
                    if !outline::matches(&filter, id) {
                        return false;
                    }
                    highest = Some(highest.map_or(at.level, |known| known.min(at.level)));
                }
                let shown = match show {
                    Show::All => true,
                    Show::Problems => problems.contains(&at),
                    Show::Padded => is_padding(id),
                };
                shown && stays(at)
            });
            Ok((Arc::new(Outline::from_matching_rows(rows)), highest))
        });
    if let Some((found, _)) = panel.filtered.latest() {
        panel.outline = found.clone();
    }
    if !panel.filtered.is_pending() {
        let highest = panel.filtered.latest().and_then(|(_, highest)| *highest);
        apply_filter(panel, cx, document, highest);
    }
}

/// Clears the field when its filter was removed elsewhere, as by the cross of its chip.
fn follow_chip(panel: &mut TreePanel, cx: &mut PanelContext<'_>) {
    let removed = |(_, filter): &(String, Filter)| !cx.studio.filters().contains(filter);
    if cx.session.id_filter.as_ref().is_some_and(removed) {
        cx.session.id_filter = None;
        panel.filter.clear();
    }
}

/// Makes the typed filter one of the filters of an opened dataset, on the highest level where an id
/// matches.
fn apply_filter(
    panel: &mut TreePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    highest: Option<usize>,
) {
    let text = panel.filter.trim().to_owned();
    let wanted = (!text.is_empty()).then(|| {
        (
            text.clone(),
            filters::of_ids(&text).at_level(highest.unwrap_or(0)),
        )
    });
    if document.opened_dataset().is_none() || cx.session.id_filter == wanted {
        return;
    }
    let mut list = cx.studio.filters().to_vec();
    if let Some((_, old)) = &cx.session.id_filter {
        list.retain(|filter| filter != old);
    }
    list.extend(wanted.iter().map(|(_, filter)| filter.clone()));
    cx.session.id_filter = wanted;
    cx.run(Command::Filter { filters: list });
}

fn tree_ui(ui: &mut Ui, panel: &mut TreePanel, cx: &mut PanelContext<'_>, document: &Document) {
    let tree = document.tree();
    let outline = panel.outline.clone();
    if let Some(at) = panel.reveal.take()
        && let Some(row) = outline.find(tree, at)
    {
        panel.scroll.reveal(row);
    }
    let selected = cx.session.selection.sample;
    let cursor = match selected {
        None => Some(0),
        Some(at) => {
            let cell = cx.session.selection.cell;
            let slot = cell.and_then(|(root, position)| outline.find_gap(root, position));
            slot.or_else(|| outline.find(tree, at))
        }
    };
    let status = cx.session.status.samples.clone();
    let (open, root_open) = (&panel.open, panel.root_open);
    let filtered = !panel.filter.trim().is_empty() || panel.show != Show::All;
    let mut scroll = panel.scroll;
    let draft = document.draft().is_some();
    let summary = cx.session.structure.summary.clone();
    let marked = &cx.session.selection.marked;
    let carried = drag::dragged_payload(ui.ctx()).filter(|_| draft);
    let shown = ShownTree {
        document,
        outline: &outline,
        summary: &summary,
        cells: RefCell::new(std::mem::take(&mut cx.session.structure.cells)),
        status: &status,
        open,
        is_root_open: root_open,
        is_filtered: filtered,
        marked,
        carried: carried.as_deref(),
    };
    let mut actions = TreeActions::default();
    // Sizes come from the level tables.
    let deepest = open.iter().next_back().map_or(0, |at| at.level + 1);
    let out = widgets::tree(
        ui,
        tr!("Samples"),
        &mut scroll,
        outline.rows(),
        cursor,
        |row| shown.make_row(row),
        |ui, row, rect, response| actions.touch_row(ui, &shown, row, rect, response),
    );
    panel.scroll = scroll;
    cx.session.structure.cells = shown.cells.into_inner();
    cx.requests.extend(actions.requests);
    if let Some(at) = actions.begun {
        drop_target::begin(ui.ctx(), cx, document, at);
    }
    if let Some((what, target)) = actions.dropped {
        drag::perform_drop(cx, document, &what, &target);
    }
    for level in 0..=deepest.min(tree.levels.len().saturating_sub(1)) {
        cx.want_level(level);
    }
    if let Some(row) = out.toggled.filter(|_| !filtered) {
        panel.toggle(outline.node(tree, row).at);
    }
    if let Some(row) = out.selected {
        select(ui, cx, document, &outline, cursor, row);
    }
    if out.to_parent
        && let Some(at) = selected
    {
        cx.request(Request::Select(ancestors(tree, at).pop()));
    }
    if let Some(row) = out.activated {
        let node = outline.node(tree, row);
        match node.at.and_then(|at| document.kind(at)) {
            _ if node.gap.is_some() => cx.request(Request::Do(Action::Place)),
            Some(SampleKind::File) => cx.request(Request::Do(Action::ShowPreview)),
            _ if !filtered => panel.toggle(node.at),
            _ => {}
        }
    }
}

/// What the rows of the tree are made of.
struct ShownTree<'a> {
    document: &'a Document,
    outline: &'a Outline,
    summary: &'a StructureSummary,
    /// Filled as the rows are made.
    cells: RefCell<RootCells>,
    status: &'a SampleStatus,
    open: &'a BTreeSet<RowRef>,
    is_root_open: bool,
    /// All samples are unfolded.
    is_filtered: bool,
    marked: &'a BTreeSet<RowRef>,
    /// What is dragged over a draft.
    carried: Option<&'a Dragged>,
}

impl ShownTree<'_> {
    fn make_row(&self, row: u64) -> TreeRow {
        let node = self.outline.node(self.document.tree(), row);
        match (node.gap, node.at) {
            (Some(gap), _) => gap_row(self.summary, node.depth, gap, self.carried.is_some()),
            // While the filter runs again, the outline may be older than the tree.
            (None, Some(at)) if self.document.id(at).is_none() => TreeRow::default(),
            (None, None) => root_row(
                self.document,
                self.status,
                self.is_filtered || self.is_root_open,
            ),
            (None, Some(at)) => {
                let row = sample_row(
                    self.document,
                    self.summary,
                    &mut self.cells.borrow_mut(),
                    at,
                    self.status.worst_mark(Some(at)),
                    self.is_filtered || self.open.contains(&at),
                );
                TreeRow {
                    chosen: self.marked.contains(&at),
                    ..row
                }
            }
        }
    }
}

/// What menus and drags of the rows request in this frame.
#[derive(Default)]
struct TreeActions {
    requests: Vec<Request>,
    /// The sample that begins to be dragged.
    begun: Option<RowRef>,
    dropped: Option<(Arc<Dragged>, DropTarget)>,
}

impl TreeActions {
    fn touch_row(
        &mut self,
        ui: &mut Ui,
        shown: &ShownTree<'_>,
        row: u64,
        rect: egui::Rect,
        response: &egui::Response,
    ) {
        let document = shown.document;
        let node = shown.outline.node(document.tree(), row);
        if node.at.is_some_and(|at| document.id(at).is_none()) {
            return;
        }
        let draft = document.draft().is_some();
        if node.gap.is_none() {
            response.context_menu(|ui| menu_ui(ui, document, node.at, draft, &mut self.requests));
        }
        if !draft {
            return;
        }
        if response.drag_started() && node.gap.is_none() {
            self.begun = node.at;
        }
        if let Some(found) = drop_target::row_ui(ui, document, node, rect, response, shown.carried)
        {
            self.dropped = Some(found);
        }
    }
}

/// Selects a row; with Ctrl or Shift, adds to the selection.
fn select(
    ui: &Ui,
    cx: &mut PanelContext<'_>,
    document: &Document,
    outline: &Outline,
    cursor: Option<u64>,
    row: u64,
) {
    let tree = document.tree();
    let node = outline.node(tree, row);
    if node.at.is_some_and(|at| document.id(at).is_none()) {
        return;
    }
    if let Some(gap) = node.gap {
        cx.session.selection.clear_marked();
        return structure::select(cx, document, gap.root, Some(gap.position));
    }
    // A slot of another row is no longer meant.
    if let Some((root, position)) = cx.session.selection.cell
        && outline.find_gap(root, position).is_some()
    {
        cx.session.selection.cell = None;
    }
    let (several, range) = ui.input(|input| (input.modifiers.command, input.modifiers.shift));
    let selection = &mut cx.session.selection;
    match (range, several, node.at) {
        (true, _, Some(_)) => {
            let anchor = *selection.range_start.get_or_insert(cursor.unwrap_or(row));
            let (from, to) = (
                anchor.min(row),
                anchor.max(row).min(anchor.min(row) + MARKED_MAX),
            );
            selection.marked = (from..=to)
                .map(|row| outline.node(tree, row))
                .filter(|node| node.gap.is_none())
                .filter_map(|n| n.at)
                .collect();
        }
        (false, true, Some(at)) => {
            selection.marked.extend(selection.sample);
            if !selection.marked.insert(at) && selection.marked.len() > 1 {
                selection.marked.remove(&at);
                let next = selection.marked.iter().next_back().copied();
                return cx.request(Request::Select(next));
            }
            selection.range_start = Some(row);
        }
        _ => {
            selection.clear_marked();
            selection.range_start = Some(row);
        }
    }
    cx.request(Request::Select(node.at));
}

/// The row of a missing sample.
fn gap_row(summary: &StructureSummary, depth: u16, gap: Gap, wanted: bool) -> TreeRow {
    let node = summary.pattern.get(gap.position as usize);
    let position = node.map_or(0, |node| node.position);
    let filling = if wanted {
        tr!("drop to fill slot {position}", position)
    } else {
        tr!("missing" in "samples").to_owned()
    };
    let text = node.map(|node| node.id.to_string()).unwrap_or_default();
    TreeRow {
        depth,
        icon: icons::FILE,
        text,
        slot: Some(filling),
        wanted,
        ..TreeRow::default()
    }
}

fn root_row(document: &Document, status: &SampleStatus, open: bool) -> TreeRow {
    TreeRow {
        open: (document.rows(0) > 0).then_some(open),
        icon: icons::TREE_STRUCTURE,
        text: tr!("root").into(),
        strong: true,
        right: paint::format_grouped_number(document.rows(0) as u64),
        mark: status.worst_mark(None),
        ..TreeRow::default()
    }
}

fn sample_row(
    document: &Document,
    summary: &StructureSummary,
    cells: &mut RootCells,
    at: RowRef,
    mark: StatusMark,
    open: bool,
) -> TreeRow {
    let level = &document.tree().levels[at.level];
    let id = level.id(at.row);
    let folder = level.folder[at.row as usize];
    let padded = is_padding(id);
    let children = level.children(at.row).len();
    let icon = if padded {
        icons::CIRCLE_DASHED
    } else if folder {
        icons::STACK
    } else {
        icons::of_file(id)
    };
    let lacking = if folder {
        structure::lacking(document, summary, cells, at)
    } else {
        None
    };
    let right = match (folder, lacking) {
        (_, Some((there, all))) => format!("{there}/{all}"),
        (true, None) => paint::format_grouped_number(children as u64),
        (false, None) => document
            .size_bytes(at)
            .map_or(String::new(), paint::format_bytes),
    };
    let mark = if padded && mark < StatusMark::Warning {
        StatusMark::Padded
    } else {
        mark
    };
    TreeRow {
        depth: at.level as u16 + 1,
        open: (folder && children > 0).then_some(open),
        icon,
        text: id.to_owned(),
        weak: padded,
        right,
        right_bad: lacking.is_some() || (mark == StatusMark::Error && folder),
        mark,
        ..TreeRow::default()
    }
}

fn menu_ui(
    ui: &mut Ui,
    document: &Document,
    at: Option<RowRef>,
    draft: bool,
    requests: &mut Vec<Request>,
) {
    if let Some(at) = at {
        if draw_closing_entry(ui, icons::COPY, tr!("Copy id path"))
            && let Some(path) = document.path(at)
        {
            requests.push(Request::Copy(path.to_archive()));
        }
        if document.kind(at) == Some(SampleKind::File)
            && draw_closing_entry(ui, icons::IMAGE, tr!("Show preview"))
        {
            requests.push(Request::Select(Some(at)));
            requests.push(Request::Do(Action::ShowPreview));
        }
    }
    if at.is_none() {
        // Menu of the root: actions on the whole dataset.
        let of_draft: &[Action] = &[Action::PadTo, Action::Sidecars, Action::WriteOlder];
        let of_opened: &[Action] = &[
            Action::Optimise,
            Action::Histograms,
            Action::Convert,
            Action::WriteOlder,
            Action::EditFooter,
            Action::OpenSeveral,
        ];
        for &action in if draft { of_draft } else { of_opened } {
            if draw_closing_entry(ui, action.info().icon, action.info().text) {
                requests.push(Request::Do(action));
            }
        }
    }
    if !draft {
        let Some(at) = at else { return };
        if document.kind(at) == Some(SampleKind::File) {
            let info = Action::SaveSample.info();
            if draw_closing_entry(ui, info.icon, info.text) {
                requests.push(Request::Select(Some(at)));
                requests.push(Request::Do(Action::SaveSample));
            }
        }
        if let Some(root) = document
            .path(at)
            .and_then(|path| path.0.first().map(ToString::to_string))
        {
            if draw_closing_entry(
                ui,
                Action::WriteOlder.info().icon,
                tr!("Write as .tortilla…"),
            ) {
                requests.push(Request::OpenForm(Action::WriteOlder, Some(root.clone())));
            }
            if document
                .fields(at.level)
                .iter()
                .any(|field| field.name == "histogram:minimum")
                && draw_closing_entry(
                    ui,
                    Action::Percentiles.info().icon,
                    tr!("Percentiles of this sample…"),
                )
            {
                requests.push(Request::OpenForm(Action::Percentiles, Some(root.clone())));
            }
        }
        return;
    }
    if draw_closing_entry(ui, icons::FILE, tr!("Add files here…")) {
        requests.push(Request::Select(at));
        requests.push(Request::Do(Action::AddFiles));
    }
    if draw_closing_entry(ui, icons::FOLDER_SIMPLE_PLUS, tr!("Add folder here…")) {
        requests.push(Request::Select(at));
        requests.push(Request::Do(Action::AddFolder));
    }
    if at.is_some() {
        for action in [
            Action::Rename,
            Action::MoveUp,
            Action::MoveDown,
            Action::Nest,
            Action::Unnest,
            Action::Group,
            Action::Dissolve,
            Action::Unplace,
        ] {
            if draw_closing_entry(ui, action.info().icon, action.info().text) {
                requests.push(Request::Select(at));
                requests.push(Request::Do(action));
            }
        }
        if draw_closing_entry(ui, Action::Remove.info().icon, Action::Remove.info().text) {
            requests.push(Request::Select(at));
            requests.push(Request::Do(Action::Remove));
        }
    }
}

/// Draws an entry of a menu, which closes when it is clicked; true then.
fn draw_closing_entry(ui: &mut Ui, icon: &str, text: &str) -> bool {
    let clicked = widgets::menu_entry(ui, icon, text, "", None).clicked();
    if clicked {
        ui.close();
    }
    clicked
}

/// Draws the path and format of an opened dataset.
fn source_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document) {
    let t = theme::tokens(ui);
    let Some(open) = document.opened_dataset() else {
        return;
    };
    let info = open.reader.info();
    ui.painter().hline(
        ui.max_rect().x_range(),
        ui.max_rect().top() + 0.5,
        egui::Stroke::new(1.0, t.line),
    );
    ui.spacing_mut().item_spacing = vec2(6.0, 2.0);
    widgets::section_header(ui, tr!("Source"), |ui| {
        widgets::badge(ui, Tone::Info, None, info.format.badge());
    });
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 4))
        .show(ui, |ui| {
            let path = theme::rich_text(dropped_paths::display_path(&info.path))
                .font(font::mono(11.0))
                .color(t.tx2);
            ui.add(egui::Label::new(path).truncate())
                .on_hover_text(theme::rich_text(info.path.display().to_string()));
            let size = info
                .size_bytes
                .map_or_else(|| tr!("Folder of files").to_owned(), paint::format_bytes);
            let samples = document.tree().total() as u64;
            let text = tr_n!(
                samples,
                "{n} sample, {size}",
                "{n} samples, {size}",
                n = paint::format_grouped_number(samples),
                size
            );
            ui.label(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
            if widgets::link(ui, tr!("Copy path")).clicked() {
                cx.request(Request::Copy(info.path.display().to_string()));
            }
        });
}
