//! The structure panel: a matrix of roots and pattern positions with the pattern's tree as header,
//! and an overview strip beside it. Data comes from the draft's `Structure`; slow work runs in
//! jobs.

mod columns;
pub mod consistency;
pub mod fix;
mod footer;
mod matrix;
pub mod state;
mod strip;

use std::sync::Arc;

use egui::{Align, Frame, Layout, Margin, Rect, Ui, UiBuilder, pos2, vec2};

use crate::draft::{self, PatternCell, PatternChoice, PositionState};
use crate::gui::action::Action;
use crate::gui::document_key::DocumentKey;
use crate::gui::draft_structure::{RootCells, StructureSummary};
use crate::gui::outline::{Gap, ancestors};
use crate::gui::pane::Pane;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::widgets::{self, Button, EmptyState, Segment, paint};
use crate::gui::{icons, theme};
use crate::model::NodePath;
use crate::studio::{Command, Document, RowRef};
use state::{StructurePanel, StructureView};

/// Width of the pattern choice, in points.
const PATTERN_WIDTH: f32 = 170.0;
/// Width of the overview strip, in points.
const STRIP: f32 = 148.0;

impl StructurePanel {
    /// Scrolls to the root of a sample; keeps the selected cell if it belongs to that root.
    pub fn show(&mut self, cell: &mut Option<(u32, u32)>, document: &Document, at: RowRef) {
        if document.draft().is_none() {
            return;
        }
        let root = root_of(document, at);
        *cell = cell.filter(|(of, _)| *of == root);
        // Another sample of the same root was selected in another panel.
        if let Some((_, position)) = cell.filter(|_| at.level > 0)
            && let Some((draft, structure)) = document.draft().zip(document.structure())
        {
            let (places, _) = draft::places(draft.dataset(), &structure, root as usize);
            let found = places
                .get(position as usize)
                .and_then(|place| place.found.clone());
            *cell = cell.filter(|_| found == document.node(at));
        }
        if let Some(row) = self.row_of(root) {
            self.scroll.reveal(row);
        }
    }

    /// The row of the matrix that shows a root.
    pub(super) fn row_of(&self, root: u32) -> Option<u64> {
        match &self.shown {
            Some(shown) => shown.binary_search(&root).ok().map(|row| row as u64),
            None => Some(u64::from(root)),
        }
    }

    /// The root that a row of the matrix shows.
    pub(super) fn root_of(&self, row: u64) -> u32 {
        match &self.shown {
            Some(shown) => shown.get(row as usize).copied().unwrap_or_default(),
            None => row as u32,
        }
    }
}

/// The root that a sample belongs to.
pub fn root_of(document: &Document, at: RowRef) -> u32 {
    ancestors(document.tree(), at)
        .first()
        .copied()
        .unwrap_or(at)
        .row
}

/// The root of a sample of a draft, with its cells. `None` for a root without a fault.
fn find_faulty_root(
    document: &Document,
    cells: &mut RootCells,
    at: RowRef,
) -> Option<(u32, Arc<[PatternCell]>)> {
    let (draft, structure) = document.draft().zip(document.structure())?;
    let root = root_of(document, at);
    if !structure.worst(root as usize).is_fault() {
        return None;
    }
    let compare = || draft::places(draft.dataset(), &structure, root as usize).0;
    Some((root, cells.find(root, compare)))
}

/// Present and expected children of a FOLDER of a draft. `None` when none is missing.
pub fn lacking(
    document: &Document,
    summary: &StructureSummary,
    cells: &mut RootCells,
    at: RowRef,
) -> Option<(usize, usize)> {
    let (_, places) = find_faulty_root(document, cells, at)?;
    let parent = match at.level {
        0 => None,
        _ => {
            let node = document.node(at);
            Some(places.iter().position(|place| place.found == node)? as u32)
        }
    };
    let below = summary
        .pattern
        .iter()
        .zip(&*places)
        .filter(|(node, _)| node.parent == parent);
    let (all, missing) = below.fold((0, 0), |(all, missing), (_, place)| {
        (
            all + 1,
            missing + usize::from(place.state == PositionState::Missing),
        )
    });
    (missing > 0).then_some((all - missing, all))
}

