//! The structures of the Parquet format as they are stored (parquet.thrift): field numbers and
//! types. The decoder of footers and page headers does not compare the type of a field that it
//! reads with the stored one: it would continue at another byte. So the type of every field that is
//! read is compared before.

use super::thrift::ThriftType::{self, Boolean, List, Scalar, Struct};
use super::thrift::kind;

const BYTE: ThriftType = Scalar(kind::BYTE);
const I16: ThriftType = Scalar(kind::I16);
const I32: ThriftType = Scalar(kind::I32);
const I64: ThriftType = Scalar(kind::I64);
const DOUBLE: ThriftType = Scalar(kind::DOUBLE);
const BINARY: ThriftType = Scalar(kind::BINARY);
const EMPTY: ThriftType = Struct(&[]);
const LIST_OF_I32: ThriftType = List(&I32);
const LIST_OF_I64: ThriftType = List(&I64);
const LIST_OF_BINARY: ThriftType = List(&BINARY);

/// `FileMetaData`, the footer.
pub(super) const FILE_METADATA: ThriftType = Struct(&[
    (1, I32),
    (2, List(&SCHEMA_ELEMENT)),
    (3, I64),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, BINARY),
    // `ColumnOrder`
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
    // `EncryptionAlgorithm`
    (8, Struct(&[(1, AES_GCM), (2, AES_GCM)])),
    (9, BINARY),
]);

/// `PageHeader`.
pub(super) const PAGE_HEADER: ThriftType = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    // `DataPageHeader`
    (
        5,
        Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, STATISTICS)]),
    ),
    // `IndexPageHeader`
    (6, EMPTY),
    // `DictionaryPageHeader`
    (7, Struct(&[(1, I32), (2, I32), (3, Boolean)])),
    // `DataPageHeaderV2`
    (
        8,
        Struct(&[
            (1, I32),
            (2, I32),
            (3, I32),
            (4, I32),
            (5, I32),
            (6, I32),
            (7, Boolean),
            (8, STATISTICS),
        ]),
    ),
]);

const SCHEMA_ELEMENT: ThriftType = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, BINARY),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, LOGICAL_TYPE),
]);

const LOGICAL_TYPE: ThriftType = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    // `DecimalType`
    (5, Struct(&[(1, I32), (2, I32)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    // `IntType`
    (10, Struct(&[(1, BYTE), (2, Boolean)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    // `VariantType`
    (16, Struct(&[(1, BYTE)])),
    // `GeometryType`
    (17, Struct(&[(1, BINARY)])),
    // `GeographyType`
    (18, Struct(&[(1, BINARY), (2, I32)])),
    (19, EMPTY),
]);

/// `TimeType` and `TimestampType`.
const TIME: ThriftType = Struct(&[
    (1, Boolean),
    (2, Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)])),
]);

const KEY_VALUE: ThriftType = Struct(&[(1, BINARY), (2, BINARY)]);

/// `AesGcmV1` and `AesGcmCtrV1`.
const AES_GCM: ThriftType = Struct(&[(1, BINARY), (2, BINARY), (3, Boolean)]);

const ROW_GROUP: ThriftType = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, I64),
    (3, I64),
    // `SortingColumn`
    (4, List(&Struct(&[(1, I32), (2, Boolean), (3, Boolean)]))),
    (5, I64),
    (6, I64),
    (7, I16),
]);

const COLUMN_CHUNK: ThriftType = Struct(&[
    (1, BINARY),
    (2, I64),
    (3, COLUMN_METADATA),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    // `ColumnCryptoMetaData`
    (
        8,
        Struct(&[(1, EMPTY), (2, Struct(&[(1, LIST_OF_BINARY), (2, BINARY)]))]),
    ),
    (9, BINARY),
]);

const COLUMN_METADATA: ThriftType = Struct(&[
    (1, I32),
    (2, LIST_OF_I32),
    (3, LIST_OF_BINARY),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&KEY_VALUE)),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STATISTICS),
    // `PageEncodingStats`
    (13, List(&Struct(&[(1, I32), (2, I32), (3, I32)]))),
    (14, I64),
    (15, I32),
    // `SizeStatistics`
    (16, Struct(&[(1, I64), (2, LIST_OF_I64), (3, LIST_OF_I64)])),
    // `GeospatialStatistics`
    (17, Struct(&[(1, BOUNDING_BOX), (2, LIST_OF_I32)])),
]);

const STATISTICS: ThriftType = Struct(&[
    (1, BINARY),
    (2, BINARY),
    (3, I64),
    (4, I64),
    (5, BINARY),
    (6, BINARY),
    (7, Boolean),
    (8, Boolean),
    (9, I64),
]);

const BOUNDING_BOX: ThriftType = Struct(&[
    (1, DOUBLE),
    (2, DOUBLE),
    (3, DOUBLE),
    (4, DOUBLE),
    (5, DOUBLE),
    (6, DOUBLE),
    (7, DOUBLE),
    (8, DOUBLE),
]);
