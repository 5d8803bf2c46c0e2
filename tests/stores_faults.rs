//! Stores that break uploads: cut connections, overload, lost answers, expired credentials, a
//! second writer, an end from outside. The object is whole or does not exist, what others wrote
//! stays, and nothing unfinished is left at the store.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{
    Emulator, FaultProxy, Ran, SentFault, StoreKind, Workspace, flat_scenes, nested_scenes,
    sha256_of,
};

/// A store behind a proxy, and a folder with a dataset of four parts of an upload.
struct Scene {
    store: Emulator,
    proxy: FaultProxy,
    workspace: Workspace,
    address: String,
}

/// What identifies the requests of each step of an upload in parts.
struct Steps {
    begin: (&'static str, &'static str),
    part: (&'static str, &'static str),
    complete: (&'static str, &'static str),
}

fn steps(kind: StoreKind) -> Steps {
    match kind {
        StoreKind::S3 => Steps {
            begin: ("POST", "uploads="),
            part: ("PUT", "partNumber="),
            complete: ("POST", "uploadId="),
        },
        StoreKind::Google => Steps {
            begin: ("POST", "uploadType=resumable"),
            part: ("PUT", "uploadType=resumable"),
            complete: ("PUT", "uploadType=resumable"),
        },
        // There is nothing to begin.
        StoreKind::Azure => Steps {
            begin: ("PUT", "comp=block&"),
            part: ("PUT", "comp=block&"),
            complete: ("PUT", "comp=blocklist"),
        },
    }
}

impl Scene {
    fn new(kind: StoreKind) -> Option<Self> {
        let store = Emulator::start(kind)?;
        let proxy = FaultProxy::to(store.port());
        let workspace = Workspace::new();
        flat_scenes(&workspace, 2);
        let bytes: Vec<u8> = (0..(30usize << 20) / 4)
            .flat_map(|number| (number as u32).wrapping_mul(2_654_435_761).to_le_bytes())
            .collect();
        workspace.write("scenes/large.bin", bytes);
        workspace
            .studio([
                "create",
                "scenes",
                "-o",
                "local.tacozip",
                "--collection",
                "collection.json",
            ])
            .expect_code(0);
        let address = store.address("set.tacozip");
        Some(Self {
            store,
            proxy,
            workspace,
            address,
        })
    }

    fn create(&self, more: &[&str]) -> Ran {
        let fixed = [
            "create",
            "scenes",
            "-o",
            &self.address,
            "--collection",
            "collection.json",
        ];
        let all = fixed.iter().chain(more).copied();
        self.store.studio_through(
            &self.workspace,
            self.proxy.port(),
            &[("TACO_STUDIO_HTTP_TIMEOUT", "2")],
            all,
        )
    }

    fn expect_whole(&self) {
        let copy = self.workspace.path("downloaded");
        self.store.download("set.tacozip", &copy);
        assert_eq!(
            sha256_of(&copy),
            sha256_of(&self.workspace.path("local.tacozip"))
        );
        self.expect_nothing_unfinished();
    }

    fn expect_absent(&self) {
        assert_eq!(self.store.names(), Vec::<String>::new());
        self.expect_nothing_unfinished();
    }

    fn expect_nothing_unfinished(&self) {
        assert_eq!(
            self.store.open_uploads(),
            0,
            "uploads in parts that were not given up"
        );
    }
}

fn uploads_survive(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let Steps {
        begin,
        part,
        complete,
    } = steps(kind);
    for bytes in [0, 1, 100_000, 3 << 20] {
        scene
            .proxy
            .fail(part.0, part.1, SentFault::CutAfter(bytes), 1, 1);
    }
    scene
        .proxy
        .fail(part.0, part.1, SentFault::Status(503, "SlowDown"), 1, 2);
    scene
        .proxy
        .fail(part.0, part.1, SentFault::AnswerLost, 0, 1);
    scene.proxy.fail(
        part.0,
        part.1,
        SentFault::Slow(Duration::from_millis(10)),
        0,
        1,
    );
    scene.proxy.fail(
        begin.0,
        begin.1,
        SentFault::Status(500, "InternalError"),
        0,
        1,
    );
    scene.proxy.fail(
        complete.0,
        complete.1,
        SentFault::Status(503, "SlowDown"),
        0,
        1,
    );
    scene.create(&[]).expect_code(0);
    scene.expect_whole();
}

#[test]
fn an_upload_to_s3_survives_cuts_overload_and_lost_answers() {
    uploads_survive(StoreKind::S3);
}

