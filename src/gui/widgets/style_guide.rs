//! The style guide: every control in both themes on one image. Set TACO_STUDIO_SHEETS to a folder
//! to write it as PNG.

use egui::{Rect, Ui, UiBuilder, pos2, vec2};
use egui_kittest::Harness;

use super::*;
use crate::gui::icons;
use crate::gui::theme::{self, ThemeTokens, font};

struct Demo {
    texts: [String; 5],
    tags: Vec<String>,
    segment: u8,
    on: bool,
    slider: f32,
    palette: Palette,
}

fn heading(ui: &mut Ui, text: &str) {
    let color = theme::tokens(ui).tx2;
    ui.label(
        theme::rich_text(text)
            .font(font::semibold(11.0))
            .color(color),
    );
}

fn swatches(ui: &mut Ui, t: &ThemeTokens) {
    let colors = [
        ("bg0", t.bg0),
        ("bg1", t.bg1),
        ("bg2", t.bg2),
        ("bg3", t.bg3),
        ("bg4", t.bg4),
        ("input", t.input),
        ("sel", t.sel),
    ];
    ui.horizontal(|ui| {
        for (name, color) in colors {
            ui.vertical(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(80.0, 26.0), egui::Sense::hover());
                ui.painter().rect(
                    rect,
                    4,
                    color,
                    egui::Stroke::new(1.0, t.line2),
                    egui::StrokeKind::Inside,
                );
                ui.label(theme::rich_text(name).font(font::mono(11.0)));
            });
        }
    });
}

fn buttons(ui: &mut Ui) {
    ui.horizontal(|ui| {
        ui.add(Button::primary("Run").icon(icons::PLAY));
        ui.add(Button::primary("Cast 40 to Float32"));
        ui.add(Button::primary("Blocked").with_disabled_reason(Some("Nothing is open")));
        ui.add(Button::primary("Write 28.4 GB").large());
    });
    ui.horizontal(|ui| {
        ui.add(Button::secondary("Pad 12").icon(icons::CIRCLE_DASHED))
            .request_focus();
        ui.add(Button::secondary("Pad 13").with_disabled_reason(Some("Nothing to pad")));
        ui.add(Button::ghost("Ghost"));
        ui.add(Button::danger("Cancel").icon(icons::X));
        ui.add(Button::danger_ghost("Drop 12 roots…"));
        ui.add(Button::icon_only(icons::PLUS, "Add").with_secondary_fill());
        ui.add(Button::bar(icons::FOLDER_OPEN, "Open"));
    });
}

fn column_one(ui: &mut Ui, demo: &mut Demo, t: &ThemeTokens) {
    heading(ui, "Surfaces and text");
    swatches(ui, t);
    heading(ui, "Buttons");
    buttons(ui);
    heading(ui, "Segmented, check, radio, slider");
    ui.horizontal(|ui| {
        let parts = [
            Segment::new(0, "Level 0").count(1204),
            Segment::new(1, "Level 1").count(4816),
            Segment::new(2, "Padded").icon(icons::CIRCLE_DASHED, None),
        ];
        draw_segments(ui, "levels", &mut demo.segment, &parts);
        checkbox(ui, &mut demo.on, "Verify");
        let _ = radio(ui, true, "ZIP");
        let _ = radio(ui, false, "FOLDER");
        slider(ui, "Gamma", &mut demo.slider, 0.5..=2.0, 1.0, 180.0);
    });
    ui.horizontal_top(|ui| {
        ui.vertical(|ui| {
            ui.set_width(320.0);
            let [a, b, c, d, _] = &mut demo.texts;
            TextField::new("title", a)
                .hint("Placeholder")
                .with_required_mark()
                .show(ui);
            TextField::new("id", b).mono().note(FieldNote::Ok).show(ui);
            TextField::new("taco_version", c)
                .mono()
                .read_only(true)
                .show(ui);
            TextField::new("email", d)
                .note(FieldNote::Error(
                    "No \"@\" in this address. Use a form like data@acml.example.org, or leave it \
                        empty."
                        .into(),
                ))
                .show(ui);
            let _ = combo(ui, "compression", "zstd", 320.0, true, &["zstd", "snappy"]);
        });
        ui.vertical(|ui| {
            ui.set_width(320.0);
            heading(ui, "licenses");
            tag_input(
                ui,
                "licenses",
                &mut demo.tags,
                &["MIT", "CC-BY-4.0"],
                "Add SPDX id",
                true,
                false,
            );
            TextField::new("Filter", &mut demo.texts[4])
                .hide_label()
                .quiet()
                .icon(icons::FUNNEL)
                .hint("Filter ids, e.g. roi_00* or t02")
                .show(ui);
            note_ui(
                ui,
                &FieldNote::Warning(
                    "No keywords. Search will not find this dataset by topic.".into(),
                ),
            );
            note_ui(
                ui,
                &FieldNote::Info("extent is computed from stac:centroid when you save.".into()),
            );
            ui.horizontal_wrapped(|ui| {
                badge(ui, Tone::Accent, Some(icons::PENCIL_SIMPLE), "Draft");
                badge(ui, Tone::Info, Some(icons::CLOUD), "TACOCAT, read-only");
                badge(ui, Tone::Neutral, None, "FOLDER");
                badge(ui, Tone::Ok, Some(icons::CHECK), "6 valid");
                badge(ui, Tone::Warning, Some(icons::WARNING), "2 notes");
                badge(ui, Tone::Error, Some(icons::WARNING_OCTAGON), "1 error");
                count_badge(ui, 9, Tone::Neutral);
                count_badge(ui, 24, Tone::Error);
                key_cap(ui, "Ctrl Shift Z");
            });
            progress_bar(ui, "Writing", 0.62, 320.0, 6.0);
            Toast::new(true, "Padded 12 children in 12 roots")
                .action("Undo", "Ctrl Z")
                .card_ui(ui);
        });
    });
}

