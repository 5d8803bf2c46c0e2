//! Arrays as Arrow tensors: one message of the Arrow IPC format ("Tensor", version 5 of the
//! metadata), which `pyarrow.ipc.read_tensor` reads. The metadata are a FlatBuffers table of
//! constant layout, because a chunk always has three dimensions. Pure.

/// Bytes of the message before the values: its length counts, and the values begin at a multiple
/// of 64.
const HEAD: usize = 320;

/// An array of bands, rows and columns as a message. `dtype` is NumPy's, such as `<u2`; `None` for
/// types that Arrow tensors lack.
pub fn tensor_message(shape: [usize; 3], dtype: &str, values: &[u8]) -> Option<Vec<u8>> {
    let width: usize = dtype
        .get(2..)?
        .parse()
        .ok()
        .filter(|width| matches!(width, 1 | 2 | 4 | 8))?;
    let kind = *dtype.as_bytes().get(1)?;
    let mut meta = FlatTable(vec![0; HEAD - 8]);
    // Message: vtable at 4, table at 16. Version 5 is 4; a tensor is header 4.
    meta.offset(0, 16);
    meta.vtable(4, &[20, 16, 18, 4, 8]);
    meta.table(16, 4);
    meta.offset(20, 56);
    meta.long(24, values.len() as i64);
    meta.short(32, 4);
    meta.0[34] = 4;
    // Tensor: vtable at 36, table at 56: kind of type, type, shape, strides, byte range of the
    // values in the body.
    meta.vtable(36, &[33, 32, 4, 8, 12, 16]);
    meta.table(56, 36);
    meta.offset(60, 100);
    meta.offset(64, 112);
    meta.offset(68, 132);
    meta.long(72, 0);
    meta.long(80, values.len() as i64);
    // Type: vtable at 92, table at 100. An integer is kind 2, with its bits and whether it has a
    // sign; a float kind 3.
    match kind {
        b'u' | b'i' => {
            meta.0[88] = 2;
            meta.vtable(92, &[9, 4, 8]);
            meta.table(100, 92);
            meta.int(104, width as i32 * 8);
            meta.0[108] = u8::from(kind == b'i');
        }
        b'f' if width >= 4 => {
            meta.0[88] = 3;
            meta.vtable(92, &[6, 4]);
            meta.table(100, 92);
            meta.short(104, if width == 4 { 1 } else { 2 });
        }
        _ => return None,
    }
    // Shape: three tables of name and size with one vtable at 160.
    meta.int(112, 3);
    meta.vtable(160, &[16, 8, 4]);
    let names = [("bands", 216), ("rows", 228), ("columns", 240)];
    for (at, (size, (name, place))) in shape.into_iter().zip(names).enumerate() {
        let table = 168 + at * 16;
        meta.offset(116 + at * 4, table);
        meta.table(table, 160);
        meta.offset(table + 4, place);
        meta.long(table + 8, size as i64);
        meta.int(place, name.len() as i32);
        meta.put(place + 4, name.as_bytes());
    }
    // Strides in bytes, row by row.
    meta.int(132, 3);
    let [_, rows, columns] = shape;
    for (at, stride) in [rows * columns * width, columns * width, width]
        .into_iter()
        .enumerate()
    {
        meta.long(136 + at * 8, stride as i64);
    }
    let mut out = vec![0xff; 4];
    out.extend((meta.0.len() as i32).to_le_bytes());
    out.extend(meta.0);
    out.extend_from_slice(values);
    // A message ends at a multiple of 8.
    out.resize(out.len().next_multiple_of(8), 0);
    Some(out)
}

/// Bytes of a FlatBuffers table.
struct FlatTable(Vec<u8>);

impl FlatTable {
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn short(&mut self, at: usize, value: i16) {
        self.put(at, &value.to_le_bytes());
    }

    fn int(&mut self, at: usize, value: i32) {
        self.put(at, &value.to_le_bytes());
    }

    fn long(&mut self, at: usize, value: i64) {
        self.put(at, &value.to_le_bytes());
    }

    /// A reference to a table, vector or text behind it.
    fn offset(&mut self, at: usize, to: usize) {
        self.int(at, (to - at) as i32);
    }

    /// The length of the table and the offset of each field in it.
    fn vtable(&mut self, at: usize, values: &[i16]) {
        self.short(at, (values.len() as i16 + 1) * 2);
        values
            .iter()
            .enumerate()
            .for_each(|(index, value)| self.short(at + 2 + index * 2, *value));
    }

    fn table(&mut self, at: usize, vtable: usize) {
        self.int(at, at as i32 - vtable as i32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_begin_at_a_multiple_of_64() {
        let message = tensor_message([1, 2, 3], "<i8", &[7; 48]).expect("is a tensor");
        assert_eq!((message.len(), &message[HEAD..]), (HEAD + 48, &[7; 48][..]));
        assert_eq!(HEAD % 64, 0);
        assert_eq!(
            tensor_message([1, 1, 3], "|u1", &[7; 3]).map(|message| message.len() % 8),
            Some(0)
        );
        assert_eq!(tensor_message([1, 1, 1], "?", &[1]), None);
        assert_eq!(tensor_message([1, 1, 1], "<f2", &[1, 2]), None);
    }
}
