//! Layouts of a published dataset: documents, limits and upload commands of object stores, Hugging
//! Face, Zenodo and Source Cooperative. Limits are those that they published in November 2025.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::container::Format;
use crate::export::{CatalogueDocument, escape_html, format_yaml_list, quote_yaml};
use crate::model::{Address, Collection, Scheme};
use crate::ops::join_for_shell;

/// Layout of the published files: that of the dataset, or that of a hosting service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PublishLayout {
    /// An object store, or any folder.
    #[default]
    Store,
    /// A dataset repository of Hugging Face.
    HuggingFace,
    /// A record of Zenodo: files without folders.
    Zenodo,
    /// A product of Source Cooperative.
    SourceCooperative,
}

/// Limits of a target.
pub(super) struct TargetLimits {
    /// Maximum size of a file in bytes.
    pub file_bytes: u64,
    /// Recommended maximum size of a file in bytes.
    pub recommended_bytes: u64,
    /// Maximum number of files.
    pub files: Option<u64>,
    /// Maximum size of all files in bytes.
    pub total_bytes: Option<u64>,
}

impl TargetLimits {
    /// Limits of a target that limits nothing but the size of a file.
    fn from_file_limit(file_bytes: u64) -> Self {
        Self {
            file_bytes,
            recommended_bytes: u64::MAX,
            files: None,
            total_bytes: None,
        }
    }
}

impl PublishLayout {
    /// Every layout, in menu order.
    pub const ALL: [PublishLayout; 4] = [
        PublishLayout::Store,
        PublishLayout::HuggingFace,
        PublishLayout::Zenodo,
        PublishLayout::SourceCooperative,
    ];

