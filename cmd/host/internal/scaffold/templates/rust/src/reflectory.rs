//! The author's side of a Reflectory plugin in Rust: a WASM reactor, ABI
//! version 1. A plugin implements [`Plugin`] and names its type in `export!`.

use serde::Deserialize;
use serde_json::{json, Map, Value};

/// How many configs are kept prepared, the oldest going first.
const KEPT: usize = 64;

/// An error: the plugin could not judge.
pub struct Refusal {
    pub code: &'static str,
    pub reason: &'static str,
    pub message: String,
    pub hint: &'static str,
}

impl Refusal {
    /// The config or the request is wrong.
    pub fn invalid(reason: &'static str, message: impl Into<String>) -> Self {
        Refusal { code: "invalid", reason, message: message.into(), hint: "" }
    }

    fn to_json(&self) -> Value {
        json!({"error": {"code": self.code, "reason": self.reason, "message": self.message, "hint": self.hint}})
    }
}

/// A plugin with one config.
pub trait Plugin: Sized {
    /// What the plugin is.
    fn manifest() -> Value;
    /// Checks a config, once.
    fn prepare(config: &Map<String, Value>) -> Result<Self, Refusal>;
    /// Judges one output: returns the verdict.
    fn evaluate(&self, request: &Value) -> Result<Value, Refusal>;
}

/// What an instance keeps from call to call.
pub struct Instance<P: Plugin> {
    prepared: Vec<(String, P)>,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl<P: Plugin> Instance<P> {
    pub const fn new() -> Self {
        Instance { prepared: Vec::new(), request: Vec::new(), reply: Vec::new() }
    }

    /// Makes room for a request.
    pub fn alloc(&mut self, size: usize) -> *mut u8 {
        self.request = vec![0; size];
        self.request.as_mut_ptr()
    }

    /// Does one call, and returns where the reply lies. It stays until the next.
    pub fn call(&mut self, op: i32) -> u64 {
        let request = std::mem::take(&mut self.request);
        let mut reader = serde_json::Deserializer::from_slice(&request);
        reader.disable_recursion_limit(); // the host sends at most 256 levels, and four around them
        let answer = match Value::deserialize(&mut reader) {
            Ok(request) => self.answer(op, &request).unwrap_or_else(|r| r.to_json()),
            Err(e) => Refusal::invalid("json_invalid", format!("the request can't be read: {e}")).to_json(),
        };
        self.reply = answer.to_string().into_bytes();
        (self.reply.as_ptr() as usize as u64) << 32 | self.reply.len() as u64
    }

    fn answer(&mut self, op: i32, request: &Value) -> Result<Value, Refusal> {
        let config = &request["config"];
        let digest = config["digest"].as_str().unwrap_or_default();
        match op {
            1 => Ok(json!({"manifest": P::manifest()})),
            2 => {
                let object = config["json"].as_object();
                let object = object.ok_or_else(|| Refusal::invalid("config_invalid", "the config is no object"))?;
                let plugin = P::prepare(object)?;
                self.prepared.retain(|(d, _)| d != digest);
                self.prepared.push((digest.to_string(), plugin));
                if self.prepared.len() > KEPT {
                    self.prepared.remove(0);
                }
                Ok(json!({}))
            }
            3 => {
                let plugin = self.prepared.iter().find(|(d, _)| d == digest).map(|(_, p)| p);
                let plugin = plugin.ok_or(Refusal {
                    code: "not_found",
                    reason: "config_unknown",
                    message: format!("no config of digest {digest} was prepared"),
                    hint: "",
                })?;
                let items = request["items"].as_array().map(Vec::as_slice).unwrap_or_default();
                let results = items.iter().map(|item| match plugin.evaluate(item) {
                    Ok(verdict) => json!({"response": {"verdict": verdict}}),
                    Err(refusal) => refusal.to_json(),
                });
                Ok(json!({"results": results.collect::<Vec<_>>()}))
            }
            _ => Err(Refusal::invalid("kind_unsupported", "this plugin is an evaluator")),
        }
    }
}

/// Exports the ABI for a plugin's type.
#[macro_export]
macro_rules! export {
    ($plugin:ty) => {
        // A WASM instance has one thread, and one call at a time.
        static mut INSTANCE: $crate::reflectory::Instance<$plugin> = $crate::reflectory::Instance::new();

        #[no_mangle]
        pub extern "C" fn reflectory_abi_version() -> i32 {
            1
        }

        #[no_mangle]
        pub extern "C" fn reflectory_alloc(size: usize) -> *mut u8 {
            unsafe { (*std::ptr::addr_of_mut!(INSTANCE)).alloc(size) }
        }

        #[no_mangle]
        pub extern "C" fn reflectory_call(op: i32, _ptr: *const u8, _size: usize) -> u64 {
            unsafe { (*std::ptr::addr_of_mut!(INSTANCE)).call(op) }
        }
    };
}
