//! Buttons: primary (one a panel), secondary, ghost, danger, icon only. A disabled one shows the
//! reason.

use std::borrow::Cow;

use egui::{Color32, Id, Response, Role, Sense, Ui, Widget, WidgetInfo, pos2, vec2};

use super::paint;
use crate::gui::theme::{self, font};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ButtonLook {
    Primary,
    Secondary,
    Ghost,
    Danger,
    DangerGhost,
    Bar,
}

/// A button. `ui.add(Button::primary("Write"))`.
#[must_use = "add it to a ui"]
pub struct Button<'a> {
    look: ButtonLook,
    icon: Option<&'static str>,
    text: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
    tooltip: Option<Cow<'a, str>>,
    blocked: Option<Cow<'a, str>>,
    large: bool,
    selected: bool,
    icon_color: Option<Color32>,
    width: Option<f32>,
    most: f32,
    first: bool,
    by_pointer: bool,
}

/// Key under which the initially focused button of a dialog stores its id.
fn first_id() -> Id {
    Id::unique("first-button")
}

/// The button drawn since the last call that gets the initial focus of a dialog.
pub fn take_first(ui: &Ui) -> Option<Id> {
    ui.data_mut(|data| std::mem::take(data.get_temp_mut_or_default::<Option<Id>>(first_id())))
}

impl<'a> Button<'a> {
    fn new(look: ButtonLook, text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            look,
            icon: None,
            text: text.into(),
            name: None,
            tooltip: None,
            blocked: None,
            large: false,
            selected: false,
            icon_color: None,
            width: None,
            most: f32::INFINITY,
            first: look == ButtonLook::Primary,
            by_pointer: false,
        }
    }

    /// The primary action.
    pub fn primary(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ButtonLook::Primary, text)
    }

    pub fn secondary(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ButtonLook::Secondary, text)
    }

    /// Without a fill, for minor actions.
    pub fn ghost(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ButtonLook::Ghost, text)
    }

    /// Red text on the secondary fill: stops or removes.
    pub fn danger(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ButtonLook::Danger, text)
    }

    /// Red text without a fill: removes after a question.
    pub fn danger_ghost(text: impl Into<Cow<'a, str>>) -> Self {
        Self::new(ButtonLook::DangerGhost, text)
    }

    /// Icon and text of the top bar, 28 points high.
    pub fn bar(icon: &'static str, text: impl Into<Cow<'a, str>>) -> Self {
        Self {
            icon: Some(icon),
            ..Self::new(ButtonLook::Bar, text)
        }
    }

    /// An icon without text; `name` is its accessible name and tooltip.
    pub fn icon_only(icon: &'static str, name: impl Into<Cow<'a, str>>) -> Self {
        Self {
            icon: Some(icon),
            name: Some(name.into()),
            ..Self::new(ButtonLook::Ghost, "")
        }
    }

    /// Puts an icon before the text.
    pub fn icon(mut self, icon: &'static str) -> Self {
        self.icon = Some(icon);
        self
    }

    /// Another colour for the icon.
    pub fn icon_color(mut self, color: Color32) -> Self {
        self.icon_color = Some(color);
        self
    }

    /// Draws an icon-only button with the secondary fill.
    pub fn with_secondary_fill(mut self) -> Self {
        self.look = ButtonLook::Secondary;
        self
    }

    /// 30 points high, as in the foot of a dialog.
    pub fn large(mut self) -> Self {
        self.large = true;
        self
    }

    /// At least this wide.
    pub fn min_width(mut self, width: f32) -> Self {
        self.width = Some(width);
        self
    }

    /// At most this wide: a longer text is cut, and named by the tooltip.
    pub fn max_width(mut self, width: f32) -> Self {
        self.most = width;
        self
    }

    /// Width that a secondary button takes for this text, in points.
    pub fn width_of(ui: &Ui, text: &str) -> f32 {
        paint::measure_text_width(ui.painter(), text, font::medium(12.0), Color32::WHITE).round()
            + 18.0
    }

    /// Gets the initial focus of a dialog without a primary button.
    pub fn first(mut self) -> Self {
        self.first = true;
        self
    }

    /// Not in the Tab order, as a key does the same.
    pub fn by_pointer(mut self) -> Self {
        self.by_pointer = true;
        self
    }

    /// Draws the button as pressed.
    pub fn with_selected_state(mut self, selected: bool) -> Self {
        self.selected = selected;
        self
    }

    /// Accessible name, when the text is not enough.
    pub fn name(mut self, name: impl Into<Cow<'a, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Text shown while the pointer rests on it.
    pub fn tooltip(mut self, text: impl Into<Cow<'a, str>>) -> Self {
        self.tooltip = Some(text.into());
        self
    }

    /// Disables the button when there is a reason, and shows that as its tooltip.
    pub fn with_disabled_reason(mut self, reason: Option<impl Into<Cow<'a, str>>>) -> Self {
        self.blocked = reason.map(Into::into);
        self
    }
}

