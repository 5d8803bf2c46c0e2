//! Why a client can't be made.

use std::sync::Arc;

use object_store::ObjectStore;

use crate::error::Error;
use crate::model::Address;
use crate::remote::bucket::Bucket;

pub(super) enum CredentialFault {
    Own(Error),
    Store(object_store::Error),
}

impl CredentialFault {
    pub(super) fn into_error(self, address: &Address) -> Error {
        match self {
            CredentialFault::Own(error) => error.at_place(address),
            CredentialFault::Store(error) => {
                Error::usage("the settings for this address are not complete")
                    .at_place(address)
                    .because(root_cause(&error))
                    .hint(
                        "set the variables that its provider's own tools use, or try it without \
                            credentials (--anonymous)",
                    )
            }
        }
    }
}

impl From<object_store::Error> for CredentialFault {
    fn from(error: object_store::Error) -> Self {
        CredentialFault::Store(error)
    }
}

pub(super) type BuiltClient = std::result::Result<Arc<dyn ObjectStore>, CredentialFault>;

pub(super) type BuiltBucket = std::result::Result<Bucket, CredentialFault>;

/// The settings of a client, and whether it signs its requests.
pub(super) type SignedBuilder<B> = std::result::Result<(B, bool), CredentialFault>;

/// The innermost error of a chain. Outer ones repeat the address with the secrets of a signed link.
pub(in crate::remote) fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(below) = last.source() {
        last = below;
    }
    let text = last.to_string();
    // Server messages may be long and repeat the address.
    let words = text
        .split_whitespace()
        .map(|word| match (word.contains("://"), word.find('?')) {
            (true, Some(query)) => &word[..query],
            _ => word,
        });
    words
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(300)
        .collect()
}