    /// Name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::HuggingFace => "hugging-face",
            Self::Zenodo => "zenodo",
            Self::SourceCooperative => "source-cooperative",
        }
    }

    /// Title in menus.
    pub fn title(self) -> &'static str {
        match self {
            Self::Store => mark!("Object store or folder"),
            Self::HuggingFace => "Hugging Face",
            Self::Zenodo => "Zenodo",
            Self::SourceCooperative => "Source Cooperative",
        }
    }

    /// True when the files are written to a local folder, which the service's client uploads.
    pub fn is_uploaded_by_another_program(self) -> bool {
        self != Self::Store
    }

    /// True when the files belong to a repository OWNER/NAME.
    pub fn has_repository(self) -> bool {
        matches!(self, Self::HuggingFace | Self::SourceCooperative)
    }

    /// Indexes over parts; the one that readers open is last.
    pub(super) fn indexes(self) -> &'static [Format] {
        match self {
            // Zenodo records have no folders.
            Self::Zenodo => &[Format::Tacollection, Format::TacocatFile],
            _ => &[Format::Tacollection, Format::Tacocat],
        }
    }

    /// Names of the documents that this layout adds to those of every layout.
    pub(super) fn extra_documents(self) -> &'static [&'static str] {
        match self {
            Self::Zenodo => &[DEPOSIT],
            _ => &[],
        }
    }

    /// URL at which readers find the files of a repository.
    pub(super) fn url(self, repository: Option<&str>) -> Option<String> {
        let repository = repository?;
        match self {
            Self::HuggingFace => Some(format!(
                "https://huggingface.co/datasets/{repository}/resolve/main"
            )),
            Self::SourceCooperative => Some(format!("https://data.source.coop/{repository}")),
            Self::Store | Self::Zenodo => None,
        }
    }

    pub(super) fn limits(self, target: &Path) -> TargetLimits {
        const GB: u64 = 1_000_000_000;
        match self {
            Self::HuggingFace => TargetLimits {
                recommended_bytes: 20 * GB,
                files: Some(100_000),
                ..TargetLimits::from_file_limit(50 * GB)
            },
            Self::Zenodo => TargetLimits {
                files: Some(100),
                total_bytes: Some(50 * GB),
                ..TargetLimits::from_file_limit(50 * GB)
            },
            Self::SourceCooperative => TargetLimits::from_file_limit(5 << 40),
            Self::Store => match Address::from_path(target).map(|address| address.scheme) {
                Some(Scheme::S3 | Scheme::Gs) => TargetLimits::from_file_limit(5 << 40),
                Some(Scheme::Az) => TargetLimits::from_file_limit(190 << 40),
                _ => TargetLimits::from_file_limit(u64::MAX),
            },
        }
    }

    /// Adapts the documents to the layout, and adds its extra documents.
    pub(super) fn adapt_documents(
        self,
        documents: &mut Vec<CatalogueDocument>,
        collection: &Collection,
        samples: u64,
    ) {
        match self {
            Self::HuggingFace => {
                if let Some(card) = documents
                    .iter_mut()
                    .find(|document| document.name == "README.md")
                {
                    let text = String::from_utf8_lossy(&card.bytes);
                    card.bytes = [
                        front_matter(collection, samples).as_str(),
                        without_front_matter(&text),
                    ]
                    .concat()
                    .into_bytes();
                }
            }
            Self::SourceCooperative => {
                // The service renders the file without parsing front matter.
                if let Some(card) = documents
                    .iter_mut()
                    .find(|document| document.name == "README.md")
                {
                    let text = String::from_utf8_lossy(&card.bytes);
                    card.bytes = without_front_matter(&text)
                        .trim_start()
                        .to_owned()
                        .into_bytes();
                }
            }
            Self::Zenodo => {
                let mut bytes =
                    serde_json::to_vec_pretty(&build_deposit(collection)).unwrap_or_default();
                bytes.push(b'\n');
                documents.push(CatalogueDocument {
                    name: DEPOSIT.into(),
                    bytes,
                });
            }
            Self::Store => {}
        }
    }

    /// Command lines that upload a folder with the layout's own client.
    pub(super) fn upload_commands(self, folder: &Path, repository: Option<&str>) -> Vec<String> {
        let repository = repository.unwrap_or("OWNER/NAME");
        let folder = join_for_shell([folder.display().to_string().as_str()]);
        match self {
            Self::Store => Vec::new(),
            Self::HuggingFace => vec![
                "hf auth login".into(),
                format!("hf upload {repository} {folder} . --repo-type dataset"),
            ],
            Self::SourceCooperative => vec![
                "# credentials: the page of the product, View Credentials".into(),
                format!("aws s3 sync {folder} s3://us-west-2.opendata.source.coop/{repository}/"),
            ],
            Self::Zenodo => vec![
                "# Zenodo has no client of its own; this is its REST API. ZENODO_TOKEN has the \
                    scope deposit:write"
                    .into(),
                format!(
                    "BUCKET=$(curl -fsS -H \"Authorization: Bearer $ZENODO_TOKEN\" -H \
                        \"Content-Type: application/json\" \
                     -d @{folder}/{DEPOSIT} https://zenodo.org/api/deposit/depositions | jq -r \
                        .links.bucket)"
                ),
                format!(
                    "for file in {folder}/*; do curl -fsS -H \"Authorization: Bearer \
                        $ZENODO_TOKEN\" --upload-file \"$file\" \
                     \"$BUCKET/$(basename \"$file\")\"; done"
                ),
                "# then look at the draft on zenodo.org, and publish it there".into(),
            ],
        }
    }
}

/// File with the metadata of a deposit in the form of Zenodo's REST API.
const DEPOSIT: &str = ".zenodo-deposit.json";

/// Markdown without its YAML front matter.
fn without_front_matter(text: &str) -> &str {
    text.strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(text, |(_, body)| body)
}

fn list_texts<'a>(collection: &'a Collection, key: &str) -> Vec<&'a str> {
    collection
        .get(key)
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect()
}

