//! The tool bar of the preview: bands, comparison, zoom, and stepping through siblings.

use std::time::Duration;

use egui::{Frame, Margin, Ui, vec2};

use super::names::{band_name, band_names, classes_of, short_name};
use super::sibling_rows::{find_sibling_file, list_files_around};
use super::state::{Compare, CompareMode, PreviewPanel};
use super::variable;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, Button, Segment, paint};
use crate::raster::{BandChoice, BandIndex, ColourMap, Preset};
use crate::studio::{Document, RowRef};

/// Seconds a sibling is shown during playback.
const PLAY_S: f64 = 0.8;

/// The sample to compare with.
pub fn other_of(document: &Document, at: RowRef, compare: &Compare) -> Option<RowRef> {
    if matches!(compare.mode, CompareMode::Off | CompareMode::Linked) {
        return None;
    }
    let beside =
        || find_sibling_file(document, at, -1).or_else(|| find_sibling_file(document, at, 1));
    compare
        .with
        .filter(|&other| other != at && document.id(other).is_some() && other.level == at.level)
        .or_else(beside)
}

/// Gap between controls, in points.
const GAP: f32 = 6.0;
const PRESET: f32 = 128.0;
const COLOURS: f32 = 124.0;
const MODE: f32 = 104.0;
const WITH: f32 = 100.0;
const ICON: f32 = 24.0;
const MODES: [CompareMode; 5] = [
    CompareMode::Off,
    CompareMode::Flip,
    CompareMode::Swipe,
    CompareMode::Difference,
    CompareMode::Linked,
];

/// Form of the comparison choice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    /// A segmented control.
    Wide,
    /// A combo box.
    Narrow,
}

/// Draws the tools in one row, or in several if they do not fit. `playback` is false when the
/// sibling strip has the buttons.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    playback: bool,
) {
    let t = theme::tokens(ui);
    panel.compare.jobs = cx.jobs.clone();
    let bands = BandChoices::of_shown_raster(panel, document);
    let alone = is_alone(document, at);
    Frame::NONE
        .inner_margin(Margin::symmetric(8, 5))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(GAP, 4.0);
            let separators = if alone { 1.0 } else { 2.0 };
            // Widths of the controls, each with the gap before it.
            let left = bands.as_ref().map_or(60.0, |bands| bands.width(ui, t))
                + variable::width(panel, document, GAP);
            let right = zoom_width(ui, panel, t)
                + if playback { 3.0 * (ICON + GAP) } else { 0.0 }
                + separators * (GAP + 6.0);
            let room = ui.available_width() - left - right;
            let fits = |wanted: Room| alone || compare_width(ui, panel, t, wanted) + GAP <= room;
            if room >= 0.0 && fits(Room::Narrow) {
                let compare = if fits(Room::Wide) {
                    Room::Wide
                } else {
                    Room::Narrow
                };
                ui.set_height(26.0);
                ui.horizontal_centered(|ui| {
                    variable::ui(ui, panel, cx, document, at);
                    bands_ui(ui, panel, bands.as_ref());
                    ui.separator();
                    if !alone {
                        compare_ui(ui, panel, document, at, compare);
                    }
                    ui.add_space((ui.available_width() - right + GAP).max(0.0));
                    if playback {
                        playback_ui(ui, panel, cx, document, at);
                    }
                    zoom_ui(ui, panel);
                });
            } else {
                ui.horizontal_wrapped(|ui| {
                    variable::ui(ui, panel, cx, document, at);
                    bands_ui(ui, panel, bands.as_ref());
                    if !alone {
                        compare_ui(ui, panel, document, at, Room::Narrow);
                    }
                    if playback {
                        playback_ui(ui, panel, cx, document, at);
                    }
                    zoom_ui(ui, panel);
                });
            }
        });
    let (rect, across) = (ui.min_rect(), ui.max_rect().x_range());
    ui.painter()
        .hline(across, rect.bottom() - 0.5, egui::Stroke::new(1.0, t.line));
}

fn is_alone(document: &Document, at: RowRef) -> bool {
    find_sibling_file(document, at, 1).is_none() && find_sibling_file(document, at, -1).is_none()
}

