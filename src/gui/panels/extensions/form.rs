//! The form for the options of one extension, generated from the registry: each option kind has its
//! control, and text that can't be parsed as that kind shows an error below it.

use std::collections::BTreeMap;

use egui::{Ui, vec2};
use serde_json::{Map, Value as Json};

use crate::extensions::{OptionKind, OptionSpec, join_command_line, split_command_line};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, FieldNote, TextField};

/// Typed option values by name; missing options have their default.
pub type TypedOptions = BTreeMap<String, String>;

/// The typed options as JSON. `Err` names the option and the value it takes.
pub fn options_of(specs: &[OptionSpec], typed: &TypedOptions) -> Result<Json, (String, String)> {
    let mut options = Map::new();
    for spec in specs {
        let Some(text) = typed
            .get(spec.name)
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())
        else {
            if spec.required {
                return Err((
                    spec.name.to_owned(),
                    tr!(
                        "Needed: {help}.",
                        help = crate::text::translate_text(spec.help)
                    ),
                ));
            }
            continue;
        };
        let value = value_of(spec.kind, text).ok_or_else(|| {
            (
                spec.name.to_owned(),
                tr!("This is not {kind}.", kind = kind_text(spec.kind)),
            )
        })?;
        options.insert(spec.name.to_owned(), value);
    }
    Ok(if options.is_empty() {
        Json::Null
    } else {
        Json::Object(options)
    })
}

/// The rest of the sentence "This is not …" for an option kind.
fn kind_text(kind: OptionKind) -> String {
    match kind {
        OptionKind::Bool => tr!("true or false").to_owned(),
        OptionKind::Integer => tr!("a whole number").to_owned(),
        OptionKind::Number => tr!("a number").to_owned(),
        OptionKind::Text => tr!("text" in "kind of an option").to_owned(),
        OptionKind::Choice(words) => tr!("one of {words}", words = words.join(", ")),
        OptionKind::List(inner) => tr!("a list, each entry {kind}", kind = kind_text(*inner)),
        OptionKind::Path => tr!("a path").to_owned(),
        OptionKind::Column => tr!("the name of a column").to_owned(),
        OptionKind::CommandLine => tr!("a command line, such as python3 prog.py").to_owned(),
        OptionKind::Shares => tr!("names with numbers").to_owned(),
        OptionKind::Json => "JSON".to_owned(),
    }
}

/// The form's text for given options.
pub fn typed_of(specs: &[OptionSpec], options: &Json) -> TypedOptions {
    let entries = options.as_object().into_iter().flatten();
    entries
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), format_option_value(specs, name, value)))
        .collect()
}

fn format_option_value(specs: &[OptionSpec], name: &str, value: &Json) -> String {
    let is_line = specs
        .iter()
        .any(|spec| spec.name == name && spec.kind == OptionKind::CommandLine);
    match serde_json::from_value::<Vec<String>>(value.clone()) {
        Ok(words) if is_line => join_command_line(&words),
        _ => text_of(value),
    }
}

fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Array(items)
            if items
                .iter()
                .all(|item| !item.is_array() && !item.is_object()) =>
        {
            items.iter().map(text_of).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn value_of(kind: OptionKind, text: &str) -> Option<Json> {
    match kind {
        OptionKind::Bool => text.parse::<bool>().ok().map(Json::Bool),
        OptionKind::Integer => text.parse::<i64>().ok().map(Json::from),
        OptionKind::Number => match text.parse::<i64>() {
            Ok(number) => Some(Json::from(number)),
            Err(_) => text
                .parse::<f64>()
                .ok()
                .and_then(serde_json::Number::from_f64)
                .map(Json::Number),
        },
        OptionKind::Text | OptionKind::Path | OptionKind::Column => {
            Some(Json::String(text.to_owned()))
        }
        OptionKind::Choice(words) => words.contains(&text).then(|| Json::String(text.to_owned())),
        OptionKind::List(inner) => {
            if text.starts_with('[') {
                serde_json::from_str::<Vec<Json>>(text)
                    .ok()
                    .map(Json::Array)
            } else {
                let items = text
                    .split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty());
                items
                    .map(|item| value_of(*inner, item))
                    .collect::<Option<Vec<_>>>()
                    .map(Json::Array)
            }
        }
        OptionKind::CommandLine => {
            if text.starts_with('[') {
                serde_json::from_str::<Vec<String>>(text)
                    .ok()
                    .map(Json::from)
            } else {
                split_command_line(text)
                    .ok()
                    .filter(|words| !words.is_empty())
                    .map(Json::from)
            }
        }
        OptionKind::Shares => serde_json::from_str::<Map<String, Json>>(text)
            .ok()
            .filter(|shares| shares.values().all(Json::is_number))
            .map(Json::Object),
        // A bare word is a string: quotes are optional.
        OptionKind::Json => match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(_) if text.starts_with(['{', '[', '"']) => None,
            Err(_) => Some(Json::String(text.to_owned())),
        },
    }
}

