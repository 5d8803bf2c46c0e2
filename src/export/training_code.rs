//! Python code of a training loop over a dataset with `taco_studio.torch`, filled in with its
//! splits, bands, statistics and classes.

use std::fmt::Write as _;

use super::reader_code::ModuleOpening;
use crate::query::copy_as::python_string;
use crate::text::PrintableLine;

/// What the metadata and the first rasters say about training on a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingFacts {
    /// The rasters of a sample of level 0; one without a position where the samples are rasters.
    pub rasters: Vec<TrainingRaster>,
    /// The column of level 0 with the parts of the split; `None` without one.
    pub split: Option<TrainingSplit>,
    /// Side in pixels of square windows; `None` for whole rasters.
    pub window: Option<usize>,
    /// Positions that the loop does not read, and why not, as comments say it.
    pub left_out: Vec<(String, &'static str)>,
}

/// The split of a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingSplit {
    /// Name of the column.
    pub column: String,
    /// The part to train on.
    pub train: String,
    /// The part to validate on; `None` where there is one part.
    pub validation: Option<String>,
}

/// One of the rasters of each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingRaster {
    /// Path below the sample; `None` for the sample itself.
    pub position: Option<String>,
    /// Number of bands of the first sample.
    pub bands: usize,
    /// True for the raster that is learned; for one at the most.
    pub is_target: bool,
    /// Statistics over the part to train on.
    pub statistics: TrainingStatistics,
}

/// Statistics of a raster over the part to train on.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TrainingStatistics {
    /// The metadata has none, or they are of scaled values, not of the stored ones.
    #[default]
    Unknown,
    /// Mean and standard deviation of each band, of the stored values.
    Measurements { mean: Vec<f64>, std: Vec<f64> },
    /// Value, name and share of each class.
    Classes(Vec<TrainingClass>),
}

/// A class of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingClass {
    /// Value in the raster.
    pub value: i64,
    /// Name; the value where it has none.
    pub name: String,
    /// Share of the valid pixels of the part to train on.
    pub share: f64,
}

/// Positions whose names say that they are learned.
const TARGET_WORDS: [&str; 8] = [
    "label",
    "mask",
    "target",
    "annotation",
    "groundtruth",
    "ground_truth",
    "classes",
    "segmentation",
];

/// True for a position whose name says that it is learned.
pub fn is_target_name(position: &str) -> bool {
    let position = position.to_lowercase();
    TARGET_WORDS.iter().any(|word| position.contains(word))
}

/// Bands of more than this number are read all, without a list.
const LISTED_BANDS: usize = 32;

impl TrainingRaster {
    /// Key of its array in a sample.
    fn key(&self) -> &str {
        self.position.as_deref().unwrap_or("image")
    }
}

/// A number with six significant digits.
fn format_number(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    format!("{rounded:?}")
}

fn format_numbers(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers
        .iter()
        .map(|number| format_number(*number))
        .collect();
    format!("[{}]", numbers.join(", "))
}

/// One over the share of each class, such that the mean over the pixels is 1. A class without
/// pixels has the weight 0.
fn class_weights(classes: &[TrainingClass]) -> Vec<f64> {
    let present = classes
        .iter()
        .filter(|class| class.share > 0.0)
        .count()
        .max(1) as f64;
    classes
        .iter()
        .map(|class| {
            if class.share > 0.0 {
                1.0 / (present * class.share)
            } else {
                0.0
            }
        })
        .collect()
}

/// Python code that trains for two epochs on a dataset.
pub fn training_code(opening: &ModuleOpening, facts: &TrainingFacts) -> String {
    let mut code = format!(
        "# pip install taco-studio torch\nimport taco_studio\nimport torch\nfrom \
            taco_studio.torch import Samples\nfrom torch.utils.data import DataLoader\n\n\
            DATASET = taco_studio.open({opening})\nSEED = 0\n"
    );
    write_constants(&mut code, facts);
    write_samples(&mut code, facts);
    write_loop(&mut code, facts);
    code
}

