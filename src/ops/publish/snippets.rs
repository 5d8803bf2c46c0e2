//! Code that opens a published dataset. Its URLs contain no secrets.

use serde::Serialize;

use crate::container::ContainerReader;
use crate::export::{ModuleOpening, TrainingFacts, module_code, python_code, training_code};
use crate::model::Address;
use crate::ops::join_for_shell;

/// Code for one reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// The reader: `Python`, `taco_studio`, `PyTorch`, `DuckDB`, `Taco Studio`.
    pub reader: &'static str,
    /// The code.
    pub code: String,
}

/// Code for the dataset at `address`; `table` is the address of the table of level 0, if it is a
/// file of its own, and `training` what a training loop needs, where samples are rasters.
pub(super) fn snippets(
    address: &str,
    table: Option<&str>,
    reader: &dyn ContainerReader,
    training: Option<&TrainingFacts>,
) -> Vec<Snippet> {
    let has_split = reader
        .levels()
        .fields(0)
        .iter()
        .any(|field| field.name == "split");
    let select = if has_split {
        "SELECT * FROM data WHERE split = 'test'"
    } else {
        "SELECT * FROM data LIMIT 10"
    };
    let python = python_code(&[address.to_owned()], reader.info().format, Some(select));
    let opening = ModuleOpening::from_addresses(&[address.to_owned()]);
    let module = module_code(&opening, Some(select), &[]);
    let word = join_for_shell([address]);
    let studio =
        format!("taco-studio inspect {word}\ntaco-studio query {word} --sql \"{select}\"\n");
    let mut found = vec![
        Snippet {
            reader: "Python",
            code: python,
        },
        Snippet {
            reader: "taco_studio",
            code: module,
        },
    ];
    if let Some(facts) = training {
        found.push(Snippet {
            reader: "PyTorch",
            code: training_code(&opening, facts),
        });
    }
    if let Some(table) = table {
        let setup = if Address::parse(table).is_some() {
            "INSTALL httpfs; LOAD httpfs;\n"
        } else {
            ""
        };
        let condition = if has_split {
            "WHERE split = 'test'"
        } else {
            "LIMIT 10"
        };
        let code = format!(
            "{setup}SELECT * FROM read_parquet('{}') {condition};\n",
            table.replace('\'', "''")
        );
        found.push(Snippet {
            reader: "DuckDB",
            code,
        });
    }
    found.push(Snippet {
        reader: "Taco Studio",
        code: studio,
    });
    found
}
