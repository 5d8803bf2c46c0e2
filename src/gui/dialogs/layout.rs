//! How the files of a dropped folder belong together: the layout that their names show, as a table
//! of positions, before anything is added. Another layout can be chosen, files can be left out, and
//! what is unclear is asked.

use std::path::PathBuf;
use std::sync::Arc;

use egui::{Frame, Margin, Rect, Role, ScrollArea, Stroke, Ui, WidgetInfo, vec2};

use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::draft::{LayoutQuestion, LayoutReading, LayoutWay};
use crate::error::Error;
use crate::gui::dropped_paths::parse_path;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{
    self, Button, FieldNote, RowScroll, Segment, TextField, VirtualRows, draw_segments, note_ui,
    paint,
};
use crate::jobs::{AsyncState, AsyncValue};
use crate::ops::{FoundLayout, LayoutChoice, LayoutProposal, LayoutRequest, find_layout};
use crate::studio::Command;
use crate::text::list_first;

const WIDTH: f32 = 760.0;
const ROW: f32 = 24.0;
/// Largest height of the list of positions, in points.
const POSITIONS_HEIGHT: f32 = 240.0;
/// Largest height of what is below it.
const REST_HEIGHT: f32 = 170.0;
/// Most names in a note.
const MAX_NAMES: usize = 4;

/// How the layout is chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LayoutTab {
    Auto,
    Folders,
    Stems,
    Pattern,
}

pub struct LayoutDialog {
    folder: PathBuf,
    /// What was found when the folder was dropped.
    first: Arc<FoundLayout>,
    found: AsyncValue<LayoutRequest, Arc<FoundLayout>>,
    choice: LayoutTab,
    /// The typed pattern, or the path of a saved layout.
    pattern: String,
    /// The reading that an answer chose, and its pattern, which may be that of one depth of
    /// several.
    answered: Option<(String, LayoutReading)>,
    /// Patterns of files that are left out, separated by semicolons.
    exclude: String,
    scroll: RowScroll,
    /// Adds the folder as it is.
    otherwise: Command,
    /// The form that saves the layout, once it was opened.
    saving: Option<LayoutSaving>,
}

/// Saves the layout that is shown.
struct LayoutSaving {
    /// The typed path.
    path: String,
    /// Number of times that saving was asked for.
    asked: u32,
    written: AsyncValue<(u32, PathBuf), PathBuf>,
}

impl LayoutDialog {
    /// Shows what was found; `otherwise` adds the folder as it is.
    pub fn new(folder: PathBuf, first: Arc<FoundLayout>, otherwise: Command) -> Self {
        Self {
            folder,
            first,
            found: AsyncValue::default(),
            choice: LayoutTab::Auto,
            pattern: String::new(),
            answered: None,
            exclude: String::new(),
            scroll: RowScroll::default(),
            otherwise,
            saving: None,
        }
    }

    /// The request that the controls make, or what is wrong with the pattern.
    fn request(&self) -> Result<LayoutRequest, String> {
        let choice = match self.choice {
            LayoutTab::Auto => LayoutChoice::Auto,
            LayoutTab::Folders => LayoutChoice::Folders,
            LayoutTab::Stems => LayoutChoice::Stems,
            LayoutTab::Pattern => match &self.answered {
                Some((pattern, reading)) if *pattern == self.pattern => {
                    LayoutChoice::Pattern(reading.clone())
                }
                _ => self
                    .pattern
                    .trim()
                    .parse()
                    .map_err(|error: Error| error.report())?,
            },
        };
        let exclude = self
            .exclude
            .split(';')
            .map(str::trim)
            .filter(|pattern| !pattern.is_empty())
            .map(str::to_owned)
            .collect();
        Ok(LayoutRequest {
            source: self.folder.clone(),
            choice,
            exclude,
        })
    }

