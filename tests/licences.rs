//! Licences of everything compiled into the program: each must be in the accepted list, and
//! `docs/LICENCES.md`, which the installers include, must be current.
//! `TACO_STUDIO_WRITE_LICENCES=1` updates it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use spdx::{Expression, Licensee, ParseMode};

use crate::support::expect_generated;

/// The accepted licences: the list `allow` of `deny.toml`.
fn accepted() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml"))
        .expect("deny.toml");
    let list = text
        .split_once("\nallow = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .expect("a list of licences")
        .0;
    let names: Vec<String> = list
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 5, "{names:?}");
    names
}

/// Packages with a licence file instead of an SPDX expression: name, licence, and text that the
/// file must contain.
const BY_FILE: [(&str, &str, &str); 3] = [
    (
        "gdal-src",
        "MIT",
        "Permission is hereby granted, free of charge",
    ),
    (
        "hdf5-metno-src",
        "BSD-3-Clause",
        "Redistribution and use in source and binary forms",
    ),
    (
        "netcdf-src",
        "BSD-3-Clause",
        "Redistribution and use in source and binary forms",
    ),
];

/// Other compiled or bundled components, with a reference.
const OTHERS: [(&str, &str, &str); 15] = [
    (
        "libwebp",
        "BSD-3-Clause",
        "linked from the system where it is built",
    ),
    (
        "OpenJPEG",
        "BSD-2-Clause",
        "linked from the system where it is built",
    ),
    (
        "libdeflate",
        "MIT",
        "linked from the system where it is built",
    ),
    (
        "C-Blosc",
        "BSD-3-Clause",
        "linked from the system where it is built",
    ),
    (
        "Snappy",
        "BSD-3-Clause",
        "linked from the system where it is built",
    ),
    (
        "LZ4",
        "BSD-2-Clause",
        "linked from the system where it is built",
    ),
    (
        "Zstandard",
        "BSD-3-Clause",
        "in zstd-sys, or linked from the system where it is built",
    ),
    (
        "OpenSSL",
        "Apache-2.0",
        "linked from the system where it is built",
    ),
    (
        "libstdc++ and libgcc",
        "GPL-3.0-or-later WITH GCC-exception-3.1",
        "linked from the system where it is built",
    ),
    ("Inter", "OFL-1.1", "assets/fonts/LICENSES.txt"),
    ("JetBrains Mono NL", "OFL-1.1", "assets/fonts/LICENSES.txt"),
    (
        "Droid Sans Fallback",
        "Apache-2.0",
        "assets/fonts/LICENSES.txt, LICENSE-APACHE",
    ),
    ("Phosphor", "MIT", "assets/fonts/LICENSES.txt"),
    (
        "Natural Earth, countries",
        "public domain",
        "assets/countries.LICENSE.txt",
    ),
    (
        "Taco Studio",
        "MIT OR Apache-2.0",
        "LICENSE-MIT, LICENSE-APACHE",
    ),
];

struct Package {
    name: String,
    version: String,
    licence: String,
    place: String,
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Command::new(cargo)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        out.status.success(),
        "cargo {arguments:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).expect("text")
}

/// The target triple of this machine; packages for other systems may be missing.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let said = String::from_utf8(out.stdout).expect("text");
    said.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("a host")
        .to_owned()
}

/// All runtime and build dependencies, without test dependencies.
fn packages() -> Vec<Package> {
    let host = host();
    let said = cargo(&[
        "metadata",
        "--offline",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        &host,
    ]);
    let metadata: Json = serde_json::from_str(&said).expect("JSON");
    let list = |value: &Json| value.as_array().expect("a list").clone();
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let nodes: BTreeMap<String, Json> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let root = text(&metadata["resolve"]["root"]);
    let mut reached = BTreeSet::new();
    let mut waiting = vec![root.clone()];
    while let Some(id) = waiting.pop() {
        if !reached.insert(id.clone()) {
            continue;
        }
        for needed in list(&nodes[&id]["deps"]) {
            if list(&needed["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"] != "dev")
            {
                waiting.push(text(&needed["pkg"]));
            }
        }
    }
    let mut packages = Vec::new();
    for package in list(&metadata["packages"]) {
        let id = text(&package["id"]);
        if id == root || !reached.contains(&id) {
            continue;
        }
        let name = text(&package["name"]);
        let licence = match package["license"].as_str() {
            Some(licence) => licence.to_owned(),
            None => licence_of_file(&name, &package),
        };
        packages.push(Package {
            name,
            version: text(&package["version"]),
            licence,
            place: text(&package["repository"]),
        });
    }
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    packages
}

