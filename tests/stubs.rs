//! What `packaging/artefacts` links runs with an older C library: a program in C++, linked as
//! `packaging/build.rs` says, and what `packaging/linux/c-library` reads from it.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Workspace, project_folder};

/// Needs functions of 2.32 to 2.36 where it is compiled on a system that has them.
const PROGRAM: &str = r#"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

static int count;
__attribute__((constructor)) static void start(int given, char **, char **) { count = given; }
static std::string word("made");

int main(int argc, char **argv) {
    struct stat found;
    std::string thrown;
    std::thread([&] {
        try { throw std::runtime_error("caught"); } catch (std::exception &error) { thrown = error.what(); }
    }).join();
    std::random_device random;
    bool differ = random() != random() || random() != random();
    setenv("STUB", "1", 1);
    int variables = 0;
    for (char **next = environ; *next; next++) variables += std::string(*next) == "STUB=1";
    std::printf("%s %d %g %d %s %d %d\n", word.c_str(), count, std::hypot(argc, 4.0),
        stat(argv[0], &found) == 0 && found.st_size > 0, thrown.c_str(), differ, variables);
    std::fprintf(stderr, "end\n");
}
"#;

fn script(name: &str) -> Command {
    Command::new(project_folder().join("packaging/linux").join(name))
}

#[test]
fn a_program_linked_with_stubs_needs_an_old_c_library_alone() {
    let workspace = Workspace::new();
    workspace.write("program.cpp", PROGRAM);
    let stubs: PathBuf = workspace.path("stubs");
    let mut build = script("stubs/build");
    build.arg("2.28").arg(&stubs);
    workspace.run(build).expect_code(0);
    let mut compile = Command::new("c++");
    compile.args(["-fPIE", "-O1", "-c", "program.cpp"]);
    workspace.run(compile).expect_code(0);
    let mut link = Command::new("cc");
    link.args(["-pie", "-nodefaultlibs", "-o", "linked", "-L"])
        .arg(&stubs)
        .args(["program.o", "-Wl,--no-as-needed", "-lstdc++", "-lgcc_s"])
        .args(["-lm", "-lc", "-l:libpthread.so.0", "-l:libdl.so.2"])
        .args(["-l:librt.so.1", "-Wl,--wrap=__libc_start_main"]);
    workspace.run(link).expect_code(0);

    let mut linked = Command::new(workspace.path("linked"));
    linked.args(["a", "b"]);
    let ran = workspace.run(linked).expect_code(0);
    assert_eq!(ran.stdout, "made 3 5 1 caught 1 1\n");
    assert_eq!(ran.stderr, "end\n");
    let mut check = script("c-library");
    check.args(["--alone", "--at-most", "2.28", "linked"]);
    workspace.run(check).expect_code(0);

    let mut usual = Command::new("c++");
    usual.args(["-pie", "-o", "usual", "program.o"]);
    workspace.run(usual).expect_code(0);
    let mut check = script("c-library");
    check.args(["--alone", "--at-most", "2.28", "usual"]);
    let ran = workspace.run(check).expect_code(1);
    assert!(ran.stderr.contains("libstdc++.so.6"), "{ran}");
}