/// Tasks of TACO, each with its category in Hugging Face.
const TASK_CATEGORIES: [(&str, &str); 16] = [
    ("classification", "image-classification"),
    ("scene-classification", "image-classification"),
    ("detection", "object-detection"),
    ("object-detection", "object-detection"),
    ("segmentation", "image-segmentation"),
    ("semantic-segmentation", "image-segmentation"),
    ("instance-segmentation", "image-segmentation"),
    ("panoptic-segmentation", "image-segmentation"),
    ("similarity-search", "image-feature-extraction"),
    ("foundation-model", "image-feature-extraction"),
    ("image-captioning", "image-to-text"),
    ("super-resolution", "image-to-image"),
    ("denoising", "image-to-image"),
    ("inpainting", "image-to-image"),
    ("colorization", "image-to-image"),
    ("deblurring", "image-to-image"),
];

/// The front matter of a dataset card of Hugging Face: YAML, whose texts are JSON strings.
fn front_matter(collection: &Collection, samples: u64) -> String {
    let title = Some(collection.text("title"))
        .filter(|title| !title.trim().is_empty())
        .unwrap_or(collection.id());
    let mut text = format!("---\npretty_name: {}\n", quote_yaml(title));
    // The Hub names licences by their SPDX identifiers in lower case; others are `other` and have a
    // name of their own.
    let licences = list_texts(collection, "licenses");
    match licences.as_slice() {
        [] => {}
        known
            if known
                .iter()
                .all(|licence| spdx::license_id(licence).is_some()) =>
        {
            text += &format_yaml_list(
                "license",
                &known
                    .iter()
                    .map(|licence| licence.to_lowercase())
                    .collect::<Vec<_>>(),
            );
        }
        others => {
            text += &format!(
                "license: other\nlicense_name: {}\n",
                quote_yaml(&others.join(", ").to_lowercase().replace(' ', "-"))
            )
        }
    }
    let mut categories: Vec<String> = Vec::new();
    for task in list_texts(collection, "tasks") {
        let category = TASK_CATEGORIES
            .iter()
            .find(|(own, _)| *own == task)
            .map_or("other", |(_, category)| *category);
        if !categories.iter().any(|known| known == category) {
            categories.push(category.to_owned());
        }
    }
    text += &format_yaml_list("task_categories", &categories);
    let own = ["taco".to_owned(), "earth-observation".to_owned()];
    let tags: Vec<String> = own
        .into_iter()
        .chain(
            list_texts(collection, "keywords")
                .into_iter()
                .chain(list_texts(collection, "tasks"))
                .map(str::to_owned),
        )
        .collect();
    text += &format_yaml_list("tags", &tags);
    text + &format!("size_categories:\n- {}\n---\n", size_category(samples))
}

/// The category of Hugging Face for a number of samples.
fn size_category(samples: u64) -> &'static str {
    match samples {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        10_000_000..100_000_000 => "10M<n<100M",
        100_000_000..1_000_000_000 => "100M<n<1B",
        1_000_000_000..10_000_000_000 => "1B<n<10B",
        10_000_000_000..100_000_000_000 => "10B<n<100B",
        100_000_000_000..1_000_000_000_000 => "100B<n<1T",
        _ => "n>1T",
    }
}

/// The metadata of a deposit on Zenodo.
fn build_deposit(collection: &Collection) -> Json {
    let providers = collection.get("providers").and_then(Json::as_array);
    let creators: Vec<Json> = providers
        .into_iter()
        .flatten()
        .filter_map(describe_creator)
        .collect();
    let title = Some(collection.text("title"))
        .filter(|title| !title.trim().is_empty())
        .unwrap_or(collection.id());
    let paragraphs = collection
        .text("description")
        .split("\n\n")
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let description: String = paragraphs
        .map(|text| format!("<p>{}</p>", escape_html(text)))
        .collect();
    let mut metadata = json!({
        "upload_type": "dataset",
        "title": title,
        "description": description,
        "creators": creators,
        "access_right": "open",
        "version": collection.text("dataset_version"),
        "keywords": list_texts(collection, "keywords"),
    });
    if let Some(licence) = list_texts(collection, "licenses").first() {
        metadata["license"] = json!(licence.to_lowercase());
    }
    json!({ "metadata": metadata })
}

