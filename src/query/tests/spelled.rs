//! What people type who know DuckDB: each works, or is answered with the spelling that does.

use super::*;

#[test]
fn conditions_of_duckdb_choose() {
    for (condition, wanted) in [
        ("id LIKE 'l%'", 1),
        ("id ILIKE 'L%' OR id NOT LIKE '%n'", 1),
        ("id SIMILAR TO 'l.*'", 1),
        ("id NOT SIMILAR TO '(lima|bonn)'", 0),
        ("id ~ '^b'", 1),
        ("id IN ('lima', 'oslo')", 1),
        ("id IN (SELECT id FROM level0 WHERE cloud_cover > 0.5)", 1),
        ("cloud_cover BETWEEN 0.1 AND 0.5", 1),
        ("cloud_cover NOT BETWEEN 0.1 AND 0.5", 1),
        ("cloud_cover IS NOT NULL AND NOT (id = 'lima')", 1),
        ("\"stac:time_start\" >= DATE '2021-01-02'", 1),
        ("\"stac:time_start\" > '2020-01-01'", 2),
        ("\"stac:time_start\" BETWEEN '2021-01-01' AND '2021-01-01'", 1),
        ("\"stac:time_start\" < now()", 2),
        ("\"stac:time_start\"::DATE < current_date", 2),
        ("stac:crs = 'EPSG:32718'", 1),
        ("ST_Within(\"stac:centroid\", ST_MakeEnvelope(-80, -20, -70, 0))", 1),
    ] {
        assert_eq!(rows(&format!("SELECT id FROM data WHERE {condition}")).len(), wanted, "{condition}");
    }
}

#[test]
fn what_has_another_spelling_says_so() {
    for (sql, answer) in [
        ("SELECT id FROM data WHERE id GLOB 'l*'", "LIKE 's%'"),
        ("SELECT printf('%s', id) FROM data", "||"),
        ("SELECT make_date(2020, 1, 1) FROM data", "DATE '2020-01-31'"),
        ("SELECT list_transform(\"stac:geotransform\", x -> x * 2) FROM data", "CROSS JOIN UNNEST"),
        ("SELECT \"stac:geotransform\"[1:2] FROM data", "single elements"),
        ("SELECT type, count(*) FROM data GROUP BY ROLLUP (type)", "UNION ALL"),
        ("SELECT id FROM data WHERE cloud_cover > (SELECT avg(cloud_cover) FROM data)", "CROSS JOIN m"),
        ("SELECT id FROM data LIMIT 50%", "USING SAMPLE 50%"),
        ("SELECT id FROM data ORDER BY random()", "USING SAMPLE 10"),
        ("SELECT id FROM data WHERE rowid < 3", "internal:current_id"),
        ("SELECT typeof(id) FROM data", "DESCRIBE data"),
        ("PRAGMA table_info('data')", "DESCRIBE data"),
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
        ("SELECT id\nFROM data\nWHERE cloudcover < 1", "line 3, column 7"),
        ("SELECT uper(id) FROM data", "line 1, column 8"),
        ("SELECT id FROM dat", "line 1, column 16"),
        ("SELECT year(\"stac:time_start\") FROM data WHERE WHERE id = 'a'", "line 1, column 54"),
    ] {
        let error = run_sql(&tables(), sql, None, &ctx()).map(|_| ()).expect_err(sql);
        assert_eq!(error.place(), Some(place), "{sql}: {}", error.report());
    }
}
