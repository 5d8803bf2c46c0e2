//! The labelled text input: label above, message below, a check when valid, a lock when read-only.

use std::borrow::Cow;
use std::sync::Arc;

use egui::text::LayoutJob;
use egui::{
    Color32, FontId, Galley, Id, Rect, Response, Sense, Shape, Stroke, StrokeKind, TextBuffer,
    TextEdit, Ui, UiBuilder, pos2, vec2,
};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::text::{displayed_block, editable};

/// Longest text in bytes that a field edits: laying out a megabyte takes seconds.
const LENGTH_MAX: usize = 200_000;

/// Note of a field about its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FieldNote {
    /// Nothing.
    #[default]
    None,
    /// Valid: a small check in the field.
    Ok,
    /// Error with its correction.
    Error(String),
    Warning(String),
    /// Information.
    Info(String),
}

impl FieldNote {
    fn message(&self, t: &ThemeTokens) -> Option<(&'static str, egui::Color32, &str)> {
        match self {
            FieldNote::None | FieldNote::Ok => None,
            FieldNote::Error(text) => Some((icons::WARNING_OCTAGON, t.err, text)),
            FieldNote::Warning(text) => Some((icons::WARNING, t.warn, text)),
            FieldNote::Info(text) => Some((icons::INFO, t.info, text)),
        }
    }
}

/// Shows the message of `note` with its icon; nothing for [`FieldNote::None`] and
/// [`FieldNote::Ok`].
pub fn note_ui(ui: &mut Ui, note: &FieldNote) {
    let t = theme::tokens(ui);
    let Some((icon, color, text)) = note.message(t) else {
        return;
    };
    let top = ui.cursor().min;
    ui.horizontal_top(|ui| {
        ui.add_space(20.0);
        ui.add(
            egui::Label::new(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(color),
            )
            .wrap(),
        );
    });
    paint::draw_icon(
        ui.painter(),
        pos2(top.x + 7.0, top.y + 8.0),
        icon,
        14.0,
        color,
    );
}

/// A text field. `TextField::new("id", &mut text).note(note).show(ui)`.
#[must_use = "call show"]
pub struct TextField<'a> {
    label: &'a str,
    value: &'a mut String,
    id: Option<Id>,
    hint: &'a str,
    mono: bool,
    required: bool,
    read_only: bool,
    rows: usize,
    width: Option<f32>,
    note: FieldNote,
    trailing: &'a str,
    icon: Option<&'static str>,
    hide_label: bool,
    name: Option<&'a str>,
    quiet: bool,
    secret: bool,
}

impl<'a> TextField<'a> {
    /// A field for `value` with `label` above.
    pub fn new(label: &'a str, value: &'a mut String) -> Self {
        Self {
            label,
            value,
            id: None,
            hint: "",
            mono: false,
            required: false,
            read_only: false,
            rows: 1,
            width: None,
            note: FieldNote::None,
            trailing: "",
            icon: None,
            hide_label: false,
            name: None,
            quiet: false,
            secret: false,
        }
    }

    /// Id of the field; derived from the label by default.
    pub fn id(mut self, id: Id) -> Self {
        self.id = Some(id);
        self
    }

    /// Shown while empty.
    pub fn hint(mut self, hint: &'a str) -> Self {
        self.hint = hint;
        self
    }

    /// Ids, paths and numbers.
    pub fn mono(mut self) -> Self {
        self.mono = true;
        self
    }

    /// Marks the label while the field is empty.
    pub fn with_required_mark(mut self) -> Self {
        self.required = true;
        self
    }

    /// Can be selected and copied, not changed.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Several lines.
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// Width in points; the available width by default.
    pub fn width(mut self, width: f32) -> Self {
        self.width = Some(width);
        self
    }

    /// Note about the value.
    pub fn note(mut self, note: FieldNote) -> Self {
        self.note = note;
        self
    }

    /// Text at the right of the label, such as `46 / 250`.
    pub fn trailing(mut self, text: &'a str) -> Self {
        self.trailing = text;
        self
    }

    /// An icon inside, at the left.
    pub fn icon(mut self, icon: &'static str) -> Self {
        self.icon = Some(icon);
        self
    }

    /// Hides the label, which remains the accessible name.
    pub fn hide_label(mut self) -> Self {
        self.hide_label = true;
        self
    }

