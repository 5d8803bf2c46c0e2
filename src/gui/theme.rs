//! Colours, type and spacing of the studio: the design tokens, and how egui's style is made from
//! them. Every colour that a widget paints comes from [`ThemeTokens`]; no other file of the window
//! may name one, except for pixels of a raster.

use std::sync::Arc;

use egui::style::{HandleShape, ScrollStyle, TextCursorStyle, WidgetVisuals, Widgets};
use egui::{
    Color32, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Margin, RichText, Shadow,
    Stroke, Style, TextStyle, Visuals, vec2,
};

use crate::text::displayed_block;

/// The colours of one theme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThemeTokens {
    /// True for the dark theme.
    pub dark: bool,
    /// Window behind the tiles.
    pub bg0: Color32,
    /// Panels and forms.
    pub bg1: Color32,
    /// Bars, table header, popups.
    pub bg2: Color32,
    /// Secondary button, chip, track.
    pub bg3: Color32,
    /// Hovered button, scroll handle.
    pub bg4: Color32,
    /// Text fields.
    pub input: Color32,
    /// Hovered row.
    pub hover: Color32,
    /// Selected row, text selection.
    pub sel: Color32,
    /// Row and section rules.
    pub line: Color32,
    /// Borders of cards, popups, dialogs.
    pub line2: Color32,
    /// Borders of inputs (3:1).
    pub ctl: Color32,
    /// Primary text.
    pub tx: Color32,
    /// Labels.
    pub tx2: Color32,
    /// Hints, counts, idle icons.
    pub tx3: Color32,
    /// Disabled only.
    pub txd: Color32,
    /// Accent as text or icon.
    pub acc: Color32,
    /// Primary fill, focus ring.
    pub accfill: Color32,
    /// Primary fill, hovered.
    pub accfill2: Color32,
    /// Text on `accfill`.
    pub onacc: Color32,
    /// Drop slot, filter chip.
    pub accbg: Color32,
    /// Border of `accbg`.
    pub accline: Color32,
    /// Error.
    pub err: Color32,
    /// Error badge.
    pub errbg: Color32,
    /// Border of `errbg`.
    pub errline: Color32,
    pub warn: Color32,
    /// Warning badge.
    pub warnbg: Color32,
    /// Border of `warnbg`.
    pub warnline: Color32,
    /// Fine, done.
    pub ok: Color32,
    /// Badge of `ok`.
    pub okbg: Color32,
    /// Border of `okbg`.
    pub okline: Color32,
    /// Link, note, remote.
    pub info: Color32,
    /// Badge of `info`.
    pub infobg: Color32,
    /// Border of `infobg`.
    pub infoline: Color32,
    /// Land of the base map.
    pub mapland: Color32,
    /// Sea of the base map.
    pub mapsea: Color32,
    /// Coast.
    pub mapline: Color32,
    /// Graticule.
    pub grid: Color32,
    /// Words of SQL's grammar.
    pub keyword: Color32,
}

