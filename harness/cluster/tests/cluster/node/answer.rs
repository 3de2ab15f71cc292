//! What the node sends, read.

/// A column of a result or a bind marker; the type is its `[option]` as bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub keyspace: String,
    pub table: String,
    pub name: String,
    pub ty: Vec<u8>,
}

/// Rows as they came.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Rows {
    pub columns: Vec<Column>,
    pub column_count: usize,
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
    pub paging_state: Option<Vec<u8>>,
}

impl Rows {
    /// The cell of a column by name in a row.
    pub fn cell(&self, row: usize, name: &str) -> Option<&[u8]> {
        let at = self.columns.iter().position(|column| column.name == name).unwrap_or_else(|| panic!("no {name}"));
        self.rows[row][at].as_deref()
    }
}

/// A PREPARED.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    pub id: Vec<u8>,
    pub markers: Vec<Column>,
    pub key: Vec<u16>,
    pub columns: Vec<Column>,
}

/// A SCHEMA_CHANGE, as a result or an event.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaChange {
    pub change: String,
    pub target: String,
    pub keyspace: String,
    pub table: Option<String>,
}

/// A frame that the node sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Error { code: i32, message: String, rest: Vec<u8> },
    Ready,
    Authenticate(String),
    AuthSuccess,
    Supported(Vec<(String, Vec<String>)>),
    Void,
    Rows(Rows),
    SetKeyspace(String),
    Prepared(Prepared),
    SchemaChange(SchemaChange),
    Event(SchemaChange),
}

impl Answer {
    pub fn rows(self) -> Rows {
        match self {
            Answer::Rows(rows) => rows,
            other => panic!("rows expected, not {other:?}"),
        }
    }

    /// The code and text of an ERROR.
    pub fn error(self) -> (i32, String) {
        match self {
            Answer::Error { code, message, .. } => (code, message),
            other => panic!("an error expected, not {other:?}"),
        }
    }
}

/// A cursor over a body.
pub struct Reader<'a> {
    pub rest: &'a [u8],
    pub version: u8,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    fn string(&mut self) -> String {
        let length = self.short() as usize;
        String::from_utf8(self.take(length).to_vec()).unwrap()
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        usize::try_from(self.int()).ok().map(|length| self.take(length).to_vec())
    }

    fn option(&mut self) -> Vec<u8> {
        let start = self.rest;
        match self.short() {
            0 => {
                self.string();
            }
            0x20 | 0x22 => {
                self.option();
            }
            0x21 => {
                self.option();
                self.option();
            }
            0x30 => {
                self.string();
                self.string();
                for _ in 0..self.short() {
                    self.string();
                    self.option();
                }
            }
            0x31 => {
                for _ in 0..self.short() {
                    self.option();
                }
            }
            _ => {}
        }
        start[..start.len() - self.rest.len()].to_vec()
    }

    fn columns(&mut self, count: usize, global: bool) -> Vec<Column> {
        let table = global.then(|| (self.string(), self.string()));
        let column = |_| {
            let (keyspace, table) = table.clone().unwrap_or_else(|| (self.string(), self.string()));
            Column { keyspace, table, name: self.string(), ty: self.option() }
        };
        (0..count).map(column).collect()
    }

    fn metadata(&mut self) -> (usize, Option<Vec<u8>>, Vec<Column>) {
        let flags = self.int();
        let count = self.int() as usize;
        let paging_state = if flags & 2 != 0 { self.bytes() } else { None };
        let columns = if flags & 4 != 0 { Vec::new() } else { self.columns(count, flags & 1 != 0) };
        (count, paging_state, columns)
    }

    fn schema_change(&mut self) -> SchemaChange {
        let (change, target, keyspace) = (self.string(), self.string(), self.string());
        let table = (target != "KEYSPACE").then(|| self.string());
        SchemaChange { change, target, keyspace, table }
    }

    /// Reads the body of an answer.
    pub fn answer(&mut self, opcode: u8) -> Answer {
        match opcode {
            0x00 => Answer::Error { code: self.int(), message: self.string(), rest: self.rest.to_vec() },
            0x02 => Answer::Ready,
            0x03 => Answer::Authenticate(self.string()),
            0x06 => {
                let count = self.short();
                let entry = |reader: &mut Self| {
                    let key = reader.string();
                    let values = (0..reader.short()).map(|_| reader.string()).collect();
                    (key, values)
                };
                Answer::Supported((0..count).map(|_| entry(self)).collect())
            }
            0x08 => self.result(),
            0x0C => {
                assert_eq!(self.string(), "SCHEMA_CHANGE");
                Answer::Event(self.schema_change())
            }
            0x10 => {
                assert_eq!(self.bytes(), None);
                Answer::AuthSuccess
            }
            other => panic!("opcode {other:#04x}"),
        }
    }

    fn result(&mut self) -> Answer {
        match self.int() {
            1 => Answer::Void,
            2 => {
                let (column_count, paging_state, columns) = self.metadata();
                let rows = (0..self.int()).map(|_| (0..column_count).map(|_| self.bytes()).collect()).collect();
                Answer::Rows(Rows { columns, column_count, rows, paging_state })
            }
            3 => Answer::SetKeyspace(self.string()),
            4 => {
                let length = self.short() as usize;
                let id = self.take(length).to_vec();
                let flags = self.int();
                let count = self.int() as usize;
                let key_length = if self.version >= 4 { self.int() } else { 0 };
                let key = (0..key_length).map(|_| self.short()).collect();
                let markers = self.columns(count, flags & 1 != 0);
                let (_, _, columns) = self.metadata();
                Answer::Prepared(Prepared { id, markers, key, columns })
            }
            5 => Answer::SchemaChange(self.schema_change()),
            other => panic!("result kind {other}"),
        }
    }
}
