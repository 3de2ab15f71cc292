//! What is exported, as others read it: the page by a browser, the table of cells by pandas.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod page;
mod pandas;
