//! The interface in Spanish: every text that is painted or announced in English is translated,
//! except for names, data, formats and reports.

use std::collections::{BTreeMap, BTreeSet};

use egui::accesskit::Role;
use egui::epaint::Shape;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::text::{self, Language, entries};

use super::support::{Window, app, choose, fork_with_faults, picture, sample, settle, take};

/// Restores English for later tests on this thread.
struct Speaking;

impl Drop for Speaking {
    fn drop(&mut self) {
        text::speak(None);
    }
}

fn painted(shape: &Shape, texts: &mut BTreeSet<String>) {
    match shape {
        Shape::Text(text) => drop(texts.insert(text.galley.text().trim().to_owned())),
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| painted(shape, texts)),
        _ => {}
    }
}

/// Collects the painted texts and those for screen readers.
fn look(harness: &mut Window, place: &str, seen: &mut BTreeMap<String, String>) {
    let mut texts = BTreeSet::new();
    harness
        .output()
        .shapes
        .iter()
        .for_each(|clipped| painted(&clipped.shape, &mut texts));
    let mut nodes = vec![harness.root().accesskit_node()];
    while let Some(node) = nodes.pop() {
        // Typed or selected text belongs to the user.
        texts.extend(node.label());
        nodes.extend(node.children());
    }
    for text in texts {
        seen.entry(text).or_insert_with(|| place.to_owned());
    }
    picture(
        harness,
        &format!("{}-{place}", text::current_language().tag()),
    );
}

/// Visits every panel and most dialogs: without a document, with a dataset, and with an invalid
/// draft.
fn walk(language: Language) -> BTreeMap<String, String> {
    let _speaking = Speaking;
    let mut seen = BTreeMap::new();
    let mut harness = app(egui::Theme::Dark);
    if language != Language::English {
        harness.state_mut().act(Action::Settings);
        settle(&mut harness);
        choose(&mut harness, "Language", language.name());
        harness.key_press(egui::Key::Escape);
        settle(&mut harness);
    }
    assert_eq!(text::current_language(), language);
    look(&mut harness, "welcome", &mut seen);
    take(&mut harness, vec![sample()]);
    for draft in [false, true] {
        let over = if draft { "draft" } else { "dataset" };
        if draft {
            fork_with_faults(&mut harness);
        }
        for pane in Pane::ALL {
            harness.state_mut().show_pane(pane);
            settle(&mut harness);
            look(&mut harness, &format!("{over}-{pane:?}"), &mut seen);
        }
        let dialogs: &[Action] = if draft {
            &[
                Action::Write,
                Action::Settings,
                Action::Shortcuts,
                Action::About,
                Action::Relocate,
                Action::OpenRecent,
            ]
        } else {
            &[
                Action::ExportSubset,
                Action::Describe,
                Action::OpenPath,
                Action::Palette,
                Action::GoToRow,
            ]
        };
        for &action in dialogs {
            harness.state_mut().act(action);
            settle(&mut harness);
            look(&mut harness, &format!("{over}-{action:?}"), &mut seen);
            harness.key_press(egui::Key::Escape);
            settle(&mut harness);
            harness.key_press(egui::Key::Escape);
            settle(&mut harness);
        }
    }
    for part in ["Labels", "Bands", "Papers", "Split", "RAI", "JSON"] {
        harness.state_mut().show_pane(Pane::Collection);
        settle(&mut harness);
        let part = text::translate_text(part);
        harness
            .get_by_role_and_label(Role::RadioButton, part)
            .click();
        settle(&mut harness);
        look(&mut harness, &format!("collection-{part}"), &mut seen);
    }
    harness.get_by_label(text::translate_text("Menu")).click();
    settle(&mut harness);
    look(&mut harness, "menu", &mut seen);
    for menu in ["File", "Edit", "Check", "View", "Help"] {
        if let Some(entry) = harness.query_by_label(text::translate_text(menu)) {
            entry.hover();
            harness.run_steps(20);
            look(&mut harness, &format!("menu-{menu}"), &mut seen);
        }
    }
    seen
}

/// Common English words that do not exist in Spanish.
const ENGLISH: [&str; 32] = [
    "the", "of", "is", "are", "and", "or", "to", "with", "this", "that", "it", "its", "not", "for",
    "by", "from", "which", "has", "have", "every", "all", "nothing", "what", "when", "where",
    "here", "there", "was", "be", "on", "at", "into",
];

/// Names of fields and values of the sample dataset that are also English words.
const KEYS: [&str; 4] = ["description", "name", "fields", "water on both dates"];

#[test]
fn every_text_is_shown_in_spanish() {
    let english = walk(Language::English);
    let spanish = walk(Language::Spanish);
    assert!(
        english.len() > 500 && spanish.len() > 500,
        "{} and {} texts",
        english.len(),
        spanish.len()
    );
    let catalogue = entries(Language::Spanish.catalogue().expect("a catalogue")).expect("reads");
    let translated: BTreeMap<&str, &str> = catalogue
        .iter()
        .filter(|entry| entry.context.is_empty() && entry.many.is_none())
        .filter_map(|entry| Some((entry.english.as_str(), entry.translated.first()?.as_str())))
        .collect();
    let own: BTreeSet<&str> = catalogue
        .iter()
        .flat_map(|entry| entry.translated.iter().map(String::as_str))
        .collect();
    // Source lists the requests of the whole process, with the texts that other tests gave them.
    let of_others: BTreeSet<String> = taco_studio::remote::traffic()
        .actions
        .iter()
        .map(|action| action.label.to_string())
        .collect();
    let mut left = Vec::new();
    for (said, place) in spanish
        .iter()
        .filter(|(said, _)| english.contains_key(*said))
    {
        if place.ends_with("-Source") && of_others.contains(said) {
            continue;
        }
        let known = translated
            .get(said.as_str())
            .is_some_and(|other| other != said)
            && !own.contains(said.as_str());
        let words = said
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| ENGLISH.contains(&word.to_lowercase().as_str()))
            .count();
        // Not translated: the log, the dataset's own text, and the output of `doctor`.
        let theirs = ["-Log", "-About", "-Query", "-Collection", "-JSON"]
            .iter()
            .any(|end| place.ends_with(end));
        if !KEYS.contains(&said.as_str()) && (known || words > 0 && !theirs) {
            left.push(format!("{place}: {said}"));
        }
    }
    assert!(
        left.is_empty(),
        "{} texts are English still:\n{}",
        left.len(),
        left.join("\n")
    );
}