impl Widget for Button<'_> {
    fn ui(self, ui: &mut Ui) -> Response {
        let t = theme::tokens(ui);
        let bar = self.look == ButtonLook::Bar;
        let font = match self.look {
            _ if self.large => font::medium(13.0),
            ButtonLook::Primary => font::semibold(12.0),
            ButtonLook::Bar => font::regular(13.0),
            _ => font::medium(12.0),
        };
        let icon_size = if bar || self.text.is_empty() {
            16.0
        } else {
            14.0
        };
        let height = if self.large {
            30.0
        } else if bar {
            28.0
        } else {
            24.0
        };
        let padding = if self.large {
            14.0
        } else if bar {
            8.0
        } else {
            9.0
        };
        let gap = if bar { 6.0 } else { 5.0 };
        let galley = if self.most.is_finite() {
            paint::layout_cut_line(
                ui.painter(),
                &self.text,
                font,
                t.tx,
                self.most - 2.0 * padding,
            )
        } else {
            paint::layout_unwrapped_line(ui.painter(), &self.text, font, t.tx)
        };
        let mut content = galley.size().x;
        if self.icon.is_some() {
            content += icon_size + if self.text.is_empty() { 0.0 } else { gap };
        }
        let width = if self.text.is_empty() {
            height
        } else {
            content + 2.0 * padding
        }
        .max(self.width.unwrap_or(0.0));
        let enabled = self.blocked.is_none();
        let sense = match enabled {
            true if self.by_pointer => Sense::CLICK,
            true => Sense::click(),
            false => Sense::hover(),
        };
        let (rect, response) = ui.allocate_exact_size(vec2(width.round(), height), sense);
        if self.first && enabled && ui.is_enabled() {
            ui.data_mut(|data| data.insert_temp(first_id(), Some(response.id)));
        }
        let name = self.name.clone().unwrap_or_else(|| self.text.clone());
        let live = enabled && ui.is_enabled();
        response.widget_info(|| {
            if self.selected {
                WidgetInfo::selected(Role::Button, live, true, &name)
            } else {
                WidgetInfo::labeled(Role::Button, live, &name)
            }
        });
        if ui.is_rect_visible(rect) {
            let hot = enabled && (response.hovered() || response.is_pointer_button_down_on());
            let (fill, text) = match self.look {
                _ if !enabled
                    && matches!(
                        self.look,
                        ButtonLook::Primary | ButtonLook::Secondary | ButtonLook::Danger
                    ) =>
                {
                    (t.bg2, t.txd)
                }
                _ if !enabled => (Color32::TRANSPARENT, t.txd),
                ButtonLook::Primary => (if hot { t.accfill2 } else { t.accfill }, t.onacc),
                ButtonLook::Secondary => (if hot || self.selected { t.bg4 } else { t.bg3 }, t.tx),
                ButtonLook::Danger => (if hot { t.bg4 } else { t.bg3 }, t.err),
                ButtonLook::Ghost | ButtonLook::Bar => {
                    let fill = if hot || self.selected {
                        t.bg3
                    } else {
                        Color32::TRANSPARENT
                    };
                    (fill, if hot || self.selected { t.tx } else { t.tx2 })
                }
                ButtonLook::DangerGhost => (if hot { t.bg3 } else { Color32::TRANSPARENT }, t.err),
            };
            let painter = ui.painter();
            painter.rect_filled(rect, 4, fill);
            let mut x = rect.center().x - content / 2.0;
            if let Some(icon) = self.icon {
                let color = if enabled {
                    self.icon_color.unwrap_or(text)
                } else {
                    text
                };
                paint::draw_icon(
                    painter,
                    pos2(x + icon_size / 2.0, rect.center().y),
                    icon,
                    icon_size,
                    color,
                );
                x += icon_size + gap;
            }
            if !self.text.is_empty() {
                let at = paint::snap_to_pixels(
                    painter,
                    pos2(x, rect.center().y - galley.size().y / 2.0),
                );
                painter.galley_with_override_text_color(at, galley, text);
            }
            paint::focus_ring(ui, &response, 4);
        }
        let tooltip = self.blocked.or(self.tooltip).or(if self.text.is_empty() {
            self.name
        } else {
            None
        });
        match tooltip {
            Some(text) => response.on_hover_text(theme::rich_text(text.as_ref())),
            None => response,
        }
    }
}

pub fn link(ui: &mut Ui, text: &str) -> Response {
    let t = theme::tokens(ui);
    let galley = paint::layout_unwrapped_line(ui.painter(), text, font::regular(12.0), t.info);
    let (rect, response) = ui.allocate_exact_size(
        vec2(galley.size().x, galley.size().y.max(16.0)),
        Sense::click(),
    );
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::labeled(Role::Link, enabled, text));
    if ui.is_rect_visible(rect) {
        let at = paint::snap_to_pixels(
            ui.painter(),
            pos2(rect.left(), rect.center().y - galley.size().y / 2.0),
        );
        let bottom = at.y + galley.size().y - 1.0;
        ui.painter().galley(at, galley, t.info);
        if response.hovered() {
            ui.painter()
                .hline(rect.x_range(), bottom, egui::Stroke::new(1.0, t.info));
        }
        paint::focus_ring(ui, &response, 2);
    }
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}