    /// Draws the choice of a layout and what is left out.
    fn choice_ui(&mut self, ui: &mut Ui) {
        ui.horizontal(|ui| {
            ui.label(tr!("Layout"));
            let choices = [
                Segment::new(LayoutTab::Auto, tr!("By the names")),
                Segment::new(LayoutTab::Folders, tr!("Folders are positions")),
                Segment::new(LayoutTab::Stems, tr!("Ends of names are positions")),
                Segment::new(LayoutTab::Pattern, tr!("By a pattern")),
            ];
            let before = self.choice;
            draw_segments(ui, "layout-choice", &mut self.choice, &choices);
            // A pattern begins with what is shown.
            if self.choice == LayoutTab::Pattern
                && before != LayoutTab::Pattern
                && self.pattern.is_empty()
                && let FoundLayout::Proposal(proposal) =
                    self.found.latest().unwrap_or(&self.first).as_ref()
                && let [pattern] = proposal.reading.patterns().as_slice()
            {
                self.pattern.clone_from(pattern);
            }
        });
        if self.choice == LayoutTab::Pattern {
            TextField::new(tr!("Layout pattern"), &mut self.pattern)
                .hide_label()
                .mono()
                .hint("{split}/{position}/{root}")
                .note(FieldNote::Info(
                    tr!(
                        "Folders are {root}, {position}, {split}, {COLUMN}, * or a name; files \
                        {root}, {root}_{position}, {position} or {date}. A saved layout is a path \
                        that ends in .json."
                    )
                    .into(),
                ))
                .show(ui);
        }
        TextField::new(tr!("Leave out"), &mut self.exclude)
            .mono()
            .hint(tr!("nothing; for example *_thumb.png; old/**"))
            .show(ui);
    }

    /// Takes an answer; true when the folder is to be added as it is.
    fn answer(&mut self, way: &LayoutWay) -> bool {
        match way {
            LayoutWay::AsTheyAre => return true,
            LayoutWay::Auto => self.choice = LayoutTab::Auto,
            LayoutWay::Folders => self.choice = LayoutTab::Folders,
            LayoutWay::Stems => self.choice = LayoutTab::Stems,
            LayoutWay::Reading(reading) => {
                self.choice = LayoutTab::Pattern;
                self.pattern = reading.patterns().into_iter().next().unwrap_or_default();
                self.answered = Some((self.pattern.clone(), reading.clone()));
            }
            LayoutWay::Exclude(patterns) => {
                for pattern in patterns {
                    let separator = if self.exclude.trim().is_empty() {
                        ""
                    } else {
                        "; "
                    };
                    self.exclude = format!("{}{separator}{pattern}", self.exclude.trim());
                }
            }
        }
        false
    }

    /// Draws the form that saves the layout as a file, which the command line and the field of
    /// patterns take.
    fn saving_ui(&mut self, ui: &mut Ui, cx: &PanelContext<'_>, found: &Arc<FoundLayout>) {
        let Some(saving) = &mut self.saving else {
            if ui
                .add(Button::ghost(tr!("Save the layout…")).icon(icons::FLOPPY_DISK))
                .clicked()
            {
                let name = self
                    .folder
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let path = self
                    .folder
                    .with_file_name(format!("{name}-layout.json"))
                    .display()
                    .to_string();
                self.saving = Some(LayoutSaving {
                    path,
                    asked: 0,
                    written: AsyncValue::default(),
                });
            }
            return;
        };
        TextField::new(tr!("File of the layout"), &mut saving.path)
            .mono()
            .show(ui);
        let blocked = saving
            .path
            .trim()
            .is_empty()
            .then_some(tr!("Type the path of a file"));
        if ui
            .add(
                Button::secondary(tr!("Save the layout"))
                    .icon(icons::FLOPPY_DISK)
                    .with_disabled_reason(blocked),
            )
            .clicked()
        {
            saving.asked += 1;
            let (path, found) = (parse_path(&saving.path), found.clone());
            saving.written.update(
                cx.jobs,
                (saving.asked, path.clone()),
                tr!("Save the layout"),
                move |_| {
                    if let FoundLayout::Proposal(proposal) = found.as_ref() {
                        proposal.save_layout(&path, false)?;
                    }
                    Ok(path)
                },
            );
        }
        match saving.written.state() {
            AsyncState::Ready(path) => {
                let path = path.display();
                let text = tr!(
                    "Saved. `create --layout {path}` uses it again, and so does this path as a \
                        pattern.",
                    path
                );
                note_ui(ui, &FieldNote::Info(text));
            }
            AsyncState::Failed(error) => note_ui(ui, &FieldNote::Error(error.report())),
            AsyncState::NotAsked | AsyncState::Pending => {}
        }
    }

