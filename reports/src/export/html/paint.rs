//! Charts as SVG that the page's stylesheet colours.
//!
//! plotters knows colours, not classes. So everything is drawn in key colours, which say what an element is and which hover
//! title it has, and [`painted`] replaces them by classes: light and dark, hiding and printing are then the stylesheet's.

use std::fmt::Write;

use plotters::coord::Shift;
use plotters::prelude::*;

/// Half of what charts are drawn in: two units are a pixel of the page, because plotters draws at whole units.
pub const WIDTH: u32 = 960;

/// What `draw` is given.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Why something could not be drawn.
pub type Unpainted = DrawingAreaErrorKind<std::io::Error>;

/// Axes and their names.
pub const INK: RGBColor = RGBColor(1, 0, 0);
/// What stands behind the figures.
pub const GRID: RGBColor = RGBColor(2, 0, 0);
/// What is beside the point.
pub const MUTED: RGBColor = RGBColor(3, 0, 0);
/// Where two contenders are the same.
pub const BAND: RGBColor = RGBColor(4, 0, 0);

/// What is written on a colour.
pub const PAPER: RGBColor = RGBColor(5, 0, 0);

const CONTENDERS: u8 = 0x20;
const NAMES: u8 = 0xe0;

/// The colour of the contender at `place` in the run, with the hover title at `title`, if any.
pub fn of_contender(place: usize, title: Option<usize>) -> RGBColor {
    keyed(CONTENDERS + (place % usize::from(NAMES - CONTENDERS)) as u8, title)
}

/// The colour of the name at `place` in a breakdown, with the hover title at `title`, if any.
pub fn of_name(place: usize, title: Option<usize>) -> RGBColor {
    keyed(NAMES + place.min(31) as u8, title)
}

fn keyed(first: u8, title: Option<usize>) -> RGBColor {
    let [high, low] = title.map_or([0, 0], |title| ((title + 1).min(0xffff) as u16).to_be_bytes());
    RGBColor(first, high, low)
}

/// A style for texts.
pub fn text(colour: RGBColor) -> TextStyle<'static> {
    // The size is the stylesheet's; here it is what plotters reckons with.
    ("sans-serif", 30).into_font().color(&colour)
}

/// What `draw` draws, `height` units high, with `titles` on hover and `palette`'s class for every contender.
///
/// # Errors
/// When plotters cannot draw it, for example a range without length.
pub fn painted(
    height: u32,
    label: &str,
    titles: &[String],
    palette: &[String],
    draw: impl FnOnce(&Area) -> Result<(), Unpainted>,
) -> Result<String, Unpainted> {
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (WIDTH, height)).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    Ok(dress(&drawn, label, titles, palette))
}

/// Replaces key colours by classes and adds the titles.
fn dress(drawn: &str, label: &str, titles: &[String], palette: &[String]) -> String {
    let mut out = String::with_capacity(drawn.len());
    for line in drawn.lines() {
        if line.starts_with("<svg") {
            let view_box = attribute(line, "viewBox").unwrap_or_default();
            let _ = write!(out, "<svg viewBox=\"{view_box}\" role=\"img\" aria-label=\"{}\">", escaped(label));
        } else if line.starts_with('<') && !line.starts_with("</") {
            out.push_str(&element(line, titles, palette));
        } else {
            out.push_str(line);
        }
    }
    out
}

/// One element, which plotters writes on a line of its own.
fn element(line: &str, titles: &[String], palette: &[String]) -> String {
    let closed = line.ends_with("/>");
    let inner = line.trim_start_matches('<').trim_end_matches("/>").trim_end_matches('>');
    let (tag, mut rest) = inner.split_once(' ').unwrap_or((inner, ""));
    let mut attributes = String::new();
    let mut class = String::new();
    let mut title = None;
    while let Some((name, after)) = rest.split_once("=\"") {
        let Some((value, next)) = after.split_once('"') else { break };
        let name = name.trim();
        match (name, key(value)) {
            ("fill" | "stroke", Some(key)) => {
                let paint = if name == "fill" { 'f' } else { 's' };
                let _ = write!(class, "{}{} {paint}", if class.is_empty() { "" } else { " " }, kind(key, palette));
                title = title.or_else(|| titles.get(usize::from(u16::from_be_bytes([key[1], key[2]])).checked_sub(1)?));
            }
            ("font-family" | "font-size", _) => {}
            ("stroke", _) if value == "none" => {}
            ("opacity" | "stroke-width", _) if value == "1" => {}
            ("points", _) => {
                let _ = write!(attributes, " {name}=\"{}\"", value.trim_end());
            }
            _ => {
                let _ = write!(attributes, " {name}=\"{value}\"");
            }
        }
        rest = next;
    }
    if !class.is_empty() {
        class = format!(" class=\"{class}\"");
    }
    match (closed, title) {
        (true, None) => format!("<{tag}{class}{attributes}/>"),
        (true, Some(title)) => format!("<{tag}{class}{attributes}><title>{}</title></{tag}>", escaped(title)),
        (false, _) => format!("<{tag}{class}{attributes}>"),
    }
}

fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
}

/// The parts of a colour as plotters writes it.
fn key(value: &str) -> Option<[u8; 3]> {
    let digits = value.strip_prefix('#')?;
    let part = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Some([part(0)?, part(2)?, part(4)?])
}

fn kind(key: [u8; 3], palette: &[String]) -> String {
    match key[0] {
        1 => "ink".to_owned(),
        2 => "grid".to_owned(),
        3 => "muted".to_owned(),
        4 => "band".to_owned(),
        5 => "paper".to_owned(),
        name if name >= NAMES => format!("n-{}", name - NAMES),
        place if place >= CONTENDERS => {
            palette.get(usize::from(place - CONTENDERS)).cloned().unwrap_or_else(|| "muted".to_owned())
        }
        _ => "ink".to_owned(),
    }
}

/// Text without any meaning of its own in SVG and HTML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_colours_become_classes_and_titles() {
        let titles = ["block <1>".to_owned()];
        let palette = ["c-0 k-3".to_owned()];
        let svg = painted(40, "a \"chart\"", &titles, &palette, |area| {
            area.draw(&Circle::new((10, 10), 5, of_contender(0, Some(0)).filled()))?;
            area.draw(&PathElement::new([(0, 0), (9, 9)], INK))?;
            area.draw(&Text::new("</svg><script>", (1, 1), text(MUTED)))
        })
        .unwrap();
        assert!(
            svg.starts_with("<svg viewBox=\"0 0 960 40\" role=\"img\" aria-label=\"a &quot;chart&quot;\">"),
            "{svg}"
        );
        assert!(
            svg.contains(
                "<circle class=\"c-0 k-3 f\" cx=\"10\" cy=\"10\" r=\"5\"><title>block &lt;1&gt;</title></circle>"
            ),
            "{svg}"
        );
        assert!(svg.contains("<polyline class=\"ink s\" fill=\"none\""), "{svg}");
        assert!(svg.contains("&lt;/svg&gt;&lt;script&gt;") && !svg.contains('#') && !svg.contains("font"), "{svg}");
        assert!(svg.ends_with("</svg>"), "{svg}");
    }
}
