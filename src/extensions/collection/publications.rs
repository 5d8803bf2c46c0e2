//! `publications`: papers that describe or use the dataset; and `sci:*`: the citation of the
//! dataset itself.

use serde_json::{Value as Json, json};

use super::{CollectionFields, bibtex, options};
use crate::error::{Error, Result};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicationOptions {
    #[serde(default)]
    publications: Vec<PaperReference>,
    #[serde(default)]
    bibtex: Option<String>,
}

/// One paper.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperReference {
    /// DOI such as `10.1038/s41586-021-03819-2`; a leading `https://doi.org/` or `doi:` is
    /// accepted.
    pub doi: String,
    /// Formatted citation.
    pub citation: String,
    /// Relation to the dataset.
    #[serde(default)]
    pub summary: Option<String>,
}

/// `publications` from `{publications: [{doi, citation, summary?}], bibtex?}`; the BibTeX entries
/// follow the listed publications.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a publication without DOI or citation, an invalid
/// DOI, or none at all.
pub fn publications(given: &Json) -> Result<CollectionFields> {
    let given: PublicationOptions = options("publications", given)?;
    let mut list = given.publications;
    for entry in given
        .bibtex
        .as_deref()
        .map(bibtex::parse)
        .transpose()?
        .unwrap_or_default()
    {
        let doi = entry.doi().ok_or_else(|| {
            Error::usage(format!("the BibTeX entry {} has no DOI", entry.key))
                .hint("add a field doi to it, or leave the entry out")
        })?;
        list.push(PaperReference {
            doi,
            citation: entry.citation(),
            summary: None,
        });
    }
    if list.is_empty() {
        return Err(Error::usage("no publication is given"));
    }
    for publication in &mut list {
        publication.doi = plain_doi(&publication.doi)?;
        if publication.citation.trim().is_empty() {
            return Err(Error::usage(format!(
                "the publication {} has no citation",
                publication.doi
            )));
        }
    }
    Ok(vec![("publications".into(), json!(list))])
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Scientific {
    #[serde(default)]
    doi: Option<String>,
    #[serde(default)]
    citation: Option<String>,
    #[serde(default)]
    bibtex: Option<String>,
}

/// `sci:doi` and `sci:citation` of the STAC Scientific extension, from
/// `{doi?, citation?, bibtex?}`; a single BibTeX entry supplies missing values.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when neither value is given, the DOI is invalid, or
/// there are several BibTeX entries.
pub fn scientific(given: &Json) -> Result<CollectionFields> {
    let mut given: Scientific = options("scientific", given)?;
    if let Some(text) = &given.bibtex {
        let entries = bibtex::parse(text)?;
        let [entry] = entries.as_slice() else {
            return Err(Error::usage(format!(
                "the dataset's citation is one BibTeX entry, not {}",
                entries.len()
            )));
        };
        given.doi = given.doi.or_else(|| entry.doi());
        given.citation = given.citation.or_else(|| Some(entry.citation()));
    }
    let mut fields = CollectionFields::new();
    if let Some(doi) = &given.doi {
        fields.push(("sci:doi".into(), json!(plain_doi(doi)?)));
    }
    if let Some(citation) = given.citation.filter(|text| !text.trim().is_empty()) {
        fields.push(("sci:citation".into(), json!(citation)));
    }
    if fields.is_empty() {
        return Err(Error::usage("neither a DOI nor a citation is given"));
    }
    Ok(fields)
}

/// The DOI without a leading URL or `doi:`.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when `text` is not a DOI.
pub fn plain_doi(text: &str) -> Result<String> {
    let mut doi = text.trim();
    for prefix in ["https://", "http://", "dx.doi.org/", "doi.org/", "doi:"] {
        if doi
            .get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        {
            doi = doi[prefix.len()..].trim_start();
        }
    }
    let registrant = doi
        .strip_prefix("10.")
        .and_then(|rest| rest.split_once('/'));
    let good = registrant.is_some_and(|(number, suffix)| {
        number.len() >= 4
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && !suffix.is_empty()
    });
    if !good || doi.contains(char::is_whitespace) {
        return Err(Error::usage(format!("{text:?} is not a DOI"))
            .hint("it looks like 10.1038/s41586-021-03819-2"));
    }
    Ok(doi.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dois_lose_their_address() {
        for text in [
            "10.1038/x",
            " https://doi.org/10.1038/x ",
            "http://dx.doi.org/10.1038/x",
            "doi: 10.1038/x",
            "DOI:10.1038/x",
        ] {
            assert_eq!(plain_doi(text).ok().as_deref(), Some("10.1038/x"), "{text}");
        }
        for bad in [
            "",
            "10.1038",
            "10.12/x",
            "11.1038/x",
            "https://example.org/x",
            "10.1038/a b",
            "10.1038/",
        ] {
            assert!(plain_doi(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_and_bibtex_are_joined() {
        let given = json!({ "publications": [{ "doi": "10.1000/1", "citation": "A (2020)" }],
                            "bibtex": "@article{k, author={Doe, Jane and Roe, R.}, title={{Land} \
                                cover}, journal=\"Nature\", year=2021, doi={10.1000/2}}" });
        let fields = publications(&given).expect("works");
        assert_eq!(fields[0].0, "publications");
        assert_eq!(
            fields[0].1[0],
            json!({ "doi": "10.1000/1", "citation": "A (2020)", "summary": null })
        );
        assert_eq!(
            fields[0].1[1]["citation"],
            "Doe, Jane; Roe, R. (2021). Land cover. Nature."
        );
        assert!(publications(&json!({})).is_err());
        assert!(
            publications(&json!({ "bibtex": "@misc{k, title={x}}" }))
                .expect_err("no DOI")
                .to_string()
                .contains("no DOI")
        );
    }

    #[test]
    fn the_dataset_itself_is_cited() {
        let fields = scientific(
            &json!({ "doi": "doi:10.5281/zenodo.1", "bibtex": "@misc{k, author={X}, title={T}, \
                year={2024}}" }),
        );
        let fields = fields.expect("works");
        assert_eq!(fields[0], ("sci:doi".into(), json!("10.5281/zenodo.1")));
        assert_eq!(fields[1], ("sci:citation".into(), json!("X (2024). T.")));
    }
}
