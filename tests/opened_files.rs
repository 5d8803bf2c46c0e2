//! What the program opens while it works with texts of others that name files: the dataset and the
//! output, the program, its settings and cache, libraries and data of the system, and nothing else.
//! Every verb is traced with `strace`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::faults::strace_works;
use crate::rules::Files;
use crate::support::{Ran, Workspace, flat_scenes, geotiff};

/// Names of files that must not be opened; all others in the workspace belong to the dataset or the
/// output.
const FORBIDDEN: [&str; 3] = ["secret", "/dev/stdin", "/etc/passwd"];
/// Libraries and data of the system.
const SYSTEM: [&str; 12] = [
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/usr/share/locale",
    "/etc/ld.so",
    "/etc/localtime",
    "/etc/ssl/",
    "/proc/",
    "/sys/",
    "/dev/null",
    "/dev/urandom",
];

/// Verbs and their arguments. IN is the dataset, OUT a path where nothing is.
const VERBS: [&[&str]; 22] = [
    &["inspect", "IN"],
    &["fields", "IN"],
    &["validate", "IN"],
    &["validate", "IN", "--deep"],
    &["query", "IN", "--bbox", "-180,-90,180,90"],
    &["query", "IN", "--where", "cloud_cover >= 0"],
    &["describe", "IN", "--as", "stac", "-o", "OUT"],
    &["describe", "IN", "--as", "geoparquet", "-o", "OUT.parquet"],
    &[
        "describe",
        "IN",
        "--as",
        "stac-geoparquet",
        "-o",
        "OUT.parquet",
    ],
    &["describe", "IN", "--as", "croissant", "-o", "OUT.json"],
    &["describe", "IN", "--as", "html", "-o", "OUT.html"],
    &["convert", "IN", "OUT"],
    &[
        "export",
        "IN",
        "-o",
        "OUT.tacozip",
        "--bbox",
        "-180,-90,180,90",
    ],
    &["stats", "IN", "--exact", "--bbox", "-180,-90,180,90"],
    &["leakage", "IN"],
    &[
        "extend",
        "IN",
        "-o",
        "OUT.tacozip",
        "--with",
        "stac",
        "--replace",
    ],
    &["optimise", "IN", "-o", "OUT.tacozip"],
    &["optimise", "own/grid.asc", "-o", "OUT.tif"],
    &["repair", "IN", "-o", "OUT.tacozip"],
    &["publish", "IN", "OUT", "--dry-run"],
    &["publish", "IN", "OUT"],
    &[
        "create",
        "scenes",
        "-o",
        "OUT.tacozip",
        "--collection",
        "collection.json",
        "--metadata",
        "hostile.csv",
    ],
];

/// Coordinate systems that name the file `secret`, which is in the working directory.
fn hostile_texts(secret: &Path) -> Vec<String> {
    let file = secret.display();
    let geographic = |datum: &str, more: &str| {
        format!(
            "GEOGCS[\"x\",DATUM[\"d\",SPHEROID[\"s\",6378137,298.257223563]{datum}],\
                PRIMEM[\"Greenwich\",0],\
             UNIT[\"degree\",0.0174532925199433]{more}]"
        )
    };
    vec![
        format!("+proj=longlat +nadgrids={file}"),
        format!("+proj=longlat +nadgrids=@{file},null"),
        "+proj=longlat +ellps=bessel +nadgrids=secret.gsb".into(),
        "+proj=longlat +nadgrids=./secret.gsb +geoidgrids=secret.gsb".into(),
        "+proj=longlat +nadgrids=/dev/stdin".into(),
        "+proj=longlat +nadgrids=/etc/passwd".into(),
        format!("+init={file}:x"),
        "+init=secret.gsb:x".into(),
        geographic(&format!(",EXTENSION[\"PROJ4_GRIDS\",\"{file}\"]"), ""),
        geographic(
            "",
            &format!(",EXTENSION[\"PROJ4\",\"+proj=longlat +nadgrids={file}\"]"),
        ),
        format!(
            "BOUNDCRS[SOURCECRS[{crs}],TARGETCRS[{crs}],ABRIDGEDTRANSFORMATION[\"t\",\
                METHOD[\"NTv2\",ID[\"EPSG\",9615]],\
             PARAMETERFILE[\"Latitude and longitude difference \
                file\",\"{file}\",ID[\"EPSG\",8656]]]]",
            crs = "GEOGCRS[\"x\",DATUM[\"d\",ELLIPSOID[\"s\",6378137,298.257223563]],\
                CS[ellipsoidal,2],AXIS[\"lat\",north],\
                   AXIS[\"lon\",east],UNIT[\"degree\",0.0174532925199433]]"
        ),
        file.to_string(),
        "DICT:secret.gsb,x".into(),
    ]
}