/// The slots of a FOLDER of a draft: positions of the pattern without a child, in order.
pub fn gaps(
    document: &Document,
    summary: &StructureSummary,
    cells: &mut RootCells,
    at: RowRef,
) -> Vec<Gap> {
    let Some((root, places)) = find_faulty_root(document, cells, at) else {
        return Vec::new();
    };
    let node = document.node(at);
    let parent = places
        .iter()
        .position(|place| place.found == node)
        .map(|position| position as u32);
    if at.level > 0 && parent.is_none() {
        return Vec::new();
    }
    let mut gaps = Vec::new();
    let mut before = 0;
    for (position, (node, place)) in (0..).zip(summary.pattern.iter().zip(&*places)) {
        if node.parent != parent.filter(|_| at.level > 0) || place.unreachable {
            continue;
        }
        match place.found.as_ref().and_then(NodePath::parent) {
            Some((_, there)) => before = before.max(there + 1),
            None if place.state == PositionState::Missing => gaps.push(Gap {
                root,
                position,
                before,
            }),
            None => {}
        }
    }
    gaps
}

/// Updates the summary to the draft's revision. Called by every panel that shows structure marks.
pub fn update_summary(cx: &mut PanelContext<'_>) {
    let key = cx.document_key();
    let Some(structure) = cx.document().and_then(Document::structure) else {
        return;
    };
    let state = &mut cx.session.structure;
    let wanted = Some((key, structure.choice().clone()));
    if state.made_for == wanted {
        return;
    }
    state.made_for = wanted;
    state.cells = RootCells::default();
    let pattern = structure.pattern().to_vec();
    let levels = 1 + pattern.iter().map(|node| node.level).max().unwrap_or(0);
    let model = structure.model().map(|model| model as u32);
    let largest_root = structure.largest_root().map(|root| root as u32);
    let counts = structure.position_counts();
    let cell = &mut cx.session.selection.cell;
    *cell = cell.filter(|&(root, position)| {
        (position as usize) < pattern.len() && (root as usize) < structure.roots()
    });
    state.summary = Arc::new(StructureSummary {
        pattern,
        counts,
        roots: structure.root_counts(),
        model,
        largest_root,
        levels,
    });
}

impl Panel for StructurePanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return;
        };
        if self.view == StructureView::Consistency {
            update_summary(cx);
            let summary = cx.session.structure.summary.clone();
            return consistency::ui(ui, self, cx, document, &summary);
        }
        if document.draft().is_none() {
            Frame::NONE
                .inner_margin(Margin::symmetric(8, 6))
                .show(ui, |ui| consistency::view_ui(ui, self, cx));
            let state = EmptyState {
                icon: icons::TREE_STRUCTURE,
                title: tr!("Structure compares the roots of drafts"),
                why: tr!(
                    "Problems lists what breaks the pattern of a written dataset. Edit the dataset \
                        as a draft to change its structure."
                ),
                actions: &[tr!("Edit as a draft")],
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                cx.request(Request::Do(Action::EditCopy));
            }
            return;
        }
        update_summary(cx);
        let summary = cx.session.structure.summary.clone();
        if summary.pattern.is_empty() {
            let add = [tr!("Add folder…")];
            let (title, why, actions): (_, _, &[&str]) = match document.rows(0) {
                0 => {
                    let why = tr!(
                        "Drop files or folders: folders become FOLDERs of the dataset, files \
                            become FILEs."
                    );
                    (tr!("No samples yet"), why, &add)
                }
                _ => (
                    tr!("No positions"),
                    tr!("The roots are FILEs, so there are no positions below them."),
                    &[],
                ),
            };
            if widgets::draw_empty_state_with_actions(
                ui,
                &EmptyState {
                    icon: icons::TREE_STRUCTURE,
                    title,
                    why,
                    actions,
                },
            )
            .is_some()
            {
                cx.request(Request::Do(Action::AddFolder));
            }
            return;
        }
        want_plans(cx, document);
        toolbar_ui(ui, self, cx, document, &summary);
        let area = ui.available_rect_before_wrap();
        let strip = if area.width() > 460.0 { STRIP } else { 0.0 };
        let (left, right) = area.split_left_right_at_x(area.left() + strip);
        if strip > 0.0 {
            ui.scope_builder(UiBuilder::new().max_rect(left).id_salt("strip"), |ui| {
                strip::ui(ui, self, cx, document, &summary)
            });
        }
        ui.scope_builder(UiBuilder::new().max_rect(right).id_salt("matrix"), |ui| {
            matrix::ui(ui, self, cx, document, &summary)
        });
    }
}

