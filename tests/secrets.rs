//! Tokens, keys and signed links are sent only to the server they are for, encrypted or within this
//! machine, and not to servers that it redirects to.

use std::sync::{Arc, Mutex};

use crate::support::{Server, Workspace, answering, fixtures};

fn missing() -> String {
    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".into()
}

/// A server that redirects to `there` with `status`.
fn sending_on(status: u16, there: &str) -> (String, Arc<Mutex<String>>) {
    answering(format!(
        "HTTP/1.1 {status} Moved\r\nLocation: {there}\r\nContent-Length: 0\r\nConnection: \
            close\r\n\r\n"
    ))
}

fn told(heard: &Arc<Mutex<String>>) -> String {
    heard.lock().expect("is whole").clone()
}

#[test]
fn a_token_never_follows_a_redirect_to_another_host() {
    for status in [301, 302, 303, 307, 308] {
        let workspace = Workspace::new();
        let (elsewhere, second) = answering(missing());
        let (portal, first) = sending_on(status, &format!("http://me:pw@{elsewhere}/x.tacozip"));
        let variables = [
            ("GDAL_HTTP_BEARER", "SECRET"),
            ("TACO_STUDIO_BEARER_HOSTS", portal.as_str()),
        ];
        workspace
            .studio_with(
                &variables,
                ["inspect", &format!("http://{portal}/x.tacozip")],
            )
            .expect_code(2);
        assert!(
            told(&first).contains("Bearer SECRET"),
            "the server that the token is for gets it: {}",
            told(&first)
        );
        let second = told(&second);
        assert!(
            second.contains("/x.tacozip") && second.to_lowercase().contains("range"),
            "{second}"
        );
        assert!(
            !second.contains("SECRET") && !second.to_lowercase().contains("authorization"),
            "{second}"
        );
    }
}

#[test]
fn a_token_follows_a_redirect_within_its_server() {
    let workspace = Workspace::new();
    let (host, heard) = sending_on(302, "/y.tacozip");
    let variables = [
        ("GDAL_HTTP_BEARER", "SECRET"),
        ("TACO_STUDIO_BEARER_HOSTS", host.as_str()),
    ];
    workspace
        .studio_with(&variables, ["inspect", &format!("http://{host}/x.tacozip")])
        .expect_code(2);
    let heard = told(&heard);
    let asked = heard
        .split("GET ")
        .find(|request| request.starts_with("/y.tacozip"))
        .expect("goes on");
    assert!(asked.contains("Bearer SECRET"), "{asked}");
}

#[test]
fn a_token_of_the_environment_goes_to_no_server_that_is_not_named() {
    for list in ["", "example.org", "127.0.0.1:1", "https://127.0.0.1"] {
        let workspace = Workspace::new();
        let (host, heard) = answering(missing());
        let variables = [
            ("GDAL_HTTP_BEARER", "SECRET"),
            ("HF_TOKEN", "SECRET"),
            ("TACO_STUDIO_BEARER_HOSTS", list),
        ];
        workspace
            .studio_with(&variables, ["inspect", &format!("http://{host}/x.tacozip")])
            .expect_code(2);
        assert!(
            told(&heard).contains("GET ") && !told(&heard).contains("SECRET"),
            "{list}: {}",
            told(&heard)
        );
    }
}

/// The metadata of a virtual machine holds its keys.
#[test]
fn a_redirect_to_a_link_local_address_is_not_followed() {
    for there in [
        "http://169.254.169.254/latest",
        "http://[fe80::1]/x",
        "http://[::ffff:169.254.169.254]/x",
    ] {
        let workspace = Workspace::new();
        let (portal, heard) = sending_on(302, there);
        let ran = workspace
            .studio(["inspect", &format!("http://{portal}/x.tacozip")])
            .expect_code(2);
        assert!(told(&heard).contains("GET /x.tacozip"), "{}", told(&heard));
        assert!(
            ran.stderr.contains("redirects to") && ran.stderr.contains("not followed"),
            "{ran}"
        );
        assert!(ran.elapsed < std::time::Duration::from_secs(20), "{ran}");
    }
}

const KEYS: [(&str, &str); 3] = [
    ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
    ("AWS_SECRET_ACCESS_KEY", "HIDDEN"),
    ("AWS_SESSION_TOKEN", "SESSION"),
];

#[test]
fn the_signature_of_a_bucket_does_not_follow_a_redirect() {
    let workspace = Workspace::new();
    let (elsewhere, second) = answering(missing());
    let (store, first) = sending_on(307, &format!("http://{elsewhere}/x.tacozip"));
    let endpoint = format!("http://{store}");
    let variables: Vec<(&str, &str)> = KEYS
        .into_iter()
        .chain([("AWS_ENDPOINT_URL", endpoint.as_str())])
        .collect();
    workspace
        .studio_with(&variables, ["inspect", "s3://bucket/x.tacozip"])
        .expect_code(2);
    assert!(
        told(&first).contains("AKIDEXAMPLE") && told(&first).contains("SESSION"),
        "{}",
        told(&first)
    );
    let second = told(&second);
    assert!(second.contains("GET "), "it goes on");
    for secret in ["AKIDEXAMPLE", "SESSION", "Signature", "HIDDEN"] {
        assert!(!second.contains(secret), "{secret} in {second}");
    }
}

#[test]
fn keys_are_not_used_without_encryption_unless_that_is_allowed() {
    let workspace = Workspace::new();
    let plain = ("AWS_ENDPOINT_URL", "http://store.invalid:9000");
    let with = |more: &[(&'static str, &'static str)]| {
        let variables: Vec<(&str, &str)> = KEYS
            .into_iter()
            .chain([plain])
            .chain(more.iter().copied())
            .collect();
        workspace
            .studio_with(&variables, ["inspect", "s3://bucket/x.tacozip"])
            .expect_code(2)
            .stderr
    };
    let refused = with(&[]);
    assert!(
        refused.contains("without encryption") && refused.contains("AWS_ALLOW_HTTP"),
        "{refused}"
    );
    for allowed in [("AWS_ALLOW_HTTP", "true"), ("AWS_NO_SIGN_REQUEST", "YES")] {
        assert!(
            !with(&[allowed]).contains("without encryption"),
            "{allowed:?}"
        );
    }
}

#[test]
fn a_link_with_any_opaque_query_is_used_and_shown_nowhere() {
    let golden = fixtures("golden", "TACO_STUDIO_GOLDEN")
        .into_iter()
        .find(|folder| folder.ends_with("01_flat_zip"));
    let server = Server::of(&golden.expect("a golden set"));
    for query in [
        "h=Zx8kQ2mV0aPqHunter",
        "3fa85f64571745623fc2c963f66afa6",
        "ticket=hunter2",
    ] {
        let workspace = Workspace::new();
        server.forget();
        let url = format!("{}?{query}", server.url("flat.tacozip"));
        let out = workspace.path("out.tacozip");
        let ran = workspace
            .studio([
                "-vv",
                "--traffic",
                "convert",
                &url,
                out.to_str().expect("text"),
            ])
            .expect_code(0);
        assert!(
            server
                .asked()
                .iter()
                .all(|asked| asked.path.ends_with(query)),
            "{:?}",
            server.asked()
        );
        assert!(
            !ran.stdout.contains(query) && !ran.stderr.contains(query),
            "{ran}"
        );
        let written = std::fs::read(&out).expect("reads");
        assert!(
            !written
                .windows(query.len())
                .any(|bytes| bytes == query.as_bytes()),
            "{query} was written into the dataset"
        );
    }
}
