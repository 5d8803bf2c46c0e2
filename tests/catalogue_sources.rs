//! STAC catalogues as sources of `create`: items become roots, assets positions, properties
//! columns.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{COLLECTION, Ran, Server, Workspace, catalogues_program, geotiff};

/// Items with two bands and a thumbnail each, in `catalogue/`; the links of assets are relative to
/// the items.
pub fn write_items(workspace: &Workspace, count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| {
            let id = format!("scene_{number}");
            for (at, band) in ["red", "nir"].into_iter().enumerate() {
                geotiff(
                    &workspace.path(&format!("catalogue/data/{id}/{band}.tif")),
                    1,
                    32,
                    (number * 2 + at) as u8,
                );
            }
            workspace.write(&format!("catalogue/data/{id}/small.png"), b"no picture");
            let west = number as f64;
            let ring = json!([
                [west, 10.0],
                [west + 1.0, 10.0],
                [west + 1.0, 11.0],
                [west, 11.0],
                [west, 10.0],
            ]);
            let band = |name: &str| {
                json!({
                    "href": format!("data/{id}/{name}.tif"),
                    "type": "image/tiff; application=geotiff",
                    "roles": ["data"],
                })
            };
            json!({
                "type": "Feature", "stac_version": "1.0.0", "stac_extensions": [], "id": id,
                "collection": "scenes",
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [ring],
                }, "bbox": [west, 10.0, west + 1.0, 11.0],
                "properties": {
                    "datetime": format!(
                        "2024-0{}-15T10:00:00Z",
                        number + 1
                    ), "eo:cloud_cover": number as f64 * 10.5, "orbit": number,
                    "platform":
                        if number == 0 { Value::Null } else { json!("sat-a") }, "proj:shape": [
                            32,
                            32,
                        ],
                },
                "assets": {
                    "red": band("red"), "nir": band("nir"),
                    "thumbnail": {
                        "href": format!("data/{id}/small.png"),
                        "type": "image/png",
                        "roles": ["thumbnail"],
                    },
                },
                "links": [],
            })
        })
        .collect()
}

/// A server of the STAC API with the items of a file: that of rustac, which keeps them in memory.
/// It ends on drop.
struct StacApi {
    child: Child,
    port: u16,
}

