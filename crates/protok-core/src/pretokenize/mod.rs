//! Stage 3: cuts the normalized text into pieces.