fn licence_of_file(name: &str, package: &Json) -> String {
    let Some((_, licence, words)) = BY_FILE.iter().find(|(known, ..)| *known == name) else {
        panic!(
            "{name} says neither a licence nor is its file known: read {} and add it to BY_FILE",
            package["license_file"]
        );
    };
    let folder = Path::new(package["manifest_path"].as_str().expect("a path"))
        .parent()
        .expect("a folder")
        .to_owned();
    let file = folder.join(package["license_file"].as_str().expect("a file"));
    let said = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let plain = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        plain.contains(words),
        "the licence of {name} is another one now: {}",
        file.display()
    );
    (*licence).to_owned()
}

fn expression(licence: &str) -> Expression {
    // Some packages write a slash for OR.
    Expression::parse_mode(licence, ParseMode::LAX)
        .unwrap_or_else(|error| panic!("{licence}: {error}"))
}

fn is_accepted(licence: &str) -> bool {
    let accepted: Vec<Licensee> = accepted()
        .iter()
        .map(|name| Licensee::parse(name).expect("a licence"))
        .collect();
    expression(licence)
        .evaluate(|wanted| accepted.iter().any(|licensee| licensee.satisfies(wanted)))
}

#[test]
fn every_dependency_has_an_accepted_licence() {
    let packages = packages();
    assert!(packages.len() > 300, "only {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_accepted(&package.licence))
        .map(|package| format!("{} {}: {}", package.name, package.version, package.licence))
        .collect();
    assert!(
        refused.is_empty(),
        "licences that are not accepted:\n{}",
        refused.join("\n")
    );
}

#[test]
fn expressions_are_weighed_and_not_searched() {
    for good in [
        "MIT OR GPL-3.0-only",
        "Unlicense/MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_accepted(good), "{good}");
    }
    for bad in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "AGPL-3.0-or-later OR SSPL-1.0",
        "GPL-2.0-only WITH Classpath-exception-2.0",
    ] {
        assert!(!is_accepted(bad), "{bad}");
    }
}

/// The expected document.
fn list() -> String {
    let packages = packages();
    let mut text = String::from(
        "# Licences\n\n\
         What is compiled into Taco Studio for Linux, and what makes it. The tests write this \
            list\n\
         (`TACO_STUDIO_WRITE_LICENCES=1 ./packaging/test licences`) and hold the packages of the \
            system that they run on\n\
         against the licences that `tests/licences.rs` accepts.\n\n",
    );
    text += "| besides packages | licence | where |\n|---|---|---|\n";
    for (name, licence, place) in OTHERS {
        text += &format!("| {name} | {licence} | {place} |\n");
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for package in &packages {
        *counts
            .entry(package.licence.replace('/', " OR ").replace("  ", " "))
            .or_default() += 1;
    }
    text += "\n| licence | packages |\n|---|---|\n";
    for (licence, count) in counts {
        text += &format!("| {licence} | {count} |\n");
    }
    text += "\n| package | version | licence | source |\n|---|---|---|---|\n";
    for Package {
        name,
        version,
        licence,
        place,
    } in &packages
    {
        text += &format!("| {name} | {version} | {licence} | {place} |\n");
    }
    text
}

#[test]
fn the_list_that_is_installed_is_complete() {
    // Other systems have other packages.
    if host() != "x86_64-unknown-linux-gnu" {
        return;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/LICENCES.md");
    expect_generated(&path, &list(), "TACO_STUDIO_WRITE_LICENCES");
}

#[test]
fn installers_bring_the_list() {
    let read = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("reads")
    };
    assert_eq!(
        read("Cargo.toml").matches("\"docs/LICENCES.md\"").count(),
        2,
        "the assets of deb and rpm"
    );
    assert!(read("packaging/artefacts").contains("docs/LICENCES.md"));
}
