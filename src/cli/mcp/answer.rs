//! What a tool answers: the JSON of the output with its warnings, short enough for the context of a
//! model.

use rmcp::model::CallToolResult;
use serde_json::{Value as Json, json};

use crate::error::Error;
use crate::ops::{AnyOutput, OperationOutput};
use crate::text::Language;

/// Most bytes of an answer; the lists of a longer one are shortened.
const ANSWER_BYTES: usize = 100_000;

/// What an operation did, in a form that outlives its output.
#[derive(Debug)]
pub struct OperationAnswer {
    summary: String,
    is_sound: bool,
    output: Json,
}

impl OperationAnswer {
    /// That of an output, in English.
    pub fn from_output(output: &AnyOutput) -> Self {
        crate::text::speak(Some(Language::English));
        Self {
            summary: output.summary(),
            is_sound: output.is_sound(),
            output: output.to_json(),
        }
    }

    /// The result of the tool. An output that needs attention is no error.
    pub fn into_result(self, warnings: Vec<String>) -> CallToolResult {
        let Self {
            summary,
            is_sound,
            output,
        } = self;
        let (output, left_out) = cut_lists_to_fit(output, ANSWER_BYTES);
        let mut answer = json!({ "summary": summary, "sound": is_sound, "output": output });
        if !warnings.is_empty() {
            answer["warnings"] = json!(warnings);
        }
        if left_out > 0 {
            answer["left_out"] = json!(left_out);
            answer["note"] =
                "Lists were shortened. Ask for less: a filter, a limit, an aggregate.".into();
        }
        CallToolResult::structured(answer)
    }
}

/// The result of a tool that failed: what happened, where, and what to do.
pub fn failure(error: &Error) -> CallToolResult {
    CallToolResult::structured_error(error.to_json())
}

/// The value with lists cut to the greatest length at which it has at most `bytes`, and the number
/// of entries that were left out.
fn cut_lists_to_fit(value: Json, bytes: usize) -> (Json, usize) {
    let mut longest = 1024;
    let mut best = (value, 0);
    while best.0.to_string().len() > bytes && longest > 0 {
        let (value, before) = best;
        let mut left_out = before;
        let cut = cut_lists(value, longest, &mut left_out);
        best = (cut, left_out);
        longest /= 2;
    }
    best
}

fn cut_lists(value: Json, longest: usize, left_out: &mut usize) -> Json {
    match value {
        Json::Array(mut values) => {
            *left_out += values.len().saturating_sub(longest);
            values.truncate(longest);
            values
                .into_iter()
                .map(|value| cut_lists(value, longest, left_out))
                .collect()
        }
        Json::Object(fields) => Json::Object(
            fields
                .into_iter()
                .map(|(name, value)| (name, cut_lists(value, longest, left_out)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_counted_and_short_answers_stay() {
        let short = json!({ "rows": [1, 2, 3], "nested": { "a": "b" } });
        assert_eq!(cut_lists_to_fit(short.clone(), 1000), (short, 0));
        let rows: Vec<Json> = (0..5000)
            .map(|n| json!({ "id": n, "list": vec![n; 10] }))
            .collect();
        let (cut, left_out) = cut_lists_to_fit(json!({ "rows": rows }), 10_000);
        let kept = cut["rows"].as_array().expect("a list");
        assert!(
            cut.to_string().len() <= 10_000 && kept.len() >= 32,
            "{} rows of {}",
            kept.len(),
            cut.to_string().len()
        );
        assert_eq!(kept[0]["list"].as_array().map(Vec::len), Some(10));
        assert_eq!(left_out, 5000 - kept.len());
    }
}
