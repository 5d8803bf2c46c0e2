//! Archives as sources of `create` and of the window: each gives what the folder gives that was
//! packed.

use std::path::Path;

use serde_json::Value;
use taco_studio::draft::Draft;
use taco_studio::jobs::JobContext;
use taco_studio::model::{Dataset, NodePath, Payload};
use taco_studio::ops::{DatasetImport, import_dataset};

use crate::layouts::{fixtures, write_files};
use crate::support::{
    COLLECTION, Emulator, Habit, Packing, Ran, Server, StoreKind, Workspace, files_below,
    nested_scenes, pack, tar_of, zip_of,
};
use zip::CompressionMethod::{Deflated, Stored};

fn create(workspace: &Workspace, source: &str, output: &str) -> Ran {
    workspace.write("collection.json", COLLECTION);
    workspace.studio([
        "create",
        source,
        "-o",
        output,
        "--overwrite",
        "--collection",
        "collection.json",
    ])
}

/// Ids, sizes and CRCs of all samples of a dataset.
fn contents(workspace: &Workspace, dataset: &str) -> Vec<String> {
    let reader = taco_studio::container::open(&workspace.path(dataset), &JobContext::default())
        .expect("opens");
    let tree = reader
        .levels()
        .skeleton(&JobContext::default())
        .expect("has levels");
    let mut found = Vec::new();
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            let path = tree.path(depth, row).to_string();
            let bytes = if level.folder[row as usize] {
                String::new()
            } else {
                let (asset, _) = reader.asset(depth, row).expect("is there");
                let bytes = taco_studio::container::read_asset(&asset).expect("reads");
                format!(" {} {:08x}", bytes.len(), crc32fast::hash(&bytes))
            };
            found.push(path + &bytes);
        }
    }
    found
}

#[test]
fn a_packed_folder_gives_the_dataset_of_the_folder() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    // More than is unpacked in memory.
    let large: Vec<u8> = (0..9_000_000_u32).map(|at| (at % 253) as u8).collect();
    for scene in ["scene_8", "scene_9", "scene_10"] {
        workspace.write(&format!("scenes/{scene}/points.bin"), &large);
        workspace.write(&format!("scenes/{scene}/a note.txt"), scene);
    }
    create(&workspace, "scenes", "folder.tacozip").expect_code(0);
    let expected = contents(&workspace, "folder.tacozip");
    assert_eq!(expected.len(), 3 + 3 * 5);
    workspace.write("scenes/.DS_Store", "x");
    workspace.write("scenes/__MACOSX/._scene_8", "x");
    // The folder of the folder has such a file, too.
    std::fs::create_dir(workspace.path("above")).expect("a folder");
    crate::support::copy_folder(&workspace.path("scenes"), &workspace.path("above/scenes"));
    workspace.write("above/.DS_Store", "x");
    pack(
        &workspace.path("above"),
        "./",
        &workspace.path("above.tar"),
        Packing::Tar,
    );
    create(&workspace, "above.tar", "above.tacozip").expect_code(0);
    assert_eq!(contents(&workspace, "above.tacozip"), expected);
    for packing in Packing::ALL {
        for prefix in ["", "a folder/", "./"] {
            let name = format!("packed.{}", packing.ending());
            pack(
                &workspace.path("scenes"),
                prefix,
                &workspace.path(&name),
                packing,
            );
            let ran = create(&workspace, &name, "out.tacozip").expect_code(0);
            assert!(
                ran.stderr.contains("__MACOSX: not data")
                    && ran.stderr.contains(".DS_Store: not data"),
                "{ran}"
            );
            assert_eq!(
                contents(&workspace, "out.tacozip"),
                expected,
                "{packing:?} under {prefix:?}"
            );
        }
        workspace
            .studio(["validate", "out.tacozip", "--deep"])
            .expect_code(0);
    }
    // The other outputs, and options for the files of a folder.
    pack(
        &workspace.path("scenes"),
        "",
        &workspace.path("packed.tar.gz"),
        Packing::TarGzip,
    );
    create(&workspace, "packed.tar.gz", "out").expect_code(0);
    assert_eq!(contents(&workspace, "out"), expected);
    let few = [
        "create",
        "packed.tar.gz",
        "-o",
        "few.tacozip",
        "--collection",
        "collection.json",
        "--exclude",
        "points.bin",
    ];
    workspace.studio(few).expect_code(0);
    assert_eq!(contents(&workspace, "few.tacozip").len(), 3 + 3 * 4);
    let burned = [
        "create",
        "packed.tar.gz",
        "-o",
        "x.tacozip",
        "--collection",
        "collection.json",
        "--sidecars",
        "burn-in",
    ];
    assert!(
        workspace
            .studio(burned)
            .expect_code(2)
            .stderr
            .contains("--sidecars: for folders")
    );
}

