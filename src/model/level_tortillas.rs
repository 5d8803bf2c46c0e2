//! The tortillas of one level of a tree of samples, together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::datatypes::DataType;

use super::sample::{Sample, Schema, Tortilla};
use super::value::{FieldSpec, Value};

impl Tortilla {
    /// The values of one field by sample; null without that field.
    pub fn list_values(&self, field: Option<usize>) -> impl Iterator<Item = &Value> {
        let samples = self.samples.iter();
        samples.map(move |sample| field.map_or(&Value::Null, |field| sample.value(field)))
    }
}

/// The tortillas of the level below: those of the FOLDERs, in their order.
pub fn list_tortillas_below<'a>(tortillas: &[&'a Tortilla]) -> Vec<&'a Tortilla> {
    let samples = tortillas.iter().flat_map(|tortilla| &tortilla.samples);
    samples
        .filter_map(Sample::children)
        .map(AsRef::as_ref)
        .collect()
}

/// The fields of all tortillas of a level.
#[derive(Debug, Default)]
pub struct UnitedFields {
    /// One for each name, in the order in which they are found, with the first type that is not
    /// null.
    pub fields: Vec<FieldSpec>,
    /// The first field that has another type in a later tortilla, and that type.
    pub conflict: Option<(usize, DataType)>,
}

impl UnitedFields {
    /// Unites the fields of tortillas by name.
    pub fn of_tortillas(tortillas: &[&Tortilla]) -> Self {
        Self::of_schemas(tortillas.iter().map(|tortilla| &tortilla.schema))
    }

    /// Unites the fields of schemas by name.
    pub fn of_schemas<'a>(schemas: impl IntoIterator<Item = &'a Schema>) -> Self {
        let mut united = Self::default();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut last: Option<&Schema> = None;
        for schema in schemas {
            // Siblings usually share one schema by reference, which is read once.
            if last.is_some_and(|last| Arc::ptr_eq(last, schema)) {
                continue;
            }
            last = Some(schema);
            for field in schema.iter() {
                match places.entry(&field.name) {
                    Entry::Vacant(place) => {
                        place.insert(united.fields.len());
                        united.fields.push(field.clone());
                    }
                    Entry::Occupied(place) => united.add_type(*place.get(), &field.dtype),
                }
            }
        }
        united
    }

    fn add_type(&mut self, place: usize, dtype: &DataType) {
        let known = &mut self.fields[place].dtype;
        if *known == DataType::Null {
            *known = dtype.clone();
        } else if known != dtype && *dtype != DataType::Null && self.conflict.is_none() {
            self.conflict = Some((place, dtype.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tortilla(fields: &[(&str, DataType)]) -> Tortilla {
        let fields = fields.iter();
        Tortilla {
            schema: fields
                .map(|(name, dtype)| FieldSpec::new(*name, dtype.clone()))
                .collect(),
            samples: Vec::new(),
        }
    }

    #[test]
    fn fields_are_united_by_name_and_the_first_conflict_is_kept() {
        let one = tortilla(&[("a", DataType::Null), ("b", DataType::Utf8)]);
        let two = tortilla(&[("b", DataType::Null), ("a", DataType::Int64)]);
        let united = UnitedFields::of_tortillas(&[&one, &two]);
        let found: Vec<(&str, &DataType)> = united
            .fields
            .iter()
            .map(|field| (field.name.as_str(), &field.dtype))
            .collect();
        assert_eq!(found, [("a", &DataType::Int64), ("b", &DataType::Utf8)]);
        assert_eq!(united.conflict, None);
        let three = tortilla(&[("b", DataType::Int8), ("a", DataType::Utf8)]);
        let united = UnitedFields::of_tortillas(&[&one, &two, &three]);
        assert_eq!(united.conflict, Some((1, DataType::Int8)));
    }

    #[test]
    fn the_level_below_has_the_tortillas_of_the_folders() {
        let file = Sample::new_file("x.tif", "/data/x.tif", 3);
        let folder = Sample::new_folder("a", Tortilla::new(vec![file.clone(), file.clone()]));
        let root = Tortilla::new(vec![file, folder]);
        let below = list_tortillas_below(&[&root]);
        assert_eq!(below.len(), 1);
        assert_eq!(below[0].samples.len(), 2);
        assert!(below[0].list_values(None).all(Value::is_null));
        assert!(list_tortillas_below(&below).is_empty());
    }
}
