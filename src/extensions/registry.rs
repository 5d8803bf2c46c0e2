//! The list of all extensions. Extensions do not register themselves.

use serde_json::Value as Json;

use super::{Extension, ExtensionEntry, collection, sample, tortilla};
use crate::error::{Error, Result};

/// Extensions by name.
#[derive(Clone, Default)]
pub struct ExtensionRegistry {
    entries: Vec<ExtensionEntry>,
}

/// All extensions of this program.
pub fn builtin() -> ExtensionRegistry {
    let mut registry = ExtensionRegistry::empty();
    let all = sample::ENTRIES
        .iter()
        .chain(tortilla::ENTRIES)
        .chain(collection::ENTRIES);
    all.for_each(|entry| registry.add(*entry));
    registry
}

impl ExtensionRegistry {
    /// An empty registry, for tests.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Adds an extension, replacing one of the same name.
    pub fn add(&mut self, entry: ExtensionEntry) {
        self.entries.retain(|known| known.name != entry.name);
        self.entries.push(entry);
    }

    /// All extensions, in order.
    pub fn entries(&self) -> &[ExtensionEntry] {
        &self.entries
    }

    /// The extension `name`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown name.
    pub fn get(&self, name: &str) -> Result<&ExtensionEntry> {
        self.entries
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| {
                let names: Vec<_> = self.entries.iter().map(|entry| entry.name).collect();
                Error::usage(format!("there is no extension {name}"))
                    .hint(format!("choose one of {}", names.join(", ")))
            })
    }

    /// Creates the extension `name` with these options.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for an unknown name or invalid options.
    pub fn make(&self, name: &str, options: &Json) -> Result<Extension> {
        (self.get(name)?.make)(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_default_is_of_its_kind() {
        let registry = builtin();
        for (index, entry) in registry.entries().iter().enumerate() {
            assert!(
                registry.entries()[..index]
                    .iter()
                    .all(|other| other.name != entry.name),
                "{} twice",
                entry.name
            );
            assert!(
                !entry.summary.is_empty() && entry.summary.ends_with('.'),
                "{}",
                entry.name
            );
            for option in (entry.options)() {
                let given = serde_json::json!({ option.name: option.default });
                let one = [crate::extensions::OptionSpec {
                    required: false,
                    ..option
                }];
                assert!(
                    super::super::parse_options::<Json>(entry.name, &one, &given).is_ok(),
                    "{} {}",
                    entry.name,
                    one[0].name
                );
            }
        }
        assert!(
            registry
                .get("nothing")
                .is_err_and(|error| error.report().contains("stac"))
        );
    }
}
