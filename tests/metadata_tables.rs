//! Tables of metadata as people write them: `create`, `edit` and the window read the same values of
//! each.

use std::path::Path;

use taco_studio::container::open;
use taco_studio::jobs::JobContext;
use taco_studio::model::dtype_name;
use taco_studio::table::{LevelTable, cell_text};

use crate::support::{COLLECTION, Workspace, copy_folder, flat_scenes, geotiff};

/// A table whose rows name the samples s1 to s4.
pub struct TableCase {
    /// Name of the file.
    pub name: &'static str,
    /// Its bytes.
    pub content: Vec<u8>,
    /// The level that gets the columns.
    pub level: usize,
    /// The columns that it adds: name, type, and the values of the samples.
    pub columns: Vec<&'static str>,
    /// Columns of the window alone, which reads texts as numbers or dates where none is lost.
    pub in_window: Option<Vec<&'static str>>,
    /// Part of a warning; empty where there is none.
    pub warning: &'static str,
}

fn case(name: &'static str, content: impl AsRef<[u8]>, columns: &[&'static str]) -> TableCase {
    TableCase {
        name,
        content: content.as_ref().to_vec(),
        level: 0,
        columns: columns.to_vec(),
        in_window: None,
        warning: "",
    }
}

impl TableCase {
    fn warns(mut self, part: &'static str) -> Self {
        self.warning = part;
        self
    }