/// Draws the buttons for the previous and next sibling and for playback.
pub fn playback_ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let playing = panel.next_step_s.is_some();
    let (icon, name) = if playing {
        (icons::PAUSE, tr!("Stop playing"))
    } else {
        (icons::PLAY, tr!("Play the siblings"))
    };
    let alone = is_alone(document, at).then_some(tr!("It has no siblings"));
    if ui
        .add(Button::icon_only(icon, name).with_disabled_reason(alone))
        .clicked()
    {
        panel.next_step_s = (!playing).then(|| ui.input(|input| input.time));
    }
    let ways = [
        (icons::CARET_LEFT, tr!("Previous sibling"), -1),
        (icons::CARET_RIGHT, tr!("Next sibling"), 1),
    ];
    for (icon, name, step) in ways {
        let to = find_sibling_file(document, at, step);
        let blocked = to
            .is_none()
            .then_some(tr!("There is no other file beside it"));
        if ui
            .add(Button::icon_only(icon, name).with_disabled_reason(blocked))
            .clicked()
        {
            cx.request(Request::Select(to));
        }
    }
}

struct BandChoices {
    names: Vec<String>,
    /// The names in the tool bar.
    shorts: Vec<String>,
    shown: BandChoice,
    presets: Vec<(String, Option<BandChoice>)>,
    has_classes: bool,
}

impl BandChoices {
    fn of_shown_raster(panel: &PreviewPanel, document: &Document) -> Option<Self> {
        let known = band_names(Some(document));
        let image = panel.image()?;
        let (info, shown) = (&image.info, image.bands.clone());
        let presets = Preset::ALL
            .iter()
            .filter_map(|preset| {
                Some((
                    crate::text::translate_text(preset.label()).to_owned(),
                    Some(preset.bands(info, &known)?),
                ))
            })
            .chain((info.band_count > 1).then(|| (tr!("Single band").to_owned(), None)))
            .collect();
        let names: Vec<String> = info
            .bands
            .iter()
            .map(|band| band_name(band, &known))
            .collect();
        let shorts = info
            .bands
            .iter()
            .zip(&names)
            .map(|(band, name)| short_name(band, name))
            .collect();
        Some(Self {
            names,
            shorts,
            shown,
            presets,
            has_classes: classes_of(document).colours.is_some(),
        })
    }

    /// The name of a band in the tool bar.
    fn short(&self, band: BandIndex) -> String {
        self.shorts
            .get(band.position())
            .cloned()
            .unwrap_or_else(|| band.to_string())
    }

    /// Width of each band combo box: name and caret.
    fn band_width(&self, ui: &Ui, t: &ThemeTokens) -> f32 {
        let width = |band: &BandIndex| {
            paint::measure_text_width(ui.painter(), &self.short(*band), font::mono(12.0), t.tx)
        };
        let widest = self.shown.bands().iter().map(width).fold(0.0, f32::max);
        (widest + 37.0).clamp(56.0, 116.0)
    }

    fn width(&self, ui: &Ui, t: &ThemeTokens) -> f32 {
        let preset = if self.names.len() > 1 {
            PRESET + GAP
        } else {
            0.0
        };
        let band = self.band_width(ui, t) + GAP;
        let letter =
            paint::measure_text_width(ui.painter(), "R", font::mono_semibold(12.0), t.tx) + GAP;
        match &self.shown {
            BandChoice::Rgb(_) => preset + 3.0 * (letter + band),
            BandChoice::Single { .. } => {
                preset + if self.names.len() > 1 { band } else { 0.0 } + COLOURS + GAP
            }
            BandChoice::Auto => preset,
        }
    }
}