    fn proposal_ui(&mut self, ui: &mut Ui, proposal: &LayoutProposal) {
        let t = theme::tokens(ui);
        ui.horizontal_wrapped(|ui| {
            let roots = tr_n!(
                proposal.roots,
                "{n} root",
                "{n} roots",
                n = paint::format_grouped_number(proposal.roots as u64)
            );
            ui.label(
                theme::rich_text(roots)
                    .font(font::semibold(13.0))
                    .color(t.tx),
            );
            let more = if proposal.roots > proposal.examples.len() {
                ", …"
            } else {
                ""
            };
            ui.label(
                theme::rich_text(proposal.examples.join(", ") + more)
                    .font(font::mono(12.0))
                    .color(t.tx2),
            );
            if self.choice != LayoutTab::Pattern {
                let patterns = proposal.reading.patterns().join("   ");
                ui.label(
                    theme::rich_text(patterns)
                        .font(font::mono(12.0))
                        .color(t.tx3),
                );
            }
        });
        positions_ui(ui, t, proposal, &mut self.scroll);
        ScrollArea::vertical()
            .id_salt("layout-rest")
            .max_height(REST_HEIGHT)
            .show(ui, |ui| {
                ui.set_min_width(ui.available_width());
                ui.spacing_mut().item_spacing.y = 6.0;
                for column in &proposal.columns {
                    let (n, total) = (
                        paint::format_grouped_number(column.values as u64),
                        paint::format_grouped_number(proposal.roots as u64),
                    );
                    let text = tr!(
                        "Column {name} from {from}: {n} of {total} roots",
                        name = column.name,
                        from = column.from,
                        n,
                        total
                    );
                    ui.label(theme::style_small_text(text, t.tx2));
                }
                for found in &proposal.contradictions {
                    note_ui(ui, &FieldNote::Warning(found.to_text()));
                }
                if !proposal.renamed.is_empty() {
                    let names = proposal
                        .renamed
                        .iter()
                        .map(|renamed| format!("{} → {}", renamed.from, renamed.to));
                    let n = paint::format_grouped_number(proposal.renamed.len() as u64);
                    let names = list_first(names, MAX_NAMES);
                    note_ui(
                        ui,
                        &FieldNote::Info(tr_n!(
                            proposal.renamed.len(),
                            "{n} id differs from its file: {names}",
                            "{n} ids differ from their files: {names}",
                            n,
                            names
                        )),
                    );
                }
                if !proposal.left_over.is_empty() {
                    let n = paint::format_grouped_number(proposal.left_over.len() as u64);
                    let names = list_first(&proposal.left_over, MAX_NAMES);
                    note_ui(
                        ui,
                        &FieldNote::Warning(tr_n!(
                            proposal.left_over.len(),
                            "{n} file has no position and is added to the unplaced files: {names}",
                            "{n} files have no position and are added to the unplaced files: \
                             {names}",
                            n,
                            names
                        )),
                    );
                }
                if !proposal.left_out.is_empty() {
                    let n = paint::format_grouped_number(proposal.left_out.len() as u64);
                    let names = list_first(&proposal.left_out, MAX_NAMES);
                    note_ui(
                        ui,
                        &FieldNote::Info(tr_n!(
                            proposal.left_out.len(),
                            "{n} is left out: {names}",
                            "{n} are left out: {names}",
                            n,
                            names
                        )),
                    );
                }
            });
    }
}