/// Positions, bands, statistics and classes.
fn write_constants(code: &mut String, facts: &TrainingFacts) {
    let positions: Vec<String> = facts
        .rasters
        .iter()
        .filter_map(|raster| raster.position.as_deref().map(python_string))
        .collect();
    if !positions.is_empty() {
        let _ = writeln!(code, "POSITIONS = [{}]", positions.join(", "));
    }
    let bands: Vec<String> = facts
        .rasters
        .iter()
        .filter(|raster| raster.bands <= LISTED_BANDS)
        .map(|raster| {
            let numbers: Vec<String> = (1..=raster.bands).map(|band| band.to_string()).collect();
            format!("{}: [{}]", python_string(raster.key()), numbers.join(", "))
        })
        .collect();
    let _ = writeln!(code, "BANDS = {{{}}}", bands.join(", "));
    for (position, reason) in &facts.left_out {
        let _ = writeln!(code, "# Left out: {} ({reason})", position.printable_line());
    }
    let part = facts.split.as_ref().map_or_else(
        || "all samples".to_owned(),
        |split| format!("the samples whose {} is {}", split.column, split.train),
    );
    let measured: Vec<(&str, &[f64], &[f64])> = facts
        .rasters
        .iter()
        .filter_map(|raster| match &raster.statistics {
            TrainingStatistics::Measurements { mean, std } => {
                Some((raster.key(), mean.as_slice(), std.as_slice()))
            }
            _ => None,
        })
        .collect();
    if measured.is_empty() {
        code.push_str(
            "# The dataset has no statistics of its stored values: `taco-studio stats --exact` \
                computes them.\n",
        );
    } else {
        let _ = writeln!(
            code,
            "# Mean and standard deviation of each band over {}.",
            part.printable_line()
        );
    }
    for (name, of_means) in [("MEAN", true), ("STD", false)] {
        let entries: Vec<String> = measured
            .iter()
            .map(|(key, mean, std)| {
                let numbers = if of_means { mean } else { std };
                format!("{}: {}", python_string(key), format_numbers(numbers))
            })
            .collect();
        let _ = writeln!(code, "{name} = {{{}}}", entries.join(", "));
    }
    for raster in facts.rasters.iter().filter(|raster| raster.is_target) {
        if let TrainingStatistics::Classes(classes) = &raster.statistics {
            let names: Vec<String> = classes
                .iter()
                .map(|class| format!("{}: {}", class.value, python_string(&class.name)))
                .collect();
            let _ = writeln!(
                code,
                "# The classes of {}, and one over their shares of the pixels of {}.",
                raster.key().printable_line(),
                part.printable_line()
            );
            let _ = writeln!(code, "CLASSES = {{{}}}", names.join(", "));
            let _ = writeln!(
                code,
                "WEIGHTS = {}",
                format_numbers(&class_weights(classes))
            );
        }
    }
}

/// The function that makes the samples of a part.
fn write_samples(code: &mut String, facts: &TrainingFacts) {
    let mut arguments = vec!["DATASET".to_owned()];
    if facts.rasters.iter().any(|raster| raster.position.is_some()) {
        arguments.push("POSITIONS".into());
    }
    arguments.push("bands=BANDS".into());
    arguments.extend(facts.window.map(|side| format!("size={side}")));
    arguments.push("where=where".into());
    arguments.push("dtype=\"float32\"".into());
    arguments.push("seed=SEED".into());
    let _ = write!(
        code,
        "\n\ndef samples(where=None):\n    return Samples({})\n",
        arguments.join(", ")
    );
}

/// The array of a raster in a batch, scaled where statistics are known.
fn batch_array(raster: &TrainingRaster) -> String {
    let key = python_string(raster.key());
    match raster.statistics {
        TrainingStatistics::Measurements { .. } => format!("scaled(batch, {key})"),
        _ => format!("batch[{key}]"),
    }
}

/// The condition of a part, as a text of Python.
fn part_condition(split: &TrainingSplit, part: &str) -> String {
    let column = split.column.replace('"', "\"\"");
    python_string(&format!("\"{column}\" = '{}'", part.replace('\'', "''")))
}

