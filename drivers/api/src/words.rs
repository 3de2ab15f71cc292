//! Enums whose variants have a word each.

/// Makes an enum of variants that are written beside their words: with lists of all, their names, and `Display`.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            /// Every one.
            pub const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            /// Each with its word.
            pub const WORDS: [(&str, $name); [$($word),*].len()] = [$(($word, $name::$variant)),*];

            /// Its word.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, out: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                out.write_str(self.name())
            }
        }
    };
}