#[test]
fn layouts_and_lists_are_read_from_archives_as_from_folders() {
    let workspace = Workspace::new();
    for (at, (name, fixture)) in fixtures().into_iter().enumerate() {
        // A name that no path of the fixture has: lines of messages with it are not compared.
        let folder = format!("source-{at}");
        write_files(&workspace, &folder, &fixture);
        let packing = Packing::ALL[at % Packing::ALL.len()];
        let archive = format!("{folder}.{}", packing.ending());
        // Below a folder, so that the paths of the fixture stay as they are.
        pack(
            &workspace.path(&folder),
            "packed/",
            &workspace.path(&archive),
            packing,
        );
        let proposed = |source: &str| {
            let ran = workspace
                .studio(["create", source, "--layout", "auto", "--dry-run", "--json"])
                .expect_no_panic();
            match ran.code() {
                0 => Ok(ran.json()),
                code => Err((
                    code,
                    ran.stderr
                        .lines()
                        .filter(|line| !line.contains(source))
                        .map(str::to_owned)
                        .collect::<Vec<_>>(),
                )),
            }
        };
        assert_eq!(proposed(&archive), proposed(&folder), "{name}, {archive}");
    }
}

#[test]
fn archives_of_servers_are_read_by_range() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    create(&workspace, "scenes", "folder.tacozip").expect_code(0);
    std::fs::create_dir(workspace.path("served")).expect("a folder");
    for packing in [Packing::StoredZip, Packing::Zip, Packing::TarGzip] {
        let name = format!("packed.{}", packing.ending());
        pack(
            &workspace.path("scenes"),
            "",
            &workspace.path(&format!("served/{name}")),
            packing,
        );
        let server = Server::of(&workspace.path("served"));
        create(&workspace, &server.url(&name), "out.tacozip").expect_code(0);
        assert_eq!(
            contents(&workspace, "out.tacozip"),
            contents(&workspace, "folder.tacozip"),
            "{packing:?}"
        );
    }
}

#[test]
fn folders_of_servers_and_stores_are_listed_and_read() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    workspace.write("scenes/scene_8/a note.txt", "8");
    workspace.write("scenes/scene_9/a note.txt", "9");
    create(&workspace, "scenes", "folder.tacozip").expect_code(0);
    let expected = contents(&workspace, "folder.tacozip");
    let server = Server::of(&workspace.path(""));
    server.behave(Habit::ListsFolders);
    for address in ["scenes", "scenes/"] {
        create(&workspace, &server.url(address), "out.tacozip").expect_code(0);
        assert_eq!(contents(&workspace, "out.tacozip"), expected, "{address}");
    }
    let layout = workspace.studio([
        "create",
        &server.url("scenes"),
        "--layout",
        "{root}/{position}",
        "--dry-run",
        "--json",
    ]);
    assert_eq!(layout.expect_code(0).json()["roots"], 2);
    let none = create(&workspace, &server.url("nowhere"), "none.tacozip").expect_no_panic();
    assert!(
        none.code() == 2 && !workspace.path("none.tacozip").exists(),
        "{none}"
    );
    for kind in [StoreKind::S3, StoreKind::Google, StoreKind::Azure] {
        let Some(store) = Emulator::start(kind) else {
            continue;
        };
        for name in files_below(&workspace.path("scenes")) {
            store.upload(
                &format!("scenes/{name}"),
                &workspace.path(&format!("scenes/{name}")),
            );
        }
        let address = store.address("scenes");
        store
            .studio(
                &workspace,
                [
                    "create",
                    &address,
                    "-o",
                    "out.tacozip",
                    "--overwrite",
                    "--collection",
                    "collection.json",
                ],
            )
            .expect_code(0);
        assert_eq!(contents(&workspace, "out.tacozip"), expected, "{address}");
    }
}