fn column_two(ui: &mut Ui, demo: &mut Demo) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 0.0;
        ui.set_height(32.0);
        for (index, (icon, text)) in [
            (icons::TABLE, "Table"),
            (icons::IMAGE, "Preview"),
            (icons::WARNING_OCTAGON, "Problems"),
        ]
        .into_iter()
        .enumerate()
        {
            let count = (index == 2).then_some((25, Tone::Error));
            let id = ui.scope_id().with(("tab", index));
            tab(
                ui,
                id,
                Some(icon),
                text,
                count,
                index == 0,
                egui::Sense::click(),
            );
        }
    });
    let rows = [
        TreeRow {
            strong: true,
            ..make_tree_row(
                0,
                Some(true),
                icons::TREE_STRUCTURE,
                "root",
                "1 204",
                StatusMark::Error,
            )
        },
        make_tree_row(
            1,
            Some(false),
            icons::STACK,
            "roi_0001",
            "4",
            StatusMark::Ok,
        ),
        make_tree_row(
            1,
            Some(true),
            icons::STACK,
            "roi_0007",
            "4",
            StatusMark::Error,
        ),
        make_tree_row(2, None, icons::IMAGE, "t00", "4.1 MB", StatusMark::Ok),
        TreeRow {
            weak: true,
            ..make_tree_row(
                2,
                None,
                icons::CIRCLE_DASHED,
                "__TACOPAD__2",
                "0 B",
                StatusMark::Padded,
            )
        },
        TreeRow {
            slot: Some("drop to fill slot 2".into()),
            wanted: true,
            ..make_tree_row(2, None, icons::IMAGE, "t02", "", StatusMark::None)
        },
    ];
    ui.allocate_ui(vec2(300.0, 150.0), |ui| {
        tree(
            ui,
            "Hierarchy",
            &mut RowScroll::default(),
            rows.len() as u64,
            Some(2),
            |row| rows[row as usize].clone(),
            |_, _, _, _| {},
        );
    });
    section_header(ui, "STAC", |ui| {
        link(ui, "View JSON");
    });
    collapsing_header(
        ui,
        egui::Id::unique("statistics"),
        "Statistics",
        true,
        |ui| {
            ui.label(theme::rich_text("geotiff:stats").font(font::mono(11.0)));
        },
    );
    ui.allocate_ui(vec2(ui.available_width(), 150.0), |ui| {
        let actions = ["Show level 2", "Choose a column…"];
        let state = EmptyState {
            icon: icons::MAP_TRIFOLD,
            title: "No footprints on level 0",
            why: "The map needs istac:geometry or stac:centroid. Level 2 has stac:centroid.",
            actions: &actions,
        };
        let _ = draw_empty_state_with_actions(ui, &state);
    });
    ui.allocate_ui(vec2(ui.available_width(), 190.0), |ui| {
        TableWidget::new("Level 0", &ExampleRows::new())
            .with_selected_row(Some(2))
            .with_sorted_column(Some((0, false)))
            .show(ui, &mut TableState::default(), |_, _| {});
    });
    let entries: Vec<PaletteEntry> = crate::gui::action::Action::ALL
        .iter()
        .take(4)
        .map(|action| PaletteEntry {
            icon: action.info().icon,
            text: action.info().text.into(),
            right: action.keys_text(),
            ..PaletteEntry::default()
        })
        .collect();
    egui::Frame::popup(ui.style())
        .inner_margin(0)
        .show(ui, |ui| {
            ui.set_max_size(vec2(400.0, 150.0));
            let _ = demo.palette.content_ui(ui, &entries);
        });
}