#[test]
fn an_upload_to_google_survives_cuts_overload_and_lost_answers() {
    uploads_survive(StoreKind::Google);
}

#[test]
fn an_upload_to_azure_survives_cuts_overload_and_lost_answers() {
    uploads_survive(StoreKind::Azure);
}

/// The store did what was asked, and its answer was lost: the next try finds the own object, not
/// that of another writer.
fn lost_answers_are_no_other_writer(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let complete = steps(kind).complete;
    // The last chunk of a resumable upload completes it.
    let before = if kind == StoreKind::Google { 3 } else { 0 };
    scene
        .proxy
        .fail(complete.0, complete.1, SentFault::AnswerLost, before, 1);
    scene.create(&[]).expect_code(0);
    scene.expect_whole();
    // A small object in one request.
    let small = scene.store.address("small.tacozip");
    let way = if kind == StoreKind::Google {
        ("POST", "small")
    } else {
        ("PUT", "small")
    };
    scene.proxy.fail(way.0, way.1, SentFault::AnswerLost, 0, 1);
    fs::remove_file(scene.workspace.path("scenes/large.bin")).expect("removes");
    let arguments = [
        "create",
        "scenes",
        "-o",
        &small,
        "--collection",
        "collection.json",
    ];
    scene
        .store
        .studio_through(
            &scene.workspace,
            scene.proxy.port(),
            &[("TACO_STUDIO_HTTP_TIMEOUT", "2")],
            arguments,
        )
        .expect_code(0);
    assert_eq!(scene.store.names(), ["set.tacozip", "small.tacozip"]);
}

#[test]
fn a_lost_answer_of_s3_is_no_other_writer() {
    lost_answers_are_no_other_writer(StoreKind::S3);
}

#[test]
fn a_lost_answer_of_google_is_no_other_writer() {
    lost_answers_are_no_other_writer(StoreKind::Google);
}

#[test]
fn a_lost_answer_of_azure_is_no_other_writer() {
    lost_answers_are_no_other_writer(StoreKind::Azure);
}

fn refused_uploads_leave_nothing(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let Steps { part, complete, .. } = steps(kind);
    let given_up = |scene: &Scene| match kind {
        StoreKind::S3 | StoreKind::Google => scene
            .proxy
            .asked()
            .iter()
            .filter(|line| line.starts_with("DELETE "))
            .count(),
        // Azure has no request for it; blocks without a list are no blob.
        StoreKind::Azure => 1,
    };
    // Credentials that expire between two parts.
    scene.proxy.fail(
        part.0,
        part.1,
        SentFault::Status(403, "ExpiredToken"),
        1,
        100,
    );
    let ran = scene.create(&[]).expect_code(2);
    assert!(
        ran.stderr.contains("403 Forbidden (ExpiredToken)") && ran.stderr.contains("credentials"),
        "{ran}"
    );
    scene.expect_absent();
    assert!(given_up(&scene) > 0, "{:?}", scene.proxy.asked());
    if kind == StoreKind::Google {
        return;
    }
    // They expire before the last request.
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    scene.proxy.fail(
        complete.0,
        complete.1,
        SentFault::Status(403, "ExpiredToken"),
        0,
        100,
    );
    let ran = scene.create(&[]).expect_code(2);
    assert!(ran.stderr.contains("403 Forbidden"), "{ran}");
    scene.expect_absent();
}

#[test]
fn credentials_that_expire_leave_nothing_at_s3() {
    refused_uploads_leave_nothing(StoreKind::S3);
}

#[test]
fn credentials_that_expire_leave_nothing_at_google() {
    refused_uploads_leave_nothing(StoreKind::Google);
}

#[test]
fn credentials_that_expire_leave_nothing_at_azure() {
    refused_uploads_leave_nothing(StoreKind::Azure);
}

/// Starts the slow writer in the background.
fn start(scene: &Scene) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    command.args([
        "create",
        "scenes",
        "-o",
        &scene.address,
        "--collection",
        "collection.json",
    ]);
    command.envs(scene.store.variables(scene.proxy.port()));
    let log = fs::File::create(scene.workspace.path("stderr.log")).expect("a log");
    scene
        .workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("starts")
}

