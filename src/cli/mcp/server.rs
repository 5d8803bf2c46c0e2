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

/// Time after which a running job is asked for its progress and result again.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A cancelled job that takes longer to stop is given up.
const STOP_PATIENCE: Duration = Duration::from_secs(60);

/// Limit of a query whose request has none, in rows.
const DEFAULT_QUERY_LIMIT: usize = 200;

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
            .map(make_tool)
            .collect();
        Self {
            places,
            allow_write,
            tools,
            jobs: Jobs::quiet(),
        }
    }

    /// Reads the operation of a call, resolves its paths, and checks that the user permits its
    /// paths, writes and programs.
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
        let mut paths = Vec::new();
        operation.visit_paths(&mut |_, path| paths.push(path.clone()));
        paths.iter().try_for_each(|path| self.places.admit(path))?;
        // Files that name other paths are read once they are admitted themselves.
        operation
            .paths_in_files()?
            .iter()
            .try_for_each(|(_, path)| self.places.admit(path))?;
        operation.need_consent()?;
        if let AnyOperation::Create(request) = &operation
            && request.catalogue.reads(&request.source)
        {
            let error = Error::usage(
                "a catalogue lists other files, which may be outside the permitted folders",
            )
            .at_path(&request.source);
            return Err(error.hint("the user can run `taco-studio create` with it"));
        }
        if let AnyOperation::Query(request) = &mut operation {
            request.query.limit.get_or_insert(DEFAULT_QUERY_LIMIT);
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
        let mut running = RunningTool(self.jobs.start("tool", move |ctx| {
            let output = operation.run(ctx)?;
            Ok(OperationAnswer::from_output(&output))
        }));
        let job = &mut running.0;
        let token = context.meta.get_progress_token();
        let mut last_sent = Progress::default();
        let outcome = loop {
            if let Some(outcome) = job.try_take() {
                break outcome;
            }
            if context.ct.is_cancelled() {
                job.cancel();
            }
            let now = job.progress();
            if let Some(token) = token.clone().filter(|_| now != last_sent) {
                send_progress(&context.peer, token, &now).await;
                last_sent = now;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        match outcome {
            Ok(answer) => answer.into_result(job.warnings()),
            Err(error) => failure(&error),
        }
    }
}

/// The tool of an operation.
fn make_tool(description: OperationDescription) -> Tool {
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

/// Sends a progress notification.
async fn send_progress(peer: &Peer<RoleServer>, token: ProgressToken, progress: &Progress) {
    let mut notification = ProgressNotificationParam::new(token, progress.done as f64)
        .with_message(&progress.stage.name);
    if let Some(total) = progress.total {
        notification = notification.with_total(total as f64);
    }
    // A lost client is noticed when standard input ends.
    let _ = peer.notify_progress(notification).await;
}

impl ServerHandler for OperationServer {
    fn get_info(&self) -> ServerConfig {
        let writes = if self.allow_write {
            "Files may be written there."
        } else {
            "Nothing is written, and tools that write are not listed, unless the user starts \
                `taco-studio mcp` with --allow-write."
        };
        let instructions = format!(
            "Taco Studio reads, checks, queries and writes TACO datasets (AI-ready Earth \
                observation) of all generations. Paths are \
             limited to {}; relative ones start at the first folder. {writes} Begin with \
                `inspect`; `query` runs SQL over the tables \
             data, level0, level1, … and returns at most {DEFAULT_QUERY_LIMIT} rows unless the \
                request has a `limit`; \
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
        // Folders are resolved and files read, which blocks.
        let server = self.clone();
        let admitted = tokio::task::spawn_blocking(move || server.admit_operation(request)).await;
        let admitted = admitted.unwrap_or_else(|error| {
            Err(Error::internal("the request was not checked").because(error))
        });
        let result = match admitted {
            Ok(operation) => self.run(operation, &context).await,
            Err(error) => failure(&error),
        };
        Ok(result.into())
    }
}

/// The job of a call, which is cancelled and waited for when the call ends early: a client that
/// closes its end must not leave half of an output.
struct RunningTool(Job<OperationAnswer>);

impl Drop for RunningTool {
    fn drop(&mut self) {
        if self.0.try_take().is_none() {
            self.0.cancel();
            self.0.wait_for(STOP_PATIENCE);
        }
    }
}

/// Serves on standard input and output until the input ends.
///
/// # Errors
/// [`Kind::Io`] when the client does not follow the protocol, or a stream fails.
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
