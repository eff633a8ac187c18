//! The author's side of a Reflectory plugin in Zig: a WASM reactor, ABI version
//! 1. A plugin is a file with manifest, Prepared, prepare and evaluate. It hands
//! itself to Instance, and exports the functions of that.

const std = @import("std");
const Value = std.json.Value;

/// An error: the plugin could not judge. The texts are plain ASCII without quotes.
pub const Refusal = struct {
    code: []const u8 = "invalid",
    reason: []const u8,
    message: []const u8,
    hint: []const u8 = "",
};

/// The value of a key, or null.
pub fn get(object: Value, key: []const u8) Value {
    if (object != .object) return .null;
    return object.object.get(key) orelse .null;
}

/// How many configs are kept prepared, the oldest going first.
const kept = 64;

/// What an instance of a plugin keeps, and how it is called.
pub fn Instance(comptime plugin: type) type {
    return struct {
        const Slot = struct { digest: [128]u8 = undefined, size: usize = 0, made: plugin.Prepared = undefined };
        var slots: [kept]Slot = [_]Slot{.{}} ** kept;
        var next: usize = 0;
        // What belongs to one call, and is freed when the next begins.
        var arena = std.heap.ArenaAllocator.init(std.heap.wasm_allocator);

        pub fn alloc(size: u32) u32 {
            _ = arena.reset(.free_all);
            const room = arena.allocator().alloc(u8, size) catch return 0;
            return @intFromPtr(room.ptr);
        }

        pub fn call(op: i32, ptr: u32, size: u32) u64 {
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
            var refusal = Refusal{ .reason = "kind_unsupported", .message = "this plugin is an evaluator" };
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
            if (op != 3) return refused(memory, refusal);
            for (&slots) |*slot| {
                if (slot.size > 0 and std.mem.eql(u8, slot.digest[0..slot.size], digest.string)) {
                    return results(memory, slot.made, get(request, "items"));
                }
            }
            refusal = .{ .code = "not_found", .reason = "config_unknown", .message = "no config of this digest was prepared" };
            return refused(memory, refusal);
        }

        fn results(memory: std.mem.Allocator, made: plugin.Prepared, items: Value) ![]const u8 {
            if (items != .array) return "{\"results\":[]}";
            const parts = try memory.alloc([]const u8, items.array.items.len);
            for (items.array.items, parts) |item, *part| {
                var refusal: Refusal = undefined;
                if (try plugin.evaluate(memory, made, item, &refusal)) |response| {
                    part.* = try std.fmt.allocPrint(memory, "{{\"response\":{s}}}", .{response});
                } else {
                    part.* = try refused(memory, refusal);
                }
            }
            return std.fmt.allocPrint(memory, "{{\"results\":[{s}]}}", .{try std.mem.join(memory, ",", parts)});
        }

        fn refused(memory: std.mem.Allocator, r: Refusal) ![]const u8 {
            return std.fmt.allocPrint(memory, "{{\"error\":{{\"code\":\"{s}\",\"reason\":\"{s}\",\"message\":\"{s}\",\"hint\":\"{s}\"}}}}", .{ r.code, r.reason, r.message, r.hint });
        }
    };
}
