//! The server: lists the operations as tools and runs them as jobs.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceExt};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value as Json;

use super::answer::{OperationAnswer, failure};
use super::places::AllowedPlaces;
use crate::binding::detach_credentials;
use crate::error::{Error, Kind, Result};
use crate::jobs::{Job, Jobs, Progress};
use crate::ops::{AnyOperation, OperationDescription};

/// Time between two looks at a running job.
const LOOK: Duration = Duration::from_millis(50);

/// Most rows that a query answers when its request names no limit.
const QUERY_ROWS: usize = 200;

/// Serves operations to one client.
#[derive(Clone)]
pub struct OperationServer {
    places: AllowedPlaces,
    allow_write: bool,
    tools: Arc<[Tool]>,
    jobs: Jobs,
}

impl OperationServer {
    /// A server that admits requests inside `places`, and writes there if it may. Tools that could
    /// not run are not listed.
    pub fn new(places: AllowedPlaces, allow_write: bool) -> Self {
        let may_run = |description: &OperationDescription| allow_write || description.read_only;
        let tools = AnyOperation::descriptions()
            .into_iter()
            .filter(may_run)
            .map(tool_of)
            .collect();
        Self {
            places,
            allow_write,
            tools,
            jobs: Jobs::quiet(),
        }
    }

    /// The operation of a call, once its paths, writes and programs are admitted.
    ///
    /// # Errors
    /// Those of [`AnyOperation::from_request`], and [`Kind::Usage`] for what the user has not
    /// agreed to.
    fn admit_operation(&self, call: CallToolRequestParams) -> Result<AnyOperation> {
        let request = Json::Object(call.arguments.unwrap_or_default());
        let mut operation = AnyOperation::from_request(&call.name, request)?;
        operation.visit_paths(&mut |_, path| {
            *path = detach_credentials(&self.places.resolve_path(path))
        });
        if !self.allow_write && !operation.is_read_only() {
            let error = Error::usage(format!(
                "{} writes files, which the user has not agreed to",
                call.name
            ));
            return Err(
                error.hint("the user agrees by starting `taco-studio mcp` with --allow-write")
            );
        }
        let mut named = Vec::new();
        operation.visit_paths(&mut |_, path| named.push(path.clone()));
        named.iter().try_for_each(|path| self.places.admit(path))?;
        // Read only now: the files themselves are inside.
        operation
            .paths_in_files()?
            .iter()
            .try_for_each(|(_, path)| self.places.admit(path))?;
        operation.need_consent()?;
        if let AnyOperation::Create(request) = &operation
            && request.catalogue.reads(&request.source)
        {
            let error = Error::usage(
                "a catalogue lists files of its own, which may be outside the folders",
            )
            .at_path(&request.source);
            return Err(error.hint("the user runs `taco-studio create` with it"));
        }
        if let AnyOperation::Query(request) = &mut operation {
            request.query.limit.get_or_insert(QUERY_ROWS);
        }
        Ok(operation)
    }

    /// Runs an operation to its end, with notifications of its progress, or until the client
    /// cancels the call.
    async fn run(
        &self,
        operation: AnyOperation,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let mut job: Job<OperationAnswer> = self.jobs.start("tool", move |ctx| {
            let output = operation.run(ctx)?;
            Ok(OperationAnswer::from_output(&output))
        });
        let token = context.meta.get_progress_token();
        let mut told = Progress::default();
        let outcome = loop {
            if let Some(outcome) = job.try_take() {
                break outcome;
            }
            if context.ct.is_cancelled() {
                job.cancel();
            }
            let now = job.progress();
            if let Some(token) = token.clone().filter(|_| now != told) {
                tell_progress(&context.peer, token, &now).await;
                told = now;
            }
            tokio::time::sleep(LOOK).await;
        };
        match outcome {
            Ok(answer) => answer.into_result(job.progress().warnings),
            Err(error) => failure(&error),
        }
    }
}

/// The tool of an operation.
fn tool_of(description: OperationDescription) -> Tool {
    let OperationDescription {
        name,
        purpose,
        read_only,
        request,
    } = description;
    let schema = if let Json::Object(schema) = request {
        schema
    } else {
        JsonObject::new()
    };
    Tool::new(name, purpose, schema).annotate(
        ToolAnnotations::new()
            .read_only(read_only)
            .open_world(false),
    )
}

/// A client that no longer listens is noticed when standard input ends.
async fn tell_progress(peer: &Peer<RoleServer>, token: ProgressToken, progress: &Progress) {
    let mut notification = ProgressNotificationParam::new(token, progress.done as f64)
        .with_message(&progress.stage.name);
    if let Some(total) = progress.total {
        notification = notification.with_total(total as f64);
    }
    let _ = peer.notify_progress(notification).await;
}

impl ServerHandler for OperationServer {
    fn get_info(&self) -> ServerConfig {
        let writes = if self.allow_write {
            "Files may be written there."
        } else {
            "Nothing may be written."
        };
        let instructions = format!(
            "Taco Studio reads, checks, queries and writes TACO datasets (AI-ready Earth \
                observation) of all generations. Paths are \
             limited to {}; relative ones start at the first folder. {writes} Begin with \
                `inspect`; `query` runs SQL over the tables \
             data, level0, level1, … and answers {QUERY_ROWS} rows unless `limit` says otherwise; \
                `validate` lists findings with \
             their rules. `extensions` lists what `extend` computes.",
            self.places.format_places()
        );
        let program =
            Implementation::new("taco-studio", env!("CARGO_PKG_VERSION")).with_title("Taco Studio");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let result = match self.admit_operation(request) {
            Ok(operation) => self.run(operation, &context).await,
            Err(error) => failure(&error),
        };
        Ok(result.into())
    }
}

/// Serves on standard input and output until the input ends.
///
/// # Errors
/// [`Kind::Io`] when the client does not speak the protocol, or a stream fails.
pub fn serve(server: OperationServer) -> Result<()> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::new(Kind::Io, "the client can't be served").because(error)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(error.into()))?;
    let served = runtime.block_on(async {
        let running = server
            .serve(rmcp::transport::stdio())
            .await
            .map_err(|error| failed(error.into()))?;
        running
            .waiting()
            .await
            .map_err(|error| failed(error.into()))
    });
    // A read of standard input can't be stopped.
    runtime.shutdown_background();
    served.map(|_| ())
}