impl DialogView for LayoutDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let request = self.request();
        let found = match &request {
            Err(wrong) => Err(wrong.clone()),
            Ok(request) if *request == LayoutRequest::of_folder(&self.folder) => {
                Ok(Some(self.first.clone()))
            }
            Ok(request) => {
                let wanted = request.clone();
                self.found.update(
                    cx.jobs,
                    request.clone(),
                    tr!("Looking at the names"),
                    move |ctx| Ok(Arc::new(find_layout(&wanted, ctx)?)),
                );
                match self.found.get(request) {
                    None => Ok(None),
                    Some(Ok(found)) => Ok(Some(found.clone())),
                    Some(Err(error)) => Err(error.report()),
                }
            }
        };
        ui.set_width((ui.ctx().content_rect().width() - 64.0).min(WIDTH));
        ui.spacing_mut().item_spacing.y = 0.0;
        let name = self
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let close = head_ui(
            ui,
            icons::TREE_STRUCTURE,
            tr!("How the files belong together"),
            &name,
        );
        let mut answer = None;
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            self.choice_ui(ui);
            match &found {
                Err(wrong) => note_ui(ui, &FieldNote::Error(wrong.clone())),
                // What was shown before stays until the next is ready.
                Ok(None) => match self.found.latest().unwrap_or(&self.first).clone().as_ref() {
                    FoundLayout::Proposal(proposal) => self.proposal_ui(ui, proposal),
                    FoundLayout::Question(_) => drop(widgets::spinner(ui, 18.0)),
                },
                Ok(Some(found)) => match found.as_ref() {
                    FoundLayout::Proposal(proposal) => {
                        self.proposal_ui(ui, proposal);
                        self.saving_ui(ui, cx, found);
                    }
                    FoundLayout::Question(question) => answer = question_ui(ui, question),
                },
            }
        });
        if let Some(way) = answer
            && self.answer(&way)
        {
            return Next::Do(Request::Add(self.otherwise.clone()));
        }
        let ready = found.as_ref().ok().and_then(|found| found.as_ref());
        let proposal = ready.and_then(|found| match found.as_ref() {
            FoundLayout::Proposal(proposal) => Some(proposal),
            FoundLayout::Question(_) => None,
        });
        let blocked = match (&found, proposal) {
            (Err(_), _) => Some(tr!("The pattern can't be read")),
            (Ok(None), _) => Some(tr!("The names are still being looked at")),
            (Ok(Some(_)), None) => Some(tr!("Choose one of the answers")),
            (Ok(Some(_)), Some(_)) => None,
        };
        let (add, plain, cancel) = foot_ui(ui, |ui| {
            let count = proposal.map_or(0, |proposal| proposal.roots);
            let text = match count {
                0 => tr!("Add roots").to_owned(),
                n => tr_n!(
                    n,
                    "Add {n} root",
                    "Add {n} roots",
                    n = paint::format_grouped_number(n as u64)
                ),
            };
            let add = ui
                .add(
                    Button::primary(text)
                        .large()
                        .name(tr!("Add roots"))
                        .with_disabled_reason(blocked),
                )
                .clicked();
            let plain = ui
                .add(Button::ghost(tr!("Add the folders as they are")).large())
                .clicked();
            (
                add,
                plain,
                ui.add(Button::ghost(tr!("Cancel")).large()).clicked(),
            )
        });
        match (proposal, request) {
            (Some(proposal), Ok(request)) if add => {
                let request = LayoutRequest {
                    choice: LayoutChoice::Pattern(proposal.reading.clone()),
                    ..request
                };
                Next::Do(Request::Add(Command::ImportLayout { request }))
            }
            _ if plain => Next::Do(Request::Add(self.otherwise.clone())),
            _ if cancel || close => Next::Close,
            _ => Next::Stay,
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}