    fn in_window(mut self, columns: &[&'static str]) -> Self {
        self.in_window = Some(columns.to_vec());
        self
    }

    fn of_level(mut self, level: usize) -> Self {
        self.level = level;
        self
    }
}

/// The columns of a table as they are written in a case.
pub fn describe_columns(table: &LevelTable) -> Vec<String> {
    let mut found = Vec::new();
    for (index, field) in table.fields().iter().enumerate() {
        let is_of_model =
            matches!(field.name.as_str(), "id" | "type") || field.name.starts_with("internal:");
        if is_of_model {
            continue;
        }
        let values: Vec<String> = (0..table.rows())
            .map(|row| {
                let (array, row) = table.locate(row, index).expect("a cell");
                if array.is_null(row) {
                    "null".to_owned()
                } else {
                    cell_text(array, row)
                }
            })
            .collect();
        let (name, kind) = (&field.name, dtype_name(&field.dtype));
        found.push(format!("{name} {kind} {}", values.join("|")));
    }
    found
}

/// Four scenes of two files each.
pub fn write_scenes(workspace: &Workspace) {
    for scene in 1..=4 {
        for name in ["image.tif", "label.tif"] {
            geotiff(
                &workspace.path(&format!("scenes/s{scene}/{name}")),
                1,
                8,
                scene,
            );
        }
    }
    let placed = r#"{"extent": {"spatial": [-180, -90, 180, 90], "temporal": null},"#;
    workspace.write("collection.json", COLLECTION.replacen('{', placed, 1));
}

const PLAIN: &[&str] = &["cloud int64 1|2|3|4"];

/// The texts of a column `cloud` of four rows, in lines that begin with the keys.
fn lines(header: &str, separator: &str, values: [&str; 4]) -> String {
    let mut text = format!("{header}\n");
    for (row, value) in values.iter().enumerate() {
        text += &format!("s{}{separator}{value}\n", row + 1);
    }
    text
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// Tables of separated values.
fn separated_values() -> Vec<TableCase> {
    let clouds = |header: &str, separator: &str| lines(header, separator, ["1", "2", "3", "4"]);
    let times = |values| lines("path,acquired", ",", values);
    vec![
        case("comma.csv", clouds("path,cloud", ","), PLAIN),
        case("semicolon.csv", clouds("path;cloud", ";"), PLAIN),
        case("tab.tsv", clouds("path\tcloud", "\t"), PLAIN),
        case("bar.csv", clouds("path|cloud", "|"), PLAIN),
        case(
            "stated.csv",
            format!("sep=;\r\n{}", clouds("path;cloud", ";")),
            PLAIN,
        ),
        case(
            "mark.csv",
            format!("\u{feff}{}", clouds("path,cloud", ",")),
            PLAIN,
        ),
        case("wide.csv", utf16(&clouds("path,cloud", ",")), PLAIN),
        case("capital.csv", clouds("Path,cloud", ","), PLAIN),
        case(
            "spaces.csv",
            " path , cloud \n s1 , 1\n s2 , 2\ns3 ,3 \n s4, 4\n",
            PLAIN,
        ),
        case(
            "lines.csv",
            clouds("path,cloud", ",").replace('\n', "\r\n"),
            PLAIN,
        ),
        case(
            "decimals.csv",
            lines("path;cloud", ";", ["1,5", "2,25", "3,0", "-4,75"]),
            &["cloud double 1.5|2.25|3|-4.75"],
        ),
        case(
            "latin.csv",
            b"path,region\ns1,C\xF4te\ns2,Vall\xE9e\ns3,Plaine\ns4,For\xEAt\n",
            &["region string Côte|Vallée|Plaine|Forêt"],
        )
        .warns("Windows-1252"),
        case(
            "backslash.csv",
            "path,cloud\nx\\s1,1\nx\\s2,2\nx\\s3,3\nx\\s4,4\n",
            PLAIN,
        ),
        case(
            "absolute.csv",
            "path,cloud\n/data/a/s1,1\n/data/a/s2,2\n/data/a/s3,3\n/data/a/s4,4\n",
            PLAIN,
        ),
        case(
            "prefix.csv",
            "path,cloud\nscenes/s1/,1\nscenes/s2/,2\nscenes/s3/,3\nscenes/s4/,4\n",
            PLAIN,
        ),
        case(
            "pandas.csv",
            ",path,cloud\n0,s1,1\n1,s2,2\n2,s3,3\n3,s4,4\n",
            PLAIN,
        ),
        case("index.csv", ",cloud\ns1,1\ns2,2\ns3,3\ns4,4\n", PLAIN),
        case(
            "names_of_r.csv",
            "\"path\",\"cloud\"\n\"1\",\"s1\",1\n\"2\",\"s2\",2\n\"3\",\"s3\",3\n\"4\",\"s4\",4\n",
            PLAIN,
        ),
        case("other_key.csv", clouds("scene,cloud", ","), PLAIN),
        case(
            "numbered.csv",
            "nr;scene;cloud\n10;s3;3\n11;s1;1\n12;s4;4\n13;s2;2\n",
            &["nr int64 11|13|10|12", "cloud int64 1|2|3|4"],
        ),
        case(
            "comment.csv",
            format!("# made by hand\n{}", clouds("path,cloud", ",")),
            PLAIN,
        ),
        case(
            "trailing.csv",
            "path,cloud,\ns1,1,\ns2,2,\ns3,3,\ns4,4,\n",
            PLAIN,
        ),
        case(
            "quoted.csv",
            "path,note\ns1,\"a, b\"\ns2,\"two\nlines\"\ns3,\"say \"\"no\"\"\"\ns4,\n",
            &["note string a, b|two\nlines|say \"no\"|null"],
        ),
        case(
            "short.csv",
            "path,cloud,note\ns1,1,a\ns2,2\ns3,3,c\ns4,4\n",
            &["cloud int64 1|2|3|4", "note string a|null|c|null"],
        )
        .warns("2 rows have fewer values than the header, from line 3"),
        case(
            "twice.csv",
            "path,cloud,cloud\ns1,1,9\ns2,2,8\ns3,3,7\ns4,4,6\n",
            &["cloud int64 1|2|3|4", "cloud_2 int64 9|8|7|6"],
        )
        .warns("cloud_2"),
        case(
            "words.csv",
            "path,cloud cover (%),année\ns1,1,2019\ns2,2,2020\ns3,3,2021\ns4,4,2022\n",
            &[
                "cloud_cover int64 1|2|3|4",
                "annee int64 2019|2020|2021|2022",
            ],
        )
        .warns("cloud_cover"),
        case(
            "codes.csv",
            lines("path,fips", ",", ["06075", "06037", "48201", "02020"]),
            &["fips string 06075|06037|48201|02020"],
        ),
        case(
            "versions.csv",
            lines("path,version", ",", ["1.9", "1.10", "2.0", "2.1"]),
            &["version string 1.9|1.10|2.0|2.1"],
        )
        .warns("as the version 1.10"),
        case(
            "long.csv",
            lines(
                "path,n",
                ",",
                ["9007199254740993", "18446744073709551615", "0", "7"],
            ),
            &["n uint64 9007199254740993|18446744073709551615|0|7"],
        ),
        case(
            "flags.csv",
            lines("path,clear", ",", ["TRUE", "FALSE", "", "TRUE"]),
            &["clear bool true|false|null|true"],
        ),
        case(
            "missing.csv",
            "path,cloud,ndvi\ns1,12.5,NA\ns2,NA,0.5\ns3,3,NaN\ns4,7,0.25\n",
            &[
                "cloud double 12.5|null|3|7",
                "ndvi double null|0.5|null|0.25",
            ],
        )
        .warns("are null: cloud 1, ndvi 2"),
        case(
            "countries.csv",
            lines("path,country", ",", ["NA", "DE", "FR", "US"]),
            &["country string NA|DE|FR|US"],
        ),
        case(
            "missing_words.csv",
            lines("path,region", ",", ["Alps", "n/a", "Jura", "none"]),
            &["region string Alps|null|Jura|none"],
        )
        .warns("are null: region 1"),
        case(
            "utc.csv",
            times([
                "2021-05-01 10:20:30 UTC",
                "2021-05-02 10:20:30 UTC",
                "2021-05-03 10:20:30.123 UTC",
                "2021-05-04 10:20:30 UTC",
            ]),
            &[
                "acquired timestamp[us] 2021-05-01T10:20:30|2021-05-02T10:20:30|\
                    2021-05-03T10:20:30.123|2021-05-04T10:20:30",
            ],
        ),
        case(
            "offsets.csv",
            times([
                "2021-05-01T10:20:30+05:30",
                "2021-05-02T10:20:30Z",
                "2021-05-03T10:20:30-02:00",
                "2021-05-04T00:00:00+00:00",
            ]),
            &[
                "acquired timestamp[us] 2021-05-01T04:50:30|2021-05-02T10:20:30|\
                    2021-05-03T12:20:30|2021-05-04T00:00:00",
            ],
        ),
        case(
            "local_times.csv",
            times([
                "2021-05-01T10:20:30",
                "2021-05-02T10:20:30+02:00",
                "2021-05-03T10:20:30",
                "2021-05-04T10:20:30",
            ]),
            &[
                "acquired timestamp[us] 2021-05-01T10:20:30|2021-05-02T08:20:30|\
                    2021-05-03T10:20:30|2021-05-04T10:20:30",
            ],
        )
        .warns("those without, from line 2 on"),
        case(
            "zero_dates.csv",
            times(["2021-05-01", "0000-00-00", "2021-05-03", "2021-02-30"]),
            &["acquired string 2021-05-01|0000-00-00|2021-05-03|2021-02-30"],
        )
        .warns("line 3 has \"0000-00-00\""),
        case(
            "german_dates.csv",
            times(["31.12.2021", "01.02.2022", "03.04.2022", "05.06.2022"]),
            &["acquired string 31.12.2021|01.02.2022|03.04.2022|05.06.2022"],
        )
        .in_window(&["acquired date32[day] 2021-12-31|2022-02-01|2022-04-03|2022-06-05"]),
        case(
            "stems.csv",
            "path,cloud\ns1/image,1\ns2/image,2\ns3/image,3\ns4/image,4\n",
            &["cloud int64 1|null|2|null|3|null|4|null"],
        )
        .of_level(1)
        .warns("4 samples are in no row"),
        case(
            "more_rows.csv",
            "path,cloud\ns0,0\ns1,1\ns2,2\ns3,3\ns4,4\ns5,5\n",
            PLAIN,
        )
        .warns("2 rows match no sample"),
        case(
            "fewer_rows.csv",
            "path,cloud\ns1,1\ns3,3\n",
            &["cloud int64 1|null|3|null"],
        )
        .warns("2 samples are in no row"),
        case(
            "nothing.csv",
            "path,cloud,empty\ns1,1,\ns2,2,\ns3,3,\ns4,4,\n",
            PLAIN,
        )
        .warns("empty of the metadata table has no value"),
    ]
}

/// Tables of JSON.
fn json() -> Vec<TableCase> {
    let features: Vec<String> = (1..=4)
        .map(|n| {
            format!(
                r#"{{"type": "Feature", "geometry": {{"type": "Point", "coordinates": [{n}, 0]}},
                "properties": {{"path": "s{n}", "cloud": {n}}}}}"#
            )
        })
        .collect();
    let places = &[
        "cloud int64 1|2|3|4",
        "stac:geometry binary POINT (1 0)|POINT (2 0)|POINT (3 0)|POINT (4 0)",
    ];
    vec![
        case(
            "records.json",
            r#"[{"path": "s1", "cloud": 1}, {"path": "s2", "cloud": 2},
                {"path": "s3", "cloud": 3}, {"path": "s4", "cloud": 4}]"#,
            PLAIN,
        ),
        case(
            "lines.jsonl",
            "{\"path\": \"s1\", \"cloud\": 1.5}\n{\"path\": \"s2\", \"cloud\": NaN}\n\
             {\"path\": \"s3\"}\n{\"path\": \"s4\", \"cloud\": 4}\n",
            &["cloud double 1.5|null|null|4"],
        ),
        case(
            "by_path.json",
            r#"{"s1": {"cloud": 1, "bands": [1, 2]}, "s2": {"cloud": 2, "bands": []},
                "s3": {"cloud": 3, "bands": null}, "s4": {"cloud": 4, "bands": [3]}}"#,
            &[
                "cloud int64 1|2|3|4",
                "bands list<element: int64> [1, 2]|[]|null|[3]",
            ],
        ),
        case(
            "by_column.json",
            r#"{"path": {"0": "s1", "1": "s2", "2": "s3", "3": "s4"},
                "cloud": {"0": 1, "1": 2, "2": 3, "3": 4}}"#,
            PLAIN,
        ),
        case(
            "by_column_of_index.json",
            r#"{"cloud": {"s1": 1, "s2": 2, "s3": 3, "s4": 4},
                "note": {"s1": "a", "s2": null, "s3": "c", "s4": "d"}}"#,
            &["cloud int64 1|2|3|4", "note string a|null|c|d"],
        ),
        case(
            "by_number.json",
            r#"{"0": {"path": "s1", "cloud": 1}, "1": {"path": "s2", "cloud": 2},
                "2": {"path": "s3", "cloud": 3}, "3": {"path": "s4", "cloud": 4}}"#,
            PLAIN,
        ),
        case(
            "split.json",
            r#"{"columns": ["path", "cloud"], "index": [0, 1, 2, 3],
                "data": [["s1", 1], ["s2", 2], ["s3", 3], ["s4", 4]]}"#,
            PLAIN,
        ),
        case(
            "split_by_index.json",
            r#"{"columns": ["cloud"], "index": ["s1", "s2", "s3", "s4"],
                "data": [[1], [2], [3], [4]]}"#,
            PLAIN,
        ),
        case(
            "table.json",
            r#"{"schema": {"fields": [{"name": "index", "type": "integer"},
                {"name": "path", "type": "string"}, {"name": "cloud", "type": "integer"}],
                "primaryKey": ["index"], "pandas_version": "1.4.0"},
                "data": [{"index": 0, "path": "s1", "cloud": 1},
                {"index": 1, "path": "s2", "cloud": 2}, {"index": 2, "path": "s3", "cloud": 3},
                {"index": 3, "path": "s4", "cloud": 4}]}"#,
            &["index int64 0|1|2|3", "cloud int64 1|2|3|4"],
        ),
        case(
            "lists.json",
            r#"{"path": ["s1", "s2", "s3", "s4"], "cloud": [1, 2, 3, 4]}"#,
            PLAIN,
        ),
        case(
            "wrapped.json",
            r#"{"version": 2, "items": [{"path": "s1", "cloud": 1}, {"path": "s2", "cloud": 2},
                {"path": "s3", "cloud": 3}, {"path": "s4", "cloud": 4}]}"#,
            PLAIN,
        ),
        case(
            "features.geojson",
            format!(
                r#"{{"type": "FeatureCollection", "features": [{}]}}"#,
                features.join(",")
            ),
            places,
        ),
        case(
            "sequence.geojsons",
            features
                .iter()
                .map(|f| format!("\u{1e}{f}\n"))
                .collect::<String>(),
            places,
        ),
    ]
}

