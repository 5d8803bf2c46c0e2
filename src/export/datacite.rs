//! DataCite 4.5 as JSON, in the layout of the published schema.

use serde_json::{Map, Value as Json, json};

use super::{Contact, Described, Facts};

/// The metadata of the dataset.
pub fn document(described: &Described<'_>) -> Json {
    let mut out = Map::new();
    if let Some(doi) = described
        .text("sci:doi")
        .map(|doi| super::plain_doi(doi.to_owned()))
    {
        if let Some((prefix, suffix)) = doi.split_once('/') {
            out.insert("prefix".into(), json!(prefix));
            out.insert("suffix".into(), json!(suffix));
        }
        out.insert("doi".into(), json!(doi));
    }
    if let Some(url) = described.url() {
        out.insert("url".into(), json!(url));
    }
    out.insert(
        "types".into(),
        json!({ "resourceTypeGeneral": "Dataset", "resourceType": "Earth observation dataset" }),
    );
    let providers = described.contacts("providers");
    let creators: Vec<Json> = match providers.as_slice() {
        [] => vec![json!({ "name": described.title(), "nameType": "Organizational" })],
        some => some.iter().map(creator).collect(),
    };
    out.insert("creators".into(), json!(creators));
    out.insert("titles".into(), json!([{ "title": described.title() }]));
    let publisher = providers
        .iter()
        .find(|contact| contact.roles.iter().any(|role| role == "host"))
        .or(providers.first());
    let publisher = publisher.map_or(described.title(), |contact| {
        contact.organization.as_deref().unwrap_or(&contact.name)
    });
    out.insert("publisher".into(), json!({ "name": publisher }));
    // The schema requires a year.
    let year = described
        .year()
        .unwrap_or_else(|| chrono::Utc::now().format("%Y").to_string());
    out.insert("publicationYear".into(), json!(year));
    let subjects: Vec<Json> = described
        .texts("keywords")
        .into_iter()
        .chain(described.texts("tasks"))
        .map(|text| json!({ "subject": text }))
        .collect();
    if !subjects.is_empty() {
        out.insert("subjects".into(), json!(subjects));
    }
    let curators: Vec<Json> = described
        .contacts("curators")
        .iter()
        .map(|contact| {
            let mut entry = creator(contact);
            entry["contributorType"] = json!("DataCurator");
            entry
        })
        .collect();
    if !curators.is_empty() {
        out.insert("contributors".into(), json!(curators));
    }
    let mut dates: Vec<Json> = described
        .day()
        .map(|day| json!({ "date": day, "dateType": "Updated" }))
        .into_iter()
        .collect();
    if let Some([start, end]) = &described.interval {
        dates.push(json!({ "date": format!("{start}/{end}"), "dateType": "Collected" }));
    }
    if !dates.is_empty() {
        out.insert("dates".into(), json!(dates));
    }
    let related: Vec<Json> = described
        .publications()
        .into_iter()
        .skip(usize::from(described.text("sci:doi").is_some()))
        .filter_map(|one| one.doi)
        .map(|doi| {
            json!({ "relatedIdentifier": doi, "relatedIdentifierType": "DOI",
            "relationType": "IsDescribedBy" })
        })
        .collect();
    if !related.is_empty() {
        out.insert("relatedIdentifiers".into(), json!(related));
    }
    let bytes = described
        .facts
        .size_bytes
        .map(|size| format!("{size} bytes"));
    let sizes: Vec<String> = bytes
        .into_iter()
        .chain([format!("{} samples", described.assembly.tree.total())])
        .collect();
    out.insert("sizes".into(), json!(sizes));
    let mut formats: Vec<&str> = described.datasets().iter().map(Facts::media_type).collect();
    formats.dedup();
    out.insert("formats".into(), json!(formats));
    out.insert("version".into(), json!(described.version()));
    let rights: Vec<Json> = described
        .texts("licenses")
        .into_iter()
        .map(describe_right)
        .collect();
    if !rights.is_empty() {
        out.insert("rightsList".into(), json!(rights));
    }
    out.insert(
        "descriptions".into(),
        json!([{ "description": described.description(), "descriptionType": "Abstract" }]),
    );
    if let Some([west, south, east, north]) = described.bbox {
        let sides = json!({
            "westBoundLongitude": west, "eastBoundLongitude": east, "southBoundLatitude": south,
            "northBoundLatitude": north
        });
        out.insert("geoLocations".into(), json!([{ "geoLocationBox": sides }]));
    }
    out.insert(
        "schemaVersion".into(),
        json!("http://datacite.org/schema/kernel-4"),
    );
    Json::Object(out)
}

fn creator(contact: &Contact) -> Json {
    let alone = contact.organization.is_none()
        || contact.organization.as_deref() == Some(contact.name.as_str());
    let mut out = json!({ "name": contact.name });
    match (&contact.organization, alone) {
        (Some(organization), false) => {
            out["nameType"] = json!("Personal");
            out["affiliation"] = json!([{ "name": organization }]);
        }
        (Some(_), true) => out["nameType"] = json!("Organizational"),
        // A name without a type may be a person or an organization.
        (None, _) => {}
    }
    out
}

fn describe_right(licence: &str) -> Json {
    match spdx::license_id(licence) {
        Some(known) => json!({
            "rights": known.full_name, "rightsUri": format!(
                "https://spdx.org/licenses/{licence}.html"
            ),
            "rightsIdentifier": licence, "rightsIdentifierScheme": "SPDX",
            "schemeUri": "https://spdx.org/licenses/"
        }),
        None => json!({ "rights": licence }),
    }
}