const fn hex(rgb: u32) -> Color32 {
    Color32::from_rgb((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8)
}

pub const DARK: ThemeTokens = ThemeTokens {
    dark: true,
    bg0: hex(0x111214),
    bg1: hex(0x18191C),
    bg2: hex(0x1E2024),
    bg3: hex(0x2A2C31),
    bg4: hex(0x363940),
    input: hex(0x121316),
    hover: hex(0x24262A),
    sel: hex(0x3A2A1B),
    line: hex(0x2B2D32),
    line2: hex(0x3E4148),
    ctl: hex(0x6B6F78),
    tx: hex(0xE9E9EB),
    tx2: hex(0xB4B7BE),
    tx3: hex(0x959AA3),
    txd: hex(0x62666F),
    acc: hex(0xF79A4E),
    accfill: hex(0xF0883A),
    accfill2: hex(0xF79A4E),
    onacc: hex(0x1F0F02),
    accbg: hex(0x33241A),
    accline: hex(0x9A5B26),
    err: hex(0xFF8080),
    errbg: hex(0x351C1E),
    errline: hex(0x8A3B40),
    warn: hex(0xE7C64B),
    warnbg: hex(0x2F2913),
    warnline: hex(0x7B681F),
    ok: hex(0x55CBA0),
    okbg: hex(0x14302A),
    okline: hex(0x23705A),
    info: hex(0x79B8FF),
    infobg: hex(0x16283D),
    infoline: hex(0x2F5F92),
    mapland: hex(0x26282C),
    mapsea: hex(0x15171A),
    mapline: hex(0x44484F),
    grid: hex(0x202226),
    keyword: hex(0xC792EA),
};

pub const LIGHT: ThemeTokens = ThemeTokens {
    dark: false,
    bg0: hex(0xE6E6E3),
    bg1: hex(0xFFFFFF),
    bg2: hex(0xF5F5F2),
    bg3: hex(0xE9E9E5),
    bg4: hex(0xDDDDD8),
    input: hex(0xFFFFFF),
    hover: hex(0xF0F0EC),
    sel: hex(0xFCE9D8),
    line: hex(0xE2E2DE),
    line2: hex(0xCFCFCA),
    ctl: hex(0x8A8D92),
    tx: hex(0x1C1D20),
    tx2: hex(0x4A4D54),
    tx3: hex(0x5F636B),
    txd: hex(0xA0A3A9),
    acc: hex(0xA34A08),
    accfill: hex(0xB4540C),
    accfill2: hex(0x9A4407),
    onacc: hex(0xFFFFFF),
    accbg: hex(0xFDF0E4),
    accline: hex(0xE0A470),
    err: hex(0xB3232D),
    errbg: hex(0xFDECEC),
    errline: hex(0xE7A9AC),
    warn: hex(0x775A00),
    warnbg: hex(0xFFF5D2),
    warnline: hex(0xDEC063),
    ok: hex(0x0B6E52),
    okbg: hex(0xE2F5ED),
    okline: hex(0x8CCBB3),
    info: hex(0x1B5CA8),
    infobg: hex(0xE7F0FB),
    infoline: hex(0x9DC1E8),
    mapland: hex(0xEFEDE7),
    mapsea: hex(0xDCE5EB),
    mapline: hex(0xB3B2AA),
    grid: hex(0xCBD6DE),
    keyword: hex(0x7A2FA0),
};

/// The colours in use where `ui` draws.
pub fn tokens(ui: &egui::Ui) -> &'static ThemeTokens {
    tokens_for_mode(ui.visuals().dark_mode)
}

/// The colours of the dark or the light theme.
pub fn tokens_for_mode(dark: bool) -> &'static ThemeTokens {
    if dark { &DARK } else { &LIGHT }
}

/// Duration of fades in seconds, unless motion is reduced.
pub const ANIMATION_S: f32 = 0.08;

/// The chosen theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    Dark,
    Light,
    /// The desktop's theme; dark if unknown.
    #[default]
    System,
}

/// Fonts by role.
pub mod font {
    use egui::{FontFamily, FontId};

    fn named_font(size: f32, family: &str) -> FontId {
        FontId::new(size, FontFamily::Name(family.into()))
    }

    /// Inter 400.
    pub fn regular(size: f32) -> FontId {
        FontId::new(size, FontFamily::Proportional)
    }

    /// Inter 500.
    pub fn medium(size: f32) -> FontId {
        named_font(size, "medium")
    }

    /// Inter 600.
    pub fn semibold(size: f32) -> FontId {
        named_font(size, "semibold")
    }

    /// JetBrains Mono NL: ids, paths, numbers, types, code.
    pub fn mono(size: f32) -> FontId {
        FontId::new(size, FontFamily::Monospace)
    }

    /// JetBrains Mono NL 600.
    pub fn mono_semibold(size: f32) -> FontId {
        named_font(size, "mono-semibold")
    }

    /// Phosphor.
    pub fn icon(size: f32) -> FontId {
        named_font(size, "icon")
    }
}