/// Workbooks and Parquet, as files of other programs.
fn binary() -> Vec<TableCase> {
    let folder = crate::support::tests_folder().join("fixtures/tables");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("a fixture");
    vec![
        case(
            "book.xlsx",
            read("clouds.xlsx"),
            &[
                "cloud double 1.5|3|4.5|6",
                "date date32[day] 2021-05-01|2021-05-02|2021-05-03|2021-05-04",
            ],
        ),
        case(
            "sheet.ods",
            read("clouds.ods"),
            &[
                "cloud double 1.5|3|4.5|6",
                "date date32[day] 2021-05-01|2021-05-02|2021-05-03|2021-05-04",
            ],
        ),
        case(
            "pandas.parquet",
            read("pandas_index.parquet"),
            &["cloud double 1|2|null|4"],
        ),
        case(
            "types.parquet",
            read("types.parquet"),
            &[
                "small int32 1|2|3|4",
                "share float 0.5|null|0.25|1",
                "kind string a|b|a|null",
                "acquired timestamp[us] 2021-05-01T10:20:30|null|2021-05-03T00:00:00|\
                 2021-05-04T00:00:00",
            ],
        ),
    ]
}

/// All tables.
pub fn cases() -> Vec<TableCase> {
    let mut all = separated_values();
    all.extend(json());
    all.extend(binary());
    all
}

