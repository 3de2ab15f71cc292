//! Flame graphs (SVG) of one contender, or of the difference between two.

use std::io;

use inferno::flamegraph::{Options, from_lines};

/// A picture could not be made: there is no stack to show, or a line is no folded stack.
#[derive(Debug, thiserror::Error)]
#[error("the flame graph could not be made: {0}")]
pub struct PictureError(#[from] io::Error);

/// A flame graph of the `folded` stacks.
///
/// # Errors
/// When there is no stack, or a line is none.
pub fn picture(folded: &str, title: &str) -> Result<Vec<u8>, PictureError> {
    draw(folded, title, "perf, cpu-clock at 499 Hz, with frames of the kernel if this user may see them")
}

/// A flame graph of the stacks `after`. Red frames take a greater share of the samples than in `before`, blue ones a smaller.
///
/// # Errors
/// When there is no stack, or a line is none.
pub fn differential(before: &str, after: &str, title: &str) -> Result<Vec<u8>, PictureError> {
    let options = inferno::differential::Options { normalize: true, ..inferno::differential::Options::default() };
    let mut both = Vec::new();
    inferno::differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut both)?;
    let subtitle = "red: a greater share of the samples than the reference's; blue: a smaller one";
    draw(&String::from_utf8_lossy(&both), title, subtitle)
}

fn draw(folded: &str, title: &str, subtitle: &str) -> Result<Vec<u8>, PictureError> {
    let mut options = Options::default();
    options.title = title.to_owned();
    options.subtitle = Some(subtitle.to_owned());
    options.count_name = "samples".to_owned();
    let mut svg = Vec::new();
    from_lines(&mut options, folded.lines(), &mut svg)?;
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "worker;main;read 10\nworker;main;write 10\n";

    #[test]
    fn a_picture_has_every_frame_and_no_name_can_break_it() {
        let svg = picture("worker;main;Vec<u8>::push 3\nworker;main;a&b 1\n", "scylla+<x>&\"y\"").unwrap();
        let text = String::from_utf8(svg).unwrap();
        assert!(text.contains("Vec&lt;u8&gt;::push (3 samples, 75.00%)"), "{text}");
        assert!(text.contains("a&amp;b") && text.contains("scylla+&lt;x&gt;&amp;"), "{text}");
        assert!(!text.contains("<x>"), "{text}");
    }

    #[test]
    fn a_difference_shows_what_grew_and_what_shrank() {
        let after = "worker;main;read 30\nworker;main;write 10\n";
        let text = String::from_utf8(differential(BEFORE, after, "a against b").unwrap()).unwrap();
        assert!(text.contains("+25.00%") && text.contains("-25.00%"), "{text}");
    }

    #[test]
    fn without_a_stack_there_is_no_picture_but_a_sentence() {
        assert!(picture("", "x").unwrap_err().to_string().starts_with("the flame graph could not be made: "));
    }
}
