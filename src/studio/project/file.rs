//! The project file `.tacostudio`: one line of JSON (collection, fields, recipe, view), then
//! samples and tray as Parquet tables, which makes a million samples fast to open. Source paths are
//! relative to the file's folder. Written atomically.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::file_mark::FileMark;
use super::source_paths::ProjectFolder;
use super::tables::{self, ProjectTables};
use crate::container::{ByteSource, PartialFile, check_json};
use crate::draft::Content;
use crate::error::{Error, IoContext, Result};
use crate::extensions::ExtensionCall;
use crate::jobs::JobContext;
use crate::model::{Collection, Dataset, FieldSpec, Stamp};
use crate::table::TableHead;

/// Version of the format; newer files are refused.
const VERSION: u32 = 1;
/// First bytes of every project file.
const MAGIC: &[u8] = b"{\"tacostudio\":";
/// Maximum length of the first line in bytes.
const HEAD_MAX: u64 = 64 << 20;

/// Contents of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Project {
    /// Dataset and tray.
    pub content: Content,
    /// Stored extension calls.
    pub recipe: Vec<ExtensionCall>,
    /// Window state; null for none.
    pub view: Json,
}

/// First line of the file.
#[derive(serde::Serialize, serde::Deserialize)]
struct ProjectHead {
    tacostudio: u32,
    collection: Collection,
    #[serde(default)]
    recipe: Vec<ExtensionCall>,
    #[serde(default)]
    view: Json,
    /// Distinct schemas of tortillas.
    schemas: Vec<Vec<FieldSpec>>,
    /// Number of roots, and the index of their schema.
    roots: u32,
    root_schema: u32,
    tables: Vec<TablePart>,
    /// Versions of the containers that ranges refer to; absent in older projects.
    #[serde(default)]
    stamps: Vec<Arc<Stamp>>,
}

/// A table after the first line.
#[derive(serde::Serialize, serde::Deserialize)]
struct TablePart {
    name: String,
    bytes: u64,
    crc32: u32,
}

/// True for a file with the signature of a project.
pub fn is_project(path: &Path) -> bool {
    let mut head = vec![0; MAGIC.len()];
    crate::files::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok()
        && head == MAGIC
}

/// Writes a project. An existing file is replaced once the new one is complete.
///
/// # Errors
/// [`crate::error::Kind::Usage`] when a source's path is not Unicode, [`crate::error::Kind::Io`]
/// when the file can't be written; cancellation.
pub fn save_project(path: &Path, project: &Project, ctx: &JobContext) -> Result<()> {
    save_project_if(path, project, &|| Ok(()), ctx).map(drop)
}

/// As [`save_project`], if `may` allows it both before writing and before replacing. Returns the
/// mark of the new file.
pub(super) fn save_project_if(
    path: &Path,
    project: &Project,
    may: &dyn Fn() -> Result<()>,
    ctx: &JobContext,
) -> Result<Option<FileMark>> {
    may()?;
    ctx.stage(tr!("Saving the project"), None);
    // The folder must exist to be canonicalized.
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        std::fs::create_dir_all(folder).io_at("make the folder for the project", folder)?;
    }
    let base = ProjectFolder::from_project_file(path);
    let tables = tables::write(&project.content, &base, ctx)?;
    let head = ProjectHead {
        tacostudio: VERSION,
        collection: project.content.dataset.collection.clone(),
        recipe: project.recipe.clone(),
        view: project.view.clone(),
        schemas: tables
            .schemas
            .iter()
            .map(|schema| schema.to_vec())
            .collect(),
        roots: project.content.dataset.root.samples.len() as u32,
        root_schema: tables.root_schema,
        tables: tables.parts.iter().map(describe_table_part).collect(),
        stamps: tables.stamps,
    };
    let mut line = serde_json::to_vec(&head)
        .map_err(|error| Error::internal("the project can't be written").because(error))?;
    line.push(b'\n');
    ctx.check()?;
    let partial = PartialFile::new(path, true)?;
    let mut file = partial.file();
    file.write_all(&line).io_at("write the project", path)?;
    for (_, bytes) in &tables.parts {
        ctx.check()?;
        file.write_all(bytes).io_at("write the project", path)?;
    }
    may()?;
    let own = file
        .metadata()
        .ok()
        .and_then(|meta| FileMark::of_meta(&meta));
    partial.finish()?;
    // Some file servers set the modification time on close, and another file may already have taken
    // the name.
    let now = FileMark::from_path(path);
    Ok(now
        .filter(|now| own.as_ref().is_none_or(|own| now.is_file_of(own)))
        .or(own))
}

