//! Filters copied as statements of DuckDB, Polars, Spark and Dask: each statement runs in its
//! engine over a `.tacocat` with columns of every type, and its rows are compared with ours.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use taco_studio::container;
use taco_studio::jobs::JobContext;
use taco_studio::ops::{Operation, QueryRequest, copy_as};
use taco_studio::query::copy_as::ParquetEngine;
use taco_studio::query::{Filter, Query};

use crate::support::{Workspace, engines_python};

/// Conditions of level 0. Each keeps some rows and leaves some out.
const CONDITIONS: [&str; 43] = [
    "id = 'it''s'",
    r#"id IN ('it''s', 'the "north"', 'back\slash', 'Ñandú', '`tick`', '{brace}')"#,
    "id NOT IN ('it''s', '50%')",
    "id = 'line\nbreak'",
    r"regexp_matches(id, '(?is)^sample\_00.$') OR regexp_matches(id, '(?is)ñandú')",
    r"regexp_matches(id, '(?is)^.*\$$')",
    "id LIKE 'a_b'",
    "id ILIKE '%ÑANDÚ%'",
    "id NOT LIKE 'sample%'",
    "starts_with(id, '[x') OR ends_with(id, '%') OR contains(id, 'north')",
    "id > 'sample_050'",
    "region = 'O''Higgins' OR region = 'so\"uth'",
    "lower(region) = 'north'",
    "upper(region) = 'ÁVILA'",
    "length(region) > 5",
    "region IS NULL",
    "region <> 'north'",
    "NOT (region = 'north' AND flag)",
    "coalesce(region, 'none') IN ('none', '')",
    "region IS DISTINCT FROM 'north'",
    "kind = 'a'",
    "kind IN ('a', 'b') AND kind LIKE '%b%'",
    "cloud_cover < 35.5",
    "cloud_cover > 35.5",
    "NOT (cloud_cover >= 35.5)",
    "cloud_cover BETWEEN 10 AND 20.4",
    "cloud_cover = mean OR cloud_cover > mean",
    "cloud_cover <= mean",
    "\"eo:single\" = 0.3 OR \"eo:single\" > 5.1",
    "eo:single * 2 + 1 < 3",
    "count < -3 OR count IN (5, 7, 9)",
    "-count > 4 AND abs(count) < 12",
    "small >= 50 OR count / 4 > 8.5",
    "wide > 100",
    "flag",
    "NOT flag",
    "flag IS NOT TRUE AND count > 0",
    "flag = false AND cloud_cover IS NOT NULL",
    "\"stac:time_start\" >= TIMESTAMP '2020-01-05 07:00:00' AND \"stac:time_start\" < DATE \
        '2020-01-10'",
    "\"stac:time_start\" <= '2020-01-05 04:00:00'",
    "CAST(\"stac:time_start\" AS DATE) = DATE '2020-01-05'",
    "month(day) = 1 AND year(day) = 2020 AND hour(\"stac:time_start\") < 12 AND extract(day FROM \
        day) > 10",
    "day >= '2020-01-12'",
];

