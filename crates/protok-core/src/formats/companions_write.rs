//! The files beside a saved tokenizer: what `transformers` needs to open the folder.
//!
//! They say nothing about the pipeline. `clean_up_tokenization_spaces` is written as false, as
//! older releases otherwise tidy decoded text, which no tokenizer file asks for.

use serde_json::{Map, Value, json};

use super::companions::CONFIG;
use super::save::Saving;
use crate::error::{Error, Result};
use crate::spec::AddedToken;

/// The roles that have fields of their own.
const ROLES: &[&str] = &["bos", "eos", "unk", "sep", "pad", "cls", "mask"];

/// `tokenizer_config.json`, `special_tokens_map.json` and `chat_template.jinja`.
pub(super) fn companions(saving: &Saving<'_>) -> Result<Vec<(String, Vec<u8>)>> {
    let mut config = Map::new();
    config.insert("tokenizer_class".to_owned(), json!("PreTrainedTokenizerFast"));
    config.insert("clean_up_tokenization_spaces".to_owned(), json!(false));
    if let Some(length) = saving.spec.truncation.as_ref().and_then(|t| t.get("max_length")) {
        config.insert("model_max_length".to_owned(), length.clone());
    }
    let roles = roles(saving.roles);
    config.extend(roles.clone());
    let mut files = Vec::new();
    match saving.chat_templates {
        [] => {}
        [(name, template)] if name == "default" => {
            files.push(("chat_template.jinja".to_owned(), template.clone().into_bytes()));
        }
        several => {
            let named =
                several.iter().map(|(name, template)| json!({"name": name, "template": template}));
            config.insert("chat_template".to_owned(), named.collect());
        }
    }
    let mut all = vec![(CONFIG.to_owned(), text(CONFIG, &Value::Object(config))?)];
    if !roles.is_empty() {
        let name = "special_tokens_map.json";
        all.push((name.to_owned(), text(name, &Value::Object(roles))?));
    }
    all.append(&mut files);
    Ok(all)
}

/// The fields of the roles: `bos_token`, …, `additional_special_tokens`, and a table for roles of
/// the model's own. Of several tokens of a role the first has it.
pub(super) fn roles(roles: &[(String, String)]) -> Map<String, Value> {
    let mut fields = Map::new();
    for role in ROLES {
        if let Some((_, token)) = roles.iter().find(|(known, _)| known == role) {
            fields.insert(format!("{role}_token"), json!(token));
        }
    }
    let additional: Vec<&String> =
        roles.iter().filter(|(role, _)| role == "additional").map(|(_, token)| token).collect();
    if !additional.is_empty() {
        fields.insert("additional_special_tokens".to_owned(), json!(additional));
    }
    let mut own = Map::new();
    for (role, token) in roles {
        if role != "additional" && !ROLES.contains(&role.as_str()) {
            own.entry(format!("{role}_token")).or_insert_with(|| json!(token));
        }
    }
    if !own.is_empty() {
        fields.insert("extra_special_tokens".to_owned(), Value::Object(own));
    }
    fields
}

/// The table of added tokens by id.
pub(super) fn added_tokens_decoder(tokens: &[AddedToken]) -> Value {
    let entry = |token: &AddedToken| {
        let value = json!({
            "content": token.content,
            "lstrip": token.lstrip,
            "normalized": token.normalized,
            "rstrip": token.rstrip,
            "single_word": token.single_word,
            "special": token.special,
        });
        (token.id.to_string(), value)
    };
    Value::Object(tokens.iter().map(entry).collect())
}

/// A file of JSON that people can read.
pub(super) fn text(name: &str, value: &Value) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::artifact(name, format!("It cannot be written: {error}.")))?;
    text.push(b'\n');
    Ok(text)
}
