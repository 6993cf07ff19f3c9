//! The messages of `sentencepiece_model.proto`, as far as they change what a tokenizer does.
//!
//! Most fields that only the trainer reads are left out; the decoder passes over them. A few are
//! there to be written, because other readers of such files look at them.

/// The whole file.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pub pieces: Vec<Piece>,
    #[prost(message, optional, tag = "2")]
    pub trainer_spec: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    pub normalizer_spec: Option<NormalizerSpec>,
    #[prost(message, optional, tag = "5")]
    pub denormalizer_spec: Option<NormalizerSpec>,
}

/// A piece of the vocabulary.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Piece {
    #[prost(string, tag = "1")]
    pub piece: String,
    /// Optional so that minus zero is written.
    #[prost(float, optional, tag = "2")]
    pub score: Option<f32>,
    #[prost(int32, optional, tag = "3")]
    pub kind: Option<i32>,
}

/// How the model was trained.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TrainerSpec {
    #[prost(int32, optional, tag = "3")]
    pub model_type: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub vocab_size: Option<i32>,
    #[prost(bool, optional, tag = "24")]
    pub treat_whitespace_as_suffix: Option<bool>,
    #[prost(bool, optional, tag = "35")]
    pub byte_fallback: Option<bool>,
    #[prost(int32, optional, tag = "40")]
    pub unk_id: Option<i32>,
    #[prost(int32, optional, tag = "41")]
    pub bos_id: Option<i32>,
    #[prost(int32, optional, tag = "42")]
    pub eos_id: Option<i32>,
    #[prost(int32, optional, tag = "43")]
    pub pad_id: Option<i32>,
    #[prost(string, optional, tag = "44")]
    pub unk_surface: Option<String>,
    #[prost(string, optional, tag = "45")]
    pub unk_piece: Option<String>,
    #[prost(string, optional, tag = "46")]
    pub bos_piece: Option<String>,
    #[prost(string, optional, tag = "47")]
    pub eos_piece: Option<String>,
    #[prost(string, optional, tag = "48")]
    pub pad_piece: Option<String>,
}

/// How text is normalized, or decoded text is turned back.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NormalizerSpec {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub precompiled_charsmap: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3")]
    pub add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    pub remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub escape_whitespaces: Option<bool>,
}