/// The text style with this name: `title`, `small12` or `mono11`.
pub fn text_style(name: &'static str) -> TextStyle {
    TextStyle::Name(name.into())
}

/// A text for egui's widgets, in its displayed form (see [`displayed_block`]); the one way to make
/// a [`RichText`], so that no panel shows what a dataset hides in a name.
pub fn rich_text(text: impl AsRef<str>) -> RichText {
    RichText::new(displayed_block(text.as_ref()))
}

/// As [`rich_text`], in the small style.
pub fn style_small_text(text: impl AsRef<str>, color: Color32) -> RichText {
    rich_text(text)
        .text_style(text_style("small12"))
        .color(color)
}

/// Installs fonts and both themes. Call once for each context, before its first pass.
pub fn install(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
    ctx.set_style_of(egui::Theme::Dark, style(&DARK));
    ctx.set_style_of(egui::Theme::Light, style(&LIGHT));
}

/// Switches the theme.
pub fn set(ctx: &egui::Context, theme: Theme) {
    ctx.options_mut(|options| options.fallback_theme = egui::Theme::Dark);
    ctx.set_theme(match theme {
        Theme::Dark => egui::ThemePreference::Dark,
        Theme::Light => egui::ThemePreference::Light,
        Theme::System => egui::ThemePreference::System,
    });
}

fn fonts() -> FontDefinitions {
    const FILES: [(&str, &[u8]); 6] = [
        (
            "inter",
            include_bytes!("../../assets/fonts/Inter-Regular.otf"),
        ),
        (
            "inter-medium",
            include_bytes!("../../assets/fonts/Inter-Medium.otf"),
        ),
        (
            "inter-semibold",
            include_bytes!("../../assets/fonts/Inter-SemiBold.otf"),
        ),
        (
            "mono",
            include_bytes!("../../assets/fonts/JetBrainsMonoNL-Regular.ttf"),
        ),
        (
            "mono-semibold",
            include_bytes!("../../assets/fonts/JetBrainsMonoNL-SemiBold.ttf"),
        ),
        (
            "phosphor",
            include_bytes!("../../assets/fonts/Phosphor.ttf"),
        ),
    ];
    let mut fonts = FontDefinitions::empty();
    for (name, bytes) in FILES {
        fonts
            .font_data
            .insert(name.to_owned(), Arc::new(FontData::from_static(bytes)));
    }
    // Every family falls back to the other embedded fonts, then to system fonts, then to those of
    // `fallback_glyphs`.
    insert_family(
        &mut fonts,
        FontFamily::Proportional,
        &["inter", "mono", "phosphor"],
    );
    insert_family(
        &mut fonts,
        FontFamily::Monospace,
        &["mono", "inter", "phosphor"],
    );
    insert_family(
        &mut fonts,
        FontFamily::Name("medium".into()),
        &["inter-medium", "mono", "phosphor"],
    );
    insert_family(
        &mut fonts,
        FontFamily::Name("semibold".into()),
        &["inter-semibold", "mono", "phosphor"],
    );
    insert_family(
        &mut fonts,
        FontFamily::Name("mono-semibold".into()),
        &["mono-semibold", "inter-semibold", "phosphor"],
    );
    insert_family(
        &mut fonts,
        FontFamily::Name("icon".into()),
        &["phosphor", "inter"],
    );
    fonts
}

fn insert_family(fonts: &mut FontDefinitions, family: FontFamily, stack: &[&str]) {
    fonts
        .families
        .insert(family, stack.iter().map(|&name| name.to_owned()).collect());
}

