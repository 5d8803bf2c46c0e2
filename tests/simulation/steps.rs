//! The steps of a simulation: requests of operations over the sources and the outputs of earlier
//! steps.

use serde_json::{Value as Json, json};

use super::store::ANY_STORE;

/// An operation that reads sources or outputs and writes below `out`.
pub struct Step {
    pub name: &'static str,
    /// The sources that it reads; one may be exchanged for its other version meanwhile.
    pub sources: &'static [&'static str],
    /// It reads sources at the store.
    pub reads_store: bool,
    /// Requests of a plan change the plan too.
    pub is_of_plan: bool,
    /// The dataset that the step changes at its place, which after a kill may have bytes that no
    /// reader looks at.
    pub changes: Option<&'static str>,
    /// The object that is written last where the output is a folder at a store.
    pub last_object: Option<&'static str>,
    pub request: fn() -> Json,
}

impl Step {
    /// True when it reads or writes at the store.
    pub fn uses_store(&self) -> bool {
        (self.request)().to_string().contains(ANY_STORE)
    }
}

fn options(target: &str, format: &str) -> Json {
    json!({"target": target, "format": format, "overwrite": true})
}

const fn step(name: &'static str, sources: &'static [&'static str], request: fn() -> Json) -> Step {
    Step {
        name,
        sources,
        reads_store: false,
        is_of_plan: false,
        changes: None,
        last_object: None,
        request,
    }
}

const fn in_place(
    name: &'static str,
    sources: &'static [&'static str],
    changes: &'static str,
    request: fn() -> Json,
) -> Step {
    Step {
        changes: Some(changes),
        ..step(name, sources, request)
    }
}

const fn folder_at_store(
    name: &'static str,
    sources: &'static [&'static str],
    last: &'static str,
    request: fn() -> Json,
) -> Step {
    Step {
        last_object: Some(last),
        ..step(name, sources, request)
    }
}

const fn of_store(name: &'static str, request: fn() -> Json) -> Step {
    Step {
        reads_store: true,
        ..step(name, &[], request)
    }
}

const fn of_plan(name: &'static str, request: fn() -> Json) -> Step {
    Step {
        is_of_plan: true,
        ..step(name, &["folder"], request)
    }
}

fn create(options: &Json) -> Json {
    json!({
        "command": "create", "source": "scenes", "collection": "collection.json",
        "metadata": "scenes.csv", "first_generation": [],
        "options": options,
    })
}

fn convert(input: &str, options: &Json) -> Json {
    json!({"command": "convert", "input": input, "options": options})
}

fn consolidate(folder: &str, target: &str, format: &str) -> Json {
    let inputs = [0, 1].map(|part| format!("{folder}/part{part}.tacozip"));
    let options = json!({
        "inputs": inputs, "target": target, "format": format, "overwrite": true,
    });
    json!({"command": "consolidate", "options": options})
}

fn create_parts(target: &str) -> Json {
    let mut options = options(target, "zip");
    options["parts"] = json!({"size_bytes": 3000, "consolidate": ["tacocat"]});
    create(&options)
}

fn publish(input: &str, target: &str) -> Json {
    let accept = [
        "description",
        "paths",
        "licence",
        "providers",
        "extent",
        "columns",
        "statistics",
        "names",
        "version",
    ];
    json!({
        "command": "publish",
        "input": input,
        "target": target,
        "overwrite": true,
        "accept": accept,
    })
}

