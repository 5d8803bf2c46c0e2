//! Functions whose calls are recognised in plans. The engine compares functions by identity, so
//! each of these is made once for all statements.

use std::sync::OnceLock;

use polars::prelude::OpaqueColumnUdf;
use polars::prelude::udf::UserDefinedFunction;

struct RecognisedFunctions {
    negation: OnceLock<Option<UserDefinedFunction>>,
    type_of: OnceLock<Option<UserDefinedFunction>>,
    written_list: OnceLock<Option<UserDefinedFunction>>,
    list_sum: OnceLock<Option<UserDefinedFunction>>,
    window_sum: OnceLock<Option<UserDefinedFunction>>,
    factorial: OnceLock<Option<UserDefinedFunction>>,
    named: OnceLock<Vec<(&'static str, UserDefinedFunction)>>,
}

static RECOGNISED: RecognisedFunctions = RecognisedFunctions {
    negation: OnceLock::new(),
    type_of: OnceLock::new(),
    written_list: OnceLock::new(),
    list_sum: OnceLock::new(),
    window_sum: OnceLock::new(),
    factorial: OnceLock::new(),
    named: OnceLock::new(),
};

/// The function that gives a value as JSON.
pub(super) const TO_JSON: &str = "to_json";

/// The function that gives lists of keys and of values as a map.
pub(super) const MAP_VALUE: &str = "map_value";

/// Functions of the engine whose texts are JSON.
pub(super) const JSON_FUNCTIONS: [&str; 10] = [
    "json",
    "json_array",
    "json_extract",
    "json_extract_path",
    "json_merge_patch",
    "json_object",
    "json_of_value",
    "json_structure",
    TO_JSON,
    "try_json_of_value",
];

/// Functions of scalars whose calls are recognised by their names.
fn named_functions() -> impl Iterator<Item = &'static str> {
    JSON_FUNCTIONS.into_iter().chain([MAP_VALUE])
}

/// The function of this name whose calls are recognised by it; `build` makes such functions at the
/// first call. `None` for another name.
pub(super) fn get_or_build_named(
    name: &str,
    build: impl Fn(&str) -> Option<UserDefinedFunction>,
) -> Option<UserDefinedFunction> {
    if !named_functions().any(|known| known == name) {
        return None;
    }
    let named = RECOGNISED.named.get_or_init(|| {
        named_functions()
            .filter_map(|name| Some((name, build(name)?)))
            .collect()
    });
    named
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, function)| function.clone())
}

/// The name of a function that a plan calls, if it is one of [`get_or_build_named`].
pub(super) fn name_of_called(function: &OpaqueColumnUdf) -> Option<&'static str> {
    let named = RECOGNISED.named.get()?;
    named
        .iter()
        .find(|(_, known)| known.fun == *function)
        .map(|(name, _)| *name)
}

/// A function whose calls are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecognisedFunction {
    /// The sign `-`.
    Negation,
    /// `typeof`.
    TypeOf,
    /// `list_value`, as which `[…]` is written.
    WrittenList,
    /// `list_sum`.
    ListSum,
    /// What a sum over a window is passed through.
    WindowSum,
    /// `factorial`.
    Factorial,
}

impl RecognisedFunction {
    fn slot(self) -> &'static OnceLock<Option<UserDefinedFunction>> {
        match self {
            Self::Negation => &RECOGNISED.negation,
            Self::TypeOf => &RECOGNISED.type_of,
            Self::WrittenList => &RECOGNISED.written_list,
            Self::ListSum => &RECOGNISED.list_sum,
            Self::WindowSum => &RECOGNISED.window_sum,
            Self::Factorial => &RECOGNISED.factorial,
        }
    }

    /// The function, which `build` makes at the first call.
    pub fn get_or_build(
        self,
        build: impl FnOnce() -> Option<UserDefinedFunction>,
    ) -> Option<UserDefinedFunction> {
        self.slot().get_or_init(build).clone()
    }

    /// True for a call of this function in a plan. No plan has a call of a function that was not
    /// built.
    pub fn matches(self, function: &OpaqueColumnUdf) -> bool {
        let known = self.slot().get().and_then(Option::as_ref);
        known.is_some_and(|known| known.fun == *function)
    }
}