/// Draws the form; true when a value changed. `columns` are the suggestions for column options.
pub fn ui(
    ui: &mut Ui,
    extension: &str,
    specs: &[OptionSpec],
    typed: &mut TypedOptions,
    columns: &[String],
) -> bool {
    let t = theme::tokens(ui);
    let wrong = options_of(specs, typed).err();
    let mut changed = false;
    if specs.is_empty() {
        ui.label(
            theme::rich_text(tr!("There is nothing to choose."))
                .font(font::regular(12.0))
                .color(t.tx2),
        );
    }
    for spec in specs {
        let note = match &wrong {
            Some((name, why))
                if name == spec.name
                    && typed
                        .get(spec.name)
                        .is_some_and(|text| !text.trim().is_empty()) =>
            {
                FieldNote::Error(why.clone())
            }
            _ => FieldNote::None,
        };
        let default = if spec.default.is_null() {
            String::new()
        } else {
            text_of(&spec.default)
        };
        let mut text = typed.get(spec.name).cloned().unwrap_or_default();
        let before = text.clone();
        let label = crate::text::translate_text(spec.name).replace('_', " ");
        let name = tr!("{label} of {extension}", label, extension);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 3.0);
            match spec.kind {
                OptionKind::Bool => {
                    let mut on = if text.is_empty() {
                        default == "true"
                    } else {
                        text == "true"
                    };
                    if widgets::checkbox(ui, &mut on, &label).changed() {
                        text = on.to_string();
                    }
                }
                OptionKind::Choice(words) => {
                    label_ui(ui, &label, spec.required && text.is_empty());
                    let shown = if text.is_empty() {
                        default.as_str()
                    } else {
                        text.as_str()
                    };
                    let width = ui.available_width().min(260.0);
                    if let Some(index) = widgets::combo(ui, &name, shown, width, false, words) {
                        text = words[index].to_owned();
                    }
                }
                OptionKind::Column if !columns.is_empty() => {
                    label_ui(ui, &label, spec.required && text.is_empty());
                    let shown = if text.is_empty() {
                        default.as_str()
                    } else {
                        text.as_str()
                    };
                    let width = ui.available_width().min(260.0);
                    if let Some(index) = widgets::combo(ui, &name, shown, width, true, columns) {
                        text.clone_from(&columns[index]);
                    }
                }
                OptionKind::Shares => shares_ui(ui, &label, extension, &mut text, &spec.default),
                kind => {
                    let long = matches!(kind, OptionKind::Json) || spec.name == "bibtex";
                    let mut field = TextField::new(&label, &mut text)
                        .mono()
                        .hint(&default)
                        .name(&name)
                        .note(note.clone());
                    if spec.required {
                        field = field.with_required_mark();
                    }
                    field.rows(if long { 3 } else { 1 }).show(ui);
                }
            }
            let help = theme::rich_text(sentence(crate::text::translate_text(spec.help)))
                .font(font::regular(11.0))
                .color(t.tx3);
            ui.add(egui::Label::new(help).wrap());
        });
        if text != before {
            changed = true;
            // Options at their default are omitted, so that a later version may change the default.
            if text.is_empty() || text == default {
                typed.remove(spec.name);
            } else {
                typed.insert(spec.name.to_owned(), text);
            }
        }
    }
    changed
}

