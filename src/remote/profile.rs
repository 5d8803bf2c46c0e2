//! Profiles of the AWS command line in `~/.aws/credentials` and `~/.aws/config`. Read on every use,
//! never cached.

use std::collections::HashMap;
use std::path::PathBuf;

/// Settings of a profile with the keys of the files: `endpoint_url`, `region`, and the three keys
/// of credentials among others.
pub type ProfileSettings = HashMap<String, String>;

/// The profile `name`, merged from both files with precedence for the credentials file. `None` when
/// neither has it.
pub fn load(name: &str) -> Option<ProfileSettings> {
    let config =
        read_aws_file("AWS_CONFIG_FILE", "config").and_then(|text| section(&text, name, true));
    let credentials = read_aws_file("AWS_SHARED_CREDENTIALS_FILE", "credentials")
        .and_then(|text| section(&text, name, false));
    match (config, credentials) {
        (None, None) => None,
        (config, credentials) => {
            let mut profile = config.unwrap_or_default();
            profile.extend(credentials.unwrap_or_default());
            Some(profile)
        }
    }
}

/// The text of the file that an environment variable names, else of `file` in `.aws`.
fn read_aws_file(variable: &str, file: &str) -> Option<String> {
    let path = match std::env::var_os(variable) {
        Some(named) => PathBuf::from(named),
        None => {
            let dirs = directories::BaseDirs::new()?;
            dirs.home_dir().join(".aws").join(file)
        }
    };
    std::fs::read_to_string(path).ok()
}

/// A section of an INI file. With `prefixed`, all sections but the default are named
/// `profile NAME`.
fn section(text: &str, name: &str, prefixed: bool) -> Option<ProfileSettings> {
    let mut found: Option<ProfileSettings> = None;
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(title) = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            let title = title.trim();
            let own = title
                .strip_prefix("profile ")
                .map(str::trim)
                .filter(|_| prefixed);
            inside = title == name || own == Some(name);
            if inside {
                found.get_or_insert_default();
            }
            continue;
        }
        // Indented lines belong to a nested setting.
        if inside
            && !line.starts_with([' ', '\t'])
            && let (Some(profile), Some((key, value))) = (found.as_mut(), trimmed.split_once('='))
        {
            profile.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_under_both_spellings() {
        let config = "[default]\nregion = eu-west-1\n[profile work]\n# note\nregion=us-west-2\ns3 \
            =\n  max = 9\n[other]\nregion=x\n";
        assert_eq!(
            section(config, "work", true).expect("is there")["region"],
            "us-west-2"
        );
        assert_eq!(
            section(config, "default", true).expect("is there")["region"],
            "eu-west-1"
        );
        assert_eq!(section(config, "work", false), None);
        assert!(
            !section(config, "work", true)
                .expect("is there")
                .contains_key("max")
        );
    }
}