fn bands_ui(ui: &mut Ui, panel: &mut PreviewPanel, bands: Option<&BandChoices>) {
    let t = theme::tokens(ui);
    let Some(of) = bands else {
        ui.label(
            theme::rich_text(tr!("Reading…"))
                .font(font::regular(12.0))
                .color(t.tx3),
        );
        return;
    };
    let width = of.band_width(ui, t);
    let mut chosen = of.shown.clone();
    if of.names.len() > 1 {
        let current = of
            .presets
            .iter()
            .find(|(_, bands)| bands.as_ref() == Some(&of.shown))
            .map(|(label, _)| label.clone());
        let current = current.unwrap_or_else(|| {
            if matches!(of.shown, BandChoice::Rgb(_)) {
                tr!("Own bands").into()
            } else {
                tr!("Single band").into()
            }
        });
        let labels: Vec<&str> = of
            .presets
            .iter()
            .map(|(label, _)| label.as_str())
            .chain([tr!("Own bands")])
            .collect();
        if let Some(index) =
            widgets::combo(ui, tr!("Band preset"), &current, PRESET, false, &labels)
        {
            let own = |place: usize| {
                BandIndex::from_position(place.min(of.names.len().saturating_sub(1)))
            };
            chosen = match of.presets.get(index) {
                Some((_, Some(bands))) => bands.clone(),
                Some((_, None)) => BandChoice::Single {
                    band: of
                        .shown
                        .bands()
                        .first()
                        .copied()
                        .unwrap_or(BandIndex::FIRST),
                    map: ColourMap::Grey,
                },
                None => BandChoice::Rgb([0, 1, 2].map(own)),
            };
        }
    }
    match &mut chosen {
        BandChoice::Rgb(bands) => {
            let colors = [t.err, t.ok, t.info];
            for ((letter, color), band) in ["R", "G", "B"]
                .into_iter()
                .zip(colors)
                .zip(bands.iter_mut())
            {
                ui.label(
                    theme::rich_text(letter)
                        .font(font::mono_semibold(12.0))
                        .color(color),
                );
                if let Some(index) = widgets::combo(
                    ui,
                    &tr!("Band for {letter}", letter),
                    &of.short(*band),
                    width,
                    true,
                    &of.names,
                ) {
                    *band = BandIndex::from_position(index);
                }
            }
        }
        BandChoice::Single { band, map } => {
            if of.names.len() > 1
                && let Some(index) =
                    widgets::combo(ui, tr!("Band"), &of.short(*band), width, true, &of.names)
            {
                *band = BandIndex::from_position(index);
            }
            let label = |map: ColourMap| crate::text::translate_text(map.label());
            let mut labels: Vec<&str> = ColourMap::ALL.map(label).to_vec();
            if of.has_classes {
                labels.push(tr!("Label classes"));
            }
            let current = if panel.side.by_class && of.has_classes {
                tr!("Label classes")
            } else {
                label(*map)
            };
            if let Some(index) =
                widgets::combo(ui, tr!("Colours"), current, COLOURS, false, &labels)
            {
                panel.side.by_class = index >= ColourMap::ALL.len();
                *map = ColourMap::ALL
                    .get(index)
                    .copied()
                    .unwrap_or(ColourMap::Grey);
            }
        }
        BandChoice::Auto => {}
    }
    if chosen != of.shown {
        panel.options.bands = chosen;
    }
}

fn segments() -> [Segment<'static, CompareMode>; 5] {
    MODES.map(|mode| Segment::new(mode, mode.text()))
}

/// Width of the comparison with all its controls, so that the layout does not change with the mode.
fn compare_width(ui: &Ui, panel: &PreviewPanel, t: &ThemeTokens, room: Room) -> f32 {
    let modes = match room {
        Room::Wide => {
            let label =
                paint::measure_text_width(ui.painter(), tr!("Compare"), font::regular(12.0), t.tx);
            label + GAP + widgets::segmented_width(ui, &segments())
        }
        Room::Narrow => MODE,
    };
    modes
        + GAP
        + WITH
        + if panel.compare.failed.is_some() {
            GAP + ICON
        } else {
            0.0
        }
}

