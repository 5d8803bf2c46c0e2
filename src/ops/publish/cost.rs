//! Size and estimated monthly cost of a published dataset, by prices that the user can set. The
//! estimate leaves out taxes, free quotas, discounts and other storage classes.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::folders::settings_file;
use crate::model::{Address, Scheme};

/// Prices and limits set by the user, in US dollars; unset ones are those of the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// Storage of 1 GB (10⁹ bytes) for a month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_gb_month: Option<f64>,
    /// Egress of 1 GB (10⁹ bytes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub egress_gb: Option<f64>,
    /// 1,000 read requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_1000: Option<f64>,
    /// 1,000 write requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_1000: Option<f64>,
    /// Full reads of the dataset per month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_reads_month: Option<f64>,
    /// The monthly cost above which the check warns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_month: Option<f64>,
}

impl Prices {
    /// Reads a table of prices, JSON with the fields of [`Prices`].
    ///
    /// # Errors
    /// When the file can't be read, has other fields, or a number that is no price.
    pub fn read(path: &Path) -> Result<Self> {
        let text = crate::files::read_to_string(path)
            .map_err(|error| Error::io("read the table of prices", path, error))?;
        // Parsed as an object first: serde would accept a list as the fields in their order.
        let read = serde_json::from_str(&text)
            .and_then(|fields: serde_json::Map<_, _>| serde_json::from_value(fields.into()));
        let prices: Self = read.map_err(|error| {
            Error::usage("this is no table of prices")
                .at_path(path)
                .because(error)
                .hint(
                    "a JSON object with numbers for storage_gb_month, egress_gb, read_1000, \
                    write_1000, full_reads_month or limit_month",
                )
        })?;
        match prices.wrong() {
            Some(wrong) => Err(Error::usage(format!("{wrong} is no price")).at_path(path)),
            None => Ok(prices),
        }
    }

    /// A price as it is typed, with a comma or a point; `None` for an empty field and for what is
    /// no price.
    pub fn parse_price(text: &str) -> Option<f64> {
        text.trim()
            .replace(',', ".")
            .parse()
            .ok()
            .filter(|price: &f64| price.is_finite() && *price >= 0.0)
    }

    /// The prices in the settings of the user; none where nothing was set.
    ///
    /// # Errors
    /// When the settings can't be read, or have a number that is no price.
    pub fn of_user() -> Result<Self> {
        settings_file().map_or_else(|| Ok(Self::default()), |path| Self::of_settings(&path))
    }

    /// The prices at `settings.publish_prices` of a file with settings.
    fn of_settings(path: &Path) -> Result<Self> {
        let text = match crate::files::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(Error::io("read the settings", path, error)),
        };
        let wrong = |error| unreadable_prices_error(path, error);
        let settings: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
        let prices: Self = match settings.pointer("/settings/publish_prices") {
            Some(prices) => serde_json::from_value(prices.clone()).map_err(wrong)?,
            None => Self::default(),
        };
        match prices.wrong() {
            Some(number) => Err(Error::usage(format!("{number} is no price")).at_path(path)),
            None => Ok(prices),
        }
    }

    /// A number that is no price.
    fn wrong(&self) -> Option<f64> {
        self.to_array()
            .into_iter()
            .flatten()
            .find(|price| !price.is_finite() || *price < 0.0)
    }

    fn to_array(&self) -> [Option<f64>; 6] {
        [
            self.storage_gb_month,
            self.egress_gb,
            self.read_1000,
            self.write_1000,
            self.full_reads_month,
            self.limit_month,
        ]
    }
}

/// The month of which the list prices of stores are; they are approximate.
pub const LIST_PRICES_DATE: &str = "November 2025";

/// Prices of a store in US dollars, with the user's settings applied.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoreRates {
    /// Storage of 1 GB for a month.
    pub storage_gb_month: f64,
    /// Egress of 1 GB (10⁹ bytes).
    pub egress_gb: f64,
    /// 1,000 read requests.
    pub read_1000: f64,
    /// 1,000 write requests.
    pub write_1000: f64,
    /// Full reads of the dataset per month.
    pub full_reads_month: f64,
    /// The monthly cost above which the check warns.
    pub limit_month: Option<f64>,
    /// Where the store's prices are published, and when they were looked up; nothing for a folder
    /// of this machine, and where the user has set all prices.
    pub source: Option<&'static str>,
    /// Prices that the user has set, of the four.
    pub set_by_user: usize,
}

impl StoreRates {
    /// The prices for a target. Those of stores are approximate: the public list prices of November
    /// 2025 for the first step of the standard class, in AWS us-west-2, Google us-central1 and
    /// Azure West US 2.
    pub fn for_target(target: &Path, prices: &Prices) -> Self {
        let ([storage, egress, read, write], source) = match Address::from_path(target)
            .map(|address| address.scheme)
        {
            Some(Scheme::S3) => (
                [0.023, 0.09, 0.0004, 0.005],
                Some("about those of aws.amazon.com/s3/pricing, us-west-2, November 2025"),
            ),
            Some(Scheme::Gs) => (
                [0.020, 0.12, 0.0004, 0.005],
                Some("about those of cloud.google.com/storage/pricing, us-central1, November 2025"),
            ),
            Some(Scheme::Az) => (
                [0.018, 0.087, 0.0005, 0.0065],
                Some(
                    "about those of azure.microsoft.com/pricing/details/storage/blobs, West US 2, \
                        November 2025",
                ),
            ),
            _ => ([0.0; 4], None),
        };
        let own = [
            prices.storage_gb_month,
            prices.egress_gb,
            prices.read_1000,
            prices.write_1000,
        ];
        let set_by_user = own.iter().flatten().count();
        Self {
            set_by_user,
            storage_gb_month: prices.storage_gb_month.unwrap_or(storage),
            egress_gb: prices.egress_gb.unwrap_or(egress),
            read_1000: prices.read_1000.unwrap_or(read),
            write_1000: prices.write_1000.unwrap_or(write),
            full_reads_month: prices.full_reads_month.unwrap_or(1.0),
            limit_month: prices.limit_month,
            source: source.filter(|_| set_by_user < own.len()),
        }
    }
}