fn make_tree_row(
    depth: u16,
    open: Option<bool>,
    icon: &'static str,
    text: &str,
    right: &str,
    mark: StatusMark,
) -> TreeRow {
    TreeRow {
        depth,
        open,
        icon,
        text: text.into(),
        right: right.into(),
        mark,
        ..TreeRow::default()
    }
}

struct ExampleRows(Vec<TableColumn>);

impl ExampleRows {
    fn new() -> Self {
        Self(vec![
            make_column("id", "string", 90.0, false),
            make_column("pattern", "12 positions", 120.0, false),
            make_column("type", "string", 90.0, false),
            make_column("split", "string", 80.0, false),
            make_column("cloud_cover", "float", 90.0, true),
        ])
    }
}

fn make_column(name: &str, kind: &str, width: f32, right: bool) -> TableColumn {
    TableColumn {
        name: name.into(),
        type_name: kind.into(),
        width,
        right,
    }
}

impl TableSource for ExampleRows {
    fn rows(&self) -> u64 {
        1204
    }
    fn columns(&self) -> &[TableColumn] {
        &self.0
    }
    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        use PitMark::{File, Folder, Padded, Wrong};
        match column {
            0 => Cell::Mono(format!("roi_{row:04}").into()),
            1 => Cell::Pattern(vec![
                Folder,
                File,
                File,
                if row == 2 { Wrong } else { File },
                Folder,
                if row == 4 { Padded } else { File },
                File,
            ]),
            2 => Cell::Glyph(icons::STACK, "FOLDER".into()),
            3 => Cell::Text("train".into()),
            _ => Cell::Mono(format!("{:.1}", row as f32 * 1.3).into()),
        }
    }
    fn mark(&self, row: u64) -> StatusMark {
        [
            StatusMark::None,
            StatusMark::Ok,
            StatusMark::Error,
            StatusMark::Warning,
            StatusMark::Padded,
        ][row as usize % 5]
    }
}

#[test]
fn the_sheet_renders_in_both_themes() {
    let demo = Demo {
        texts: [
            "".into(),
            "peru-cropland-s2".into(),
            "2.0.0".into(),
            "data.acml.example.org".into(),
            "".into(),
        ],
        tags: vec!["CC-BY-4.0".into()],
        segment: 0,
        on: true,
        slider: 1.1,
        palette: Palette::default(),
    };
    for dark in [true, false] {
        let themed = if dark {
            egui::Theme::Dark
        } else {
            egui::Theme::Light
        };
        let mut demo = Demo {
            texts: demo.texts.clone(),
            tags: demo.tags.clone(),
            palette: Palette::default(),
            ..demo
        };
        let mut harness = Harness::builder()
            .with_size(vec2(1240.0, 780.0))
            .with_theme(themed)
            .with_context_setup(theme::install)
            .with_render_cursor(false)
            .build_ui(move |ui| {
                let t = theme::tokens(ui);
                ui.painter().rect_filled(ui.max_rect(), 0, t.bg1);
                logo(
                    ui.painter(),
                    Rect::from_min_size(pos2(16.0, 12.0), vec2(40.0, 40.0)),
                );
                let left = Rect::from_min_max(pos2(16.0, 60.0), pos2(690.0, 780.0));
                let mut child = ui.new_child(UiBuilder::new().max_rect(left).id_salt("one"));
                column_one(&mut child, &mut demo, t);
                let right = Rect::from_min_max(pos2(720.0, 12.0), pos2(1224.0, 780.0));
                let mut child = ui.new_child(UiBuilder::new().max_rect(right).id_salt("two"));
                column_two(&mut child, &mut demo);
            });
        harness.run_steps(3);
        let Some(folder) = std::env::var_os("TACO_STUDIO_SHEETS") else {
            continue;
        };
        let image = harness.render().expect("a software adapter renders");
        let name = if dark {
            "components-dark.png"
        } else {
            "components-light.png"
        };
        image
            .save(std::path::Path::new(&folder).join(name))
            .expect("the folder can be written");
    }
}
