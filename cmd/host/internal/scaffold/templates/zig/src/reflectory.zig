//! The author's side of a Reflectory plugin in Zig: a WASM reactor, ABI version
//! 1. A plugin is a file with manifest, Prepared, prepare, and evaluate, generate or
//! correct for each of its kinds. It passes itself to Instance, and exports the
//! functions of that type.

const std = @import("std");
const Allocator = std.mem.Allocator;
const Value = std.json.Value;

/// An error: the plugin could not judge, make or repair.
pub const Refusal = struct {
    code: []const u8 = "invalid",
    reason: []const u8,
    message: []const u8,
    hint: []const u8 = "",
    /// A JSON object, or nothing.
    details: []const u8 = "",
};

/// The value of a key, or null.
pub fn get(object: Value, key: []const u8) Value {
    if (object != .object) return .null;
    return object.object.get(key) orelse .null;
}

/// Writes a text as JSON.
pub fn quote(memory: Allocator, text: []const u8) ![]const u8 {
    const hex = "0123456789abcdef";
    const out = try memory.alloc(u8, 6 * text.len + 2);
    var n: usize = 1;
    out[0] = '"';
    for (text) |c| {
        if (c < 0x20 or c == '"' or c == '\\') {
            @memcpy(out[n..][0..4], "\\u00");
            out[n + 4] = hex[c >> 4];
            out[n + 5] = hex[c & 15];
            n += 6;
        } else {
            out[n] = c;
            n += 1;
        }
    }
    out[n] = '"';
    return out[0 .. n + 1];
}

// What a plugin can ask of the host while a call runs.

const host = struct {
    extern "reflectory:host" fn service(ptr: [*]const u8, size: usize) u64;
    extern "reflectory:host" fn log(level: i32, ptr: [*]const u8, size: usize) void;
};

pub const Level = enum(i32) { trace, debug, info, warn, err };

/// Writes a line to the host's log. It needs no grant.
pub fn log(level: Level, line: []const u8) void {
    host.log(@intFromEnum(level), line.ptr, line.len);
}

// Without a grant these fail with "denied". In plugin.yaml: capabilities: {host: [NAME]},
// where NAME is llm.complete, memory.recall or cache. They return null and fill in the
// refusal if the host has no answer.

/// Asks the operator's model. Its reply is a text.
pub fn complete(memory: Allocator, prompt: []const u8, refusal: *Refusal) !?Value {
    const request = try std.fmt.allocPrint(memory, "{{\"prompt\":{s}}}", .{try quote(memory, prompt)});
    const response = try ask(memory, "llm.complete", request, refusal) orelse return null;
    return get(response, "output");
}

/// Reads memories of the run's namespace: a list, the best first.
pub fn recall(memory: Allocator, query: []const u8, limit: u32, refusal: *Refusal) !?Value {
    const request = try std.fmt.allocPrint(memory, "{{\"query\":{s},\"limit\":{d}}}", .{ try quote(memory, query), limit });
    const response = try ask(memory, "memory.recall", request, refusal) orelse return null;
    return get(response, "memories");
}

/// Reads the value under a key, or .null if there is none.
pub fn cacheGet(memory: Allocator, key: []const u8, refusal: *Refusal) !?Value {
    const request = try std.fmt.allocPrint(memory, "{{\"op\":\"get\",\"key\":{s}}}", .{try quote(memory, key)});
    const response = try ask(memory, "cache", request, refusal) orelse return null;
    return get(response, "value");
}

/// Keeps a value, which is JSON.
pub fn cachePut(memory: Allocator, key: []const u8, value: []const u8, refusal: *Refusal) !?Value {
    const request = try std.fmt.allocPrint(memory, "{{\"op\":\"put\",\"key\":{s},\"value\":{s}}}", .{ try quote(memory, key), value });
    return ask(memory, "cache", request, refusal);
}

/// Asks for a service with its own JSON, which may have every field of its request.
pub fn ask(memory: Allocator, service: []const u8, request: []const u8, refusal: *Refusal) !?Value {
    const asked = try std.fmt.allocPrint(memory, "{{\"service\":\"{s}\",\"body\":{s}}}", .{ service, request });
    const at = host.service(asked.ptr, asked.len);
    const bytes = @as([*]const u8, @ptrFromInt(@as(usize, @intCast(at >> 32))))[0..@as(usize, @intCast(at & 0xffffffff))];
    const reply = try std.json.parseFromSliceLeaky(Value, memory, bytes, .{});
    const failed = get(reply, "error");
    if (failed != .object) return get(reply, "response");
    refusal.* = .{
        .code = textOf(failed, "code"),
        .reason = textOf(failed, "reason"),
        .message = textOf(failed, "message"),
        .hint = textOf(failed, "hint"),
        .details = try retryDetails(memory, get(failed, "details")),
    };
    return null;
}

fn textOf(object: Value, key: []const u8) []const u8 {
    const value = get(object, key);
    return if (value == .string) value.string else "";
}

