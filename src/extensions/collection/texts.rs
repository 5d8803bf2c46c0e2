//! Fields with text by the author: the split strategy (`split:strategy`), and the answers on
//! responsible AI (`rai:*`, named as in Croissant RAI 1.0).

use serde_json::{Value as Json, json};

use super::CollectionFields;
use crate::error::{Error, Result};
use crate::text::nearest;

/// The strategies of the specification.
pub const STRATEGIES: [&str; 6] = ["random", "stratified", "manual", "other", "none", "unknown"];

/// The questions on responsible AI: key without prefix, and question.
pub const RAI_QUESTIONS: [(&str, &str); 18] = [
    ("dataCollection", mark!("How were the data collected?")),
    (
        "dataCollectionType",
        mark!("What kinds of collection were used?"),
    ),
    (
        "dataCollectionMissingData",
        mark!("What is missing, and why?"),
    ),
    (
        "dataCollectionRawData",
        mark!("What are the raw data, and where are they?"),
    ),
    (
        "dataCollectionTimeframe",
        mark!("When were the data collected?"),
    ),
    ("dataImputationProtocol", mark!("How were gaps filled?")),
    (
        "dataPreprocessingProtocol",
        mark!("What was done to the data before publication?"),
    ),
    ("dataManipulationProtocol", mark!("What else was changed?")),
    ("dataAnnotationProtocol", mark!("How were the labels made?")),
    (
        "dataAnnotationPlatform",
        mark!("With what tool were the labels made?"),
    ),
    (
        "dataAnnotationAnalysis",
        mark!("How well do the labels agree?"),
    ),
    (
        "annotationsPerItem",
        mark!("How many people labelled each sample?"),
    ),
    (
        "annotatorDemographics",
        mark!("Who labelled, and where do they live?"),
    ),
    ("dataUseCases", mark!("What are the data meant for?")),
    ("dataLimitations", mark!("What are the data not fit for?")),
    (
        "dataBiases",
        mark!("Which places, times or groups are over- or under-represented?"),
    ),
    (
        "personalSensitiveInformation",
        mark!("Do the data say something about single people?"),
    ),
    (
        "dataSocialImpact",
        mark!("What good or harm may come of the data?"),
    ),
];

/// `split:strategy` from `{strategy}`.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a strategy that is not in [`STRATEGIES`].
pub fn split_strategy(given: &Json) -> Result<CollectionFields> {
    let strategy = given
        .get("strategy")
        .and_then(Json::as_str)
        .unwrap_or_default();
    if !STRATEGIES.contains(&strategy) {
        let error = Error::usage(format!("{strategy:?} is not a split strategy"));
        return Err(error.hint(format!("choose one of {}", STRATEGIES.join(", "))));
    }
    Ok(vec![("split:strategy".into(), json!(strategy))])
}

/// `rai:*` from an object with the keys of [`RAI_QUESTIONS`], with or without prefix, and strings
/// or lists of strings as answers. The result is in the order of [`RAI_QUESTIONS`]; empty answers
/// are omitted.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown question, an answer of another type,
/// or no answer.
pub fn rai(given: &Json) -> Result<CollectionFields> {
    let answers = given
        .as_object()
        .ok_or_else(|| Error::usage("the answers on responsible AI have to be an object"))?;
    let mut found: Vec<(usize, Json)> = Vec::new();
    for (key, answer) in answers {
        let name = key.strip_prefix("rai:").unwrap_or(key);
        let Some(place) = RAI_QUESTIONS.iter().position(|(known, _)| *known == name) else {
            let error = Error::usage(format!("{key:?} is not a question of responsible AI"));
            return Err(
                match nearest(name, RAI_QUESTIONS.iter().map(|(known, _)| *known)) {
                    Some(near) => error.hint(format!("did you mean {near}?")),
                    None => error,
                },
            );
        };
        let empty = match answer {
            Json::Null => true,
            Json::String(text) => text.trim().is_empty(),
            Json::Array(texts) if texts.iter().all(Json::is_string) => texts.is_empty(),
            _ => {
                return Err(Error::usage(format!(
                    "the answer to {key} has to be text, or a list of texts"
                )));
            }
        };
        if !empty {
            found.push((place, answer.clone()));
        }
    }
    if found.is_empty() {
        return Err(Error::usage("no question of responsible AI is answered"));
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found
        .into_iter()
        .map(|(place, answer)| (format!("rai:{}", RAI_QUESTIONS[place].0), answer))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_are_those_of_the_specification() {
        assert_eq!(
            split_strategy(&json!({ "strategy": "random" })).expect("known"),
            [("split:strategy".into(), json!("random"))]
        );
        assert!(
            split_strategy(&json!({ "strategy": "Random" }))
                .expect_err("unknown")
                .report()
                .contains("stratified")
        );
    }

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        let fields = rai(&json!({
            "dataBiases": "mostly Europe",
            "rai:dataCollection": "by satellite",
            "dataUseCases": "",
        }));
        let fields = fields.expect("works");
        assert_eq!(
            fields
                .iter()
                .map(|(key, _)| key.as_str())
                .collect::<Vec<_>>(),
            ["rai:dataCollection", "rai:dataBiases"]
        );
        assert!(
            rai(&json!({ "dataBias": "x" }))
                .expect_err("unknown")
                .report()
                .contains("dataBiases")
        );
        assert!(
            rai(&json!({ "dataBiases": 3 })).is_err()
                && rai(&json!({})).is_err()
                && rai(&json!([])).is_err()
        );
    }
}
