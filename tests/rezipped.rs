//! Datasets in ZIPs that another program wrote again: opening and checking say so and what to do,
//! and a repair keeps all metadata.

use std::path::{Path, PathBuf};

use taco_studio::container;
use taco_studio::error::{Cause, Kind};
use taco_studio::jobs::JobContext;

use crate::rules::Good;
use crate::support::{Server, Workspace};

const VARIANTS: [&str; 12] = [
    "sorted",
    "top",
    "deep",
    "dot",
    "windows",
    "deflated",
    "deflated_top",
    "deflated_in_order",
    "headless",
    "mac",
    "zip64",
    "streamed",
];

pub fn archives(good: &Good) -> PathBuf {
    let out = good.workspace.path("archives");
    std::fs::create_dir_all(&out).expect("a folder");
    good.workspace
        .python(
            "archivers.py",
            [
                good.zip.as_os_str(),
                good.folder.as_os_str(),
                out.as_os_str(),
            ],
        )
        .expect_code(0);
    out
}

/// The rows of all levels as CSV, without the columns that depend on the container.
fn tables(workspace: &Workspace, path: &Path) -> Vec<String> {
    let reader = container::open(path, &JobContext::default()).expect("opens");
    let mut tables = Vec::new();
    for level in 0..reader.levels().count() {
        let fields = reader.levels().fields(level);
        let names: Vec<String> = fields
            .iter()
            .filter(|field| !field.name.starts_with("internal:"))
            .map(|field| format!("\"{}\"", field.name))
            .collect();
        let statement = format!("select {} from level{level} order by all", names.join(", "));
        let arguments = [
            "query".as_ref(),
            path.as_os_str(),
            "--sql".as_ref(),
            statement.as_ref(),
            "--csv".as_ref(),
        ];
        tables.push(workspace.studio(arguments).expect_code(0).stdout);
    }
    tables
}

#[test]
fn an_archive_of_another_program_is_named_as_one_and_repaired_with_all_metadata() {
    let good = Good::new();
    let folder = archives(&good);
    let wanted = tables(&good.workspace, &good.zip);
    for name in VARIANTS {
        let archive = folder.join(format!("{name}.zip"));
        let error = container::open(&archive, &JobContext::default())
            .err()
            .unwrap_or_else(|| panic!("{name} opens"));
        assert_eq!(error.kind(), Kind::Format, "{name}: {error}");
        assert!(
            error.is_caused_by(Cause::RewrittenArchive),
            "{name}: {}",
            error.report()
        );
        assert_eq!(
            error.is_caused_by(Cause::CompressedMember),
            name.starts_with("deflated"),
            "{name}: {}",
            error.report()
        );
        let count = "select count(*) from data";
        for arguments in [
            vec!["validate".as_ref(), archive.as_os_str()],
            vec![
                "query".as_ref(),
                archive.as_os_str(),
                "--sql".as_ref(),
                count.as_ref(),
            ],
        ] {
            let ran = good.workspace.studio::<&std::ffi::OsStr>(arguments);
            let said = format!("{}{}", ran.stdout, ran.stderr).to_lowercase();
            assert!(
                said.contains("written again by another program")
                    && said.contains("unpack it and open the folder"),
                "{name}: {ran}"
            );
        }
        let mended = folder.join(format!("{name}.tacozip"));
        let arguments = [
            "repair".as_ref(),
            archive.as_os_str(),
            "-o".as_ref(),
            mended.as_os_str(),
        ];
        let told = good.workspace.studio(arguments).expect_code(0).stdout;
        assert!(
            told.contains("written again by another program") && !told.contains(": 0 repaired"),
            "{name}: {told}"
        );
        good.workspace
            .studio(["validate".as_ref(), "--deep".as_ref(), mended.as_os_str()])
            .expect_code(0);
        assert_eq!(tables(&good.workspace, &mended), wanted, "{name}");
    }
    // TACO_HEADER is the first member by chance: the archive opens by its directory, and is
    // repaired as before.
    let mended = folder.join("reversed.tacozip");
    let arguments = [
        "repair".into(),
        folder.join("reversed.zip"),
        "-o".into(),
        mended.clone(),
    ];
    good.workspace.studio(arguments).expect_code(0);
    assert_eq!(tables(&good.workspace, &mended), wanted);
    let left: Vec<PathBuf> = crate::support::entries(&folder)
        .into_iter()
        .filter(|path| path.is_dir())
        .collect();
    assert_eq!(
        left,
        Vec::<PathBuf>::new(),
        "nothing of the unpacking is left"
    );
    let none = container::open(&folder.join("none.zip"), &JobContext::default())
        .err()
        .expect("is none");
    assert!(!none.is_caused_by(Cause::RewrittenArchive), "{none}");
}

#[test]
fn an_archive_of_another_program_is_named_as_one_on_a_server() {
    let good = Good::new();
    let folder = archives(&good);
    let server = Server::of(&folder);
    for name in ["top", "sorted", "deflated", "deflated_in_order"] {
        let address = server.url(&format!("{name}.zip"));
        let ran = good.workspace.studio(["validate", &address]);
        let said = format!("{}{}", ran.stdout, ran.stderr).to_lowercase();
        assert!(
            said.contains("written again by another program"),
            "{name}: {ran}"
        );
        assert_eq!(
            said.contains("(deflate)"),
            name.starts_with("deflated"),
            "{name}: {ran}"
        );
    }
    let mended = folder.join("mended.tacozip");
    let arguments = [
        "repair".to_owned(),
        server.url("top.zip"),
        "-o".to_owned(),
        mended.display().to_string(),
    ];
    good.workspace.studio(arguments).expect_code(0);
    assert_eq!(
        tables(&good.workspace, &mended),
        tables(&good.workspace, &good.zip)
    );
}
