//! Names as CQL writes them.

use std::fmt;

/// Words that cannot name anything unless they are quoted.
const RESERVED: &str = "add allow alter and apply asc authorize batch begin by columnfamily create delete desc describe \
    drop entries execute from full grant if in index infinity insert into is keyspace limit materialized modify nan \
    norecursive not null of on or order primary rename revoke schema select set table to token truncate unlogged update \
    use using view where with";

/// Whether a word in lower case names something only in quotes.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.split(' ').any(|reserved| reserved == word)
}

/// A name as it is written in CQL: in quotes unless it is a plain word.
pub struct Quoted<'n>(pub &'n str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quoted(name) = self;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_word = name.bytes().all(plain) && name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        if is_word && !is_reserved(name) {
            return f.write_str(name);
        }
        write!(f, "\"{}\"", name.replace('"', "\"\""))
    }
}