/// The columns that a dataset has on a level.
fn columns_of_dataset(path: &Path, level: usize) -> Vec<String> {
    let ctx = JobContext::default();
    let reader = open(path, &ctx).expect("opens");
    let table = reader.levels().table(level, &ctx).expect("a level");
    describe_columns(&table)
}

fn expect_columns(failed: &mut Vec<String>, what: &str, case: &TableCase, found: &[String]) {
    if found != case.columns {
        failed.push(format!(
            "{what} {}:\n  {}\ninstead of\n  {}",
            case.name,
            found.join("\n  "),
            case.columns.join("\n  ")
        ));
    }
}

fn expect_warning(failed: &mut Vec<String>, what: &str, case: &TableCase, said: &str) {
    let is_right = if case.warning.is_empty() {
        !said.contains("warning")
    } else {
        said.contains(case.warning)
    };
    if !is_right {
        failed.push(format!("{what} {} says: {said}", case.name));
    }
}

#[test]
fn create_and_edit_read_the_same_values_of_tables_of_every_habit() {
    let workspace = Workspace::new();
    write_scenes(&workspace);
    let create = ["create", "scenes", "--collection", "collection.json", "-o"];
    workspace
        .studio(create.iter().chain(&["plain"]))
        .expect_code(0);
    let cases = cases();
    assert!(cases.len() >= 50, "{} tables", cases.len());
    let mut failed = Vec::new();
    for case in &cases {
        workspace.write(case.name, &case.content);
        let (made, edited) = (
            format!("made {}", case.name),
            format!("edited {}", case.name),
        );
        let options = [made.as_str(), "--metadata", case.name];
        let ran = workspace.studio(create.iter().chain(&options));
        if ran.code() == 0 {
            let found = columns_of_dataset(&workspace.path(&made), case.level);
            expect_columns(&mut failed, "create", case, &found);
            expect_warning(&mut failed, "create", case, &ran.stderr);
        } else {
            failed.push(format!("create {}: {ran}", case.name));
        }
        copy_folder(&workspace.path("plain"), &workspace.path(&edited));
        let level = case.level.to_string();
        let edit = ["edit", &edited, "--metadata", case.name, "--level", &level];
        let ran = workspace.studio(edit);
        if ran.code() == 0 {
            let found = columns_of_dataset(&workspace.path(&edited), case.level);
            expect_columns(&mut failed, "edit", case, &found);
        } else {
            failed.push(format!("edit {}: {ran}", case.name));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn a_table_without_a_header_is_told() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 3);
    workspace.write("rows.csv", "tile_0.tif,1\ntile_1.tif,2\ntile_2.tif,3\n");
    let create = |table: &str, target: &str| {
        let arguments = [
            "create",
            "scenes",
            "-o",
            target,
            "--collection",
            "collection.json",
            "--metadata",
            table,
        ];
        workspace.studio(arguments)
    };
    let ran = create("rows.csv", "a.tacozip").expect_code(0);
    assert!(ran.stderr.contains("names the sample tile_0.tif"), "{ran}");
    workspace.write("page.csv", "<!DOCTYPE html><html>Sign in</html>\n");
    let ran = create("page.csv", "b.tacozip").expect_code(2);
    assert!(ran.stderr.contains("web page"), "{ran}");
}
