//! `class_shares`: the fields of a sample in a convention (flood, methane, land cover, change
//! detection), computed from its mask. The fields of the collection are those of `template`.

use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{CONVENTIONS, Convention, ConventionField, FieldSpec, Value};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "class_shares",
    title: mark!("Class shares"),
    summary: mark!(
        "Adds the fields of a convention to masks: the share of water, plumes, change, or each \
            class of land cover."
    ),
    scope: ExtensionScope::Sample,
    options,
    make,
};

/// Names of [`CONVENTIONS`].
const KINDS: [&str; CONVENTIONS.len()] = {
    let mut kinds = [""; CONVENTIONS.len()];
    let mut at = 0;
    while at < kinds.len() {
        kinds[at] = CONVENTIONS[at].kind;
        at += 1;
    }
    kinds
};

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("kind"),
            OptionKind::Choice(&KINDS),
            mark!("the convention"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("class_values"),
            OptionKind::List(&OptionKind::Integer),
            mark!(
                "the values of the classes in the masks, in the order of the convention; its own \
                    when left out"
            ),
        ),
        OptionSpec::new(
            mark!("band"),
            OptionKind::Integer,
            mark!("the band with the classes, from 1"),
        )
        .or(1),
    ]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassShareOptions {
    kind: String,
    class_values: Option<Vec<i64>>,
    band: usize,
}

struct ClassShares {
    convention: &'static Convention,
    class_values: Vec<i64>,
    /// From 0.
    band: usize,
}

fn make(given: &Json) -> Result<Extension> {
    let options: ClassShareOptions = parse_options(ENTRY.name, &options(), given)?;
    let Some(convention) = CONVENTIONS
        .iter()
        .find(|convention| convention.kind == options.kind)
    else {
        return Err(
            Error::usage(format!("there is no convention {:?}", options.kind))
                .hint(format!("choose one of {}", KINDS.join(", "))),
        );
    };
    let Some(band) = options.band.checked_sub(1) else {
        return Err(Error::usage("option band of class_shares counts from 1"));
    };
    let class_values = options.class_values.unwrap_or_else(|| {
        convention
            .classes
            .iter()
            .map(|class| class.value)
            .collect::<Vec<_>>()
    });
    if class_values.len() != convention.classes.len() {
        let error = Error::usage(format!(
            "option class_values of class_shares has {} values",
            class_values.len()
        ));
        return Err(error.hint(format!(
            "give one for each of {}",
            list_class_names(convention)
        )));
    }
    if class_values
        .iter()
        .enumerate()
        .any(|(at, value)| class_values[..at].contains(value))
    {
        return Err(
            Error::usage("option class_values of class_shares has a value twice")
                .hint(format!("the classes are {}", list_class_names(convention))),
        );
    }
    Ok(Extension::Sample(Box::new(ClassShares {
        convention,
        class_values,
        band,
    })))
}

fn list_class_names(convention: &Convention) -> String {
    let names = convention.classes.iter().map(|class| class.name);
    names.collect::<Vec<_>>().join(", ")
}

impl SampleExtension for ClassShares {
    fn schema(&self) -> Vec<FieldSpec> {
        self.convention
            .fields
            .iter()
            .map(ConventionField::spec)
            .collect()
    }

    fn compute(&self, sample: &SampleView<'_>, ctx: &JobContext) -> Result<Vec<Value>> {
        let counts = sample
            .tally(ctx)?
            .classes(self.band, &self.class_values, ctx)?;
        self.convention.values(&counts).ok_or_else(|| {
            Error::invalid(format!(
                "band {} has no pixel of the classes",
                self.band + 1
            ))
            .hint("check the option class_values, or name the masks alone with positions")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_those_of_the_convention() {
        for convention in CONVENTIONS {
            let Ok(Extension::Sample(extension)) = make(&json!({ "kind": convention.kind })) else {
                panic!("{}", convention.kind)
            };
            let names: Vec<String> = extension
                .schema()
                .into_iter()
                .map(|field| field.name)
                .collect();
            assert_eq!(
                names,
                convention
                    .fields
                    .iter()
                    .map(|field| field.name)
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn options_that_do_not_fit_the_convention_are_refused() {
        for bad in [
            json!({}),
            json!({ "kind": "fire" }),
            json!({ "kind": "flood", "band": 0 }),
            json!({ "kind": "flood", "class_values": [1] }),
            json!({ "kind": "flood", "class_values": [1, 1] }),
        ] {
            assert!(make(&bad).is_err(), "{bad}");
        }
        assert!(make(&json!({ "kind": "flood", "class_values": [2, 7], "band": 2 })).is_ok());
    }
}
