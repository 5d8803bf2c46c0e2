//! Uploads whose process is killed, and that the same command continues: the parts that the store
//! has are not sent again, the object has the bytes of a local write, and nothing of another input
//! gets into it. The stores are emulators behind a proxy that counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{
    Emulator, FaultProxy, Ran, SentFault, StoreKind, Workspace, flat_scenes, sha256_of,
};

/// Bytes of each part but the last.
const PART: u64 = 8 << 20;
/// Bytes of the large sample: more parts than are sent at once.
const LARGE: usize = 100 << 20;
/// So slow that a part takes longer than the test.
const STUCK: SentFault = SentFault::Slow(Duration::from_secs(2));

/// A store behind a proxy, and a folder with a dataset of 13 parts.
struct Scene {
    store: Emulator,
    proxy: FaultProxy,
    workspace: Workspace,
}

/// What identifies the requests that carry parts, and the one that completes the object.
fn steps(kind: StoreKind) -> [(&'static str, &'static str); 2] {
    match kind {
        StoreKind::S3 => [("PUT", "partNumber="), ("POST", "uploadId=")],
        StoreKind::Google => [
            ("PUT", "uploadType=resumable"),
            ("PUT", "uploadType=resumable"),
        ],
        StoreKind::Azure => [("PUT", "comp=block&"), ("PUT", "comp=blocklist")],
    }
}