/// Starts the plan of all safe fixes in the background.
pub fn want_plans(cx: &mut PanelContext<'_>, document: &Document) {
    let key = cx.document_key();
    let Some((choice, finder)) = document
        .structure()
        .map(|structure| structure.choice().clone())
        .zip(cx.studio.fix_finder())
    else {
        return;
    };
    let state = &mut cx.session.structure;
    if state.summary.roots.faults() == 0 {
        return;
    }
    state.safe_fixes.update(
        cx.jobs,
        (key, choice),
        tr!("Look for safe fixes"),
        move |_| Ok(finder.safe_plan().map(Arc::new)),
    );
}

fn toolbar_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
) {
    let t = theme::tokens(ui);
    let key = cx.document_key();
    let choice = document
        .structure()
        .map(|structure| structure.choice().clone())
        .unwrap_or_default();
    Frame::NONE
        .fill(t.bg1)
        .inner_margin(Margin::symmetric(8, 6))
        .show(ui, |ui| {
            let off = summary.roots.faults() + summary.roots.count_in_state(PositionState::Padded);
            let color = (summary.roots.faults() > 0).then_some(t.err);
            let segments = [
                Segment::new(false, tr!("All roots")),
                Segment::new(true, tr!("Problems or padding"))
                    .icon(icons::WARNING_OCTAGON, color)
                    .count(off),
            ];
            let words = |ui: &Ui, text: &str| {
                paint::measure_text_width(ui.painter(), text, theme::font::medium(13.0), t.tx)
            };
            let count = cx
                .session
                .structure
                .safe_plan(key, &choice)
                .map_or(0, |plan| plan.roots);
            let fix = tr!(
                "Fix {roots} safe",
                roots = paint::format_grouped_number(count)
            );
            let texts =
                words(ui, tr!("Pattern from")) + words(ui, tr!("Preview fixes")) + words(ui, &fix);
            // Width of combo, separator, icon and the gaps between them.
            let needed = consistency::view_width(ui)
                + widgets::segmented_width(ui, &segments)
                + texts
                + PATTERN_WIDTH
                + 120.0;
            if ui.available_width() >= needed {
                ui.set_height(24.0);
                ui.horizontal_centered(|ui| {
                    consistency::view_ui(ui, panel, cx);
                    widgets::draw_segments(
                        ui,
                        "structure-roots",
                        &mut panel.only_faults,
                        &segments,
                    );
                    ui.separator();
                    ui.label(
                        theme::rich_text(tr!("Pattern from"))
                            .font(theme::font::regular(12.0))
                            .color(t.tx2),
                    );
                    pattern_ui(ui, cx, document, &choice);
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                        safe_ui(ui, cx, key, &choice, &fix)
                    });
                });
                return;
            }
            // Two lines, or three in a narrower panel.
            ui.set_min_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 6.0;
            ui.horizontal_wrapped(|ui| {
                consistency::view_ui(ui, panel, cx);
                widgets::draw_segments(ui, "structure-roots", &mut panel.only_faults, &segments);
                safe_ui(ui, cx, key, &choice, &fix);
            });
            ui.horizontal_wrapped(|ui| {
                ui.label(
                    theme::rich_text(tr!("Pattern from"))
                        .font(theme::font::regular(12.0))
                        .color(t.tx2),
                );
                pattern_ui(ui, cx, document, &choice);
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        egui::Stroke::new(1.0, t.line),
    );
    // The visible rows are recomputed after an edit.
    let wanted = Some((key, choice, panel.only_faults));
    if panel.shown_for != wanted {
        panel.shown_for = wanted;
        let filter = panel.only_faults;
        let structure = document.structure().filter(|_| filter);
        panel.shown = structure.map(|structure| structure.list_off_roots());
    }
}

/// The button for all safe fixes, with its preview.
fn safe_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    key: DocumentKey,
    choice: &PatternChoice,
    text: &str,
) {
    let plan = cx.session.structure.safe_plan(key, choice).cloned();
    let blocked = cx.session.structure.find_safe_fix_obstacle(key, choice);
    let tip = tr!(
        "Place, pad, rename, reorder and wrap wherever nothing is removed, in one step that can be \
            undone"
    );
    let button = Button::primary(text).name(tr!("Fix safe")).tooltip(tip);
    if ui.add(button.with_disabled_reason(blocked)).clicked()
        && let Some(plan) = &plan
    {
        cx.run(Command::Edit {
            edit: plan.edit.clone(),
        });
    }
    let button = Button::secondary(tr!("Preview fixes"))
        .icon(icons::EYE)
        .with_disabled_reason(blocked);
    if ui.add(button).clicked()
        && let Some(plan) = plan
    {
        cx.request(Request::Plan(plan));
    }
}