/// The details of an error that say whether and when to try again.
fn retryDetails(memory: Allocator, details: Value) ![]const u8 {
    const wait = get(details, "retry_after_ms");
    if (wait == .integer) return std.fmt.allocPrint(memory, "{{\"retry_after_ms\":{d}}}", .{wait.integer});
    const permanent = get(details, "permanent");
    return if (permanent == .bool and permanent.bool) "{\"permanent\":true}" else "";
}

// How a plugin is called.

/// How many configs are kept prepared; the oldest are dropped first.
const kept = 64;

/// The state of a plugin's instance, and its calls.
pub fn Instance(comptime plugin: type) type {
    return struct {
        const Slot = struct { digest: [128]u8 = undefined, size: usize = 0, made: plugin.Prepared = undefined };
        var slots: [kept]Slot = [_]Slot{.{}} ** kept;
        var next: usize = 0;
        // Memory of one call, freed when the next call begins.
        var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);

        var calling = false;

        pub fn alloc(size: u32) u32 {
            if (!calling) _ = arena.reset(.free_all); // the last call is over
            const room = arena.allocator().alloc(u8, size) catch return 0;
            return @intFromPtr(room.ptr);
        }

        pub fn call(op: i32, ptr: u32, size: u32) u64 {
            calling = true;
            defer calling = false;
            const request = @as([*]const u8, @ptrFromInt(ptr))[0..size];
            const reply = answer(op, request) catch |e| failed(e);
            return @as(u64, @intFromPtr(reply.ptr)) << 32 | reply.len;
        }

        fn failed(e: anyerror) []const u8 {
            if (e == error.OutOfMemory) return "{\"error\":{\"code\":\"exhausted\",\"reason\":\"out_of_memory\",\"message\":\"the plugin's memory is full\"}}";
            return "{\"error\":{\"code\":\"invalid\",\"reason\":\"json_invalid\",\"message\":\"the request can't be read\"}}";
        }

        fn answer(op: i32, bytes: []const u8) ![]const u8 {
            const memory = arena.allocator();
            if (op == 1) return "{\"manifest\":" ++ plugin.manifest ++ "}";
            const request = try std.json.parseFromSliceLeaky(Value, memory, bytes, .{});
            const config = get(request, "config");
            const digest = get(config, "digest");
            var refusal = Refusal{ .reason = "kind_unsupported", .message = "this plugin is not of this kind" };
            if (digest != .string or digest.string.len > 128) return refused(memory, refusal);
            if (op == 2) {
                const made = plugin.prepare(get(config, "json"), &refusal) orelse return refused(memory, refusal);
                const slot = &slots[next];
                next = (next + 1) % kept;
                @memcpy(slot.digest[0..digest.string.len], digest.string);
                slot.size = digest.string.len;
                slot.made = made;
                return "{}";
            }
            const known = op == 3 and @hasDecl(plugin, "evaluate") or op == 4 and @hasDecl(plugin, "generate") or op == 5 and @hasDecl(plugin, "correct");
            if (!known) return refused(memory, refusal);
            for (&slots) |*slot| {
                if (slot.size > 0 and std.mem.eql(u8, slot.digest[0..slot.size], digest.string)) {
                    return results(op, memory, slot.made, get(request, "items"));
                }
            }
            refusal = .{ .code = "not_found", .reason = "config_unknown", .message = "no config of this digest was prepared" };
            return refused(memory, refusal);
        }

        fn results(op: i32, memory: Allocator, made: plugin.Prepared, items: Value) ![]const u8 {
            if (items != .array) return "{\"results\":[]}";
            const parts = try memory.alloc([]const u8, items.array.items.len);
            for (items.array.items, parts) |item, *part| {
                var refusal: Refusal = undefined;
                if (try respond(op, memory, made, item, &refusal)) |response| {
                    part.* = try std.fmt.allocPrint(memory, "{{\"response\":{s}}}", .{response});
                } else {
                    part.* = try refused(memory, refusal);
                }
            }
            return std.fmt.allocPrint(memory, "{{\"results\":[{s}]}}", .{try std.mem.join(memory, ",", parts)});
        }

        fn respond(op: i32, memory: Allocator, made: plugin.Prepared, item: Value, refusal: *Refusal) !?[]const u8 {
            if (@hasDecl(plugin, "evaluate") and op == 3) return plugin.evaluate(memory, made, item, refusal);
            if (@hasDecl(plugin, "generate") and op == 4) return plugin.generate(memory, made, item, refusal);
            if (@hasDecl(plugin, "correct") and op == 5) return plugin.correct(memory, made, item, refusal);
            return null;
        }

        fn refused(memory: Allocator, r: Refusal) ![]const u8 {
            return std.fmt.allocPrint(memory, "{{\"error\":{{\"code\":\"{s}\",\"reason\":{s},\"message\":{s},\"hint\":{s},\"details\":{s}}}}}", .{
                r.code,                     try quote(memory, r.reason),
                try quote(memory, r.message), try quote(memory, r.hint),
                if (r.details.len > 0) r.details else "null",
            });
        }
    };
}
