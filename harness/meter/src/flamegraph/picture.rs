//! Pictures of folded stacks (SVG), one of a contender or of the difference between two.

use std::io;

use inferno::flamegraph::{Options, from_lines};

/// A picture could not be made: there is no stack to show, or a line is no folded stack.
#[derive(Debug, thiserror::Error)]
#[error("the flame graph could not be made: {0}")]
pub struct PictureError(#[from] io::Error);

/// Which frames stacks have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Those of the kernel, too, where this user may see them.
    All,
    /// Those of user mode.
    User,
}

impl Frames {
    /// How the name of a file with such stacks ends, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            Frames::All => "folded",
            Frames::User => "user.folded",
        }
    }

    /// Which frames are in the file of that name.
    pub fn of_file(name: &str) -> Frames {
        if name.ends_with(".user.folded") { Frames::User } else { Frames::All }
    }

    fn titled(self, title: &str) -> String {
        match self {
            Frames::All => title.to_owned(),
            Frames::User => format!("{title} (user frames only, sampled without perf)"),
        }
    }
}

/// A flame graph of the `folded` stacks.
///
/// # Errors
/// When there is no stack, or a line is none.
pub fn picture(folded: &str, title: &str, frames: Frames) -> Result<Vec<u8>, PictureError> {
    let subtitle = match frames {
        Frames::All => "perf, cpu-clock at 499 Hz, with the kernel's frames where this user may see them",
        Frames::User => "by a library in the worker, CPU time at 250 Hz, without the kernel's frames",
    };
    draw(folded, &frames.titled(title), subtitle)
}

/// A flame graph of the stacks `after`, in which red frames take a greater share of the samples than in `before`, and blue ones a smaller.
///
/// # Errors
/// When there is no stack, or a line is none.
pub fn differential(before: &str, after: &str, title: &str, frames: Frames) -> Result<Vec<u8>, PictureError> {
    let options = inferno::differential::Options { normalize: true, ..inferno::differential::Options::default() };
    let mut both = Vec::new();
    inferno::differential::from_readers(options, before.as_bytes(), after.as_bytes(), &mut both)?;
    draw(
        &String::from_utf8_lossy(&both),
        &frames.titled(title),
        "red: a greater share of the samples than the reference's; blue: a smaller one",
    )
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
        let svg = picture("worker;main;Vec<u8>::push 3\nworker;main;a&b 1\n", "scylla+<x>&\"y\"", Frames::All).unwrap();
        let text = String::from_utf8(svg).unwrap();
        assert!(text.contains("Vec&lt;u8&gt;::push (3 samples, 75.00%)"), "{text}");
        assert!(text.contains("a&amp;b") && text.contains("scylla+&lt;x&gt;&amp;"), "{text}");
        assert!(!text.contains("<x>"), "{text}");
    }

    #[test]
    fn a_difference_shows_what_grew_and_what_shrank() {
        let after = "worker;main;read 30\nworker;main;write 10\n";
        let text = String::from_utf8(differential(BEFORE, after, "a against b", Frames::All).unwrap()).unwrap();
        assert!(text.contains("+25.00%") && text.contains("-25.00%"), "{text}");
    }

    #[test]
    fn stacks_without_the_kernels_frames_say_so_in_the_title() {
        let own = picture(BEFORE, "a", Frames::of_file("stacks/1-a.user.folded")).unwrap();
        let difference = differential(BEFORE, BEFORE, "a against b", Frames::User).unwrap();
        for svg in [own, difference] {
            let text = String::from_utf8(svg).unwrap();
            assert!(text.contains("(user frames only, sampled without perf)</text>"), "{text}");
        }
        assert_eq!(Frames::of_file("stacks/1-a.folded"), Frames::All);
    }

    #[test]
    fn without_a_stack_there_is_no_picture_but_a_sentence() {
        assert!(
            picture("", "x", Frames::All).unwrap_err().to_string().starts_with("the flame graph could not be made: ")
        );
    }
}