fn write_loop(code: &mut String, facts: &TrainingFacts) {
    code.push_str(
        "\n\ndef scaled(batch, name):\n    mean, std = (torch.tensor(values[name]).view(-1, 1, 1) \
            for values in (MEAN, STD))\n    return (batch[name] - mean) / std\n\n\n\
            def main():\n    torch.manual_seed(SEED)\n",
    );
    let train = facts
        .split
        .as_ref()
        .map(|split| part_condition(split, &split.train))
        .unwrap_or_default();
    let _ = writeln!(code, "    train = samples({train})");
    if let Some(split) = &facts.split
        && let Some(validation) = &split.validation
    {
        let condition = part_condition(split, validation);
        let _ = writeln!(code, "    validation = samples({condition})");
        code.push_str(
            "    print(len(train), \"to train on,\", len(validation), \"to validate on\")\n",
        );
    } else {
        code.push_str("    print(len(train), \"to train on\")\n");
    }
    code.push_str(
        "    for epoch in range(2):\n        train.set_epoch(epoch)\n        for batch in \
            DataLoader(train, batch_size=16, shuffle=True, num_workers=4):\n",
    );
    let inputs: Vec<String> = facts
        .rasters
        .iter()
        .filter(|raster| !raster.is_target)
        .map(batch_array)
        .collect();
    let target = facts.rasters.iter().find(|raster| raster.is_target);
    let input = match inputs.as_slice() {
        [one] => one.clone(),
        several => format!("torch.cat([{}], dim=1)", several.join(", ")),
    };
    let _ = writeln!(code, "            image = {input}");
    match target {
        Some(raster) if matches!(raster.statistics, TrainingStatistics::Measurements { .. }) => {
            let _ = writeln!(code, "            target = {}", batch_array(raster));
            code.push_str(
                "            # loss = torch.nn.functional.mse_loss(model(image), target)\n",
            );
        }
        Some(raster) => {
            let key = python_string(raster.key());
            let _ = writeln!(code, "            target = batch[{key}][:, 0].long()");
            let weight = match raster.statistics {
                TrainingStatistics::Classes(_) => ", torch.tensor(WEIGHTS)",
                _ => "",
            };
            let _ = writeln!(
                code,
                "            # loss = torch.nn.functional.cross_entropy(\
                    model(image), target{weight})"
            );
        }
        None => code.push_str("            # loss = … model(image)\n"),
    }
    let shapes = if target.is_some() {
        "image.shape, target.shape"
    } else {
        "image.shape"
    };
    let _ = writeln!(code, "            print(epoch, {shapes})");
    // Workers that are spawned import the file again.
    code.push_str("\n\nif __name__ == \"__main__\":\n    main()\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raster(position: &str, statistics: TrainingStatistics) -> TrainingRaster {
        TrainingRaster {
            position: Some(position.into()),
            bands: 2,
            is_target: is_target_name(position),
            statistics,
        }
    }

    fn class(value: i64, share: f64) -> TrainingClass {
        TrainingClass {
            value,
            name: format!("c{value}"),
            share,
        }
    }

    #[test]
    fn the_loop_has_splits_bands_statistics_and_weights() {
        let facts = TrainingFacts {
            rasters: vec![
                raster(
                    "s2/t0.tif",
                    TrainingStatistics::Measurements {
                        mean: vec![1234.5678, 0.1],
                        std: vec![2.0, 3.0],
                    },
                ),
                raster(
                    "label.tif",
                    TrainingStatistics::Classes(vec![class(0, 0.8), class(1, 0.2), class(2, 0.0)]),
                ),
            ],
            split: Some(TrainingSplit {
                column: "split".into(),
                train: "tr'ain".into(),
                validation: Some("validation".into()),
            }),
            window: Some(256),
            left_out: vec![("angles.tif".into(), "of another size")],
        };
        let code = training_code(
            &ModuleOpening::from_addresses(&["a\"b.tacozip".into()]),
            &facts,
        );
        for part in [
            r#"DATASET = taco_studio.open("a\"b.tacozip")"#,
            r#"POSITIONS = ["s2/t0.tif", "label.tif"]"#,
            r#"BANDS = {"s2/t0.tif": [1, 2], "label.tif": [1, 2]}"#,
            r#"MEAN = {"s2/t0.tif": [1234.57, 0.1]}"#,
            r#"CLASSES = {0: "c0", 1: "c1", 2: "c2"}"#,
            "WEIGHTS = [0.625, 2.5, 0.0]",
            "# Left out: angles.tif (of another size)",
            "size=256",
            r#"train = samples("\"split\" = 'tr''ain'")"#,
            r#"image = scaled(batch, "s2/t0.tif")"#,
            r#"target = batch["label.tif"][:, 0].long()"#,
            "cross_entropy(model(image), target, torch.tensor(WEIGHTS))",
        ] {
            assert!(code.contains(part), "{part}\n{code}");
        }
    }

    #[test]
    fn a_dataset_of_files_without_metadata_has_a_loop_too() {
        let facts = TrainingFacts {
            rasters: vec![TrainingRaster {
                position: None,
                bands: 3,
                is_target: false,
                statistics: TrainingStatistics::Unknown,
            }],
            split: None,
            window: None,
            left_out: Vec::new(),
        };
        let code = training_code(&ModuleOpening::from_addresses(&["set".into()]), &facts);
        assert!(
            code.contains(r#"image = batch["image"]"#) && code.contains("train = samples()\n"),
            "{code}"
        );
        assert!(
            !code.contains("POSITIONS") && !code.contains(", size="),
            "{code}"
        );
    }
}
