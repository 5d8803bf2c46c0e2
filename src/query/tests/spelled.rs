//! What people type who know DuckDB: each works, or is answered with the spelling that does.

use serde_json::json;

use super::*;

/// The first row of a statement.
fn first(sql: &str) -> Json {
    rows(sql).into_iter().next().unwrap_or(Json::Null)
}

#[test]
fn spellings_of_duckdb_answer() {
    let t = r#""stac:time_start""#;
    let lima = "FROM data WHERE id = 'lima'";
    for (select, wanted) in [
        ("upper(id), lower(id), length(id)", json!(["LIMA", "lima", 4])),
        ("substr(id, 1, 3), left(id, 2), right(id, 2)", json!(["lim", "li", "ma"])),
        ("id || '_x', concat(id, '-', type), concat_ws('/', id, type)", json!(["lima_x", "lima-FOLDER", "lima/FOLDER"])),
        ("replace(id, 'i', 'o'), reverse(id), trim(id)", json!(["loma", "amil", "lima"])),
        ("split_part(id, 'i', 2), string_split(id, 'i')[1]", json!(["ma", "l"])),
        ("regexp_matches(id, '^l'), regexp_extract(id, '(i.)a', 1), regexp_replace(id, '[im]', '-')", json!([true, "im", "l-ma"])),
        ("regexp_replace(id, '(.)m', '\\1n', 'g'), repeat(id, 2), instr(id, 'm')", json!(["lina", "limalima", 3])),
        ("contains(id, 'im'), starts_with(id, 'l'), suffix(id, 'a'), lpad(id, 6, '*')", json!([true, true, true, "**lima"])),
        ("year(T), month(T), day(T), quarter(T), dayofweek(T)", json!([2021, 1, 1, 1, 5])),
        ("dayname(T), monthname(T), strftime(T, '%Y-%m')", json!(["Friday", "January", "2021-01"])),
        ("epoch(T), epoch_ms(T), extract(year FROM T)", json!([1_609_459_200.0, 1_609_459_200_000i64, 2021])),
        (
            "date_trunc('month', T), T::DATE, T + INTERVAL 1 DAY",
            json!(["2021-01-01T00:00:00", "2021-01-01", "2021-01-02T00:00:00"]),
        ),
        ("date_diff('day', T, TIMESTAMP '2021-03-01 00:00:00'), datediff('month', T, DATE '2022-02-01')", json!([59, 13])),
        ("\"stac:geotransform\"[1], list_extract(\"stac:geotransform\", 2), len(\"stac:geotransform\")", json!([1.0, 2.0, 2])),
        (
            "list_sum(\"stac:geotransform\"), list_max(\"stac:geotransform\"), contains(\"stac:geotransform\", 2.0)",
            json!([3.0, 2.0, true]),
        ),
        ("list_contains(\"stac:geotransform\", 5.0), \"stac:geotransform\"[-1]", json!([false, 2.0])),
        ("round(cloud_cover, 1), floor(cloud_cover), abs(cloud_cover), cloud_cover * 2", json!([0.3, 0.0, 0.25, 0.5])),
        ("isnan(cloud_cover), isfinite(cloud_cover), greatest(cloud_cover, 1)", json!([false, true, 1.0])),
        ("CASE WHEN cloud_cover < 0.5 THEN 'clear' ELSE 'cloudy' END, if(cloud_cover < 0.5, 1, 2)", json!(["clear", 1])),
        ("ifnull(cloud_cover, 0), coalesce(cloud_cover, 0), nullif(id, 'lima')", json!([0.25, 0.25, null])),
        ("cloud_cover::VARCHAR, CAST(cloud_cover AS INTEGER), TRY_CAST(id AS INTEGER)", json!(["0.25", 0, null])),
        (
            "ST_Distance(\"stac:centroid\", ST_Point(-75, -10)), ST_DWithin(\"stac:centroid\", ST_Point(-75, -10), 3)",
            json!([2.0, true]),
        ),
    ] {
        let select = select.replace("(T", &format!("({t}")).replace(" T", &format!(" {t}"));
        assert_eq!(first(&format!("SELECT {select} {lima}")), wanted, "{select}");
    }
}

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
fn groups_windows_and_joins_of_duckdb_answer() {
    for (sql, wanted) in [
        (
            "SELECT count(*), count(DISTINCT id), min(cloud_cover), max(cloud_cover), avg(cloud_cover), median(cloud_cover) FROM data",
            json!([2, 2, 0.25, 0.75, 0.5, 0.5]),
        ),
        (
            "SELECT count_if(cloud_cover > 0.5), bool_and(cloud_cover > 0), bool_or(cloud_cover > 0.8) FROM data",
            json!([1, true, false]),
        ),
        (
            "SELECT arg_max(id, cloud_cover), arg_min(id, cloud_cover), max_by(id, cloud_cover) FROM data",
            json!(["bonn", "lima", "bonn"]),
        ),
        ("SELECT type, count(*) AS n FROM data GROUP BY 1 ORDER BY 2 DESC", json!(["FOLDER", 2])),
        ("SELECT type, count(*) FILTER (WHERE cloud_cover > 0.5) AS n FROM data GROUP BY ALL", json!(["FOLDER", 1])),
        ("SELECT type, count(*) AS n FROM data GROUP BY type HAVING n > 1", json!(["FOLDER", 2])),
        (
            "SELECT bands, arg_max(id, \"internal:offset\") AS i FROM level1 WHERE bands = 'rgb' GROUP BY bands",
            json!(["rgb", "image"]),
        ),
        (
            "SELECT id, rank() OVER (ORDER BY cloud_cover), dense_rank() OVER (ORDER BY cloud_cover DESC) FROM data ORDER BY id",
            json!(["bonn", 2, 1]),
        ),
        (
            "SELECT id, lag(cloud_cover) OVER (ORDER BY id), lead(cloud_cover) OVER (ORDER BY id) FROM data ORDER BY id",
            json!(["bonn", null, 0.25]),
        ),
        ("SELECT id, cloud_cover FROM data QUALIFY row_number() OVER (ORDER BY cloud_cover DESC) = 1", json!(["bonn", 0.75])),
        ("SELECT * EXCLUDE (id) FROM (SELECT id, type FROM data) LIMIT 1", json!(["FOLDER"])),
        ("SELECT * REPLACE (upper(id) AS id) FROM (SELECT id, type FROM data) ORDER BY id", json!(["BONN", "FOLDER"])),
        (
            "SELECT a.id, b.id AS file FROM level0 a JOIN level1 b ON b.\"internal:parent_id\" = a.\"internal:current_id\" WHERE b.id = 'label' ORDER BY a.id",
            json!(["bonn", "label"]),
        ),
        ("SELECT \"l0:id\", \"l1:id\" FROM l1 ORDER BY 1, 2", json!(["bonn", "image"])),
        (
            "WITH m AS (SELECT avg(cloud_cover) AS a FROM data) SELECT data.id FROM data CROSS JOIN m WHERE cloud_cover > m.a",
            json!(["bonn"]),
        ),
        ("SELECT id, x FROM data CROSS JOIN UNNEST(\"stac:geotransform\") AS t(x) ORDER BY x DESC", json!(["lima", 2.0])),
        ("FROM data WHERE id = 'bonn'", json!("bonn")),
    ] {
        let found = first(sql);
        let found = if wanted.is_array() { found } else { found[0].clone() };
        assert_eq!(found, wanted, "{sql}");
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
        ("SELECT type, count(*) FROM data GROUP BY ROLLUP (type)", "GROUPING SETS"),
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
    for (sql, word) in [
        ("SELECT id\nFROM data\nWHERE cloudcover < 1", "cloudcover"),
        ("SELECT uper(id) FROM data", "uper"),
        ("SELECT id FROM dat", "dat"),
        ("SELECT year(\"stac:time_start\") FROM data WHERE WHERE id = 'a'", "WHERE"),
    ] {
        let error = run_sql(&tables(), sql, None, &ctx()).map(|_| ()).expect_err(sql);
        let place = Place::of_error(&error).unwrap_or_else(|| panic!("{sql}: {}", error.report()));
        assert_eq!(&sql[place.span(sql)], word, "{sql}: {place}");
    }
}