fn describe_table_part((name, bytes): &(String, Vec<u8>)) -> TablePart {
    TablePart {
        name: name.clone(),
        bytes: bytes.len() as u64,
        crc32: crc32fast::hash(bytes),
    }
}

/// Reads a project. Sources are not checked: they may have moved.
///
/// # Errors
/// [`crate::error::Kind::Io`]; [`crate::error::Kind::Format`] or
/// [`crate::error::Kind::Unsupported`] for a damaged or newer file; cancellation.
pub fn open_project(path: &Path, ctx: &JobContext) -> Result<Project> {
    open_project_of(path, &ProjectFolder::from_project_file(path), ctx)
}

/// Reads a project whose source paths are relative to another folder.
pub(super) fn open_project_of(
    path: &Path,
    base: &ProjectFolder,
    ctx: &JobContext,
) -> Result<Project> {
    ctx.stage(tr!("Opening the project"), None);
    let damaged =
        |what: &str| Error::format(format!("the project is damaged: {what}")).at_path(path);
    let file = crate::files::open(path).io_at("open the project", path)?;
    let length = file.metadata().io_at("read the project", path)?.len();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    (&mut reader)
        .take(HEAD_MAX)
        .read_until(b'\n', &mut line)
        .io_at("read the project", path)?;
    if !line.starts_with(MAGIC) {
        return Err(Error::format("this file is not a project of the studio").at_path(path));
    }
    check_json(&line).map_err(|error| damaged("its first line is too large").because(error))?;
    let version = serde_json::from_slice::<Json>(&line)
        .ok()
        .and_then(|head| head.get("tacostudio")?.as_u64());
    if version.is_some_and(|version| version > u64::from(VERSION)) {
        return Err(
            Error::unsupported("this project was saved by a newer version of the studio")
                .at_path(path),
        );
    }
    let head: ProjectHead = serde_json::from_slice(&line)
        .map_err(|error| damaged("its first line can't be read").because(error))?;
    let file = ByteSource::open(path)?;
    let mut at = line.len() as u64;
    let mut left = length.saturating_sub(at);
    let mut read = Vec::with_capacity(head.tables.len());
    for part in &head.tables {
        ctx.check()?;
        left = left
            .checked_sub(part.bytes)
            .ok_or_else(|| damaged("it is shorter than it says"))?;
        // Read the footer first, so that a file that is not Parquet is not read whole for its
        // checksum.
        let head = TableHead::read(file.parquet(at, part.bytes)?);
        if head.is_ok() && checksum(&file, at, part.bytes, ctx)? != part.crc32 {
            return Err(damaged(&format!("the checksum of {} is wrong", part.name)));
        }
        read.push((
            part.name.clone(),
            head.map_err(|error| {
                damaged(&format!("its table {} can't be read", part.name)).because(error)
            })?
            .decode(ctx)?,
        ));
        at += part.bytes;
    }
    let schemas = head.schemas.into_iter().map(Into::into).collect();
    let tables = ProjectTables {
        schemas,
        root_schema: head.root_schema,
        parts: read,
        stamps: head.stamps,
    };
    let (root, tray) =
        tables::read(&tables, head.roots, base, ctx).map_err(|error| error.at_path(path))?;
    let content = Content {
        dataset: Dataset {
            collection: head.collection,
            root: root.into(),
        },
        tray: tray.into(),
    };
    Ok(Project {
        content,
        recipe: head.recipe,
        view: head.view,
    })
}

