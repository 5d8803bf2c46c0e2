//! Statements in DuckDB's syntax: each works, or the error names an alternative.

use super::*;

#[test]
fn conditions_of_duckdb_choose() {
    for (condition, wanted) in [
        ("id LIKE 'l%'", 1),
        ("id ILIKE 'L%' OR id NOT LIKE '%n'", 1),
        ("id SIMILAR TO 'l.*'", 1),
        ("id NOT SIMILAR TO '(lima|bonn)'", 0),
        ("id ~ 'b.*'", 1),
        ("id IN ('lima', 'oslo')", 1),
        ("id IN (SELECT id FROM level0 WHERE cloud_cover > 0.5)", 1),
        ("cloud_cover BETWEEN 0.1 AND 0.5", 1),
        ("cloud_cover NOT BETWEEN 0.1 AND 0.5", 1),
        ("cloud_cover IS NOT NULL AND NOT (id = 'lima')", 1),
        ("\"stac:time_start\" >= DATE '2021-01-02'", 1),
        ("\"stac:time_start\" > '2020-01-01'", 2),
        (
            "\"stac:time_start\" BETWEEN '2021-01-01' AND '2021-01-01'",
            1,
        ),
        ("\"stac:time_start\" < now()", 2),
        ("\"stac:time_start\"::DATE < current_date", 2),
        ("stac:crs = 'EPSG:32718'", 1),
        (
            "ST_Within(\"stac:centroid\", ST_MakeEnvelope(-80, -20, -70, 0))",
            1,
        ),
    ] {
        assert_eq!(
            rows(&format!("SELECT id FROM data WHERE {condition}")).len(),
            wanted,
            "{condition}"
        );
    }
}

#[test]
fn what_has_another_spelling_says_so() {
    for (sql, answer) in [
        ("SELECT id FROM data WHERE rowid < 3", "internal:current_id"),
        ("PRAGMA database_list", "DESCRIBE data"),
        ("SELECT dayname(id) FROM data", "CAST(\"id\" AS TIMESTAMP)"),
        ("SELECT uper(id) FROM data", "upper"),
    ] {
        let text = report(sql);
        assert!(text.contains(answer), "{sql}: {text}");
    }
}

#[test]
fn errors_name_the_place_of_the_word() {
    for (sql, place) in [
        (
            "SELECT id\nFROM data\nWHERE cloudcover < 1",
            "line 3, column 7",
        ),
        ("SELECT uper(id) FROM data", "line 1, column 8"),
        ("SELECT id FROM dat", "line 1, column 16"),
        (
            "SELECT year(\"stac:time_start\") FROM data WHERE WHERE id = 'a'",
            "line 1, column 54",
        ),
    ] {
        let error = run_sql(&tables(), sql, None, &ctx())
            .map(|_| ())
            .expect_err(sql);
        assert_eq!(error.place(), Some(place), "{sql}: {}", error.report());
    }
}