impl StacApi {
    fn start(workspace: &Workspace, items: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a port")
            .port();
        let mut command = Command::new(catalogues_program("rustac"));
        command
            .args([
                "serve",
                "--create-collections",
                "--addr",
                &format!("127.0.0.1:{port}"),
            ])
            .arg(workspace.path(items));
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let server = Self { child, port };
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

impl Drop for StacApi {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_json(workspace: &Workspace, name: &str, json: &Value) {
    workspace.write(name, serde_json::to_vec(json).expect("JSON"));
}

fn create(workspace: &Workspace, source: &str, more: &[&str]) -> Ran {
    workspace.write("collection.json", COLLECTION);
    let call = [
        "create",
        source,
        "-o",
        "out.tacozip",
        "--overwrite",
        "--collection",
        "collection.json",
    ];
    workspace.studio(call.iter().chain(more))
}

fn query(workspace: &Workspace, sql: &str, more: &[&str]) -> Vec<Value> {
    let call = ["query", "out.tacozip", "--sql", sql, "--json"];
    let ran = workspace.studio(call.iter().chain(more)).expect_code(0);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"))
        .collect()
}

#[test]
fn a_collection_of_items_becomes_roots_positions_and_columns() {
    let workspace = Workspace::new();
    let items = write_items(&workspace, 3);
    write_json(
        &workspace,
        "catalogue/items.json",
        &json!({ "type": "FeatureCollection", "features": items, "links": [] }),
    );
    create(&workspace, "catalogue/items.json", &[]).expect_code(0);
    let inspected = workspace.studio(["inspect", "out.tacozip", "--json"]);
    assert_eq!(
        inspected.expect_code(0).json()["collection"]["extent"]["spatial"],
        json!([0.0, 10.0, 3.0, 11.0])
    );
    let sql = r#"SELECT id, "eo:cloud_cover" AS cloud, orbit, platform, "proj:shape" AS shape,
        typeof(datetime) AS time, collection
        FROM level0 ORDER BY id"#;
    let rows = query(&workspace, sql, &[]);
    assert_eq!(rows.len(), 3);
    let second = json!({
        "id": "scene_1", "cloud": 10.5, "orbit": 1, "platform": "sat-a", "shape": [
            32,
            32,
        ], "time": "TIMESTAMP", "collection": "scenes",
    });
    assert_eq!(rows[1], second);
    assert_eq!(rows[0]["platform"], Value::Null);
    let ids = query(
        &workspace,
        "SELECT DISTINCT id FROM level1 ORDER BY id",
        &[],
    );
    assert_eq!(
        ids,
        [json!({ "id": "nir.tif" }), json!({ "id": "red.tif" })],
        "no thumbnails"
    );
    let march = workspace
        .studio([
            "query",
            "out.tacozip",
            "--datetime",
            "2024-02-01/2024-04-01",
            "--json",
        ])
        .expect_code(0);
    assert_eq!(march.stdout.lines().count(), 2, "times filter: {march}");
    let east = workspace
        .studio([
            "query",
            "out.tacozip",
            "--bbox",
            "2.2,10.2,2.8,10.8",
            "--json",
        ])
        .expect_code(0);
    assert!(
        east.stdout.lines().count() == 1 && east.stdout.contains("scene_2"),
        "places filter: {east}"
    );
    let bytes = workspace.studio(["read", "out.tacozip", "scene_2/nir.tif", "-o", "nir.tif"]);
    bytes.expect_code(0);
    let read = |name: &str| std::fs::read(workspace.path(name)).expect("reads");
    assert_eq!(read("nir.tif"), read("catalogue/data/scene_2/nir.tif"));
    // Items of a search that were saved with their files keep their addresses.
    let mut saved = items[0].clone();
    saved["links"] =
        json!([{ "rel": "self", "href": "https://host.invalid/collections/scenes/items/scene_0" }]);
    write_json(&workspace, "catalogue/saved.json", &saved);
    create(&workspace, "catalogue/saved.json", &[]).expect_code(0);
    create(
        &workspace,
        "catalogue/items.json",
        &["--assets", "thumb*", "--limit", "2"],
    )
    .expect_code(0);
    assert_eq!(
        query(&workspace, "SELECT id FROM level1", &[]),
        [
            json!({ "id": "thumbnail.png" }),
            json!({ "id": "thumbnail.png" })
        ]
    );
    let none = create(&workspace, "catalogue/items.json", &["--assets", "blue"]).expect_code(2);
    assert!(
        none.stderr.contains("they have nir, red, thumbnail"),
        "{none}"
    );
    let elsewhere = workspace
        .studio(["create", "catalogue", "-o", "x.tacozip", "--assets", "red"])
        .expect_code(2);
    assert!(
        elsewhere.stderr.contains("for STAC catalogues"),
        "{elsewhere}"
    );
}

#[test]
fn a_table_of_items_gives_the_dataset_of_its_items() {
    let workspace = Workspace::new();
    let items = write_items(&workspace, 3);
    write_json(
        &workspace,
        "catalogue/items.json",
        &json!({ "type": "FeatureCollection", "features": items, "links": [] }),
    );
    workspace
        .catalogue_python(
            "item_table.py",
            ["catalogue/items.json", "catalogue/items.parquet"],
        )
        .expect_code(0);
    let rows = |source: &str, more: &[&str]| {
        create(&workspace, source, more).expect_code(0);
        let sql = r#"SELECT id, datetime, "eo:cloud_cover" AS cloud, orbit, platform,
            "proj:shape" AS shape, collection,
            typeof(datetime) AS time, ST_AsText("stac:geometry") AS place, "stac:bbox" AS box
            FROM level0 ORDER BY id"#;
        let files =
            r#"SELECT id, "internal:size" AS size FROM level1 ORDER BY "internal:current_id""#;
        (query(&workspace, sql, &[]), query(&workspace, files, &[]))
    };
    let (wanted, files) = rows("catalogue/items.json", &[]);
    assert_eq!((wanted.len(), files.len()), (3, 6));
    assert_eq!(
        rows("catalogue/items.parquet", &[]),
        (wanted.clone(), files)
    );
    assert_eq!(
        rows(
            "catalogue/items.parquet",
            &["--assets", "red", "--limit", "2"]
        )
        .0,
        wanted[..2]
    );
    // Another table is no catalogue.
    workspace
        .studio([
            "query",
            "out.tacozip",
            "--format",
            "parquet",
            "-o",
            "rows.parquet",
        ])
        .expect_code(0);
    let other = create(&workspace, "rows.parquet", &[]).expect_code(2);
    assert!(other.stderr.contains("nor a STAC catalogue"), "{other}");
}

#[test]
fn static_catalogues_and_pages_are_followed_here_and_on_a_server() {
    let workspace = Workspace::new();
    let items = write_items(&workspace, 3);
    for item in &items {
        let mut item = item.clone();
        item["assets"]
            .as_object_mut()
            .expect("assets")
            .values_mut()
            .for_each(|asset| {
                asset["href"] = format!("../{}", asset["href"].as_str().expect("a link")).into();
            });
        write_json(
            &workspace,
            &format!(
                "catalogue/items/{}.json",
                item["id"].as_str().expect("an id")
            ),
            &item,
        );
    }
    let link = |rel: &str, href: &str| json!({ "rel": rel, "href": href });
    let below = [
        link("item", "./items/scene_0.json"),
        link("item", "./items/scene_1.json"),
        link("root", "catalog.json"),
    ];
    write_json(
        &workspace,
        "catalogue/collection.json",
        &json!({ "type": "Collection", "stac_version": "1.0.0", "id": "c", "links": below }),
    );
    let top = [
        link("child", "collection.json"),
        link("item", "items/scene_2.json"),
        link("child", "collection.json"),
    ];
    write_json(
        &workspace,
        "catalogue/catalog.json",
        &json!({ "stac_version": "0.9.0", "id": "top", "links": top }),
    );
    for (page, next) in [(0, Some("page1.json")), (1, Some("page2.json")), (2, None)] {
        let links: Vec<Value> = next.iter().map(|href| link("next", href)).collect();
        let one = json!({ "type": "FeatureCollection", "features": [items[page]], "links": links });
        write_json(&workspace, &format!("catalogue/page{page}.json"), &one);
    }
    let server = Server::of(&workspace.path("catalogue"));
    let ids = |ran: Ran| {
        ran.expect_code(0);
        query(&workspace, "SELECT id FROM level0 ORDER BY id", &[]).len()
    };
    assert_eq!(ids(create(&workspace, "catalogue/catalog.json", &[])), 3);
    assert_eq!(ids(create(&workspace, &server.url("catalog.json"), &[])), 3);
    assert_eq!(ids(create(&workspace, &server.url("page0.json"), &[])), 3);
    assert_eq!(
        ids(create(
            &workspace,
            &server.url("page0.json"),
            &["--limit", "2"]
        )),
        2
    );
    let read = |name: &str| std::fs::read(workspace.path(name)).expect("reads");
    workspace
        .studio(["read", "out.tacozip", "scene_1/red.tif", "-o", "red.tif"])
        .expect_code(0);
    assert_eq!(
        read("red.tif"),
        read("catalogue/data/scene_1/red.tif"),
        "remote assets are copied"
    );
}

#[test]
fn an_api_is_searched_by_box_time_and_collection() {
    let workspace = Workspace::new();
    let files = Server::of(&workspace.path("catalogue"));
    let mut items = write_items(&workspace, 6);
    for (number, item) in items.iter_mut().enumerate() {
        item["collection"] = if number < 4 { "scenes" } else { "others" }.into();
        item["assets"]
            .as_object_mut()
            .expect("assets")
            .values_mut()
            .for_each(|asset| {
                asset["href"] = files.url(asset["href"].as_str().expect("a link")).into();
            });
    }
    write_json(
        &workspace,
        "items.json",
        &json!({ "type": "FeatureCollection", "features": items, "links": [] }),
    );
    let api = StacApi::start(&workspace, "items.json");
    let ids = |source: &str, more: &[&str]| {
        create(&workspace, source, more).expect_code(0);
        let rows = query(&workspace, "SELECT id FROM level0 ORDER BY id", &[]);
        rows.iter()
            .map(|row| {
                row["id"]
                    .as_str()
                    .expect("an id")
                    .trim_start_matches("scene_")
                    .to_owned()
            })
            .collect::<Vec<_>>()
            .concat()
    };
    // The same choice of what the server gives, of what its pages give, and of a file.
    for source in [
        api.url("search"),
        api.url("search?limit=2"),
        api.url(""),
        "items.json".to_owned(),
    ] {
        assert_eq!(
            ids(&source, &["--datetime", "2024-02-01/2024-04-20"]),
            "123",
            "{source}"
        );
        // The order is the server's.
        let some = ids(&source, &["--datetime", "2024-02-01/..", "--limit", "2"]);
        assert!(
            some.len() == 2 && some.chars().all(|number| "12345".contains(number)),
            "{source}: {some}"
        );
        // This server can't write the address of a next page with a box.
        if !source.contains("limit") {
            assert_eq!(
                ids(&source, &["--bbox", "1.5,10.2,3.5,10.8"]),
                "123",
                "{source}"
            );
            assert_eq!(
                ids(
                    &source,
                    &["--bbox", "0.5,10.2,2.5,10.8", "--datetime", "2024-03-15"]
                ),
                "2",
                "{source}"
            );
        }
    }
    // Nor does it read the parameter `collections`, but it has the items of each.
    assert_eq!(ids("items.json", &["--collections", "others,none"]), "45");
    assert_eq!(
        ids(
            &api.url("collections/others/items"),
            &["--datetime", "../2024-05-20"]
        ),
        "4"
    );
    assert_eq!(
        ids(
            &api.url("collections/others"),
            &["--datetime", "../2024-05-20"]
        ),
        "4"
    );
    // Without a choice all that the address names is taken.
    assert_eq!(ids(&api.url("search?limit=2"), &[]), "012345");
    let none = create(
        &workspace,
        &api.url("search"),
        &["--datetime", "2020-01-01"],
    )
    .expect_code(2);
    assert!(
        none.stderr.contains("has no items") && none.stderr.contains("widen its box"),
        "{none}"
    );
    let wrong = create(&workspace, &api.url("search"), &["--bbox", "10,50,20,40"]).expect_code(2);
    assert!(
        wrong.stderr.contains("has its south 50 above its north 40"),
        "{wrong}"
    );
    // A search becomes a plan, whose parts read the assets.
    let call = [
        "plan",
        &api.url("search"),
        "-o",
        "job",
        "--collection",
        "collection.json",
        "--datetime",
        "2024-05-01/..",
        "--parts",
        "2",
    ];
    workspace.studio(call).expect_code(0);
    workspace
        .studio(["plan", "run", "job", "--part", "1,2"])
        .expect_code(0);
    workspace.studio(["plan", "finish", "job"]).expect_code(0);
}

#[test]
fn catalogues_that_can_t_be_taken_are_refused_with_the_reason() {
    let workspace = Workspace::new();
    let items = write_items(&workspace, 2);
    let refused = |name: &str, document: Value, reason: &str| {
        write_json(&workspace, &format!("catalogue/{name}"), &document);
        let ran = create(&workspace, &format!("catalogue/{name}"), &[]).expect_code(2);
        assert!(ran.stderr.contains(reason), "{name}: {ran}");
    };
    let collection = |features: Vec<Value>| {
        json!({
            "type": "FeatureCollection",
            "stac_version": "1.0.0",
            "features": features,
        })
    };
    refused("none.json", collection(Vec::new()), "has no items");
    refused(
        "twice.json",
        collection(vec![items[0].clone(), items[0].clone()]),
        "two items have the id scene_0",
    );
    let mut missing = items[0].clone();
    missing["assets"]["red"]["href"] = "data/nothing.tif".into();
    refused("missing.json", missing, "the asset red of scene_0");
    let mut posted = collection(vec![items[0].clone()]);
    posted["links"] = json!([{ "rel": "next", "href": "next.json", "method": "POST" }]);
    refused("posted.json", posted, "asked for by POST");
    let mut plain = items[0].clone();
    plain["assets"] = Value::Null;
    refused("plain.json", plain, "has no assets");
    // A catalogue of a server names no file of this machine: a path is that of its server.
    let mut local = items[1].clone();
    let red = workspace.path("catalogue/data/scene_1/red.tif");
    local["assets"]["red"]["href"] = red.display().to_string().into();
    write_json(&workspace, "catalogue/local.json", &local);
    create(&workspace, "catalogue/local.json", &[]).expect_code(0);
    let server = Server::of(&workspace.path("catalogue"));
    let ran = create(&workspace, &server.url("local.json"), &[]).expect_code(2);
    assert!(ran.stderr.contains("the asset red of scene_1"), "{ran}");
    local["assets"]["red"]["href"] = format!("file://{}", red.display()).into();
    write_json(&workspace, "catalogue/url.json", &local);
    let ran = create(&workspace, &server.url("url.json"), &[]).expect_code(2);
    assert!(
        ran.stderr.contains("a remote catalogue can't name"),
        "{ran}"
    );
    // Nor does it lead to the metadata of a virtual machine.
    local["assets"]["red"]["href"] = "http://169.254.169.254/latest/red.tif".into();
    write_json(&workspace, "catalogue/narrower.json", &local);
    write_json(
        &workspace,
        "catalogue/page.json",
        &json!({
            "type": "Catalog",
            "links": [{ "rel": "child", "href": "http://169.254.169.254/c.json" }],
        }),
    );
    for name in ["narrower.json", "page.json"] {
        let ran = create(&workspace, &server.url(name), &[]).expect_code(2);
        assert!(
            ran.stderr.contains("into a narrower network"),
            "{name}: {ran}"
        );
    }
}

#[test]
fn items_are_read_as_programs_write_them() {
    let workspace = Workspace::new();
    let mut items = write_items(&workspace, 3);
    // Links are URIs; a place may be stated by the box alone, or as a collection of geometries.
    let red = workspace.path("catalogue/data/scene_1/red.tif");
    std::fs::rename(red, workspace.path("catalogue/data/scene_1/red band#1.tif")).expect("renames");
    items[1]["assets"]["red"]["href"] = "data/scene_1/red%20band%231.tif".into();
    items[0]["geometry"] = Value::Null;
    items[2]["geometry"] =
        json!({ "type": "GeometryCollection", "geometries": [items[1]["geometry"]] });
    let lines: Vec<String> = items.iter().map(Value::to_string).collect();
    let collection = json!({ "type": "FeatureCollection", "features": items });
    // Python writes numbers that JSON lacks.
    let with_nan = |text: &str| text.replacen("\"properties\":{", "\"properties\":{\"q\":NaN,", 3);
    assert!(with_nan(&lines[0]) != lines[0], "{}", lines[0]);
    let sequence: Vec<String> = lines.iter().map(|line| format!("\u{1e}{line}\n")).collect();
    for (name, text) in [
        ("nan.json", with_nan(&collection.to_string())),
        ("nan.ndjson", with_nan(&lines.join("\n"))),
        ("items.geojsonseq", sequence.concat()),
        ("marked.json", format!("\u{feff}{collection}")),
        ("list.json", Value::from(items.clone()).to_string()),
        ("items.ndjson", lines.join("\n")),
    ] {
        workspace.write(&format!("catalogue/{name}"), text);
        create(&workspace, &format!("catalogue/{name}"), &[]).expect_code(0);
        let sql = r#"SELECT id, "stac:geometry" IS NULL AS lost FROM level0 ORDER BY id"#;
        let found: Vec<Value> = (0..3)
            .map(|number| json!({ "id": format!("scene_{number}"), "lost": false }))
            .collect();
        assert_eq!(query(&workspace, sql, &[]), found, "{name}");
    }
    let near = ["--bbox", "0.2,10.2,0.8,10.8"];
    let ids = query(&workspace, "SELECT id FROM data", &near);
    assert_eq!(ids, [json!({ "id": "scene_0" })]);
    workspace.write("catalogue/cut.ndjson", format!("{}\n{{\"a\":", lines[0]));
    let ran = create(&workspace, "catalogue/cut.ndjson", &[]).expect_code(2);
    assert!(ran.stderr.contains("is no JSON"), "{ran}");
    workspace.write(
        "catalogue/empty.json",
        r#"{"type": "FeatureCollection", "features": []}"#,
    );
    let ran = create(&workspace, "catalogue/empty.json", &[]).expect_code(2);
    assert!(ran.stderr.contains("stac_version"), "{ran}");
}