fn large_bytes() -> Vec<u8> {
    (0..LARGE / 4)
        .flat_map(|number| (number as u32).wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

impl Scene {
    fn new(kind: StoreKind) -> Option<Self> {
        let store = Emulator::start(kind)?;
        let proxy = FaultProxy::to(store.port());
        let workspace = Workspace::new();
        flat_scenes(&workspace, 2);
        workspace.write("scenes/large.bin", large_bytes());
        let scene = Self {
            store,
            proxy,
            workspace,
        };
        scene.write_local();
        Some(scene)
    }

    fn write_local(&self) {
        let arguments = [
            "create",
            "scenes",
            "-o",
            "local.tacozip",
            "--collection",
            "collection.json",
            "--overwrite",
        ];
        self.workspace.studio(arguments).expect_code(0);
    }

    fn local(&self) -> PathBuf {
        self.workspace.path("local.tacozip")
    }

    fn size(&self) -> u64 {
        self.local().metadata().expect("is there").len()
    }

    fn arguments(&self, name: &str) -> Vec<String> {
        let output = self.store.address(name);
        [
            "create",
            "scenes",
            "-o",
            &output,
            "--collection",
            "collection.json",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// Starts the program in the background.
    fn start(&self, arguments: &[String]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        command
            .args(arguments)
            .envs(self.store.variables(self.proxy.port()));
        let log = fs::File::create(self.workspace.path("stderr.log")).expect("a log");
        self.workspace
            .house(&mut command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("starts")
    }

    fn run(&self, arguments: &[String]) -> Ran {
        self.store
            .studio_through(&self.workspace, self.proxy.port(), &[], arguments)
    }

    /// Kills the program once the store has `parts` parts; the others do not get through. Returns
    /// the bytes of the parts that the store has: several are sent at once, so the shorter last
    /// part can be among them.
    fn kill_after(&self, parts: usize, arguments: &[String]) -> u64 {
        let [(method, part), _] = steps(self.store.kind);
        self.proxy.heal();
        // The request that begins a resumable upload has another method.
        self.proxy.fail(method, part, STUCK, parts, 1000);
        let mut child = self.start(arguments);
        self.wait(|| {
            let begun = self
                .proxy
                .asked()
                .iter()
                .filter(|line| line.starts_with(method) && line.contains(part))
                .count();
            self.proxy.answered(method, part).0 == parts && begun > parts
        });
        child.kill().expect("is killed");
        child.wait().expect("ends");
        self.heal()
    }

    /// Ends the faults. Returns the bytes of the parts that the store has taken since the last
    /// call.
    fn heal(&self) -> u64 {
        let taken = self.sent();
        self.proxy.heal();
        taken
    }

    fn wait(&self, until: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(100);
        while !until() {
            assert!(Instant::now() < end, "{:?}", self.proxy.asked());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Bytes of parts that the store has taken since the faults ended.
    fn sent(&self) -> u64 {
        let [(method, part), _] = steps(self.store.kind);
        self.proxy.answered(method, part).1
    }

    #[track_caller]
    fn expect_whole(&self, name: &str) {
        self.expect_same(name, &self.local());
    }

    #[track_caller]
    fn expect_same(&self, name: &str, local: &Path) {
        let copy = self.workspace.path("downloaded");
        self.store.download(name, &copy);
        assert_eq!(sha256_of(&copy), sha256_of(local), "{name}");
        fs::remove_file(copy).expect("removes");
        assert_eq!(self.store.open_uploads(), 0);
        assert_eq!(self.records(), 0, "records of uploads that are finished");
    }

    fn records(&self) -> usize {
        let folder = self.workspace.path("home/.local/share/taco-studio/uploads");
        fs::read_dir(folder).map_or(0, |entries| entries.count())
    }
}

fn a_killed_upload_is_continued(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    for parts in [0, 1, 5, 11] {
        let name = format!("after_{parts}.tacozip");
        let arguments = scene.arguments(&name);
        let kept = scene.kill_after(parts, &arguments);
        assert!(
            !scene.store.names().contains(&name),
            "is not visible before it is whole"
        );
        scene.run(&arguments).expect_code(0);
        let (sent, missing) = (scene.sent(), scene.size() - kept);
        match kind {
            // It keeps what it has of the chunk that was cut.
            StoreKind::Google => assert!(
                (missing - PART..=missing).contains(&sent),
                "{parts} parts: {sent} of {missing}"
            ),
            StoreKind::S3 | StoreKind::Azure => assert_eq!(sent, missing, "after {parts} parts"),
        }
        scene.expect_whole(&name);
    }
    // Killed twice.
    let arguments = scene.arguments("twice.tacozip");
    let kept = scene.kill_after(3, &arguments) + scene.kill_after(4, &arguments);
    // At Google, one of the answers of the second call has no bytes: it says how many the store
    // has.
    assert!(kept > 5 * PART, "{kept} bytes");
    scene.run(&arguments).expect_code(0);
    assert!(
        scene.sent() <= scene.size() - kept,
        "{} bytes",
        scene.sent()
    );
    scene.expect_whole("twice.tacozip");
}

#[test]
fn a_killed_upload_to_s3_is_continued() {
    a_killed_upload_is_continued(StoreKind::S3);
}

#[test]
fn a_killed_upload_to_google_is_continued() {
    a_killed_upload_is_continued(StoreKind::Google);
}

#[test]
fn a_killed_upload_to_azure_is_continued() {
    a_killed_upload_is_continued(StoreKind::Azure);
}

fn a_changed_input_is_not_mixed_in(kind: StoreKind) {
    let Some(scene) = Scene::new(kind) else {
        return;
    };
    let arguments = scene.arguments("set.tacozip");
    let kept = scene.kill_after(8, &arguments);
    // Of the same size; in a part that the store has.
    let mut bytes = large_bytes();
    bytes[(3 << 20) + 1] ^= 1;
    scene.workspace.write("scenes/large.bin", bytes);
    scene.write_local();
    scene.run(&arguments).expect_code(0);
    assert!(scene.sent() > scene.size() - kept, "{} bytes", scene.sent());
    scene.expect_whole("set.tacozip");
    // Of another size.
    let arguments = scene.arguments("other.tacozip");
    scene.kill_after(8, &arguments);
    scene
        .workspace
        .write("scenes/large.bin", &large_bytes()[1000..LARGE / 2]);
    scene.write_local();
    scene.run(&arguments).expect_code(0);
    scene.expect_whole("other.tacozip");
}

#[test]
fn a_changed_input_is_not_mixed_into_an_upload_to_s3() {
    a_changed_input_is_not_mixed_in(StoreKind::S3);
}

#[test]
fn a_changed_input_is_not_mixed_into_an_upload_to_google() {
    a_changed_input_is_not_mixed_in(StoreKind::Google);
}

#[test]
fn a_changed_input_is_not_mixed_into_an_upload_to_azure() {
    a_changed_input_is_not_mixed_in(StoreKind::Azure);
}

/// The bytes change, and nothing of what usually tells: the store has bytes that can't be taken
/// back.
#[test]
fn google_is_sent_nothing_more_of_an_input_that_changed_unseen() {
    let Some(scene) = Scene::new(StoreKind::Google) else {
        return;
    };
    let arguments = scene.arguments("set.tacozip");
    scene.kill_after(8, &arguments);
    let path = scene.workspace.path("scenes/large.bin");
    let modified = path
        .metadata()
        .and_then(|meta| meta.modified())
        .expect("a time");
    let mut bytes = large_bytes();
    bytes[(3 << 20) + 1] ^= 1;
    scene.workspace.write("scenes/large.bin", bytes);
    fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(modified))
        .expect("sets the time");
    scene.write_local();
    let ran = scene.run(&arguments).expect_code(2);
    assert!(ran.stderr.contains("write again"), "{ran}");
    assert_eq!((scene.store.names(), scene.records()), (Vec::new(), 0));
    scene.run(&arguments).expect_code(0);
    scene.expect_whole("set.tacozip");
}

#[test]
fn an_upload_that_lacks_its_last_request_sends_no_part_again() {
    for kind in [StoreKind::S3, StoreKind::Azure] {
        let Some(scene) = Scene::new(kind) else {
            continue;
        };
        let [_, (method, complete)] = steps(kind);
        scene
            .proxy
            .fail(method, complete, SentFault::Status(503, "SlowDown"), 0, 100);
        let arguments = scene.arguments("set.tacozip");
        let mut child = scene.start(&arguments);
        scene.wait(|| {
            scene
                .proxy
                .asked()
                .iter()
                .any(|line| line.starts_with(method) && line.contains(complete))
        });
        child.kill().expect("is killed");
        child.wait().expect("ends");
        scene.proxy.heal();
        scene.run(&arguments).expect_code(0);
        assert_eq!(scene.sent(), 0, "{kind:?}");
        scene.expect_whole("set.tacozip");
    }
}

#[test]
fn a_store_that_compares_no_sha256_gets_md5_and_continues_too() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    let refuse = || {
        scene.proxy.fail(
            "POST",
            "uploads=",
            SentFault::Status(501, "NotImplemented"),
            0,
            1,
        )
    };
    let arguments = scene.arguments("set.tacozip");
    refuse();
    scene.run(&arguments).expect_code(0);
    scene.expect_whole("set.tacozip");
    // The record says how the parts were compared.
    let arguments = scene.arguments("again.tacozip");
    scene.proxy.heal();
    scene.proxy.fail("PUT", "partNumber=", STUCK, 6, 1000);
    refuse();
    let mut child = scene.start(&arguments);
    scene.wait(|| scene.proxy.answered("PUT", "partNumber=").0 == 6);
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let kept = scene.heal();
    scene.run(&arguments).expect_code(0);
    assert_eq!(scene.sent(), scene.size() - kept);
    scene.expect_whole("again.tacozip");
}

#[test]
fn a_store_that_falls_silent_keeps_the_parts_for_the_next_call() {
    for kind in [StoreKind::S3, StoreKind::Azure] {
        let Some(scene) = Scene::new(kind) else {
            continue;
        };
        let [(method, part), _] = steps(kind);
        scene.proxy.fail(method, part, STUCK, 5, 1000);
        let arguments = scene.arguments("set.tacozip");
        let ran = scene.store.studio_through(
            &scene.workspace,
            scene.proxy.port(),
            &[("TACO_STUDIO_HTTP_TIMEOUT", "0.3")],
            &arguments,
        );
        let ran = ran.expect_code(2);
        assert!(
            ran.stderr.contains("the same command sends the others"),
            "{ran}"
        );
        let kept = scene.heal();
        scene.run(&arguments).expect_code(0);
        assert_eq!(scene.sent(), scene.size() - kept, "{kind:?}");
        scene.expect_whole("set.tacozip");
    }
}

#[test]
fn an_upload_that_is_running_is_not_taken_over() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    let arguments = scene.arguments("set.tacozip");
    scene.proxy.fail(
        "PUT",
        "partNumber=",
        SentFault::Slow(Duration::from_millis(40)),
        3,
        8,
    );
    let mut slow = scene.start(&arguments);
    scene.wait(|| {
        scene
            .proxy
            .asked()
            .iter()
            .filter(|line| line.contains("partNumber="))
            .count()
            >= 11
    });
    scene.run(&arguments).expect_code(0);
    assert_eq!(slow.wait().expect("ends").code(), Some(2));
    let said = fs::read_to_string(scene.workspace.path("stderr.log")).expect("reads");
    assert!(said.contains("exists already"), "{said}");
    scene.expect_whole("set.tacozip");
}

#[test]
fn an_upload_that_the_store_dropped_begins_again() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    let arguments = scene.arguments("set.tacozip");
    scene.kill_after(4, &arguments);
    assert_eq!((scene.store.open_uploads(), scene.records()), (1, 1));
    scene.store.drop_uploads();
    scene.run(&arguments).expect_code(0);
    assert_eq!(scene.sent(), scene.size());
    scene.expect_whole("set.tacozip");
}

#[test]
fn other_verbs_continue_their_uploads_too() {
    let Some(scene) = Scene::new(StoreKind::S3) else {
        return;
    };
    let address = |name: &str| scene.store.address(name);
    let planned = address("plan.tacozip");
    let plan = [
        "plan",
        "scenes",
        "-o",
        "plan",
        "--dataset",
        &planned,
        "--collection",
        "collection.json",
    ];
    scene.store.studio(&scene.workspace, plan).expect_code(0);
    scene
        .workspace
        .studio(["convert", "local.tacozip", "again.tacozip"])
        .expect_code(0);
    let own = |parts: &[&str]| {
        parts
            .iter()
            .map(|part| (*part).to_owned())
            .collect::<Vec<_>>()
    };
    for (name, local, arguments) in [
        (
            "converted.tacozip",
            "again.tacozip",
            own(&["convert", "local.tacozip", &address("converted.tacozip")]),
        ),
        (
            "plan.tacozip",
            "local.tacozip",
            own(&["plan", "run", "plan", "--part", "1"]),
        ),
    ] {
        let kept = scene.kill_after(6, &arguments);
        scene.run(&arguments).expect_code(0);
        let local = scene.workspace.path(local);
        assert_eq!(
            scene.sent(),
            local.metadata().expect("is there").len() - kept,
            "{name}"
        );
        scene.expect_same(name, &local);
    }
}
