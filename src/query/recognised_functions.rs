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
}

static RECOGNISED: RecognisedFunctions = RecognisedFunctions {
    negation: OnceLock::new(),
    type_of: OnceLock::new(),
    written_list: OnceLock::new(),
    list_sum: OnceLock::new(),
    window_sum: OnceLock::new(),
};

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
    /// What marks sums of windows.
    WindowSum,
}

impl RecognisedFunction {
    fn slot(self) -> &'static OnceLock<Option<UserDefinedFunction>> {
        match self {
            Self::Negation => &RECOGNISED.negation,
            Self::TypeOf => &RECOGNISED.type_of,
            Self::WrittenList => &RECOGNISED.written_list,
            Self::ListSum => &RECOGNISED.list_sum,
            Self::WindowSum => &RECOGNISED.window_sum,
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
