//! Formats of several files: a raster whose header is another file is refused or written as one
//! file. Zarr stores are in [`crate::zarr`].

use std::path::Path;

use serde_json::json;

use crate::support::Workspace;

const HEADER: &str = "ENVI\nsamples = 8\nlines = 8\nbands = 3\nheader offset = 0\ndata type = 12\n\
    interleave = bsq\nbyte order = 0\n";

fn collection(workspace: &Workspace) -> String {
    let fields = json!({
        "id": "sets", "dataset_version": "1.0.0", "description": "Rasters of several files.",
        "licenses": ["CC-BY-4.0"],
        "providers": [{
            "name": "Tests",
            "roles": ["producer"],
        }], "tasks": ["classification"], "title": "Sets", "keywords": ["tests"],
    });
    workspace
        .write("collection.json", fields.to_string())
        .display()
        .to_string()
}

fn envi_roots(workspace: &Workspace) -> String {
    for root in ["s1", "s2"] {
        let values: Vec<u8> = (0..8 * 8 * 3u16).flat_map(u16::to_le_bytes).collect();
        workspace.write(&format!("envi/{root}/cube.dat"), values);
        workspace.write(&format!("envi/{root}/cube.hdr"), HEADER);
    }
    workspace.path("envi").display().to_string()
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_raster_of_two_files_is_refused_by_name_and_written_as_one_file_on_request() {
    let workspace = Workspace::new();
    let (source, fields) = (envi_roots(&workspace), collection(&workspace));
    for name in ["out.tacozip", "out", "out.tortilla"] {
        let target = workspace.path(name);
        let refused = workspace
            .studio([
                "create",
                &source,
                "--collection",
                &fields,
                "-o",
                &text(&target),
            ])
            .expect_code(2);
        assert!(
            refused.stderr.contains("cube.hdr")
                && refused.stderr.contains("8 × 8, 3 bands of UInt16"),
            "{}",
            refused.stderr
        );
        assert!(
            refused.stderr.contains("urn it in") && !target.exists(),
            "{}",
            refused.stderr
        );
    }
    let target = workspace.path("out.tacozip");
    let arguments = [
        "create",
        &source,
        "--collection",
        &fields,
        "--sidecars",
        "burn-in",
        "-o",
        &text(&target),
    ];
    workspace.studio(arguments).expect_code(0);
    workspace
        .studio(["validate", "--deep", &text(&target)])
        .expect_code(0);
    let read = workspace
        .python("rasters_of_roots.py", [&text(&target)])
        .expect_code(0);
    assert_eq!(
        read.stdout.trim(),
        "GTiff 3 8 8 uint16 191\nGTiff 3 8 8 uint16 191"
    );
}

#[test]
fn a_deep_check_names_the_files_of_a_written_dataset_that_can_not_be_read_alone() {
    let workspace = Workspace::new();
    let (source, fields) = (envi_roots(&workspace), collection(&workspace));
    // Other programs write such datasets: the data come under names that are no set, and are
    // renamed in the folder.
    for root in ["s1", "s2"] {
        let header = workspace.path(&format!("envi/{root}/cube.hdr"));
        std::fs::rename(&header, header.with_file_name("xube.hdr")).expect("renames");
    }
    let target = workspace.path("out.tacozip");
    workspace
        .studio([
            "create",
            &source,
            "--collection",
            &fields,
            "-o",
            &text(&target),
        ])
        .expect_code(0);
    workspace
        .studio(["validate", "--deep", &text(&target)])
        .expect_code(0);
    let mut bytes = std::fs::read(&target).expect("reads");
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(8).position(|part| part == b"xube.hdr") {
        bytes[at + found] = b'c';
        at += found + 8;
    }
    std::fs::write(&target, bytes).expect("writes");
    let report = workspace
        .studio(["validate", "--deep", "--json", &text(&target)])
        .json();
    let found = report["findings"].as_array().expect("findings");
    let members: Vec<&str> = found
        .iter()
        .filter(|f| f["rule"] == "SRC-4")
        .filter_map(|f| f["at"].as_str())
        .collect();
    assert_eq!(members, ["s1 / cube.dat", "s2 / cube.dat"], "{report}");
}