fn files(names: &[&str]) -> Vec<(String, Vec<u8>)> {
    names
        .iter()
        .enumerate()
        .map(|(number, name)| ((*name).to_owned(), format!("data {number}").into_bytes()))
        .collect()
}

/// Replaces the first bytes that are `from`.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .expect("is there");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn archives_that_are_made_to_do_harm_are_refused_and_nothing_is_written() {
    let workspace = Workspace::new();
    let refused = |name: &str, bytes: &[u8], reason: &str| {
        workspace.write(name, bytes);
        let ran = create(&workspace, name, "out.tacozip").expect_no_panic();
        assert!(
            ran.code() == 2 && ran.stderr.contains(reason),
            "{name}: {ran}"
        );
        assert!(!workspace.path("out.tacozip").exists(), "{name}");
    };
    for method in [Stored, Deflated] {
        let zip = zip_of(&files(&["a/x.bin", "b/xxxx.bin"]), method);
        let outside = String::from_utf8_lossy(&zip).into_owned();
        assert!(outside.contains("b/xxxx.bin"));
        for name in ["../../.bin", "/etc/x.bin", "c:/xxx.bin"] {
            let twice = replaced(
                &replaced(&zip, b"b/xxxx.bin", name.as_bytes()),
                b"b/xxxx.bin",
                name.as_bytes(),
            );
            refused("outside.zip", &twice, "outside of its folder");
        }
        let same = zip_of(&files(&["a/x.bin", "b/x.bin"]), method);
        refused(
            "twice.zip",
            &replaced(
                &replaced(&same, b"b/x.bin", b"a/x.bin"),
                b"b/x.bin",
                b"a/x.bin",
            ),
            "two files are called",
        );
        refused(
            "file_and_folder.zip",
            &zip_of(&files(&["a", "a/x.bin"]), method),
            "two files are called",
        );
        refused("cut.zip", &zip[..zip.len() / 2], "");
    }
    // Damage of the data: compressed, in the CRC-32, and a size that is not what it unpacks to.
    let zip = zip_of(&files(&["a/x.bin", "b/x.bin"]), Deflated);
    let crc = crc32fast::hash(b"data 0").to_le_bytes();
    refused(
        "crc.zip",
        &replaced(&replaced(&zip, &crc, &[1; 4]), &crc, &[1; 4]),
        "CRC-32",
    );
    let mut last = zip[4..].to_vec();
    let record = last.len() - 22;
    last[record + 4] = 2;
    refused("last_part.zip", &last, "ZIP in several parts are not read");
    refused(
        "behind.zip",
        &[b"#!/bin/sh\n".as_slice(), &zip].concat(),
        "ZIP behind other data are not read",
    );
    refused(
        "empty.zip",
        &zip_of(&[], Stored),
        "The dataset has no samples",
    );
    refused("empty.tar", &tar_of(&[]), "");
    let tar = tar_of(&files(&["a/x.bin", "b/x.bin"]));
    let parent = replaced(&tar, b"b/x.bin", b"../x.by");
    refused(
        "outside.tar",
        &with_checksum(parent, 1024),
        "outside of its folder",
    );
    refused("cut.tar", &tar[..1100], "");
    // In the data of the last member.
    refused("cut_data.tar", &tar[..1538], "damaged or cut short");
    let gzip = {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut gzip, &tar).expect("packs");
        gzip.finish().expect("packs")
    };
    refused("cut.tar.gz", &gzip[..gzip.len() - 30], "");
    for (name, magic) in [
        ("a.tar.xz", b"\xfd7zXZ\0\0\0".as_slice()),
        ("a.tar.bz2", b"BZh91AY"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c"),
        ("a.rar", b"Rar!\x1a\x07"),
    ] {
        refused(name, magic, "are not read");
    }
}

