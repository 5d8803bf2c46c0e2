//! `inspect`: describes a dataset. Reports no findings; that is `validate`.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::output::{Terminal, print, print_json};
use super::runner::open;
use crate::container::{ContainerReader, OpenOptions, Physical};
use crate::error::Result;
use crate::model::dtype_name;
use crate::text::PrintableLine;
use crate::validate::classes;

pub fn inspect(path: &Path, options: &OpenOptions, as_json: bool, terminal: &Terminal) -> Result<u8> {
    let reader = open(terminal, path, options)?;
    let levels = reader.levels();
    let info = reader.info();
    let collection = reader.collection();
    if as_json {
        let levels: Vec<Json> = (0..levels.count())
            .map(|level| {
                let fields = levels.fields(level);
                let columns: Vec<Json> = fields.iter().map(|f| json!({ "name": f.name, "type": dtype_name(&f.dtype) })).collect();
                json!({ "level": level, "rows": levels.rows(level), "columns": columns })
            })
            .collect();
        let generation = older_json(reader.as_ref());
        let notes: Vec<Json> = reader.notes().iter().map(|finding| finding.json()).collect();
        let out = json!({
            "path": info.path.display().to_string(),
            "format": info.format.name(),
            "generation": info.format.generation(),
            "size_bytes": info.size_bytes,
            "id": collection.fields.get("id"),
            "levels": levels,
            "collection": collection.fields,
            "notes": notes,
            "tortilla": generation,
        });
        print_json(&out)?;
        return Ok(0);
    }
    let mut text = format!(
        "{}  {} (TACO {})\n",
        info.path.display().to_string().printable_line(),
        info.format.badge(),
        info.format.generation()
    );
    let title = collection.text("title");
    text.push_str(&format!("id       {}\n", collection.id().printable_line()));
    if !title.is_empty() {
        text.push_str(&format!("title    {}\n", title.printable_line()));
    }
    if let Json::Object(older) = older_json(reader.as_ref()) {
        let listed = |key: &str| -> Vec<&str> { older[key].as_array().into_iter().flatten().filter_map(Json::as_str).collect() };
        for (name, list) in [("classes ", listed("classes")), ("missing ", listed("missing_parts"))] {
            if !list.is_empty() {
                text.push_str(&format!("{name} {}\n", list.join(", ").printable_line()));
            }
        }
    }
    for level in 0..levels.count() {
        text.push_str(&format!("\nlevel{level}   {} rows\n", levels.rows(level)));
        let fields = levels.fields(level);
        let width = fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0);
        for field in fields {
            text.push_str(&format!("  {:width$}  {}\n", field.name.printable_line(), dtype_name(&field.dtype).printable_line()));
        }
    }
    for note in reader.notes() {
        text.push('\n');
        text.push_str(&format!("{} {}: {}", note.rule, note.at, note.message).printable_line());
        text.push('\n');
    }
    print(&text)?;
    Ok(0)
}

/// Header fields of the older generations, one entry for each file; null for other containers.
fn older_json(reader: &dyn ContainerReader) -> Json {
    let Physical::Tortilla(tortilla) = reader.physical() else { return Json::Null };
    let fields = reader.levels().fields(0);
    let names = fields.iter().map(|field| field.name.as_str()).collect();
    let files = tortilla.files().iter().zip(tortilla.roots()).map(|(file, root)| {
        let header = &root.header;
        json!({
            "file": file.path().file_name().map(|name| name.to_string_lossy()),
            "size_bytes": file.size_bytes(),
            "magic": if header.is_taco() { "WX" } else { "#y" },
            "footer_offset": header.footer.0,
            "footer_length": header.footer.1,
            "partitions": header.partitions,
            "collection_offset": header.collection.map(|place| place.0),
            "collection_length": header.collection.map(|place| place.1),
        })
    });
    json!({
        "files": files.collect::<Vec<_>>(),
        "missing_parts": tortilla.missing_parts(),
        "classes": classes(&names),
    })
}