/// A field for each part, with its share of the sum.
fn shares_ui(ui: &mut Ui, label: &str, extension: &str, text: &mut String, default: &Json) {
    let t = theme::tokens(ui);
    label_ui(ui, label, false);
    let given = if text.is_empty() {
        default.clone()
    } else {
        serde_json::from_str(text).unwrap_or_else(|_| default.clone())
    };
    let Json::Object(mut shares) = given else {
        return;
    };
    // Parts without a share have a field as well.
    for part in default.as_object().into_iter().flat_map(Map::keys) {
        shares.entry(part).or_insert_with(|| Json::from(0));
    }
    let sum: f64 = shares.values().filter_map(Json::as_f64).sum();
    let mut changed = false;
    ui.horizontal_wrapped(|ui| {
        for (part, value) in &mut shares {
            ui.vertical(|ui| {
                ui.set_width(92.0);
                let mut typed = text_of(value);
                let share = value
                    .as_f64()
                    .filter(|_| sum > 0.0)
                    .map(|value| format!("{:.0} %", value / sum * 100.0))
                    .unwrap_or_default();
                let name = tr!("{part} share of {extension}", part, extension);
                if TextField::new(part, &mut typed)
                    .mono()
                    .trailing(&share)
                    .name(&name)
                    .width(86.0)
                    .show(ui)
                    .changed()
                    && let Some(number) = value_of(OptionKind::Number, typed.trim())
                        .or_else(|| typed.trim().is_empty().then(|| Json::from(0)))
                    && number.as_f64().is_some_and(|number| number >= 0.0)
                {
                    *value = number;
                    changed = true;
                }
            });
        }
    });
    if sum <= 0.0 {
        ui.label(
            theme::rich_text(tr!("At least one part needs a share above 0."))
                .font(font::regular(11.0))
                .color(t.err),
        );
    }
    if changed {
        shares.retain(|_, share| share.as_f64().is_some_and(|share| share > 0.0));
        *text = Json::Object(shares).to_string();
    }
}

fn sentence(help: &str) -> String {
    let mut letters = help.chars();
    let head = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{head}{}", letters.as_str())
}

fn label_ui(ui: &mut Ui, label: &str, required: bool) {
    let t = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.label(
            theme::rich_text(label)
                .font(font::regular(12.0))
                .color(t.tx2),
        );
        if required {
            ui.label(
                theme::rich_text(tr!("required"))
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn specs() -> Vec<OptionSpec> {
        vec![
            OptionSpec::new("bins", OptionKind::Integer, "how many").or(64),
            OptionSpec::new("low", OptionKind::Number, "first").make_required(),
            OptionSpec::new("bands", OptionKind::List(&OptionKind::Integer), "which"),
            OptionSpec::new("ratios", OptionKind::Json, "shares"),
            OptionSpec::new("scale", OptionKind::Bool, "or not"),
            OptionSpec::new("command", OptionKind::CommandLine, "a program"),
        ]
    }

    fn typed(pairs: &[(&str, &str)]) -> TypedOptions {
        pairs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn typed_text_becomes_options_and_comes_back() {
        let text = typed(&[
            ("low", "-1.5"),
            ("bands", "1, 3"),
            ("ratios", r#"{"train":0.5}"#),
            ("scale", "true"),
            ("bins", " "),
            ("command", "python3 'a b.py' -x"),
        ]);
        let options = options_of(&specs(), &text).expect("reads");
        assert_eq!(
            options,
            json!({
                "low": -1.5,
                "bands": [1, 3],
                "ratios": {"train": 0.5},
                "scale": true,
                "command": ["python3", "a b.py", "-x"],
            })
        );
        let again = options_of(&specs(), &typed_of(&specs(), &options)).expect("reads again");
        assert_eq!(again, options);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        assert_eq!(
            options_of(&specs(), &TypedOptions::new())
                .expect_err("low is needed")
                .0,
            "low"
        );
        let (name, why) =
            options_of(&specs(), &typed(&[("bins", "many"), ("low", "1")])).expect_err("no number");
        assert!(name == "bins" && why.contains("a whole number"), "{why}");
        assert_eq!(
            options_of(&specs(), &typed(&[("low", "1"), ("bands", "1, x")]))
                .expect_err("no number")
                .0,
            "bands"
        );
        assert_eq!(
            options_of(&specs(), &typed(&[("low", "1"), ("ratios", "{train")]))
                .expect_err("no JSON")
                .0,
            "ratios"
        );
    }
}