/// Cost of storing, reading and uploading a dataset, in US dollars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The prices.
    pub rates: StoreRates,
    /// Bytes stored, and read by one full read.
    pub size_bytes: u64,
    /// Requests of one full read: one for each sample with data.
    pub read_requests: u64,
    /// Requests of the upload.
    pub write_requests: u64,
    /// Storage for a month.
    pub storage_month: f64,
    /// Egress of one full read.
    pub egress_read: f64,
    /// Requests of one full read.
    pub requests_read: f64,
    /// Requests of the upload, once.
    pub upload: f64,
    /// Monthly total: storage and full reads.
    pub month: f64,
}

impl Cost {
    /// The cost of `size_bytes` bytes.
    pub fn new(
        rates: StoreRates,
        size_bytes: u64,
        read_requests: u64,
        write_requests: u64,
    ) -> Self {
        let gigabytes = size_bytes as f64 / 1e9;
        let storage_month = gigabytes * rates.storage_gb_month;
        let egress_read = gigabytes * rates.egress_gb;
        let requests_read = read_requests as f64 / 1e3 * rates.read_1000;
        let upload = write_requests as f64 / 1e3 * rates.write_1000;
        let month = storage_month + rates.full_reads_month * (egress_read + requests_read);
        Self {
            rates,
            size_bytes,
            read_requests,
            write_requests,
            storage_month,
            egress_read,
            requests_read,
            upload,
            month,
        }
    }

    /// True when the monthly total exceeds the user's limit.
    pub fn is_above_limit(&self) -> bool {
        self.rates
            .limit_month
            .is_some_and(|limit| self.month > limit)
    }
}

fn unreadable_prices_error(path: &Path, error: serde_json::Error) -> Error {
    let error = Error::usage("the settings have no prices that can be read")
        .at_path(path)
        .because(error);
    error.hint("set them in the window's settings, or name a table with --cost-table")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_storage_and_full_reads() {
        let prices = Prices {
            full_reads_month: Some(40.0),
            limit_month: Some(100.0),
            ..Prices::default()
        };
        let cost = Cost::new(
            StoreRates::for_target(Path::new("s3://bucket/set"), &prices),
            28_500_000_000,
            12_103,
            480,
        );
        let near = |found: f64, wanted: f64| {
            assert!((found - wanted).abs() < 0.006, "{found}, not {wanted}")
        };
        near(cost.storage_month, 0.65);
        near(cost.egress_read, 2.56);
        near(cost.requests_read, 0.005);
        near(cost.upload, 0.002);
        near(cost.month, 103.45);
        assert!(cost.is_above_limit());
        let free = Cost::new(
            StoreRates::for_target(Path::new("/data"), &Prices::default()),
            1 << 40,
            9,
            9,
        );
        assert!(free.month == 0.0 && !free.is_above_limit() && free.rates.source.is_none());
    }

    #[test]
    fn prices_of_the_settings_replace_those_of_the_store() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("window.json");
        assert_eq!(
            Prices::of_settings(&path).expect("nothing is set"),
            Prices::default()
        );
        let write = |text: &str| std::fs::write(&path, text).expect("writes");
        write(r#"{"theme": "dark", "settings": {"scale": 1.0}}"#);
        assert_eq!(
            Prices::of_settings(&path).expect("nothing is set"),
            Prices::default()
        );
        write(r#"{"settings": {"publish_prices": {"egress_gb": 0.05, "limit_month": 9}}}"#);
        let prices = Prices::of_settings(&path).expect("reads");
        let rates = StoreRates::for_target(Path::new("s3://bucket/set"), &prices);
        assert_eq!(
            (rates.egress_gb, rates.storage_gb_month, rates.set_by_user),
            (0.05, 0.023, 1)
        );
        assert!(
            rates
                .source
                .is_some_and(|source| source.contains(LIST_PRICES_DATE)),
            "the others are approximate, and have a date"
        );
        for wrong in [
            r#"{"settings": {"publish_prices": {"egress_gb": -1}}}"#,
            r#"{"settings": {"publish_prices": {"gb": 1}}}"#,
            "x",
        ] {
            write(wrong);
            assert!(Prices::of_settings(&path).is_err(), "{wrong}");
        }
        let own = Prices {
            storage_gb_month: Some(0.0),
            egress_gb: Some(0.0),
            read_1000: Some(0.0),
            write_1000: Some(0.0),
            ..prices
        };
        assert_eq!(
            StoreRates::for_target(Path::new("s3://bucket/set"), &own).source,
            None
        );
    }

    #[test]
    fn a_table_of_prices_has_known_fields_and_no_negative_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("prices.json");
        let read = |text: &str| {
            std::fs::write(&path, text).expect("writes");
            Prices::read(&path)
        };
        assert_eq!(
            read(r#"{"egress_gb": 0.05}"#).expect("reads").egress_gb,
            Some(0.05)
        );
        for wrong in [r#"{"egress": 1}"#, r#"{"egress_gb": -1}"#, "[]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