/// A dataset whose rasters have these coordinate systems in the metadata, and a GeoJSON whose own
/// is such a text.
fn hostile_dataset(workspace: &Workspace, texts: &[String]) -> PathBuf {
    flat_scenes(workspace, texts.len() as u8);
    for (number, name) in [
        "+init=secret.gsb:x",
        "DICT:secret.gsb,x",
        "/etc/passwd",
        "+proj=longlat +nadgrids=/dev/stdin",
    ]
    .iter()
    .enumerate()
    {
        let text = format!(
            "{{\"type\":\"FeatureCollection\",\"crs\":{{\"type\":\"name\",\
                \"properties\":{{\"name\":\"{name}\"}}}},\"features\":[{{\"type\":\
             \"Feature\",\"properties\":{{}},\"geometry\":{{\"type\":\"Point\",\"coordinates\":[1,\
                2]}}}}]}}"
        );
        workspace.write(&format!("scenes/zone_{number}.geojson"), text);
    }
    workspace.write("scenes/zone_9.zarr.zip", hostile_store(texts));
    let plain = workspace.path("plain.tacozip");
    let placed = workspace.path("placed.tacozip");
    let text = |path: &Path| path.display().to_string();
    let created = [
        "create",
        "scenes",
        "-o",
        &text(&plain),
        "--collection",
        "collection.json",
        "--metadata",
        "metadata.csv",
    ];
    workspace.studio(created).expect_code(0);
    // The GeoJSON files have no grid.
    let extended = workspace
        .studio([
            "extend",
            &text(&plain),
            "-o",
            &text(&placed),
            "--with",
            "stac",
        ])
        .expect_no_panic();
    assert!(placed.exists(), "{extended}");
    let mut files = Files::of_zip(&placed);
    for (row, text) in texts.iter().enumerate() {
        files.set_text("METADATA/level0.parquet", "stac:crs", row, text);
    }
    workspace.write("hostile.tacozip", files.to_zip())
}