fn checksum(file: &ByteSource, start: u64, length: u64, ctx: &JobContext) -> Result<u32> {
    let mut sum = crc32fast::Hasher::new();
    let mut at = 0;
    while at < length {
        ctx.check()?;
        let piece = file.read(start + at, (1 << 20).min(length - at))?;
        sum.update(&piece);
        at += piece.len() as u64;
    }
    Ok(sum.finalize())
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::path::PathBuf;
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Decimal128Array};
    use arrow::datatypes::{DataType, Field, TimeUnit};

    use super::*;
    use crate::draft::Unplaced;
    use crate::model::{
        AssetPath, Modified, PackedCodec, PackedMember, Payload, Sample, Tortilla, Value,
    };

    fn varied(folder: &Path) -> Project {
        let list = DataType::List(Arc::new(Field::new("item", DataType::Float32, true)));
        let money: ArrayRef = Arc::new(
            Decimal128Array::from(vec![12345i128])
                .with_precision_and_scale(10, 2)
                .expect("a decimal"),
        );
        let fields = vec![
            FieldSpec::new("name", DataType::Utf8),
            FieldSpec {
                description: "seconds".into(),
                ..FieldSpec::new(
                    "at",
                    DataType::Timestamp(TimeUnit::Second, Some("UTC".into())),
                )
            },
            FieldSpec::new("histogram", list),
            FieldSpec::new("price", money.data_type().clone()),
            FieldSpec::new("count", DataType::UInt64),
            // A value that does not fit its field's type, which a draft allows.
            FieldSpec::new("odd", DataType::Int8),
        ];
        let values = vec![
            Value::text("a,b\n\"c\""),
            Value::Int(-5),
            Value::List([Value::Float(0.5), Value::Null].into()),
            Value::Other(money),
            Value::UInt(u64::MAX),
            Value::text("not a number"),
        ];
        let file = |id: &str, values: Vec<Value>| Sample {
            values: values.into(),
            ..Sample::new_file(id, folder.join("in/x.tif"), 7)
        };
        // With a drive on Windows.
        let elsewhere = std::path::absolute("/elsewhere/y.tacozip").expect("a path");
        let range = AssetPath::range(elsewhere, u64::MAX / 2, 9);
        let packed = PackedMember {
            archive: folder.join("in/z.zip").into(),
            name: "a/ñ.tif".into(),
            codec: PackedCodec::Deflate,
            start: 37,
            length: 90,
            offset: 0,
            size: 9,
            crc: Some(7),
            stamp: Stamp {
                size: 900,
                modified: Modified(5),
                etag: None,
                directory: None,
            }
            .into(),
        };
        let parts = vec![
            file("whole", values),
            Sample {
                payload: Payload::asset(AssetPath::Packed(packed.into()), 9),
                ..file("packed", vec![])
            },
            file("short", vec![Value::Null, Value::Int(3)]),
            Sample {
                payload: Payload::asset(range, 9),
                ..file("range", vec![])
            },
            Sample {
                payload: Payload::asset(AssetPath::Vsi("/vsicurl/http://x".into()), 0),
                ..file("vsi", vec![])
            },
            Sample {
                payload: Payload::Bytes([1, 2, 0].into()),
                ..file("bytes", vec![Value::text("")])
            },
            Sample::new_folder("empty", Tortilla::default()),
        ];
        let below = Tortilla {
            schema: fields.into(),
            samples: parts,
        };
        let other = Tortilla {
            schema: vec![FieldSpec::new("name", DataType::Int32)].into(),
            samples: vec![file("é/..", vec![Value::Int(4)])],
        };
        let root = Tortilla::new(vec![
            Sample::new_folder("a", below.clone()),
            file("plain", vec![]),
            Sample::new_folder("b", other),
            Sample::new_folder("c", below),
        ]);
        let mut collection = Collection::template();
        collection.set("title", Some("T \u{1f980}\n".into()));
        let tray = ["in/x.tif", "../beside/z.tif"].map(|path| Unplaced::file(folder.join(path), 3));
        let tray = [
            tray[0].clone(),
            Unplaced::file(folder.parent().expect("a parent").join("beside/z.tif"), 4),
        ];
        Project {
            content: Content {
                dataset: Dataset {
                    collection,
                    root: root.into(),
                },
                tray: tray.into(),
            },
            recipe: vec![ExtensionCall {
                extension: "stac".into(),
                ..ExtensionCall::default()
            }],
            view: serde_json::json!({ "panel": "Structure" }),
        }
    }

    #[test]
    fn a_project_comes_back_as_it_was() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let place = crate::files::canonical(folder.path())
            .expect("is there")
            .join("p");
        std::fs::create_dir(&place).expect("makes a folder");
        let ctx = JobContext::default();
        let project = varied(&place);
        let path = place.join("x.tacostudio");
        save_project(&path, &project, &ctx).expect("saves");
        assert!(is_project(&path));
        assert_eq!(open_project(&path, &ctx).expect("opens"), project);
        let empty = Project::default();
        save_project(&path, &empty, &ctx).expect("saves over it");
        assert_eq!(open_project(&path, &ctx).expect("opens"), empty);
        // After moving project and folder together, sources below are found; sources beside it are
        // searched for beside it.
        save_project(&path, &project, &ctx).expect("saves");
        let moved = crate::files::canonical(folder.path())
            .expect("is there")
            .join("q/r");
        std::fs::create_dir_all(&moved).expect("makes a folder");
        std::fs::rename(&path, moved.join("x.tacostudio")).expect("moves");
        let found = open_project(&moved.join("x.tacostudio"), &ctx).expect("opens");
        let mut expected = varied(&moved).content.tray.to_vec();
        expected[0].path = moved.join("in/x.tif");
        assert_eq!(found.content.tray.to_vec(), expected);
    }

    #[test]
    fn a_damaged_project_is_an_error_never_a_panic() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let ctx = JobContext::default();
        let path = folder.path().join("x.tacostudio");
        save_project(&path, &varied(folder.path()), &ctx).expect("saves");
        let whole = std::fs::read(&path).expect("reads");
        for cut in [0, 5, 14, 200, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).expect("writes");
            assert!(open_project(&path, &ctx).is_err(), "cut at {cut}");
        }
        for at in (0..whole.len()).step_by(37) {
            let mut broken = whole.clone();
            broken[at] ^= 0x55;
            std::fs::write(&path, &broken).expect("writes");
            // The first line has no checksum; tables have.
            let _ = open_project(&path, &ctx);
        }
        let newer =
            String::from_utf8_lossy(&whole).replacen("\"tacostudio\":1", "\"tacostudio\":9", 1);
        std::fs::write(&path, newer.as_bytes()).expect("writes");
        assert!(
            open_project(&path, &ctx)
                .expect_err("is newer")
                .to_string()
                .contains("newer")
        );
    }

    #[test]
    fn sources_are_found_again_whatever_their_paths() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let base = ProjectFolder::from_project_file(&folder.path().join("x.tacostudio"));
        let address = Path::new("https://host.example/a/x.tacozip");
        assert_eq!(
            base.parse_saved_path(&base.format_saved_path(address).expect("writes")),
            address
        );
        let here = std::path::absolute("some/scene.tif").expect("is absolute");
        assert_eq!(
            base.parse_saved_path(
                &base
                    .format_saved_path(Path::new("./some/scene.tif"))
                    .expect("writes")
            ),
            here
        );
        let beside = base.folder().join("scene.tif");
        assert_eq!(
            base.format_saved_path(&beside).expect("writes"),
            "scene.tif"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_project_behind_a_link_keeps_its_sources_and_its_link() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let (real, other) = (folder.path().join("real"), folder.path().join("other"));
        std::fs::create_dir_all(real.join("in")).expect("makes a folder");
        std::fs::create_dir(&other).expect("makes a folder");
        let project = varied(&real);
        let (file, link) = (real.join("x.tacostudio"), other.join("link.tacostudio"));
        let ctx = JobContext::default();
        save_project(&file, &project, &ctx).expect("saves");
        std::os::unix::fs::symlink("../real/x.tacostudio", &link).expect("links");
        let linked = folder.path().join("linked");
        std::os::unix::fs::symlink(&real, &linked).expect("links");
        let real = real.canonicalize().expect("is there");
        for path in [link.clone(), linked.join("x.tacostudio")] {
            let opened = open_project(&path, &ctx).expect("opens");
            let source = opened
                .content
                .dataset
                .root
                .samples
                .iter()
                .find_map(first_source)
                .expect("has one");
            assert!(
                source.starts_with(&real),
                "{}: {}",
                path.display(),
                source.display()
            );
        }
        // A source named through the linked folder is still relative.
        let base = ProjectFolder::from_project_file(&linked.join("x.tacostudio"));
        assert_eq!(
            base.format_saved_path(&linked.join("in/x.tif"))
                .expect("writes"),
            "in/x.tif"
        );
    }

    #[cfg(unix)]
    fn first_source(sample: &Sample) -> Option<PathBuf> {
        match &sample.payload {
            Payload::Asset {
                path: AssetPath::File(path),
                ..
            } => Some(path.to_path_buf()),
            Payload::Folder(below) => below.samples.iter().find_map(first_source),
            _ => None,
        }
    }
}