/// egui's style for one theme.
pub fn style(t: &ThemeTokens) -> Style {
    let mut style = Style {
        visuals: visuals(t),
        animation_time: ANIMATION_S,
        ..Style::default()
    };
    let styles: [(TextStyle, FontId); 8] = [
        (text_style("title"), font::semibold(22.0)),
        (TextStyle::Heading, font::semibold(15.0)),
        (TextStyle::Body, font::regular(13.0)),
        (TextStyle::Button, font::regular(13.0)),
        (text_style("small12"), font::regular(12.0)),
        (TextStyle::Small, font::regular(11.0)),
        (TextStyle::Monospace, font::mono(12.0)),
        (text_style("mono11"), font::mono(11.0)),
    ];
    style.text_styles = styles.into();
    style.drag_value_text_style = TextStyle::Monospace;
    let spacing = &mut style.spacing;
    spacing.item_spacing = vec2(8.0, 6.0);
    spacing.button_padding = vec2(9.0, 4.0);
    spacing.interact_size = vec2(24.0, 24.0);
    spacing.menu_margin = Margin::same(4);
    spacing.window_margin = Margin::same(0);
    spacing.indent = 16.0;
    spacing.slider_rail_height = 4.0;
    spacing.icon_width = 14.0;
    spacing.icon_width_inner = 8.0;
    spacing.icon_spacing = 6.0;
    spacing.combo_height = 320.0;
    spacing.menu_width = 260.0;
    spacing.tooltip_width = 320.0;
    spacing.scroll = ScrollStyle {
        bar_width: 6.0,
        floating_width: 6.0,
        floating_allocated_width: 8.0,
        bar_inner_margin: 1.0,
        bar_outer_margin: 1.0,
        handle_min_length: 24.0,
        dormant_background_opacity: 0.0,
        active_background_opacity: 0.0,
        interact_background_opacity: 0.0,
        dormant_handle_opacity: 1.0,
        active_handle_opacity: 1.0,
        interact_handle_opacity: 1.0,
        ..ScrollStyle::thin()
    };
    style.spacing.scroll.fade.strength = 0.0;
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.4;
    style.url_in_tooltip = true;
    style.wrap_mode = None;
    style
}

/// egui's colours for one theme.
pub fn visuals(t: &ThemeTokens) -> Visuals {
    let text = Stroke::new(1.0, t.tx);
    let mut visuals = if t.dark {
        Visuals::dark()
    } else {
        Visuals::light()
    };
    visuals.widgets = Widgets {
        noninteractive: make_widget_visuals(t.bg1, Stroke::new(1.0, t.line), text),
        inactive: make_widget_visuals(t.bg3, Stroke::new(1.0, t.ctl), text),
        hovered: make_widget_visuals(t.bg4, Stroke::new(1.0, t.ctl), text),
        active: make_widget_visuals(t.bg4, Stroke::new(1.0, t.accfill), text),
        open: make_widget_visuals(t.bg3, Stroke::new(1.0, t.line2), text),
    };
    visuals.weak_text_color = Some(t.tx3);
    visuals.selection.bg_fill = t.sel;
    visuals.selection.stroke = Stroke::new(1.0, t.acc);
    visuals.hyperlink_color = t.info;
    visuals.faint_bg_color = t.bg2;
    visuals.extreme_bg_color = t.input;
    visuals.text_edit_bg_color = Some(t.input);
    visuals.code_bg_color = t.bg2;
    visuals.warn_fg_color = t.warn;
    visuals.error_fg_color = t.err;
    visuals.window_fill = t.bg2;
    visuals.window_stroke = Stroke::new(1.0, t.line2);
    visuals.window_corner_radius = CornerRadius::same(6);
    visuals.menu_corner_radius = CornerRadius::same(6);
    visuals.panel_fill = t.bg1;
    visuals.popup_shadow = Shadow {
        offset: [0, 6],
        blur: 16,
        spread: 0,
        color: Color32::from_black_alpha(if t.dark { 90 } else { 46 }),
    };
    visuals.window_shadow = Shadow {
        offset: [0, 12],
        blur: 36,
        spread: 0,
        color: Color32::from_black_alpha(70),
    };
    visuals.text_cursor = TextCursorStyle {
        stroke: Stroke::new(1.5, t.tx),
        blink: false,
        ..TextCursorStyle::default()
    };
    visuals.button_frame = true;
    visuals.striped = false;
    visuals.indent_has_left_vline = true;
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = HandleShape::Circle;
    visuals.disabled_alpha = 0.45;
    visuals
}

