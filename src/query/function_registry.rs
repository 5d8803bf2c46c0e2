//! The studio's SQL functions, as the engine looks them up.

use std::sync::Arc;

use polars::prelude::PolarsResult;
use polars::prelude::udf::UserDefinedFunction;
use polars::sql::FunctionRegistry;

use super::engine_errors::refusal;
use super::{duckdb_functions, functions, list_functions, spatial_functions};

struct Functions {
    extras: Vec<(String, UserDefinedFunction)>,
}

impl FunctionRegistry for Functions {
    fn register(&mut self, name: &str, _function: UserDefinedFunction) -> PolarsResult<()> {
        Err(refusal(format!("{name} can't be added")))
    }

    fn get_udf(&self, name: &str) -> PolarsResult<Option<UserDefinedFunction>> {
        Ok(spatial_functions::function(name)
            .or_else(|| duckdb_functions::function(name))
            .or_else(|| list_functions::function(name))
            .or_else(|| functions::function(name))
            .or_else(|| self.find_extra(name)))
    }

    fn contains(&self, name: &str) -> bool {
        is_known(name) || self.extras.iter().any(|(known, _)| known == name)
    }
}

impl Functions {
    fn find_extra(&self, name: &str) -> Option<UserDefinedFunction> {
        self.extras
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, function)| function.clone())
    }
}

/// True for the name of one of the studio's functions, in lower case.
pub(super) fn is_known(name: &str) -> bool {
    spatial_functions::names().any(|known| known == name)
        || duckdb_functions::is_known(name)
        || list_functions::is_known(name)
        || functions::is_known(name)
}

/// Registry of the studio's functions, and of `extras`, which exist for one statement.
pub(super) fn registry(extras: Vec<(String, UserDefinedFunction)>) -> Arc<dyn FunctionRegistry> {
    Arc::new(Functions { extras })
}