/// Each function gives the same result at every depth as at the top level.
#[test]
fn functions_are_known_at_every_depth() {
    const DEPTHS: [&str; 13] = [
        "WITH c AS (SELECT id, {f} AS x FROM data) SELECT x FROM c ORDER BY id",
        "WITH c AS (WITH d AS (SELECT id, {f} AS x FROM data) SELECT * FROM d) SELECT x FROM c \
            ORDER BY id",
        "SELECT x FROM (SELECT id, {f} AS x FROM data) AS t ORDER BY id",
        "SELECT x FROM (SELECT * FROM (SELECT id, {f} AS x FROM data) AS t) AS u ORDER BY id",
        "SELECT x FROM (SELECT id, {f} AS x FROM data WHERE id = 'bonn' UNION ALL SELECT id, {f} \
            FROM data WHERE id <> 'bonn') AS t ORDER BY id",
        "SELECT {f} AS x FROM data WHERE {f} IN (SELECT {f} FROM data) ORDER BY id",
        "SELECT (SELECT {f} FROM data AS e WHERE e.id = d.id) AS x FROM data AS d ORDER BY id",
        "SELECT {f} AS x FROM data AS d WHERE EXISTS (SELECT 1 FROM data AS e WHERE {f} IS NOT \
            NULL AND e.id = d.id) ORDER BY id",
        "SELECT max({f}) AS x FROM data GROUP BY id HAVING max({f}) IS NOT NULL ORDER BY id",
        "SELECT x FROM (SELECT {f} AS x, id FROM data ORDER BY {f}) AS t ORDER BY id",
        "SELECT a.x FROM (SELECT id AS key, {f} AS x FROM data) AS a JOIN data ON a.x = {f} AND \
            a.key = data.id ORDER BY a.key",
        "SELECT max({f}) OVER (PARTITION BY id) AS x FROM data QUALIFY {f} IS NOT NULL AND \
            row_number() OVER (PARTITION BY id ORDER BY {f}) = 1 ORDER BY id",
        "SELECT CASE WHEN {f} IS NOT NULL THEN {f} END AS x FROM data WHERE {f} IS NOT NULL ORDER \
            BY id",
    ];
    for function in [
        "date_trunc('month', \"stac:time_start\")",
        "regexp_extract(\"stac:crs\", '[0-9]+')",
        "ST_X(\"stac:centroid\")",
        "ST_AsText(ST_Centroid(\"stac:centroid\"))",
        "coalesce(list_sum(\"stac:geotransform\"), 0.5)",
        "coalesce(list_sum(list_transform(\"stac:geotransform\", v -> v * 2)), 0.5)",
        "coalesce(\"stac:geotransform\"[1:1][1], 0.5)",
        "year(\"stac:time_start\")",
        "dayname(\"stac:time_start\")",
        "len(\"stac:crs\")",
        "sha256(\"stac:crs\")",
        "cloud_cover ** 2",
    ] {
        let wanted = rows(&format!("SELECT {function} AS x FROM data ORDER BY id"));
        assert_eq!(wanted.len(), 2, "{function}");
        for depth in DEPTHS {
            let sql = depth.replace("{f}", function);
            assert_eq!(rows(&sql), wanted, "{sql}");
        }
    }
}

/// Each aggregate gives the same result at every depth as at the top level.
#[test]
fn aggregations_are_known_at_every_depth() {
    const DEPTHS: [&str; 8] = [
        "WITH c AS (SELECT {f} AS x FROM data) SELECT x FROM c",
        "SELECT x FROM (SELECT {f} AS x FROM data) AS t",
        "SELECT {f} AS x FROM data UNION SELECT {f} FROM data",
        "SELECT (SELECT {f} FROM data) AS x",
        "SELECT {f} AS x FROM data HAVING {f} IN (SELECT {f} FROM data)",
        "SELECT {f} AS x FROM data ORDER BY {f}",
        "SELECT a.x FROM (SELECT {f} AS x FROM data) AS a JOIN (SELECT {f} AS y FROM data) AS b ON \
            a.x = b.y",
        "SELECT {f} OVER () AS x FROM data LIMIT 1",
    ];
    for function in [
        "count(*)",
        "avg(cloud_cover)",
        "count_if(cloud_cover > 0.5)",
        "arg_max(id, cloud_cover)",
        "mode(type)",
        "bool_or(cloud_cover > 0.5)",
        "regr_slope(cloud_cover, ST_X(\"stac:centroid\"))",
        "max(date_trunc('month', \"stac:time_start\"))",
        "string_agg(id, ',' ORDER BY id)",
        "any_value(type)",
    ] {
        let wanted = rows(&format!("SELECT {function} AS x FROM data"));
        assert_eq!(wanted.len(), 1, "{function}");
        for depth in DEPTHS {
            let sql = depth.replace("{f}", function);
            assert_eq!(rows(&sql), wanted, "{sql}");
        }
    }
}