/// A Zarr store whose names of dimensions, groups and members lead to `secret`, and whose
/// coordinate systems are these texts.
fn hostile_store(texts: &[String]) -> Vec<u8> {
    let leading_out = "../../../../../../../../../../tmp/secret";
    let array = json!({
        "zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|u1", "compressor": null,
        "fill_value": 0, "filters": null, "order": "C",
    });
    let mut store = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut put = |name: &str, data: &[u8]| {
        store.start_file(name, stored).expect("begins a member");
        store.write_all(data).expect("writes");
    };
    put(".zgroup", br#"{"zarr_format": 2}"#);
    let mut known = serde_json::Map::new();
    for (number, text) in texts.iter().enumerate() {
        let dimensions = if number % 2 == 0 {
            ["/tmp/secret", "secret"]
        } else {
            [leading_out, "../secret"]
        };
        let attributes = json!({
            "_ARRAY_DIMENSIONS": dimensions,
            "_CRS": { "url": text, "wkt": text },
            "grid_mapping": leading_out,
            "coordinates": leading_out,
        });
        let name = format!("v{number}");
        put(&format!("{name}/.zarray"), array.to_string().as_bytes());
        put(
            &format!("{name}/.zattrs"),
            attributes.to_string().as_bytes(),
        );
        put(&format!("{name}/0.0"), &[1, 2, 3, 4]);
        known.insert(format!("{name}/.zarray"), array.clone());
        known.insert(format!("{name}/.zattrs"), attributes);
    }
    known.insert(format!("{leading_out}/.zarray"), array);
    let consolidated = json!({ "zarr_consolidated_format": 1, "metadata": known });
    put(".zmetadata", consolidated.to_string().as_bytes());
    put(
        "refs.json",
        format!(r#"{{"version": 1, "refs": {{".zgroup": "{{}}", "a/0": ["{leading_out}"]}}}}"#)
            .as_bytes(),
    );
    let overviews = format!(
        "<PAMDataset><Metadata domain=\"OVERVIEWS\"><MDI key=\"OVERVIEW_FILE\">{leading_out}</MDI>\
            </Metadata></PAMDataset>"
    );
    put("pam.aux.xml", overviews.as_bytes());
    store.finish().expect("ends").into_inner()
}

/// A file that a run tried to open.
struct Opening {
    path: String,
    succeeded: bool,
}

/// Runs the program traced.
fn traced(workspace: &Workspace, arguments: &[String]) -> (Ran, Vec<Opening>) {
    let log = workspace.path("trace.log");
    let mut command = Command::new("strace");
    command
        .args([
            "-f",
            "-qq",
            "-y",
            "-s",
            "4096",
            "-e",
            "trace=open,openat,openat2,creat,connect",
            "-o",
        ])
        .arg(&log);
    command
        .arg(env!("CARGO_BIN_EXE_taco-studio"))
        .args(arguments);
    let ran = workspace.run(command).expect_no_panic();
    let lines = std::fs::read_to_string(&log).expect("the trace");
    (ran, lines.lines().filter_map(opening).collect())
}

/// `123 openat(AT_FDCWD</tmp>, "a.tif", O_RDONLY) = 3</tmp/a.tif>`.
fn opening(line: &str) -> Option<Opening> {
    let (name, call) = line.split_once('(')?;
    if name.ends_with("connect") {
        // Sockets of this machine are those of the desktop.
        return call.contains("sa_family=AF_INET").then(|| Opening {
            path: format!("connection to {call}"),
            succeeded: true,
        });
    }
    let (before, rest) = call.split_once('"')?;
    let (name, after) = rest.split_once('"')?;
    let folder = before
        .split_once('<')
        .and_then(|(_, folder)| folder.split_once('>'))
        .map(|(folder, _)| folder);
    let path = match folder {
        Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.to_owned(),
    };
    // Another thread may be seen between call and result.
    let succeeded = if after.contains("<unfinished") {
        Path::new(&path).exists()
    } else {
        !after.contains("= -1 ")
    };
    Some(Opening { path, succeeded })
}

fn is_allowed(path: &str, workspace: &str) -> bool {
    let program = Path::new(env!("CARGO_BIN_EXE_taco-studio"))
        .parent()
        .expect("a folder")
        .display()
        .to_string();
    // Its own copies, and the folder in which it looks for those of stopped processes.
    let temporary = std::env::temp_dir();
    let copies = temporary.join(".taco-studio-work.").display().to_string();
    path.starts_with(workspace)
        || path.starts_with(&program)
        || path.starts_with(&copies)
        || Path::new(path) == temporary
        || SYSTEM.iter().any(|start| path.starts_with(start))
}

#[test]
fn no_verb_opens_a_file_that_a_text_names_or_asks_a_server() {
    if let Err(reason) = strace_works() {
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("skipped: {reason}");
        return;
    }
    let workspace = Workspace::new();
    let secret = workspace.write(
        "secret.gsb",
        "<x> +proj=utm +zone=18 +datum=WGS84 +type=crs <>\nx,+proj=longlat\n",
    );
    let texts = hostile_texts(&secret);
    let dataset = hostile_dataset(&workspace, &texts);
    let rows = texts
        .iter()
        .enumerate()
        .map(|(row, text)| format!("tile_{row}.tif,\"{}\"\n", text.replace('"', "\"\"")));
    workspace.write(
        "hostile.csv",
        format!("path,stac:crs\n{}", rows.collect::<String>()),
    );
    let grid = "ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n3 4\n";
    workspace.write("own/grid.asc", grid);
    workspace.write("own/grid.prj", &texts[8]);
    let root = workspace
        .path("")
        .canonicalize()
        .expect("the workspace")
        .display()
        .to_string();
    let mut wrong = Vec::new();
    for (number, verb) in VERBS.iter().enumerate() {
        let (input, output) = (dataset.display().to_string(), format!("out_{number}"));
        let arguments: Vec<String> = verb
            .iter()
            .map(|part| part.replace("OUT", &output).replace("IN", &input))
            .collect();
        let (ran, openings) = traced(&workspace, &arguments);
        assert!(
            openings.iter().any(|opening| opening.succeeded),
            "{}: nothing was traced: {ran}",
            verb.join(" ")
        );
        for Opening { path, succeeded } in openings {
            let is_forbidden = FORBIDDEN.iter().any(|name| path.contains(name));
            let line = format!("{}: {path}", verb.join(" "));
            if (is_forbidden || succeeded && !is_allowed(&path, &root)) && !wrong.contains(&line) {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "opened:\n{}", wrong.join("\n"));
}

#[test]
fn coordinate_systems_that_name_files_are_findings_without_a_place() {
    let workspace = Workspace::new();
    let secret = workspace.write("secret.gsb", "no grid");
    let texts = hostile_texts(&secret);
    let dataset = hostile_dataset(&workspace, &texts);
    let report = workspace
        .studio(["validate".as_ref(), dataset.as_os_str(), "--json".as_ref()])
        .expect_no_panic()
        .json();
    let findings = report["findings"].as_array().expect("a list");
    for (row, text) in texts.iter().enumerate() {
        let start: String = text.chars().take(40).collect();
        let is_told = findings.iter().any(|finding| {
            finding["rule"] == "REF-2"
                && finding["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(&start))
        });
        assert!(is_told, "row {row}, {text}: {report:#}");
    }
    // Without a centroid nothing says where the samples are.
    let mut files = Files::of_zip(&dataset);
    files.drop_column("METADATA/level0.parquet", "stac:centroid");
    let unplaced = workspace.write("unplaced.tacozip", files.to_zip());
    let arguments = [
        "query".as_ref(),
        unplaced.as_os_str(),
        "--bbox".as_ref(),
        "-180,-90,180,90".as_ref(),
        "--format".as_ref(),
        "json".as_ref(),
    ];
    let found = workspace.studio(arguments).expect_code(0);
    assert!(!found.stdout.contains("tile_"), "{found}");
}

/// A person's own raster with a sidecar of such a system: it is read, without a place.
#[test]
fn an_own_raster_with_such_a_system_is_read() {
    let workspace = Workspace::new();
    geotiff(&workspace.path("own/scene.tif"), 1, 8, 1);
    let sidecar = "<PAMDataset><SRS>GEOGCS[\"x\",DATUM[\"d\",SPHEROID[\"s\",6378137,298.257223563],\
        EXTENSION[\"PROJ4_GRIDS\",\
                   \"/etc/passwd\"]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",\
        0.0174532925199433]]</SRS></PAMDataset>";
    workspace.write("own/scene.tif.aux.xml", sidecar);
    workspace
        .studio(["optimise", "own/scene.tif", "-o", "out.tif"])
        .expect_code(0);
    assert!(workspace.path("out.tif").exists());
}
