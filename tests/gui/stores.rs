//! The dialogs that write datasets take addresses of object stores.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::action::Action;
use taco_studio::remote::{Access, set_access};

use super::support::{app, click, document, fill, picture, scenes, settle, take};
use crate::support::{Emulator, StoreKind};

#[test]
fn datasets_are_written_to_a_store_from_the_dialogs() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let endpoint = Some(format!("http://127.0.0.1:{}", store.port()));
    set_access(Access {
        hosts: vec!["s3://data".into()],
        endpoint,
        anonymous: true,
        ..Access::default()
    })
    .expect("is taken");
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, scenes().into_iter().take(3).collect());
    click(&mut harness, "Collection");
    for (label, text) in [
        ("id", "stored"),
        ("description", "Scenes for a test"),
        ("licenses", "CC-BY-4.0,"),
    ] {
        fill(&mut harness, label, text);
    }
    fill(&mut harness, "tasks", "segm");
    harness.key_press(egui::Key::Enter);
    settle(&mut harness);
    click(&mut harness, "Add provider");
    fill(&mut harness, "name of providers 1", "A mapping group");

    click(&mut harness, "Write dataset…");
    fill(
        &mut harness,
        "Destination",
        "https://example.org/stored.tacozip",
    );
    assert!(
        harness
            .get_by_label("Write now")
            .accesskit_node()
            .is_disabled(),
        "no protocol for writing"
    );
    picture(&mut harness, "store-refused-dark");
    fill(
        &mut harness,
        "Destination",
        &store.address("stored.tacozip"),
    );
    picture(&mut harness, "store-write-dark");
    click(&mut harness, "Write now");
    assert_eq!(store.names(), ["stored.tacozip"]);
    assert!(harness.query_by_label("Written and verified").is_some());
    picture(&mut harness, "store-written-dark");
    // The same again is refused before anything is sent.
    click(&mut harness, "Done");
    click(&mut harness, "Write dataset…");
    fill(
        &mut harness,
        "Destination",
        &store.address("stored.tacozip"),
    );
    assert!(
        harness
            .get_by_label("Write now")
            .accesskit_node()
            .is_disabled(),
        "an object has the name"
    );
    picture(&mut harness, "store-exists-dark");
    harness.key_press(egui::Key::Escape);
    settle(&mut harness);

    take(&mut harness, vec![store.address("stored.tacozip").into()]);
    if harness.query_by_label("Discard changes").is_some() {
        click(&mut harness, "Discard changes");
    }
    assert_eq!(document(&harness).rows(0), 3);
    harness.state_mut().act(Action::ExportSubset);
    settle(&mut harness);
    fill(
        &mut harness,
        "Destination of the subset",
        &store.address("stored.tacozip"),
    );
    assert!(
        harness
            .get_by_label("Export now")
            .accesskit_node()
            .is_disabled(),
        "an object has the name"
    );
    fill(
        &mut harness,
        "Destination of the subset",
        &store.address("subset"),
    );
    assert!(
        harness
            .query_by_role_and_label(Role::TextInput, "Destination of the subset")
            .is_some()
    );
    fill(
        &mut harness,
        "Destination of the subset",
        &store.address("subset.tacozip"),
    );
    click(&mut harness, "Export now");
    picture(&mut harness, "store-subset-dark");
    assert_eq!(store.names(), ["stored.tacozip", "subset.tacozip"]);
}
