//! Registration of the collection extensions: options and constructors. Unknown options are refused
//! by the framework.

use serde_json::Value as Json;

use super::super::{
    CollectionExtension, Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec,
    parse_options,
};
use super::{CollectionFields, command, extent, labels, optical, publications, templates, texts};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::Dataset;

/// Every collection extension, in the order of the interface.
pub const ENTRIES: &[ExtensionEntry] = &[
    LABELS,
    OPTICAL,
    PUBLICATIONS,
    SCIENTIFIC,
    SPLIT_STRATEGY,
    RAI,
    EXTENT,
    TEMPLATE,
    command::ENTRY,
];

/// Fields that depend on the options only. They are computed when the extension is created, so that
/// invalid options fail before a run.
struct ConstantFields(CollectionFields);

impl CollectionExtension for ConstantFields {
    fn compute(&self, _: &Dataset, _: &JobContext) -> Result<CollectionFields> {
        Ok(self.0.clone())
    }

    fn reads_samples(&self) -> bool {
        false
    }
}

fn make_constant_fields(
    name: &str,
    specs: &[OptionSpec],
    given: &Json,
    compute: fn(&Json) -> Result<CollectionFields>,
) -> Result<Extension> {
    let complete: Json = parse_options(name, specs, given)?;
    Ok(Extension::Collection(Box::new(ConstantFields(compute(
        &complete,
    )?))))
}

const LABELS: ExtensionEntry = ExtensionEntry {
    name: "labels",
    title: mark!("Labels"),
    summary: mark!("Names the classes of a labelled dataset."),
    scope: ExtensionScope::Collection,
    options: labels_options,
    make: |given| make_constant_fields("labels", &labels_options(), given, labels::labels),
};

fn labels_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("classes"),
            OptionKind::Json,
            mark!("a list of {name, category, description, colour}"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("description"),
            OptionKind::Text,
            mark!("the scheme as a whole"),
        ),
    ]
}

const OPTICAL: ExtensionEntry = ExtensionEntry {
    name: "optical",
    title: mark!("Sensor and bands"),
    summary: mark!("Describes the sensor and its bands, looked up for fourteen sensors."),
    scope: ExtensionScope::Collection,
    options: optical_options,
    make: |given| make_constant_fields("optical", &optical_options(), given, optical::optical),
};

fn optical_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("sensor"),
            OptionKind::Text,
            mark!("for example sentinel2msi, or landsat8oli[B02,B03] for some bands"),
        )
        .make_required(),
        OptionSpec::new(
            mark!("bands"),
            OptionKind::Json,
            mark!("the bands of another sensor, each with a name"),
        ),
        OptionSpec::new(
            mark!("unit"),
            OptionKind::Text,
            mark!(
                "the unit of the pixel values, for example W m-2 sr-1 um-1, instead of reflectance \
                    and K of the known sensors"
            ),
        ),
    ]
}

const PUBLICATIONS: ExtensionEntry = ExtensionEntry {
    name: "publications",
    title: mark!("Publications"),
    summary: mark!("Lists the papers that describe or use the dataset."),
    scope: ExtensionScope::Collection,
    options: publications_options,
    make: |given| {
        make_constant_fields(
            "publications",
            &publications_options(),
            given,
            publications::publications,
        )
    },
};

fn publications_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("publications"),
            OptionKind::Json,
            mark!("a list of {doi, citation, summary}"),
        ),
        OptionSpec::new(
            mark!("bibtex"),
            OptionKind::Text,
            mark!("BibTeX entries, each with a DOI"),
        ),
    ]
}

const SCIENTIFIC: ExtensionEntry = ExtensionEntry {
    name: "scientific",
    title: mark!("How to cite"),
    summary: mark!("Says how the dataset itself is cited."),
    scope: ExtensionScope::Collection,
    options: scientific_options,
    make: |given| {
        make_constant_fields(
            "scientific",
            &scientific_options(),
            given,
            publications::scientific,
        )
    },
};

fn scientific_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(mark!("doi"), OptionKind::Text, mark!("the dataset's DOI")),
        OptionSpec::new(
            mark!("citation"),
            OptionKind::Text,
            mark!("the citation as in a list of references"),
        ),
        OptionSpec::new(
            mark!("bibtex"),
            OptionKind::Text,
            mark!("one BibTeX entry, for what is not given"),
        ),
    ]
}

const SPLIT_STRATEGY: ExtensionEntry = ExtensionEntry {
    name: "split_strategy",
    title: mark!("Describe the split"),
    summary: mark!("Says how the samples were divided into train, validation and test."),
    scope: ExtensionScope::Collection,
    options: strategy_options,
    make: |given| {
        make_constant_fields(
            "split_strategy",
            &strategy_options(),
            given,
            texts::split_strategy,
        )
    },
};

fn strategy_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("strategy"),
            OptionKind::Choice(&texts::STRATEGIES),
            mark!("the method"),
        )
        .make_required(),
    ]
}

const RAI: ExtensionEntry = ExtensionEntry {
    name: "rai",
    title: mark!("Responsible AI"),
    summary: mark!("Answers questions on collection, labels, limits and effects of the data."),
    scope: ExtensionScope::Collection,
    options: rai_options,
    make: |given| make_constant_fields("rai", &rai_options(), given, texts::rai),
};

fn rai_options() -> Vec<OptionSpec> {
    texts::RAI_QUESTIONS
        .iter()
        .map(|(name, question)| OptionSpec::new(name, OptionKind::Json, question))
        .collect()
}

const EXTENT: ExtensionEntry = ExtensionEntry {
    name: "extent",
    title: mark!("Extent"),
    summary: mark!("Computes the extent in space and time from the samples."),
    scope: ExtensionScope::Collection,
    options: Vec::new,
    make: |given| {
        parse_options::<Json>("extent", &[], given)?;
        Ok(Extension::Collection(Box::new(Extent)))
    },
};

struct Extent;

impl CollectionExtension for Extent {
    fn compute(&self, dataset: &Dataset, ctx: &JobContext) -> Result<CollectionFields> {
        extent::extent(dataset, ctx)
    }

    fn is_extent(&self) -> bool {
        true
    }
}

const TEMPLATE: ExtensionEntry = ExtensionEntry {
    name: "template",
    title: mark!("Template"),
    summary: mark!(
        "Fills in tasks, keywords and classes that datasets of one kind share, where the \
            collection has none."
    ),
    scope: ExtensionScope::Collection,
    options: template_options,
    make: |given| {
        let complete: Json = parse_options("template", &template_options(), given)?;
        Ok(Extension::Collection(Box::new(templates::template(
            &complete,
        )?)))
    },
};

fn template_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("kind"),
            OptionKind::Choice(&templates::KINDS),
            mark!("the kind of dataset, or its task"),
        )
        .make_required(),
    ]
}

impl CollectionExtension for templates::DatasetTemplate {
    fn compute(&self, dataset: &Dataset, _: &JobContext) -> Result<CollectionFields> {
        Ok(self.fields(&dataset.collection))
    }
}