/// Filters of other kinds, and of several levels.
fn filters() -> BTreeMap<String, Vec<Filter>> {
    let mut all: BTreeMap<String, Vec<Filter>> = CONDITIONS
        .iter()
        .map(|sql| ((*sql).to_owned(), vec![Filter::condition(*sql)]))
        .collect();
    let times = |column: &str, range: &str| Filter {
        time_column: Some(column.into()),
        ..Filter::datetime(range)
    };
    for column in ["stac:time_start", "seen:zoned", "nanos", "day"] {
        for range in [
            "2020-01-04/2020-01-09",
            "2020-01-04T21:00:00Z/..",
            "../2020-01-06T15:00:00+02:00",
            "2020-01-07",
        ] {
            all.insert(format!("{column} {range}"), vec![times(column, range)]);
        }
    }
    let boxed = |name: &str, filter: Filter| (format!("box {name}"), vec![filter]);
    let column = |bbox, column: &str| Filter {
        geometry_column: Some(column.into()),
        ..Filter::bbox(bbox)
    };
    all.extend([
        boxed("footprints", Filter::bbox([-60.0, -40.0, 30.0, 30.0])),
        boxed(
            "footprints in the north",
            Filter::bbox([-12.0, 30.0, 20.0, 60.0]),
        ),
        boxed(
            "footprints over the antimeridian",
            Filter::bbox([175.0, 30.0, -170.0, 50.0]),
        ),
        boxed(
            "footprints east of 180",
            Filter::bbox([181.0, 30.0, 190.0, 50.0]),
        ),
        boxed(
            "centroids",
            Filter {
                by: taco_studio::query::BoxTest::Centroid,
                ..Filter::bbox([-60.0, -40.0, 30.0, 30.0])
            },
        ),
        boxed(
            "a column",
            column([-62.0, -14.0, 30.0, 18.0], "stac:centroid"),
        ),
        boxed(
            "a column over the antimeridian",
            column([150.0, 40.0, -160.0, 70.0], "stac:centroid"),
        ),
        boxed(
            "geometries",
            column([-60.0, -40.0, 30.0, 60.0], "istac:geometry"),
        ),
        boxed(
            "grids",
            column([-80.0, -90.0, 60.0, 30.0], "stac:geotransform"),
        ),
        boxed(
            "a point",
            column([-50.0, -10.0, -50.0, -10.0], "stac:centroid"),
        ),
    ]);
    let polygon = |name: &str, corners: &[[f64; 2]], column: Option<&str>| {
        let filter = Filter {
            geometry_column: column.map(str::to_owned),
            ..Filter::polygon(corners.to_vec())
        };
        (format!("polygon {name}"), vec![filter])
    };
    let triangle = [[-60.0, -40.0], [30.0, -40.0], [-60.0, 50.0]];
    let over_the_antimeridian = [[150.0, 30.0], [200.0, 30.0], [195.0, 75.0], [150.0, 70.0]];
    all.extend([
        polygon("footprints", &triangle, None),
        polygon("a column", &triangle, Some("stac:centroid")),
        polygon("geometries", &triangle, Some("istac:geometry")),
        polygon(
            "footprints over the antimeridian",
            &over_the_antimeridian,
            None,
        ),
        polygon(
            "a column over the antimeridian",
            &over_the_antimeridian,
            Some("stac:centroid"),
        ),
    ]);
    all.insert(
        "polygon and box".into(),
        vec![Filter {
            bbox: Some([-62.0, -14.0, 30.0, 18.0]),
            ..Filter::polygon(triangle.to_vec())
        }],
    );
    let below = |sql: &str| Filter::condition(sql).at_level(1);
    all.insert(
        "below".into(),
        vec![below("cloud_cover > 60 AND id = 'after.tif'")],
    );
    all.insert(
        "below and above".into(),
        vec![
            Filter::condition("count > 0"),
            below("cloud_cover < 50"),
            Filter::condition("flag"),
            below("id LIKE 'b%'"),
        ],
    );
    all
}

fn made(workspace: &Workspace) -> std::path::PathBuf {
    // Blanks and patterns in a path are no patterns.
    let folder = workspace.path("it's [a] set");
    run(workspace, &["make".as_ref(), folder.as_os_str()]);
    folder.join(".tacocat")
}

fn run(workspace: &Workspace, arguments: &[&std::ffi::OsStr]) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    let mut command = std::process::Command::new(engines_python());
    command
        .arg(scripts.join("run.py"))
        .arg(scripts.join("engines.py"))
        .args(arguments);
    workspace.run(command).expect_code(0).stdout
}

fn ids(rows: &taco_studio::query::QueryResult) -> Vec<String> {
    let mut ids: Vec<String> = taco_studio::ops::json_lines(rows)
        .lines()
        .map(|line| {
            serde_json::from_str::<Json>(line).expect("JSON")["id"]
                .as_str()
                .expect("an id")
                .to_owned()
        })
        .collect();
    ids.sort();
    ids
}