fn describe_creator(contact: &Json) -> Option<Json> {
    let name = read_contact_name(contact)?;
    let mut creator = json!({ "name": name });
    if let Some(organization) =
        read_contact_text(contact, "organization").filter(|organization| *organization != name)
    {
        creator["affiliation"] = json!(organization);
    }
    Some(creator)
}

/// The name of a person, else that of the organization.
pub(super) fn read_contact_name(contact: &Json) -> Option<&str> {
    read_contact_text(contact, "name").or_else(|| read_contact_text(contact, "organization"))
}

fn read_contact_text<'a>(contact: &'a Json, key: &str) -> Option<&'a str> {
    contact
        .get(key)
        .and_then(Json::as_str)
        .filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection() -> Collection {
        let Json::Object(fields) = json!({
            "id": "peru", "title": "Peru: \"cropland\"", "dataset_version": "1.2.0",
            "description": "One <b>.\n\nTwo.",
            "licenses": ["CC-BY-4.0"], "tasks": [
                "semantic-segmentation",
                "segmentation",
                "regression",
            ], "keywords": ["crops"],
            "providers": [{ "name": "Ana", "organization": "ACML" }],
        }) else {
            unreachable!("is an object")
        };
        Collection { fields }
    }

    #[test]
    fn the_card_of_hugging_face_has_its_front_matter_once() {
        let mut documents = vec![CatalogueDocument {
            name: "README.md".into(),
            bytes: b"---\npretty_name: x\n---\n\n# Peru\n\n---\nrest\n".to_vec(),
        }];
        PublishLayout::HuggingFace.adapt_documents(&mut documents, &collection(), 12_000);
        let text = String::from_utf8(documents.remove(0).bytes).expect("is text");
        let wanted = "---\npretty_name: \"Peru: \\\"cropland\\\"\"\nlicense:\n- \"cc-by-4.0\"\n\
            task_categories:\n- \"image-segmentation\"\n\
                      - \"other\"\ntags:\n- \"taco\"\n- \"earth-observation\"\n- \"crops\"\n- \
            \"semantic-segmentation\"\n- \"segmentation\"\n\
                      - \"regression\"\nsize_categories:\n- 10K<n<100K\n---\n\n# Peru\n\n---\n\
            rest\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn large_datasets_have_the_size_category_of_their_samples() {
        for (samples, category) in [
            (999, "n<1K"),
            (1_000, "1K<n<10K"),
            (99_999_999, "10M<n<100M"),
            (100_000_000, "100M<n<1B"),
            (u64::MAX, "n>1T"),
        ] {
            assert_eq!(size_category(samples), category);
        }
    }

    #[test]
    fn a_deposit_names_creators_and_escapes_its_description() {
        let metadata = &build_deposit(&collection())["metadata"];
        assert_eq!(
            metadata["creators"],
            json!([{ "name": "Ana", "affiliation": "ACML" }])
        );
        assert_eq!(metadata["description"], "<p>One &lt;b&gt;.</p><p>Two.</p>");
        assert_eq!(metadata["license"], "cc-by-4.0");
    }

    #[test]
    fn command_lines_quote_folders_and_hold_no_secret() {
        for layout in PublishLayout::ALL {
            let lines = layout
                .upload_commands(Path::new("/out/it's here"), Some("ana/peru"))
                .join("\n");
            assert_eq!(lines.is_empty(), layout == PublishLayout::Store);
            assert!(
                lines.is_empty() || lines.contains("\"/out/it's here\""),
                "{lines}"
            );
        }
    }
}
