//! The last look at a frame before it is shown. Widgets make texts with
//! [`theme::rich_text`](super::theme::rich_text) and [`paint`](super::widgets::paint), which bring
//! names and values of a dataset into their displayed form before they are laid out. A text that
//! came another way (a label of egui itself, a plot) is laid out again here, in the space that it
//! had; accessible names, which screen readers read, are brought into that form here alone.

use std::borrow::Cow;
use std::sync::Arc;

use egui::accesskit::{Node, Role};
use egui::text::{ByteIndex, LayoutJob, LayoutSection};
use egui::{Context, FullOutput, Galley, Plugin, Shape};

use crate::text::{displayed_block, printable};

/// Registers the look at each frame. Plugins that read the output are added afterwards.
pub fn install(ctx: &Context) {
    ctx.add_plugin(DisplayedTexts);
}

struct DisplayedTexts;

impl Plugin for DisplayedTexts {
    fn debug_name(&self) -> &'static str {
        "displayed texts"
    }

    fn output_hook(&mut self, ctx: &Context, output: &mut FullOutput) {
        output
            .shapes
            .iter_mut()
            .for_each(|clipped| mend_shape(ctx, &mut clipped.shape));
        if let Some(update) = &mut output.platform_output.accesskit_update {
            update
                .nodes
                .iter_mut()
                .for_each(|(_, node)| mend_node(node));
        }
    }
}

fn mend_shape(ctx: &Context, shape: &mut Shape) {
    match shape {
        Shape::Vec(shapes) => shapes.iter_mut().for_each(|shape| mend_shape(ctx, shape)),
        Shape::Text(text) => {
            if let Some(galley) = displayed_galley(ctx, &text.galley) {
                text.galley = galley;
            }
        }
        _ => {}
    }
}

/// The galley with the displayed form of its text, in the same width and number of rows; `None`
/// where it is in that form already.
fn displayed_galley(ctx: &Context, galley: &Galley) -> Option<Arc<Galley>> {
    let Cow::Owned(text) = printable(galley.text()) else {
        return None;
    };
    let first = galley.job.sections.first()?;
    let (leading_space, format) = (first.leading_space, first.format.clone());
    let mut job = LayoutJob::clone(&galley.job);
    job.sections = vec![LayoutSection {
        leading_space,
        byte_range: ByteIndex(0)..ByteIndex(text.len()),
        format,
    }];
    job.text = text;
    job.wrap.max_width = galley.rect.width().ceil();
    job.wrap.max_rows = galley.rows.len().max(1);
    job.wrap.break_anywhere = true;
    job.wrap.overflow_character = Some('…');
    Some(ctx.fonts_mut(|fonts| fonts.layout_job(job)))
}

fn mend_node(node: &mut Node) {
    // The text of an input is its value, to be edited; its runs of text are as long as they say.
    let is_edited = matches!(
        node.role(),
        Role::TextRun | Role::TextInput | Role::MultilineTextInput
    );
    if let Some(label) = other_form(node.label()) {
        node.set_label(label);
    }
    if let Some(description) = other_form(node.description()) {
        node.set_description(description);
    }
    if let Some(value) = other_form(node.value().filter(|_| !is_edited)) {
        node.set_value(value);
    }
}

/// The displayed form of a text, where it differs.
fn other_form(text: Option<&str>) -> Option<String> {
    match displayed_block(text?) {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    fn painted(shape: &Shape, texts: &mut Vec<(String, f32)>) {
        match shape {
            Shape::Vec(shapes) => shapes.iter().for_each(|shape| painted(shape, texts)),
            Shape::Text(text) => {
                texts.push((text.galley.text().to_owned(), text.galley.rect.width()))
            }
            _ => {}
        }
    }

    #[test]
    fn a_label_of_egui_itself_is_shown_in_the_displayed_form_and_in_its_space() {
        let hostile = "doc\u{202e}fdp.exe";
        let mut width = 0.0;
        let set_up = |ctx: &Context| {
            super::super::theme::install(ctx);
            install(ctx);
        };
        let builder = Harness::builder()
            .with_context_setup(set_up)
            .with_size(egui::vec2(300.0, 100.0));
        let mut harness = builder.build_ui(|ui| width = ui.label(hostile).rect.width());
        harness.run();
        let _ = harness.get_by_label("doc\\u202efdp.exe");
        let mut texts = Vec::new();
        harness
            .output()
            .shapes
            .iter()
            .for_each(|clipped| painted(&clipped.shape, &mut texts));
        drop(harness);
        let [(text, painted_width)] = &texts[..] else {
            panic!("{texts:?}")
        };
        assert_eq!(text, "doc\\u202efdp.exe");
        assert!(
            *painted_width <= width.ceil() + 1.0,
            "{painted_width} of {width}"
        );
    }
}
