//! Fields and words of COLLECTION in TACO 0.2 (table 2 and "TACO-level Semantic Description").

use serde_json::{Map, Value as Json};

/// Core fields, in the order of table 2.
pub const CORE_FIELDS: [&str; 8] = [
    "id",
    "taco_version",
    "dataset_version",
    "description",
    "licenses",
    "extent",
    "providers",
    "curators",
];

/// Tasks as the specification spells them.
pub const TASKS_0_2: [&str; 19] = [
    "Regression",
    "Classification",
    "Scene Classification",
    "Object Detection",
    "Segmentation",
    "Semantic Segmentation",
    "Instance Segmentation",
    "Panoptic Segmentation",
    "Similarity Search",
    "Generative",
    "Image Captioning",
    "Super Resolution",
    "Denoising",
    "Inpainting",
    "Colorization",
    "Style Transfer",
    "Deblurring",
    "Dehazing",
    "General",
];

/// Further tasks that the official tools accept, in their spelling.
pub const TASKS_OF_TOOLS_0_2: [&str; 1] = ["detection"];

/// Strategies of a split as the specification spells them.
pub const SPLITS_0_2: [&str; 5] = ["random", "stratified", "other", "none", "unknown"];

/// Further strategies that the official tools accept.
pub const SPLITS_OF_TOOLS_0_2: [&str; 1] = ["manual"];

/// Bins of a precomputed histogram, which are the columns of its raster.
pub const HISTOGRAM_BINS: usize = 100;
/// Columns of a tortilla of histograms: the ends of the scale, one number for each band.
pub const HISTOGRAM_ENDS: [&str; 2] = ["histogram:minimum", "histogram:maximum"];

/// The core fields that are missing or empty; `extent` by its halves when one of them is there.
pub fn missing_of_taco_0_2(fields: &Map<String, Json>) -> Vec<String> {
    let mut missing = Vec::new();
    for key in CORE_FIELDS {
        match fields.get(key) {
            Some(Json::Object(extent)) if key == "extent" => {
                let halves: Vec<&str> = ["spatial", "temporal"]
                    .into_iter()
                    .filter(|half| is_empty(extent.get(*half)))
                    .collect();
                match halves.len() {
                    2 => missing.push("extent".into()),
                    _ => missing.extend(halves.into_iter().map(|half| format!("extent/{half}"))),
                }
            }
            value if is_empty(value) => missing.push(key.into()),
            _ => {}
        }
    }
    missing
}

fn is_empty(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => true,
        Some(Json::String(text)) => text.trim().is_empty(),
        Some(Json::Array(list)) => list.is_empty(),
        Some(_) => false,
    }
}