fn compare_ui(ui: &mut Ui, panel: &mut PreviewPanel, document: &Document, at: RowRef, room: Room) {
    let t = theme::tokens(ui);
    let compare = &mut panel.compare;
    match room {
        Room::Wide => {
            ui.label(
                theme::rich_text(tr!("Compare"))
                    .font(font::regular(12.0))
                    .color(t.tx2),
            );
            widgets::draw_segments(ui, "compare", &mut compare.mode, &segments());
        }
        Room::Narrow => {
            let current = match compare.mode {
                CompareMode::Off => tr!("Compare"),
                mode => mode.text(),
            };
            if let Some(index) = widgets::combo(
                ui,
                tr!("Compare"),
                current,
                MODE,
                false,
                &MODES.map(CompareMode::text),
            ) {
                compare.mode = MODES.get(index).copied().unwrap_or(CompareMode::Off);
            }
        }
    }
    compare.own_name = document.id(at).unwrap_or_default().to_owned();
    let Some(other) = other_of(document, at, compare) else {
        return;
    };
    compare.other_name = document.id(other).unwrap_or_default().to_owned();
    let around: Vec<RowRef> = list_files_around(document, at, 64)
        .into_iter()
        .filter(|&row| row != at)
        .collect();
    let names: Vec<&str> = around
        .iter()
        .map(|&row| document.id(row).unwrap_or_default())
        .collect();
    let current = compare.other_name.clone();
    if let Some(index) = widgets::combo(ui, tr!("Compare with"), &current, WITH, true, &names) {
        compare.with = around.get(index).copied();
    }
    if let Some(why) = compare
        .failed
        .clone()
        .filter(|_| compare.mode == CompareMode::Difference)
    {
        let name = tr!("No difference: {why}", why);
        let _ = ui.add(Button::icon_only(icons::WARNING, name).icon_color(t.err));
    }
}

/// Text of the 1:1 button.
fn zoom_text(panel: &PreviewPanel) -> String {
    let scale = panel.view.scale;
    format!("{:.0} %", if scale > 0.0 { scale } else { 1.0 } * 100.0)
}

fn zoom_width(ui: &Ui, panel: &PreviewPanel, t: &ThemeTokens) -> f32 {
    let text = paint::measure_text_width(ui.painter(), &zoom_text(panel), font::medium(12.0), t.tx);
    3.0 * (ICON + GAP) + (text + 18.0).round() + GAP
}

fn zoom_ui(ui: &mut Ui, panel: &mut PreviewPanel) {
    let mut factor = 1.0;
    if ui
        .add(Button::icon_only(icons::MINUS, tr!("Zoom out")))
        .clicked()
    {
        factor = 1.0 / 1.5;
    }
    let scale = if panel.view.scale > 0.0 {
        panel.view.scale
    } else {
        1.0
    };
    let label = ui.add(
        Button::ghost(zoom_text(panel))
            .name(tr!("One to one"))
            .tooltip(tr!("Show every pixel once")),
    );
    if label.clicked() {
        factor = 1.0 / scale;
    }
    if ui
        .add(Button::icon_only(icons::PLUS, tr!("Zoom in")))
        .clicked()
    {
        factor = 1.5;
    }
    if ui
        .add(Button::icon_only(
            icons::CORNERS_OUT,
            tr!("Fit to the panel"),
        ))
        .clicked()
    {
        panel.view.fit();
    }
    if factor != 1.0
        && let Some(info) = panel.info()
    {
        let whole = [info.width as f64 / 2.0, info.height as f64 / 2.0];
        let view = &mut panel.view;
        let middle = view.place.map_or(whole, |(middle, _)| middle);
        view.place = Some((middle, scale * factor / f64::from(ui.pixels_per_point())));
        view.moved_s = ui.input(|input| input.time);
    }
}

/// Steps to the next sibling when playback is due; wraps around.
pub fn play(
    ui: &Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let Some(next) = panel.next_step_s else {
        return;
    };
    let now = ui.input(|input| input.time);
    // Playback waits for a picture that is still pending.
    if now >= next && panel.whole.is_some() {
        let to = find_sibling_file(document, at, 1)
            .or_else(|| list_files_around(document, at, 4096).first().copied());
        cx.request(Request::Select(to));
        panel.next_step_s = Some(now + PLAY_S);
    }
    ui.ctx().request_repaint_after(Duration::from_millis(100));
}