    /// Accessible name, when several fields have the same label: `email of provider 1`.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = Some(name);
        self
    }

    /// A softer border, for filters and search.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Masks the text.
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Draws the field; the response is that of the input.
    pub fn show(mut self, ui: &mut Ui) -> Response {
        let t = theme::tokens(ui);
        let width = self.width.unwrap_or_else(|| ui.available_width());
        let id = self
            .id
            .unwrap_or_else(|| ui.make_persistent_id(("field", self.name.unwrap_or(self.label))));
        ui.vertical(|ui| {
            ui.set_width(width);
            ui.spacing_mut().item_spacing.y = 4.0;
            if !self.hide_label {
                self.label_ui(ui, t);
            }
            let response = self.input_ui(ui, t, id, width);
            note_ui(ui, &self.note);
            response
        })
        .inner
    }

    fn label_ui(&self, ui: &mut Ui, t: &ThemeTokens) {
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
        let painter = ui.painter();
        let mut right = rect.right();
        if !self.trailing.is_empty() {
            right = paint::text_right(painter, rect, self.trailing, font::mono(11.0), t.tx3) - 6.0;
        } else if self.required && self.value.is_empty() {
            right =
                paint::text_right(painter, rect, tr!("required"), font::regular(11.0), t.tx3) - 6.0;
        }
        let rect = Rect::from_min_max(rect.min, pos2(right, rect.bottom()));
        paint::text_left(painter, rect, self.label, font::regular(12.0), t.tx2);
    }

    fn input_ui(&mut self, ui: &mut Ui, t: &ThemeTokens, id: Id, width: f32) -> Response {
        let height = if self.rows > 1 {
            18.0 * self.rows as f32 + 10.0
        } else {
            26.0
        };
        let (rect, _) = ui.allocate_exact_size(vec2(width, height), Sense::hover());
        let frame = ui.painter().add(Shape::Noop);
        let mut inner = rect.shrink2(vec2(9.0, 4.0));
        if let Some(icon) = self.icon {
            paint::draw_icon(
                ui.painter(),
                pos2(inner.left() + 7.0, rect.center().y),
                icon,
                14.0,
                t.tx3,
            );
            inner.min.x += 20.0;
        }
        let mark = match self.note {
            _ if self.read_only || self.value.len() > LENGTH_MAX => {
                Some((icons::LOCK_SIMPLE, t.tx3))
            }
            FieldNote::Ok => Some((icons::CHECK, t.ok)),
            _ => None,
        };
        if let Some((icon, color)) = mark {
            paint::draw_icon(
                ui.painter(),
                pos2(inner.right() - 6.0, rect.top() + 13.0),
                icon,
                14.0,
                color,
            );
            inner.max.x -= 18.0;
        }
        let response = self.editor(ui, t, id, inner);
        let name = self.name.unwrap_or(self.label);
        ui.ctx()
            .accesskit_node_builder(response.id, |node| node.set_label(name));
        let (fill, border, thickness) = match self.note {
            _ if self.read_only || self.value.len() > LENGTH_MAX => (t.bg2, t.line, 1.0),
            FieldNote::Error(_) => (t.input, t.err, 2.0),
            _ if response.has_focus() => (t.input, t.accfill, 2.0),
            _ if self.quiet => (t.input, t.line2, 1.0),
            _ => (t.input, t.ctl, 1.0),
        };
        ui.painter().set(
            frame,
            egui::epaint::RectShape::new(
                rect,
                4,
                fill,
                Stroke::new(thickness, border),
                StrokeKind::Inside,
            ),
        );
        response
    }

    fn editor(&mut self, ui: &mut Ui, t: &ThemeTokens, id: Id, rect: Rect) -> Response {
        let is_long = self.value.len() > LENGTH_MAX;
        let is_fixed = self.read_only || is_long;
        let several = self.rows > 1;
        // A text that would hold the window up is shown by its beginning, and not edited.
        let fixed: Cow<'_, str> = match (is_fixed, is_long) {
            (false, _) => Cow::Borrowed(""),
            (true, false) => Cow::Owned(self.value.clone()),
            (true, true) => Cow::Owned(displayed_block(self.value).into_owned()),
        };
        let mut fixed = &*fixed;
        let has_hidden = !self.secret
            && matches!(
                editable(if is_fixed { fixed } else { self.value }),
                Cow::Owned(_)
            );
        let mut edit = match (is_fixed, several) {
            (true, true) => TextEdit::multiline(&mut fixed),
            (true, false) => TextEdit::singleline(&mut fixed),
            (false, true) => TextEdit::multiline(self.value),
            (false, false) => TextEdit::singleline(self.value),
        };
        let size = if self.mono {
            font::mono(12.0)
        } else {
            font::regular(13.0)
        };
        let color = if is_fixed { t.tx2 } else { t.tx };
        let align = if several {
            egui::Align2::LEFT_TOP
        } else {
            egui::Align2::LEFT_CENTER
        };
        edit = edit
            .id(id)
            .password(self.secret)
            .frame(egui::Frame::NONE)
            .margin(egui::Margin::ZERO)
            .desired_width(rect.width())
            .min_size(rect.size())
            .align(align)
            .font(size.clone())
            .text_color(color);
        if !self.hint.is_empty() {
            edit = edit.hint_text(theme::rich_text(self.hint).font(size.clone()).color(t.tx3));
        }
        if several {
            edit = edit.desired_rows(self.rows);
        }
        let mut layouter = |ui: &Ui, text: &dyn TextBuffer, width: f32| {
            lay_out_editable_text(ui, text.as_str(), several, size.clone(), color, width)
        };
        if has_hidden {
            edit = edit.layouter(&mut layouter);
        }
        let mut child = ui.new_child(
            UiBuilder::new()
                .max_rect(rect)
                .layout(egui::Layout::left_to_right(egui::Align::Center)),
        );
        child.set_clip_rect(ui.clip_rect().intersect(rect.expand(2.0)));
        // Otherwise the editor is at least as high as a button and exceeds the frame.
        child.spacing_mut().interact_size.y = 0.0;
        child.add(edit)
    }
}

/// As egui lays the text out, with a sign in place of each character that shows nothing.
fn lay_out_editable_text(
    ui: &Ui,
    text: &str,
    several: bool,
    font: FontId,
    color: Color32,
    width: f32,
) -> Arc<Galley> {
    let text = editable(text).into_owned();
    let mut job = if several {
        LayoutJob::simple(text, font, color, width)
    } else {
        LayoutJob::simple_singleline(text, font, color)
    };
    job.keep_trailing_whitespace = true;
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}
