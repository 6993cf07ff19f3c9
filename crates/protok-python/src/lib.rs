//! The compiled module `protok._core`: glue between Python and [`protok_core`], no logic.