pub const STEPS: &[Step] = &[
    step("create a ZIP", &["scenes"], || {
        create(&options("out/a.tacozip", "zip"))
    }),
    step("create a FOLDER", &["scenes"], || {
        create(&options("out/f", "folder"))
    }),
    step("create parts and an index", &["scenes"], || {
        create_parts("out/p.tacozip")
    }),
    step("convert a ZIP to a FOLDER", &["in.tacozip"], || {
        convert("in.tacozip", &options("out/f", "folder"))
    }),
    step("convert a FOLDER to a ZIP", &["folder"], || {
        convert("folder", &options("out/a.tacozip", "zip"))
    }),
    step("convert an index to a ZIP", &["parts"], || {
        convert("parts/.tacocat", &options("out/a.tacozip", "zip"))
    }),
    step("convert the output FOLDER", &[], || {
        convert("out/f", &options("out/a.tacozip", "zip"))
    }),
    step("convert the output ZIP", &[], || {
        convert("out/a.tacozip", &options("out/f", "folder"))
    }),
    step("export of a FOLDER", &["folder"], || {
        json!({
            "command": "export",
            "input": "folder",
            "options": options("out/a.tacozip", "zip"),
            "limit": 2,
        })
    }),
    step("export of a ZIP", &["in.tacozip"], || {
        json!({
            "command": "export",
            "input": "in.tacozip",
            "options": options("out/f", "folder"),
            "ids": ["r1", "r3"],
        })
    }),
    in_place(
        "edit the output ZIP",
        &["new.csv"],
        "out/a.tacozip",
        || json!({"command": "edit_dataset", "input": "out/a.tacozip", "metadata": "new.csv"}),
    ),
    step(
        "edit the output FOLDER",
        &["new.csv"],
        || json!({"command": "edit_dataset", "input": "out/f", "metadata": "new.csv"}),
    ),
    in_place(
        "edit the collection of the output ZIP",
        &[],
        "out/a.tacozip",
        || {
            json!({"command": "edit_dataset", "input": "out/a.tacozip", "set": {"title": "Another \
            title"}})
        },
    ),
    step(
        "edit the collection of the output FOLDER",
        &[],
        || json!({"command": "edit_dataset", "input": "out/f", "set": {"title": "Another title"}}),
    ),
    step("edit a FOLDER into a copy", &["folder"], || {
        json!({
            "command": "edit_dataset",
            "input": "folder",
            "drop": ["number"],
            "output": "out/f",
            "overwrite": true,
        })
    }),
    step("consolidate", &["parts"], || {
        consolidate("parts", "out/index", "tacocat")
    }),
    step("migrate", &["old.tortilla"], || {
        json!({
            "command": "migrate", "input": "old.tortilla", "options": options(
                "out/a.tacozip",
                "zip",
            ),
            "collection": {
                "id": "old", "description": "Old samples.", "licenses": [
                    "CC0-1.0",
                ], "tasks": ["other"],
                "providers": [{"name": "Tests", "roles": ["producer"]}],
            },
        })
    }),
    step("compile", &["in.tacozip"], || {
        json!({
            "command": "compile",
            "input": "in.tacozip",
            "options": {"target": "out/c.tortilla", "overwrite": true},
        })
    }),
    in_place("edit the output TORTILLA", &[], "out/c.tortilla", || {
        json!({
            "command": "edit_tortilla",
            "input": "out/c.tortilla",
            "drop": ["number"],
            "overwrite": true,
        })
    }),
    step("extend", &["folder"], || {
        json!({
            "command": "extend", "input": "folder", "options": options(
                "out/a.tacozip",
                "zip",
            ), "replace": true,
            "calls": [{"extension": "content_hash"}],
        })
    }),
    step(
        "repair",
        &["folder"],
        || json!({"command": "repair", "input": "folder", "options": options("out/f", "folder")}),
    ),
    step("publish a FOLDER", &["folder"], || {
        publish("folder", "out/published")
    }),
    step("publish the output ZIP", &[], || {
        publish("out/a.tacozip", "out/published")
    }),
    step("describe", &["in.tacozip"], || {
        json!({
            "command": "describe",
            "input": "in.tacozip",
            "form": "html",
            "output": "out/card.html",
            "overwrite": true,
        })
    }),
    step("optimise rasters", &["rasters"], || {
        json!({
            "command": "optimise",
            "input": "rasters",
            "output": "out/rasters",
            "overwrite": true,
        })
    }),
    step("create a ZIP at a store", &["scenes"], || {
        create(&options("store://data/a.tacozip", "zip"))
    }),
    step("convert a FOLDER to a ZIP at a store", &["folder"], || {
        convert("folder", &options("store://data/a.tacozip", "zip"))
    }),
    step("convert the ZIP at the store", &[], || {
        convert("store://data/a.tacozip", &options("out/f", "folder"))
    }),
    folder_at_store(
        "convert a ZIP to a FOLDER at a store",
        &["in.tacozip"],
        "f/COLLECTION.json",
        || convert("in.tacozip", &options("store://data/f", "folder")),
    ),
    step("convert the FOLDER at the store", &[], || {
        convert("store://data/f", &options("out/a.tacozip", "zip"))
    }),
    folder_at_store(
        "publish a FOLDER at a store",
        &["folder"],
        "published/folder/COLLECTION.json",
        || publish("folder", "store://data/published"),
    ),
    folder_at_store(
        "create parts and an index at a store",
        &["scenes"],
        "parts/.tacocat/COLLECTION.json",
        || create_parts("store://data/parts/p.tacozip"),
    ),
    of_store("consolidate parts at a store", || {
        consolidate("store://data/in", "out/index", "tacocat")
    }),
    Step {
        last_object: Some("index/.tacocat/COLLECTION.json"),
        ..of_store("consolidate parts at a store into it", || {
            consolidate("store://data/in", "store://data/index", "tacocat")
        })
    },
    of_store("collection of parts at a store", || {
        consolidate("store://data/in", "store://data/all.json", "tacollection")
    }),
    of_store("convert an index at a store", || {
        convert("store://data/in/.tacocat", &options("out/f", "folder"))
    }),
    of_store("convert a FOLDER at a store", || {
        convert("store://data/in/folder", &options("out/a.tacozip", "zip"))
    }),
    of_store("convert a ZIP at a store into it", || {
        convert(
            "store://data/in/part0.tacozip",
            &options("store://data/a.tacozip", "zip"),
        )
    }),
    of_plan(
        "build part 1 of a plan",
        || json!({"command": "run_plan_part", "folder": "plan", "part": 1}),
    ),
    of_plan(
        "build part 2 of a plan",
        || json!({"command": "run_plan_part", "folder": "plan", "part": 2}),
    ),
    of_plan(
        "finish a plan",
        || json!({"command": "finish_plan", "folder": "plan"}),
    ),
];

/// An upload in parts; it takes too long for chains.
pub const LARGE: Step = step("create a large ZIP at a store", &[], || {
    json!({
        "command": "create", "source": "large", "collection": "collection.json",
        "first_generation": [], "options": options("store://data/large.tacozip", "zip"),
    })
});