/// Draws the table of positions: id, number of roots that have it, number of paddings, an example.
fn positions_ui(ui: &mut Ui, t: &ThemeTokens, proposal: &LayoutProposal, scroll: &mut RowScroll) {
    let width = ui.available_width();
    let (head, _) = ui.allocate_exact_size(vec2(width, ROW), egui::Sense::hover());
    ui.spacing_mut().item_spacing.y = 0.0;
    let painter = ui.painter();
    let [id, has, lacks, file] = split_position_row(head, width);
    paint::text_left(painter, id, tr!("Position"), font::medium(12.0), t.tx2);
    paint::text_right(painter, has, tr!("Files"), font::medium(12.0), t.tx2);
    paint::text_right(painter, lacks, tr!("Padding"), font::medium(12.0), t.tx2);
    paint::text_left(painter, file, tr!("Example"), font::medium(12.0), t.tx2);
    painter.hline(
        head.x_range(),
        head.bottom() - 0.5,
        Stroke::new(1.0, t.line2),
    );
    let size = vec2(
        width,
        (proposal.positions.len() as f32 * ROW).clamp(ROW, POSITIONS_HEIGHT),
    );
    ui.allocate_ui(size, |ui| {
        ui.set_min_size(size);
        let rows =
            VirtualRows::new(tr!("Positions"), proposal.positions.len() as u64).row_height(ROW);
        rows.show(ui, scroll, |ui, row, rect, response| {
            let position = &proposal.positions[row as usize];
            let name = position.id.as_deref().unwrap_or(tr!("the root itself"));
            let (files, padding) = (
                paint::format_grouped_number(position.matched as u64),
                paint::format_grouped_number(position.padded as u64),
            );
            let spoken = tr!(
                "{name}: {files} files, {padding} paddings, such as {example}",
                name,
                files,
                padding,
                example = position.example
            );
            response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &spoken));
            let painter = ui.painter();
            painter.hline(
                rect.x_range(),
                rect.bottom() - 0.5,
                Stroke::new(1.0, t.line),
            );
            let [id, has, lacks, file] = split_position_row(rect, width);
            paint::text_left(painter, id, name, font::mono(12.0), t.tx);
            paint::text_right(painter, has, &files, font::mono(12.0), t.tx);
            paint::text_right(
                painter,
                lacks,
                &padding,
                font::mono(12.0),
                if position.padded > 0 { t.warn } else { t.tx3 },
            );
            paint::text_left(painter, file, &position.example, font::mono(12.0), t.tx2);
        });
    });
    ui.add_space(8.0);
}

/// The cells of a row of positions: identifier, files, paddings and example.
fn split_position_row(row: Rect, width: f32) -> [Rect; 4] {
    // Where the numbers end and the example begins.
    let (matched, padded, example) = (width * 0.34, width * 0.46, width * 0.49);
    let within = |from: f32, to: f32| {
        Rect::from_x_y_ranges(row.left() + from..=row.left() + to, row.y_range())
    };
    [
        within(0.0, width * 0.22),
        within(width * 0.22, matched),
        within(matched, padded),
        within(example, width),
    ]
}

/// Draws what is asked; the answer that was chosen.
fn question_ui(ui: &mut Ui, question: &LayoutQuestion) -> Option<LayoutWay> {
    note_ui(
        ui,
        &FieldNote::Warning(capitalise_sentence(&question.summary)),
    );
    let mut chosen = None;
    for alternative in &question.alternatives {
        // What is left out without a pattern is typed above.
        if alternative.way == LayoutWay::Exclude(Vec::new()) {
            continue;
        }
        if ui
            .add(Button::secondary(capitalise_sentence(&alternative.meaning)))
            .clicked()
        {
            chosen = Some(alternative.way.clone());
        }
    }
    chosen
}

/// A sentence of the command line as one of the window.
fn capitalise_sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}
