//! Buckets and containers that can be written, with the client that signs their requests.

use object_store::aws::AmazonS3;
use object_store::azure::MicrosoftAzure;
use object_store::client::HttpClient;
use object_store::gcp::GoogleCloudStorage;

/// A bucket or container, and how requests for it are signed.
pub(super) struct Bucket {
    /// Sends the requests.
    pub client: HttpClient,
    pub name: String,
    /// Without trailing slash: S3, the bucket; Azure, the container; Google Cloud Storage, the
    /// server.
    pub url: String,
    /// Protocol and credentials.
    pub signer: Signer,
}

/// The protocol of a store, with the client that has its credentials.
pub(super) enum Signer {
    S3 {
        store: Box<AmazonS3>,
        region: String,
        signs: bool,
    },
    Google {
        store: Box<GoogleCloudStorage>,
        signs: bool,
    },
    Azure {
        store: Box<MicrosoftAzure>,
        account: String,
        signs: bool,
    },
}