/// The tar with the right checksum in the header at `at`.
fn with_checksum(mut tar: Vec<u8>, at: usize) -> Vec<u8> {
    tar[at + 148..at + 156].fill(b' ');
    let sum: u32 = tar[at..at + 512].iter().map(|&byte| u32::from(byte)).sum();
    tar[at + 148..at + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    tar
}

#[test]
fn links_and_encrypted_members_are_left_out_by_name() {
    let workspace = Workspace::new();
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files(&["a/x.bin", "b/x.bin"]) {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, name, bytes.as_slice())
            .expect("packs");
    }
    for (kind, name) in [
        (tar::EntryType::Symlink, "a/link"),
        (tar::EntryType::Link, "b/hard"),
        (tar::EntryType::Fifo, "b/pipe"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        tar.append_link(&mut header, name, "/etc/passwd")
            .expect("packs");
    }
    workspace.write("links.tar", tar.into_inner().expect("packs"));
    let ran = create(&workspace, "links.tar", "out.tacozip").expect_code(0);
    for reason in [
        "a/link: it is a link",
        "b/hard: it is a link",
        "b/pipe: it is neither",
    ] {
        assert!(ran.stderr.contains(reason), "{reason}: {ran}");
    }
    assert_eq!(contents(&workspace, "out.tacozip").len(), 4);
    // Names without the flag for UTF-8 are of code page 437.
    let old = zip_of(&files(&["a/x.bin", "a/uu.bin"]), Stored);
    let old = replaced(
        &replaced(&old, b"a/uu.bin", b"a/\x81u.bin"),
        b"a/uu.bin",
        b"a/\x81u.bin",
    );
    workspace.write("old.zip", old);
    create(&workspace, "old.zip", "out.tacozip").expect_code(0);
    assert!(
        contents(&workspace, "out.tacozip")
            .iter()
            .any(|path| path.starts_with("üu.bin ")),
        "below the one folder"
    );
    // A flag of the central directory says that the second member is encrypted.
    let mut zip = zip_of(&files(&["a/x.bin", "a/y.bin"]), Stored);
    let entry = zip
        .windows(4)
        .rposition(|window| window == b"PK\x01\x02")
        .expect("an entry");
    zip[entry + 8] |= 1;
    workspace.write("secret.zip", zip);
    let ran = create(&workspace, "secret.zip", "out.tacozip").expect_code(0);
    assert!(ran.stderr.contains("a/y.bin: it is encrypted"), "{ran}");
}

#[test]
fn files_that_are_read_only_together_are_refused() {
    let workspace = Workspace::new();
    let header = "ENVI\nsamples = 8\nlines = 8\nbands = 1\nheader offset = 0\nfile type = ENVI \
        Standard\ndata type = 1\n\
                  interleave = bsq\nbyte order = 0\n";
    let both = [
        ("a/cube.dat".to_owned(), vec![1; 64]),
        ("a/cube.hdr".to_owned(), header.as_bytes().to_vec()),
    ];
    workspace.write("cube.zip", zip_of(&both, Deflated));
    let ran = create(&workspace, "cube.zip", "out.tacozip").expect_code(2);
    assert!(
        ran.stderr
            .contains("cube.dat is read only together with cube.hdr (ENVI, 8 × 8"),
        "{ran}"
    );
    // Where a layout leaves them over, they do no harm.
    let scenes = [
        "images/0001.tif",
        "images/0002.tif",
        "masks/0001.tif",
        "masks/0002.tif",
    ];
    let beside = both.map(|(name, bytes)| (format!("extra/{name}"), bytes));
    let with_scenes = [beside.to_vec(), files(&scenes)].concat();
    workspace.write("scenes.zip", zip_of(&with_scenes, Deflated));
    let layout = [
        "create",
        "scenes.zip",
        "--layout",
        "{position}/{root}",
        "--dry-run",
        "--json",
    ];
    assert_eq!(workspace.studio(layout).expect_code(0).json()["roots"], 2);
}

fn import(path: &Path) -> Dataset {
    let request = DatasetImport {
        path: path.to_owned(),
        ..DatasetImport::default()
    };
    let imported =
        import_dataset(&Dataset::default(), &request, &JobContext::default()).expect("imports");
    let mut draft = Draft::from_dataset(Dataset::default());
    draft.apply(imported.edit).expect("applies");
    draft.dataset().clone()
}

#[test]
fn statistics_and_pictures_of_packed_rasters_are_those_of_the_files() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let stats = |source: &Path| -> Value {
        let ran = workspace.studio([
            "create".as_ref(),
            source.as_os_str(),
            "-o".as_ref(),
            "s.tacozip".as_ref(),
            "--overwrite".as_ref(),
            "--collection".as_ref(),
            "collection.json".as_ref(),
        ]);
        ran.expect_code(0);
        workspace
            .studio([
                "extend",
                "s.tacozip",
                "--with",
                "stac,stats",
                "--level",
                "1",
                "-o",
                "t.tacozip",
                "--overwrite",
            ])
            .expect_code(0);
        let rows = workspace
            .studio([
                "query",
                "t.tacozip",
                "--sql",
                "SELECT * EXCLUDE (\"internal:gdal_vsi\") FROM level1",
                "--json",
            ])
            .expect_code(0)
            .stdout;
        rows.lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("a row"))
            .map(|mut row| {
                row.as_object_mut()
                    .expect("an object")
                    .retain(|name, _| !name.starts_with("internal:"));
                row
            })
            .collect()
    };
    let expected = stats(&workspace.path("scenes"));
    for packing in [Packing::StoredZip, Packing::Zip, Packing::TarZstd] {
        let archive = workspace.path(&format!("packed.{}", packing.ending()));
        pack(&workspace.path("scenes"), "", &archive, packing);
        assert_eq!(stats(&archive), expected, "{packing:?}");
        // Headers and pixels of a draft, before anything is written.
        let dataset = import(&archive);
        let sample = dataset.sample(&NodePath(vec![1, 0])).expect("a FILE");
        let Payload::Asset { path, .. } = &sample.payload else {
            panic!("{sample:?}")
        };
        let info = taco_studio::raster::describe(&taco_studio::container::raster_source(path))
            .expect("is a raster");
        assert_eq!((info.width, info.height), (32, 32));
        // Another archive in its place is not read as the first.
        std::fs::write(&archive, b"PK\x03\x04 another archive").expect("writes");
        let error = taco_studio::container::read_asset(path).expect_err("was replaced");
        assert_eq!(
            error.kind(),
            taco_studio::error::Kind::Changed,
            "{packing:?}: {error}"
        );
        let header = taco_studio::raster::describe(&taco_studio::container::raster_source(path))
            .expect_err("was replaced");
        assert_eq!(
            header.kind(),
            taco_studio::error::Kind::Changed,
            "a header that was read before: {packing:?}: {header}"
        );
    }
}

#[test]
fn an_archive_without_a_member_that_can_be_read_is_refused_with_the_reason() {
    let workspace = Workspace::new();
    let files = ["s1/a.bin", "s2/a.bin"].map(|name| (name.to_owned(), b"x".to_vec()));
    let mut bytes = zip_of(&files, Stored);
    // The method of both members becomes bzip2.
    for signature in [b"PK\x03\x04", b"PK\x01\x02"] {
        let method = if signature[2] == 3 { 8 } else { 10 };
        let places: Vec<usize> = (0..bytes.len() - 4)
            .filter(|&at| bytes[at..].starts_with(signature))
            .collect();
        assert_eq!(places.len(), 2);
        places.into_iter().for_each(|at| bytes[at + method] = 12);
    }
    workspace.write("packed.zip", bytes);
    let ran = create(&workspace, "packed.zip", "out.tacozip").expect_code(2);
    assert!(
        ran.stderr.contains("left out s1/a.bin") && ran.stderr.contains("method 12"),
        "{ran}"
    );
}