fn make_widget_visuals(fill: Color32, border: Stroke, text: Stroke) -> WidgetVisuals {
    WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: border,
        corner_radius: CornerRadius::same(4),
        fg_stroke: text,
        expansion: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(color: Color32) -> f64 {
        let linear = |value: u8| {
            let value = f64::from(value) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
    }

    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_pair_in_use_is_readable() {
        let mut poor = Vec::new();
        for t in [&DARK, &LIGHT] {
            let mut check = |name: &str, text: Color32, grounds: &[(&str, Color32)], least: f64| {
                for &(ground, color) in grounds {
                    let found = contrast(text, color);
                    if found < least {
                        poor.push(format!(
                            "{name} on {ground} ({}): {found:.2} < {least}",
                            if t.dark { "dark" } else { "light" }
                        ));
                    }
                }
            };
            let (bg0, bg1, bg2, bg3) = (
                ("bg0", t.bg0),
                ("bg1", t.bg1),
                ("bg2", t.bg2),
                ("bg3", t.bg3),
            );
            let (bg4, input, sel) = (("bg4", t.bg4), ("input", t.input), ("sel", t.sel));
            let badges = [
                ("errbg", t.errbg),
                ("warnbg", t.warnbg),
                ("okbg", t.okbg),
                ("infobg", t.infobg),
            ];
            check("tx", t.tx, &[bg0, bg1, bg2, bg3, bg4, input, sel], 4.5);
            check("tx", t.tx, &badges, 4.5);
            check("tx2", t.tx2, &[bg0, bg1, bg2, bg3, input, sel], 4.5);
            check("tx3", t.tx3, &[bg0, bg1, bg2, bg3, input, sel], 4.5);
            check(
                "acc",
                t.acc,
                &[bg0, bg1, bg2, input, ("accbg", t.accbg)],
                4.5,
            );
            check("acc", t.acc, &[sel], 3.0);
            for (name, color, ground) in [
                ("err", t.err, badges[0]),
                ("warn", t.warn, badges[1]),
                ("ok", t.ok, badges[2]),
                ("info", t.info, badges[3]),
            ] {
                check(name, color, &[bg0, bg1, bg2, input, ground], 4.5);
            }
            check("keyword", t.keyword, &[bg1, input], 4.5);
            check("err", t.err, &[sel], 4.5);
            check("warn", t.warn, &[sel], 4.5);
            check("ok", t.ok, &[sel], 4.5);
            check(
                "onacc",
                t.onacc,
                &[("accfill", t.accfill), ("accfill2", t.accfill2)],
                4.5,
            );
            check("ctl", t.ctl, &[bg1, bg2, input], 3.0);
        }
        assert!(poor.is_empty(), "{}", poor.join("\n"));
        assert!(
            (contrast(DARK.tx, DARK.bg1) - 14.50).abs() < 0.01,
            "the formula agrees with the published table"
        );
    }

    #[test]
    fn every_icon_has_a_glyph() {
        let ctx = egui::Context::default();
        install(&ctx);
        ctx.run_ui(egui::RawInput::default(), |_| {})
            .textures_delta
            .clear();
        ctx.fonts_mut(|fonts| {
            for icon in crate::gui::icons::ALL {
                assert!(
                    fonts.has_glyphs(&font::icon(14.0), icon),
                    "no glyph for {icon:?}"
                );
            }
        });
    }

    #[test]
    fn ligatures_are_off() {
        let ctx = egui::Context::default();
        install(&ctx);
        ctx.run_ui(egui::RawInput::default(), |_| {})
            .textures_delta
            .clear();
        let width = |text: &str| {
            ctx.fonts_mut(|fonts| {
                fonts
                    .layout_no_wrap(text.to_owned(), font::regular(20.0), DARK.tx)
                    .size()
                    .x
            })
        };
        assert!(
            (width("->") - width("-") - width(">")).abs() < 1.5,
            "an arrow would be of another width"
        );
    }
}