fn wait_for_parts(scene: &Scene, part: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    while !scene.proxy.asked().iter().any(|line| line.contains(part)) {
        assert!(
            Instant::now() < end,
            "no part is sent: {:?}",
            scene.proxy.asked()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn the_faster_of_two_writers_wins(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let part = steps(kind).part;
    scene.proxy.fail(
        part.0,
        part.1,
        SentFault::Slow(Duration::from_millis(30)),
        0,
        100,
    );
    let mut slow = start(&scene);
    wait_for_parts(&scene, part.1);
    let fast: PathBuf = scene.workspace.write("fast", b"of the faster writer");
    scene.store.upload("set.tacozip", &fast);
    let status = slow.wait().expect("ends");
    let said = fs::read_to_string(scene.workspace.path("stderr.log")).expect("reads");
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("exists already"), "{said}");
    let copy = scene.workspace.path("downloaded");
    scene.store.download("set.tacozip", &copy);
    assert_eq!(fs::read(copy).expect("reads"), b"of the faster writer");
    scene.expect_nothing_unfinished();
}

#[test]
fn the_faster_of_two_writers_wins_at_s3() {
    the_faster_of_two_writers_wins(StoreKind::S3);
}

#[test]
fn the_faster_of_two_writers_wins_at_azure() {
    the_faster_of_two_writers_wins(StoreKind::Azure);
}

#[test]
fn the_faster_of_two_writers_wins_at_google() {
    the_faster_of_two_writers_wins(StoreKind::Google);
}

#[test]
fn google_is_asked_to_refuse_a_second_object() {
    let Some(scene) = Scene::new(StoreKind::Google) else {
        return;
    };
    let part = steps(StoreKind::Google).part;
    scene.proxy.fail(
        part.0,
        part.1,
        SentFault::Status(412, "conditionNotMet"),
        2,
        100,
    );
    let ran = scene.create(&[]).expect_code(2);
    assert!(ran.stderr.contains("exists already"), "{ran}");
    let begun = scene
        .proxy
        .asked()
        .iter()
        .filter(|line| {
            line.contains("uploadType=resumable") && line.contains("ifGenerationMatch=0")
        })
        .count();
    assert!(begun > 0, "{:?}", scene.proxy.asked());
    scene.expect_absent();
}

#[cfg(unix)]
#[test]
fn a_write_that_is_cancelled_gives_its_upload_up() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    scene.proxy.fail(
        "PUT",
        "partNumber=",
        SentFault::Slow(Duration::from_millis(50)),
        0,
        100,
    );
    let mut slow = start(&scene);
    wait_for_parts(&scene, "partNumber=");
    assert_eq!(scene.store.open_uploads(), 1);
    let told = Command::new("kill")
        .args(["-INT", &slow.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(told.success());
    let status = slow.wait().expect("ends");
    assert_ne!(status.code(), Some(0));
    scene.expect_absent();
}

#[test]
fn a_folder_is_no_dataset_until_it_is_whole() {
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    let proxy = FaultProxy::to(store.port());
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let address = store.address("set");
    let create = || {
        let arguments = [
            "create",
            "scenes",
            "-o",
            &address,
            "--collection",
            "collection.json",
        ];
        store.studio_through(
            &workspace,
            proxy.port(),
            &[("TACO_STUDIO_HTTP_TIMEOUT", "2")],
            arguments,
        )
    };
    proxy.fail(
        "PUT",
        "METADATA/level1",
        SentFault::Status(403, "AccessDenied"),
        0,
        1,
    );
    let ran = create().expect_code(2);
    assert!(ran.stderr.contains("AccessDenied"), "{ran}");
    assert_eq!(
        store.names(),
        Vec::<String>::new(),
        "what was written is removed again"
    );
    // What a killed process left is used again where it has the same bytes.
    let raster = workspace.path("scenes/scene_8/after.tif");
    store.upload("set/DATA/scene_8/after.tif", &raster);
    create().expect_code(0);
    let asked = proxy.asked();
    let last = asked
        .iter()
        .rfind(|line| line.starts_with("PUT "))
        .expect("objects");
    assert!(last.contains("COLLECTION.json"), "{last}");
    // Another file is not replaced.
    let Some(store) = Emulator::start(StoreKind::S3) else {
        return;
    };
    store.upload(
        "set/DATA/scene_8/after.tif",
        &workspace.path("scenes/scene_8/label.tif"),
    );
    let arguments = [
        "create",
        "scenes",
        "-o",
        &address,
        "--collection",
        "collection.json",
    ];
    let ran = store.studio(&workspace, arguments).expect_code(2);
    assert!(
        ran.stderr.contains("exists already") && ran.stderr.contains("after.tif"),
        "{ran}"
    );
    assert_eq!(store.names(), ["set/DATA/scene_8/after.tif"]);
}
