//! The author's side of a Reflectory plugin in Rust: a WASM reactor, ABI
//! version 1. A plugin implements [`Plugin`] and names its type in `export!`.

#![allow(dead_code)] // no plugin uses all of it

use serde::Deserialize;
use serde_json::{json, Map, Value};

/// How many configs are kept prepared; the oldest are dropped first.
const KEPT: usize = 64;

/// An error: the plugin could not judge, make or repair.
pub struct Refusal {
    pub code: String,
    pub reason: String,
    pub message: String,
    pub hint: String,
    /// An object, or null.
    pub details: Value,
}

impl Refusal {
    /// The config or the request is wrong.
    pub fn invalid(reason: &str, message: &str) -> Self {
        Refusal { code: "invalid".into(), reason: reason.into(), message: message.into(), hint: String::new(), details: Value::Null }
    }

    /// Adds a hint that says what to do.
    pub fn with_hint(mut self, hint: &str) -> Self {
        self.hint = hint.into();
        self
    }

    fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "reason": self.reason, "message": self.message, "hint": self.hint});
        if self.details.is_object() {
            error["details"] = self.details.clone();
        }
        json!({ "error": error })
    }

    /// The host's error.
    fn of(error: &Value) -> Self {
        let text = |key: &str| error[key].as_str().unwrap_or_default().to_string();
        Refusal { code: text("code"), reason: text("reason"), message: text("message"), hint: text("hint"), details: error["details"].clone() }
    }
}

// What a plugin can ask of the host while a call runs.

#[link(wasm_import_module = "reflectory:host")]
extern "C" {
    #[link_name = "service"]
    fn import_service(ptr: *const u8, size: usize) -> u64;
    #[link_name = "log"]
    fn import_log(level: i32, ptr: *const u8, size: usize);
}

/// The level of a log line.
#[derive(Clone, Copy)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// Writes a line to the host's log. It needs no grant.
pub fn log(level: Level, line: &str) {
    unsafe { import_log(level as i32, line.as_ptr(), line.len()) }
}

// Without a grant these fail with "denied". In plugin.yaml: capabilities: {host: [NAME]},
// where NAME is llm.complete, memory.recall or cache.

/// Asks the operator's model, and returns its reply.
pub fn complete(prompt: &str) -> Result<String, Refusal> {
    let response = ask("llm.complete", json!({ "prompt": prompt }))?;
    Ok(response["output"].as_str().unwrap_or_default().to_string())
}

/// Reads memories of the run's namespace: a list, the best first.
pub fn recall(query: &str, limit: u32) -> Result<Value, Refusal> {
    Ok(ask("memory.recall", json!({"query": query, "limit": limit}))?["memories"].take())
}

/// Reads the value under a key, or null if there is none.
pub fn cache_get(key: &str) -> Result<Value, Refusal> {
    Ok(ask("cache", json!({"op": "get", "key": key}))?["value"].take())
}

/// Keeps a value.
pub fn cache_put(key: &str, value: &Value) -> Result<(), Refusal> {
    ask("cache", json!({"op": "put", "key": key, "value": value})).map(|_| ())
}

/// Asks for a service with its own JSON, which may have every field of its request.
pub fn ask(service: &str, request: Value) -> Result<Value, Refusal> {
    let asked = json!({"service": service, "body": request}).to_string();
    let at = unsafe { import_service(asked.as_ptr(), asked.len()) };
    // The host allocated the reply with alloc.
    let reply = unsafe { take((at >> 32) as usize as *mut u8, at as u32 as usize) };
    let mut reply: Value = read(&reply).map_err(|e| Refusal::invalid("reply_invalid", &format!("the host's reply: {e}")))?;
    match reply.get("error") {
        Some(error) => Err(Refusal::of(error)),
        None => Ok(reply["response"].take()),
    }
}

// How a plugin is called.

/// Allocates memory for a message from the host.
pub fn alloc(size: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; size].into_boxed_slice()) as *mut u8
}

/// Takes ownership of memory from alloc.
unsafe fn take(ptr: *mut u8, size: usize) -> Box<[u8]> {
    Box::from_raw(std::ptr::slice_from_raw_parts_mut(ptr, size))
}

fn read(bytes: &[u8]) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit(); // the host sends at most 256 levels, and four around them
    Value::deserialize(&mut reader)
}

/// A plugin with one config. It implements the methods of its kinds.
pub trait Plugin: Sized {
    /// The plugin's manifest.
    fn manifest() -> Value;
    /// Checks a config once.
    fn prepare(config: &Map<String, Value>) -> Result<Self, Refusal>;
    /// Judges one output: returns the verdict.
    fn evaluate(&self, _request: &Value) -> Result<Value, Refusal> {
        Err(Refusal::invalid("kind_unsupported", "this plugin is no evaluator"))
    }
    /// Makes an output, and returns it.
    fn generate(&self, _request: &Value) -> Result<Value, Refusal> {
        Err(Refusal::invalid("kind_unsupported", "this plugin is no generator"))
    }
    /// Repairs one output, and returns it.
    fn correct(&self, _request: &Value) -> Result<Value, Refusal> {
        Err(Refusal::invalid("kind_unsupported", "this plugin is no corrector"))
    }
}

/// What an instance keeps from call to call.
pub struct Instance<P: Plugin> {
    prepared: Vec<(String, P)>,
    reply: Vec<u8>,
}

impl<P: Plugin> Instance<P> {
    pub const fn new() -> Self {
        Instance { prepared: Vec::new(), reply: Vec::new() }
    }

    /// Makes one call, and returns where the reply is. It stays there until the next call.
    ///
    /// # Safety
    ///
    /// The request was allocated by alloc, and belongs to this call.
    pub unsafe fn call(&mut self, op: i32, ptr: *mut u8, size: usize) -> u64 {
        let request = take(ptr, size);
        let answer = match read(&request) {
            Ok(request) => self.answer(op, &request).unwrap_or_else(|r| r.to_json()),
            Err(e) => Refusal::invalid("json_invalid", &format!("the request can't be read: {e}")).to_json(),
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
            3..=5 => {
                let plugin = self.prepared.iter().find(|(d, _)| d == digest).map(|(_, p)| p);
                let plugin = plugin.ok_or_else(|| Refusal {
                    code: "not_found".into(),
                    ..Refusal::invalid("config_unknown", &format!("no config of digest {digest} was prepared"))
                })?;
                let items = request["items"].as_array().map(Vec::as_slice).unwrap_or_default();
                let results = items.iter().map(|item| {
                    let response = match op {
                        3 => plugin.evaluate(item).map(|verdict| json!({ "verdict": verdict })),
                        4 => plugin.generate(item).map(|output| json!({ "output": output })),
                        _ => plugin.correct(item).map(|output| json!({ "output": output })),
                    };
                    response.map_or_else(|refusal| refusal.to_json(), |response| json!({ "response": response }))
                });
                Ok(json!({"results": results.collect::<Vec<_>>()}))
            }
            _ => Err(Refusal::invalid("kind_unsupported", "this plugin doesn't know this operation")),
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
            $crate::reflectory::alloc(size)
        }

        #[no_mangle]
        pub extern "C" fn reflectory_call(op: i32, ptr: *mut u8, size: usize) -> u64 {
            unsafe { (*std::ptr::addr_of_mut!(INSTANCE)).call(op, ptr, size) }
        }
    };
}
