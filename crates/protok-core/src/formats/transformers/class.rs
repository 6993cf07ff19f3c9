//! The class that `AutoTokenizer` takes for a folder.

use super::models;
use crate::error::{Error, Result};
use crate::formats::companions::CONFIG;
use crate::formats::node::Cursor;

/// How a class builds its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// `TokenizersBackend`: the file as it is.
    Backend,
    Albert,
    Barthez,
    Bert,
    BigBird,
    Blenderbot,
    Camembert,
    Clip,
    CodeGen,
    Cohere,
    /// The file's pipeline with BERT's template around it.
    ConvBert,
    Deberta,
    DebertaV2,
    Dpr,
    /// The file's pipeline with ALBERT's roles.
    FNet,
    Funnel,
    Gemma,
    Gpt2,
    GptNeoX,
    Herbert,
    Llama,
    MBart,
    MBart50,
    MpNet,
    Nllb,
    Nougat,
    OpenAiGpt,
    Pegasus,
    Qwen2,
    Qwen35,
    Reformer,
    RemBert,
    Roberta,
    SeamlessM4t,
    Siglip2,
    Splinter,
    T5,
    Whisper,
    Xglm,
    XlmRoberta,
    XlNet,
}

const DPR: &str = "DPRContextEncoderTokenizer DPRQuestionEncoderTokenizer DPRReaderTokenizer";

/// The names of each class, without `Fast`.
const KNOWN: &[(Class, &str)] = &[
    (Class::Backend, "TokenizersBackend PreTrainedTokenizer BloomTokenizer"),
    (Class::Albert, "AlbertTokenizer"),
    (Class::Barthez, "BarthezTokenizer"),
    (
        Class::Bert,
        "BertTokenizer DistilBertTokenizer ElectraTokenizer LayoutLMTokenizer LxmertTokenizer \
         MobileBertTokenizer SqueezeBertTokenizer",
    ),
    (Class::BigBird, "BigBirdTokenizer"),
    (Class::Blenderbot, "BlenderbotTokenizer"),
    (Class::Camembert, "CamembertTokenizer"),
    (Class::Clip, "CLIPTokenizer"),
    (Class::CodeGen, "CodeGenTokenizer"),
    (Class::Cohere, "CohereTokenizer"),
    (Class::ConvBert, "ConvBertTokenizer"),
    (Class::Deberta, "DebertaTokenizer"),
    (Class::DebertaV2, "DebertaV2Tokenizer"),
    (Class::Dpr, DPR),
    (Class::FNet, "FNetTokenizer"),
    (Class::Funnel, "FunnelTokenizer"),
    (Class::Gemma, "GemmaTokenizer"),
    (Class::Gpt2, "GPT2Tokenizer"),
    (Class::GptNeoX, "GPTNeoXTokenizer"),
    (Class::Herbert, "HerbertTokenizer"),
    (Class::Llama, "LlamaTokenizer Phi3Tokenizer"),
    (Class::MBart, "MBartTokenizer"),
    (Class::MBart50, "MBart50Tokenizer"),
    (Class::MpNet, "MPNetTokenizer"),
    (Class::Nllb, "NllbTokenizer"),
    (Class::Nougat, "NougatTokenizer"),
    (Class::OpenAiGpt, "OpenAIGPTTokenizer"),
    (Class::Pegasus, "PegasusTokenizer"),
    (Class::Qwen2, "Qwen2Tokenizer"),
    (Class::Qwen35, "Qwen3_5Tokenizer"),
    (Class::Reformer, "ReformerTokenizer"),
    (Class::RemBert, "RemBertTokenizer"),
    (
        Class::Roberta,
        "RobertaTokenizer BartTokenizer LEDTokenizer LongformerTokenizer MvpTokenizer",
    ),
    (Class::SeamlessM4t, "SeamlessM4TTokenizer"),
    (Class::Siglip2, "Siglip2Tokenizer"),
    (Class::Splinter, "SplinterTokenizer"),
    (Class::T5, "T5Tokenizer"),
    (Class::Whisper, "WhisperTokenizer"),
    (Class::Xglm, "XGLMTokenizer"),
    (Class::XlmRoberta, "XLMRobertaTokenizer"),
    (Class::XlNet, "XLNetTokenizer"),
];

/// Classes of `transformers` that do more than a pipeline can say, or that are written in Python.
const OTHERS: &str = "AutoTokenizer BartphoTokenizer BasicTokenizer BertGenerationTokenizer \
    BertJapaneseTokenizer BertTokenizerLegacy BertweetTokenizer BioGptTokenizer \
    BlenderbotSmallTokenizer ByT5Tokenizer CTRLTokenizer CanineTokenizer CharacterTokenizer \
    ClvpTokenizer CodeLlamaTokenizer CpmAntTokenizer CpmTokenizer DiaTokenizer EsmTokenizer \
    EsmcTokenizer FSMTTokenizer FastSpeech2ConformerTokenizer FlaubertTokenizer \
    GPTNeoXJapaneseTokenizer GPTSw3Tokenizer LasrTokenizer LayoutLMv2Tokenizer \
    LayoutLMv3Tokenizer LayoutXLMTokenizer LukeTokenizer M2M100Tokenizer MLukeTokenizer \
    MarianTokenizer MarkupLMTokenizer MecabTokenizer MgpstrTokenizer MistralCommonBackend \
    MyT5Tokenizer PLBartTokenizer ParakeetTokenizer PerceiverTokenizer PhobertTokenizer \
    Pop2PianoTokenizer PreTrainedTokenizerBase ProphetNetTokenizer PythonBackend RagTokenizer \
    RoCBertTokenizer RoFormerTokenizer SentencePieceBackend SiglipTokenizer \
    Speech2TextTokenizer SpeechT5Tokenizer TapasTokenizer Tipsv2Tokenizer UdopTokenizer \
    VideoPrismTokenizer VitsTokenizer Wav2Vec2CTCTokenizer Wav2Vec2PhonemeCTCTokenizer \
    WordpieceTokenizer XLMTokenizer";

