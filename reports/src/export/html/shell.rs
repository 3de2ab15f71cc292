//! What every page of ours is written into: one file that loads nothing and runs no script but its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::export::chart::svg::STYLE;
use crate::plain;

/// A whole page of `content`, made by that version of the program, with at most one script.
pub fn shell(title: &str, version: &str, content: &Markup, script: Option<&str>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(script));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "cqldyno " (plain(version)) };
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (content)
                footer { p { "Made by cqldyno " (plain(version)) ", a dynamometer for CQL drivers." } }
                @if let Some(script) = script { script { (PreEscaped(script)) } }
            }
        }
    };
    page.into_string()
}

/// Nothing is loaded, and nothing runs but the page's own script and style.
fn policy(script: Option<&str>) -> String {
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        script.map_or("'none'".to_owned(), hash),
        hash(STYLE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_without_a_script_lets_none_run() {
        let page = shell("a <title>", "1", &html! { p { "text" } }, None);
        assert!(page.contains("script-src 'none'; ") && !page.contains("<script"), "{page}");
        assert!(page.contains("<title>a &lt;title&gt;</title>") && page.ends_with("</html>"), "{page}");
    }
}
