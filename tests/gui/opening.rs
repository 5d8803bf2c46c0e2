//! What the window shows while a dataset on a slow server is opened.

use std::time::{Duration, Instant};

use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;

use super::support::{Window, app, document, sample, settle, take};
use crate::support::{Server, Workspace, tests_folder};

/// Labels and values of all nodes, one a line.
fn texts(harness: &Window) -> String {
    let nodes = harness.query_all_by(|_| true);
    let text = |node: egui_kittest::Node<'_>| {
        let node = node.accesskit_node();
        node.label().or_else(|| node.value())
    };
    nodes.filter_map(text).collect::<Vec<String>>().join("\n")
}

#[test]
fn the_window_shows_the_dataset_that_is_being_opened_and_not_the_one_before() {
    let workspace = Workspace::new();
    let place = workspace.path("served/stack.tacozip");
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
    std::fs::copy(
        tests_folder().join("fixtures/golden/05_nested3_zip/stack.tacozip"),
        &place,
    )
    .expect("a copy");
    let server = Server::of(&workspace.path("served"));
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().show_pane(Pane::Source);
    settle(&mut harness);
    assert!(texts(&harness).contains("river-floods-sample"));

    server.slow(Duration::from_millis(250));
    let url = server.url("stack.tacozip");
    let (_, address) = url.split_once("://").expect("an address");
    harness.state_mut().open_paths(vec![url.clone().into()]);
    let end = Instant::now() + Duration::from_secs(60);
    let (mut seen, mut rates, mut pages) = (0, 0, 0);
    while document(&harness).title() != "golden-nested3" {
        assert!(Instant::now() < end, "it does not open");
        harness.step();
        if harness.state().studio().opening().is_some() {
            let shown = texts(&harness);
            seen += usize::from(shown.contains(address));
            rates += usize::from(shown.contains("received,") && shown.contains("/s"));
            if harness.query_by_label("Cancel opening").is_some() {
                pages += 1;
                assert!(
                    shown.contains("Opening stack.tacozip")
                        && !shown.contains("river-floods-sample"),
                    "{shown}"
                );
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        seen > 0 && pages > 0 && rates > 0,
        "address {seen}, pages {pages}, rates {rates}"
    );
    settle(&mut harness);
    let shown = texts(&harness);
    assert!(
        shown.contains(address) && !shown.contains("river-floods-sample"),
        "{shown}"
    );
}