/// What a name stands for.
enum Named {
    Class(Class),
    /// A class that cannot be followed.
    Other,
    /// No class.
    Nothing,
}

fn named(name: &str) -> Named {
    let listed = |names: &str, name: &str| names.split_whitespace().any(|one| one == name);
    let bare = without_fast(name);
    // Of these the class whose name ends in Fast is another one.
    if name != bare && listed(DPR, bare) {
        return Named::Class(Class::ConvBert);
    }
    match KNOWN.iter().find(|(_, names)| listed(names, bare)) {
        Some((class, _)) => Named::Class(*class),
        None if listed(OTHERS, bare) => Named::Other,
        None => Named::Nothing,
    }
}

fn without_fast(name: &str) -> &str {
    name.strip_suffix("Fast").unwrap_or(name)
}

fn other(path: &str, name: &str) -> Error {
    Error::artifact(
        path,
        format!("{name} of transformers does more than the pipeline of a tokenizer.json can say."),
    )
    .value(name)
    .hint("Load without as_loaded_by: the file then decides.")
}

/// Follows `AutoTokenizer` from `config.json` and `tokenizer_config.json` to a class.
pub(super) fn resolve(
    model: Option<&Cursor<'_>>,
    config: Option<&Cursor<'_>>,
    byte_level: bool,
) -> Result<Class> {
    let text = |root: Option<&Cursor<'_>>, name: &str| {
        root.and_then(|root| root.present(name).map(|field| field.string())).transpose()
    };
    let model_type = text(model, "model_type")?.filter(|name| !name.is_empty());
    let registered = model_type.as_deref().and_then(models::registered);
    // Of some model types there is no configuration, so that they say nothing by themselves.
    let configured = registered.filter(|_| model_type.as_deref().is_none_or(models::is_configured));
    let misnamed = model_type.as_deref().is_some_and(models::is_misnamed)
        || text(model, "model_name")?.as_deref().is_some_and(models::is_misnamed);
    let own = text(config, "tokenizer_class")?;
    let of_model = text(model, "tokenizer_class")?;
    let has_code = config.is_some_and(|root| match root.present("auto_map") {
        Some(map) if map.is_array() => true,
        Some(map) => map.present("AutoTokenizer").is_some(),
        None => false,
    });
    let path = match own {
        Some(_) => format!("{CONFIG}.tokenizer_class"),
        None => "config.json.tokenizer_class".to_owned(),
    };
    let hub = own.as_deref().or(of_model.as_deref());
    if let Some(hub) = hub.filter(|_| !has_code) {
        if without_fast(hub) == "LlamaTokenizer" && !misnamed && byte_level {
            return Ok(Class::Backend);
        }
        if let Some(registered) = registered
            && registered != without_fast(hub)
        {
            if registered == "TokenizersBackend" {
                return Ok(Class::Backend);
            }
            let name = if misnamed { registered } else { hub };
            return match named(name) {
                Named::Class(class) => Ok(class),
                Named::Other => Err(other(&path, name)),
                Named::Nothing => Ok(Class::Backend),
            };
        }
    }
    let own = own.as_deref().map(without_fast);
    if has_code && !misnamed {
        let known = own.is_some_and(|own| !matches!(named(own), Named::Nothing));
        if configured.is_none() && !known {
            return Err(Error::artifact(
                format!("{CONFIG}.auto_map"),
                "transformers would run the tokenizer's own Python code, or refuse to.",
            )
            .hint("Load without as_loaded_by: the file then decides."));
        }
    }
    if let Some(own) = own {
        return match named(own) {
            Named::Class(class) => Ok(class),
            Named::Other => Err(other(&path, own)),
            Named::Nothing => Ok(Class::Backend),
        };
    }
    if let Some(name) = of_model.as_deref() {
        return match named(name) {
            Named::Class(class) if without_fast(name) != "PreTrainedTokenizer" => Ok(class),
            Named::Class(_) if name.ends_with("Fast") => Ok(Class::Backend),
            Named::Class(_) | Named::Other => Err(other(&path, name)),
            Named::Nothing => Err(Error::artifact(
                path,
                format!("transformers has no class {name:?}, and refuses the folder."),
            )
            .value(name)
            .hint("Load without as_loaded_by, or correct the name.")),
        };
    }
    match configured.map(|name| (name, named(name))) {
        None => Ok(Class::Backend),
        Some((_, Named::Class(class))) => Ok(class),
        Some((name, _)) => Err(other("config.json.model_type", name)),
    }
}