/// Every filter in an engine and here. `left_out`: filters whose statement the engine refuses.
fn compare(engine: ParquetEngine, word: &str) {
    let workspace = Workspace::new();
    let index = made(&workspace);
    let ctx = JobContext::default();
    let reader = container::open(&index, &ctx).expect("opens");
    let mut statements = serde_json::Map::new();
    let mut wanted = BTreeMap::new();
    for (name, filters) in filters() {
        let statement = copy_as(reader.as_ref(), &filters, engine)
            .unwrap_or_else(|error| panic!("{name}: {}", error.report()));
        statements.insert(name.clone(), Json::from(statement));
        let sql = Some("SELECT id FROM data".to_owned());
        let rows = QueryRequest::new(
            &index,
            Query {
                filters,
                sql,
                ..Query::default()
            },
        )
        .run(&ctx)
        .unwrap_or_else(|error| panic!("{name}: {}", error.report()));
        let ids = ids(&rows);
        assert!(
            !ids.is_empty() && ids.len() < 60,
            "{name} keeps {} rows",
            ids.len()
        );
        wanted.insert(name, ids);
    }
    // Without a filter, all rows but padding.
    statements.insert(
        "all".into(),
        copy_as(reader.as_ref(), &[], engine)
            .expect("is expressed")
            .into(),
    );
    wanted.insert(
        "all".into(),
        ids(&QueryRequest::new(&index, Query::default())
            .run(&ctx)
            .expect("all rows")),
    );
    let file = workspace.write(
        "statements.json",
        Json::Object(statements.clone()).to_string(),
    );
    let out = run(
        &workspace,
        &["run".as_ref(), word.as_ref(), file.as_os_str()],
    );
    let found: Json = serde_json::from_str(
        out.lines()
            .find_map(|line| line.strip_prefix("RESULT "))
            .expect("a result"),
    )
    .expect("JSON");
    let mut wrong = Vec::new();
    for (name, wanted) in &wanted {
        if found[name] != json!(wanted) {
            wrong.push(format!(
                "--- {name}\n{}\nfound {}\nwanted {}",
                statements[name].as_str().expect("text"),
                found[name],
                json!(wanted)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        wanted.len(),
        wrong.join("\n")
    );
}

#[test]
fn duckdb_finds_the_rows_of_every_filter() {
    compare(ParquetEngine::DuckDb, "duckdb");
}

#[test]
fn polars_finds_the_rows_of_every_filter() {
    compare(ParquetEngine::Polars, "polars");
}

#[test]
fn dask_finds_the_rows_of_every_filter() {
    compare(ParquetEngine::Dask, "dask");
}

#[test]
fn spark_finds_the_rows_of_every_filter() {
    // Spark is a program in Java, which the Python packages do not have.
    let java = std::process::Command::new("java").arg("-version").output();
    if !java.is_ok_and(|java| java.status.success()) {
        println!("skipped: Java is not installed here, so the statements for Spark were not run");
        return;
    }
    compare(ParquetEngine::Spark, "spark");
}

#[test]
fn the_command_line_prints_the_statement() {
    let workspace = Workspace::new();
    let index = made(&workspace);
    let words = |engine: &str| {
        let arguments = [
            "query",
            index.to_str().expect("UTF-8"),
            "--where",
            "eo:single < 0.5",
            "--copy-as",
            engine,
        ]
        .map(str::to_owned);
        workspace.studio(arguments).expect_code(0).stdout
    };
    assert!(words("duckdb").contains("\"eo:single\" < 0.5"));
    assert!(
        words("polars").contains("pl.scan_parquet(")
            && words("spark").contains("spark.read.parquet(")
    );
    assert!(words("dask").contains("dd.read_parquet("));
    let path = index.to_str().expect("UTF-8");
    let refused = workspace
        .studio([
            "query",
            path,
            "--where",
            "count % 2 = 0",
            "--copy-as",
            "spark",
        ])
        .expect_code(2);
    assert!(
        refused.stderr.contains("Spark") && refused.stderr.contains("line 1, column"),
        "{refused}"
    );
    workspace
        .studio(["query", path, "--sql", "SELECT 1", "--copy-as", "spark"])
        .expect_code(2);
    let module = workspace
        .studio([
            "query",
            path,
            "--sql",
            "SELECT 1",
            "--bbox",
            "1,2,3,4",
            "--copy-as",
            "python",
        ])
        .expect_code(0);
    assert!(
        module
            .stdout
            .contains("dataset.sql(\"SELECT 1\", filters=[{\"bbox\": [1.0,2.0,3.0,4.0]"),
        "{module}"
    );
    let zip = crate::support::fixtures("golden", "TACO_STUDIO_GOLDEN")
        .into_iter()
        .find(|set| set.ends_with("01_flat_zip"))
        .expect("a set");
    let refused = workspace
        .studio([
            "query".as_ref(),
            zip.join("flat.tacozip").as_os_str(),
            "--copy-as".as_ref(),
            "spark".as_ref(),
        ])
        .expect_code(2);
    assert!(refused.stderr.contains("taco-studio tacocat"), "{refused}");
}

#[test]
fn polars_and_dask_read_the_tables_within_a_zip() {
    let workspace = Workspace::new();
    let ctx = JobContext::default();
    let golden =
        crate::support::project_folder().join("tests/fixtures/golden/01_flat_zip/flat.tacozip");
    let zip = workspace.path("it's.tacozip");
    std::fs::copy(golden, &zip).expect("is copied");
    let reader = container::open(&zip, &ctx).expect("opens");
    let filters = vec![Filter::condition("id > 'h'")];
    let sql = Some("SELECT id FROM data".to_owned());
    let rows = QueryRequest::new(
        &zip,
        Query {
            filters: filters.clone(),
            sql,
            ..Query::default()
        },
    )
    .run(&ctx)
    .expect("rows");
    let wanted = ids(&rows);
    assert!(wanted.len() > 2 && wanted.len() < 8, "{wanted:?}");
    for (engine, word) in [
        (ParquetEngine::Polars, "polars"),
        (ParquetEngine::Dask, "dask"),
    ] {
        let statement = copy_as(reader.as_ref(), &filters, engine).expect("is expressed");
        let file = workspace.write("statements.json", json!({ "zip": statement }).to_string());
        let out = run(
            &workspace,
            &["run".as_ref(), word.as_ref(), file.as_os_str()],
        );
        let found: Json = serde_json::from_str(
            out.lines()
                .find_map(|line| line.strip_prefix("RESULT "))
                .expect("a result"),
        )
        .expect("JSON");
        assert_eq!(found["zip"], json!(wanted), "{word}");
    }
}