fn pattern_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, choice: &PatternChoice) {
    let nothing = document
        .structure()
        .is_some_and(|structure| structure.nothing_common());
    let common = if nothing {
        tr!("No shape is common")
    } else {
        tr!("Most common shape")
    };
    let chosen = match choice {
        PatternChoice::MostCommon => common.to_owned(),
        PatternChoice::Root(id) => id.to_string(),
    };
    let mut options: Vec<(String, PatternChoice)> =
        vec![(common.to_owned(), PatternChoice::MostCommon)];
    if let PatternChoice::Root(_) = choice {
        options.push((chosen.clone(), choice.clone()));
    }
    let root = cx.session.selection.sample.map(|at| RowRef {
        level: 0,
        row: root_of(document, at),
    });
    if let Some(id) = root
        .and_then(|root| document.id(root))
        .filter(|id| *id != chosen)
    {
        options.push((tr!("{id} (selected)", id), PatternChoice::Root(id.into())));
    }
    let largest_root = cx.session.structure.summary.largest_root;
    if let Some(id) = largest_root.and_then(|row| document.id(RowRef { level: 0, row }))
        && !options
            .iter()
            .any(|(_, known)| matches!(known, PatternChoice::Root(other) if **other == *id))
    {
        options.push((
            tr!("{id} (most samples)", id),
            PatternChoice::Root(id.into()),
        ));
    }
    let words: Vec<&str> = options.iter().map(|(word, _)| word.as_str()).collect();
    if let Some(index) = widgets::combo(
        ui,
        tr!("Pattern from"),
        &chosen,
        PATTERN_WIDTH,
        false,
        &words,
    ) {
        cx.run(Command::ChoosePattern {
            choice: options[index].1.clone(),
        });
    }
}

/// Selects a cell: its sample, or the root when the cell has none.
pub fn select(cx: &mut PanelContext<'_>, document: &Document, root: u32, position: Option<u32>) {
    let sample = position.and_then(|position| {
        let structure = document.structure()?;
        let (places, _) = draft::places(document.draft()?.dataset(), &structure, root as usize);
        let found = places.get(position as usize)?.found.clone()?;
        drop(structure);
        document.row_of(&found)
    });
    cx.session.selection.cell = position.map(|position| (root, position));
    // The Sample panel shows the fault and its fixes.
    cx.request(Request::Show(Pane::Sample));
    cx.request(Request::Select(Some(sample.unwrap_or(RowRef {
        level: 0,
        row: root,
    }))));
}

/// Selects the first faulty cell of the next (or previous) faulty root.
pub fn step(
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    from: Option<u32>,
) -> bool {
    let Some(structure) = document.structure() else {
        return false;
    };
    let next = structure
        .next_fault(from.map(|root| root as usize))
        .or_else(|| structure.next_fault(None));
    let Some(root) = next else { return false };
    let position = structure
        .states(root)
        .iter()
        .position(|state| state.is_fault())
        .map(|position| position as u32);
    drop(structure);
    select(cx, document, root as u32, position);
    if let Some(row) = panel.row_of(root as u32) {
        panel.scroll.reveal(row);
    }
    true
}

/// The rectangle of a cell.
pub(super) fn cell_rect(row: Rect, left: f32, width: f32) -> Rect {
    Rect::from_min_size(pos2(left, row.top() + 2.0), vec2(width, row.height() - 4.0))
}
