"""The author's side of a Reflectory plugin in Python.

A plugin fills in a Plugin and hands it to serve:

    def judge(config):                      # once for each config
        most = int(config["max"])
        def evaluate(request):              # for each output
            ok = len(request.output) <= most
            return {"valid": ok, "score": 1.0 if ok else 0.0}
        return evaluate

    serve(Plugin(name="limit", version="1.0.0", evaluator=judge))

An evaluator returns a verdict (valid, score, errors, feedback, output), of which
valid must be there, a generator or corrector the output. Raise Refused for a config or a request that
is wrong. Standard output belongs to the protocol: log with the logging module.

It needs grpcio and protobuf (Debian: python3-grpcio, python3-protobuf), and
plugin_pb2.py, which protoc makes of plugin.proto.
"""

import collections
import concurrent.futures
import dataclasses
import json
import logging
import os
import queue
import sys
import threading
import traceback

import grpc

import plugin_pb2 as pb

CONTRACT = 1
COOKIE = ("REFLECTORY_PLUGIN", "a0c0c2e7-3d3f-4f0e-9a51-6b8f4f0f7d1e")
MESSAGE_BYTES = 8 << 20  # limit of one message, unless the host sets another
PREPARED = 64  # how many configs are kept prepared


class Refused(Exception):
    """An error with a class and a stable reason. It isn't a verdict: it says
    that the plugin could not judge."""

    def __init__(self, message, reason="", hint="", code="invalid"):
        super().__init__(message)
        self.reason, self.hint, self.code = reason, hint, code


@dataclasses.dataclass
class Request:
    """One request. state, output and errors are decoded JSON."""

    output: object = None
    state: dict = dataclasses.field(default_factory=dict)
    errors: list = dataclasses.field(default_factory=list)
    feedback: str = ""
    run_id: str = ""
    node: str = ""
    iteration: int = 0
    role: str = ""
    idempotency_key: str = ""  # the same whenever the same step is repeated
    ended: threading.Event = None  # set once nobody waits for the answer
    emit: object = None  # takes pieces of a generator's output, or None


@dataclasses.dataclass
class Plugin:
    """A plugin as data. evaluator, generator and corrector each take a config
    and return a function that takes a Request."""

    name: str
    version: str
    description: str = ""
    config_schema: dict = None
    capabilities: tuple = ()
    parallel: int = 1
    evaluator: object = None
    generator: object = None
    corrector: object = None

    def kinds(self):
        return [k for k in ("corrector", "evaluator", "generator") if getattr(self, k)]

    def manifest(self):
        return pb.Manifest(
            name=self.name, version=self.version, contract=CONTRACT, kinds=self.kinds(),
            description=self.description, capabilities=self.capabilities, parallel=self.parallel,
            config_schema=encode(self.config_schema) if self.config_schema is not None else b"",
        )


def serve(plugin):
    """Serves the plugin until the host ends it. It doesn't return."""
    if sys.argv[1:] == ["--describe"]:
        m = plugin.manifest()
        print(json.dumps({
            "name": m.name, "version": m.version, "contract": m.contract, "kinds": list(m.kinds),
            "description": m.description, "config_schema": plugin.config_schema,
        }, indent=2))
        sys.exit(0)
    if os.environ.get(COOKIE[0]) != COOKIE[1]:
        print(f"{plugin.name} is a Reflectory plugin, started by the host and not by hand.", file=sys.stderr)
        sys.exit(2)
    start = json.loads(sys.stdin.readline() or "{}")
    log_as_json(start.get("log_level", "info"))
    limit = start.get("message_bytes") or MESSAGE_BYTES
    server = grpc.server(
        concurrent.futures.ThreadPoolExecutor(max_workers=4),
        options=[("grpc.max_receive_message_length", limit), ("grpc.max_send_message_length", limit)],
    )
    host = Host(plugin, limit, start.get("parallel") or plugin.parallel)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("reflectory.plugin.v1.Plugin", {
        "Describe": grpc.unary_unary_rpc_method_handler(
            lambda request, context: plugin.manifest(),
            request_deserializer=pb.DescribeRequest.FromString, response_serializer=pb.Manifest.SerializeToString),
        "Calls": grpc.stream_stream_rpc_method_handler(
            host.calls,
            request_deserializer=pb.Request.FromString, response_serializer=pb.Reply.SerializeToString),
    }),))
    path = os.path.join(os.environ.get("PLUGIN_UNIX_SOCKET_DIR", "."), "plugin.sock")
    tls = start.get("tls")
    if tls:
        server.add_secure_port("unix:" + path, grpc.ssl_server_credentials(
            [(tls["key"].encode(), tls["certificate"].encode())],
            root_certificates=tls["host_certificate"].encode(), require_client_auth=True))
    else:
        server.add_insecure_port("unix:" + path)
    server.start()
    print(f"1|1|unix|{path}|grpc|", flush=True)
    sys.stdin.read()  # ends when the host ends
    server.stop(0)
    os._exit(0)  # even if a call hangs


class Host:
    """Serves the one host of the plugin."""

    def __init__(self, plugin, limit, parallel):
        self.plugin, self.limit = plugin, limit
        self.workers = concurrent.futures.ThreadPoolExecutor(max_workers=parallel)
        self.prepared = collections.OrderedDict()  # the most recently used last
        self.lock = threading.Lock()

    def calls(self, requests, context):
        """Serves the stream: a thread reads, workers answer, this one writes."""
        replies, ended = queue.Queue(), {}
        threading.Thread(target=self.read, args=(requests, replies, ended), daemon=True).start()
        while (reply := replies.get()) is not None:
            yield reply

    def read(self, requests, replies, ended):
        try:
            for request in requests:
                if request.WhichOneof("body") == "cancel":
                    if request.id in ended:
                        ended[request.id].set()
                    continue
                ended[request.id] = threading.Event()
                self.workers.submit(self.work, request, replies, ended)
        except grpc.RpcError:
            pass  # the host is gone
        for event in list(ended.values()):
            event.set()
        replies.put(None)

    def work(self, request, replies, ended):
        event = ended[request.id]
        timer = threading.Timer(request.timeout_ms / 1000, event.set) if request.timeout_ms else None
        if timer:
            timer.daemon = True
            timer.start()
        try:
            reply = self.answer(request, event, replies)
            if reply.ByteSize() > self.limit:
                raise Refused(f"the answer is {reply.ByteSize()} bytes, over the cap of {self.limit}",
                              "message_too_large", code="exhausted")
        except Exception as e:
            reply = pb.Reply(error=failure(e))
        finally:
            if timer:
                timer.cancel()
            ended.pop(request.id, None)
        reply.id = request.id
        replies.put(reply)

    def answer(self, request, event, replies):
        if event.is_set():
            raise Refused("the call had ended before it began", code="cancelled")
        body = request.WhichOneof("body")
        if body == "prepare":
            self.prepare(request.prepare.kind, request.prepare.config)
            return pb.Reply(prepared=pb.Prepared())
        if body == "evaluate":
            judge = self.prepare("evaluator", request.evaluate.config)
            return pb.Reply(evaluated=pb.Evaluated(results=[
                one(pb.EvaluateResult, judge, item, event, evaluated) for item in request.evaluate.items]))
        if body == "generate":
            make = self.prepare("generator", request.generate.config)
            return pb.Reply(generated=pb.Generated(results=[
                one(pb.GenerateResult, make, item, event, generated, self.emitter(request.id, i, item, replies))
                for i, item in enumerate(request.generate.items)]))
        if body == "correct":
            repair = self.prepare("corrector", request.correct.config)
            return pb.Reply(corrected=pb.Corrected(results=[
                one(pb.CorrectResult, repair, item, event, corrected) for item in request.correct.items]))
        raise Refused(f"plugin {self.plugin.name} doesn't know this request", "contract_mismatch", code="incompatible")

    def emitter(self, call, index, item, replies):
        if not item.emit:
            return None
        return lambda piece: replies.put(pb.Reply(id=call, chunk=pb.Chunk(item=index, text=text(piece))))

    def prepare(self, kind, config):
        """Returns the plugin's result for a config, from the cache if it is there."""
        key = (kind, config.digest)
        with self.lock:
            if key in self.prepared:
                self.prepared.move_to_end(key)
                return self.prepared[key]
            if not config.HasField("json"):
                raise Refused(f"no config of digest {config.digest} was prepared", "config_unknown", code="not_found")
            if kind not in self.plugin.kinds():
                raise Refused(f"plugin {self.plugin.name} is no {kind}", "kind_unsupported")
            value = decode(config.json, "the config")
            if not isinstance(value, dict):
                raise Refused("the config is no JSON object", "config_invalid")
            self.prepared[key] = getattr(self.plugin, kind)(value)
            if len(self.prepared) > PREPARED:
                self.prepared.popitem(last=False)
            return self.prepared[key]


def one(result, function, item, event, respond, emit=None):
    """Makes one item's result: a response, or an error that doesn't affect others."""
    try:
        request = Request(
            run_id=item.run_id, node=item.node, iteration=item.iteration, role=item.role,
            idempotency_key=item.idempotency_key, ended=event, emit=emit,
            state=decode(item.state, "the state") if item.state else {})
        if not isinstance(item, pb.GenerateRequest):
            request.output = decode(item.output, "the output")
        if isinstance(item, pb.CorrectRequest):
            request.feedback = item.feedback
            request.errors = [{f.name: v for f, v in e.ListFields()} for e in item.errors]
        return result(response=respond(function(request)))
    except Exception as e:
        return result(error=failure(e))


def evaluated(verdict):
    errors = [pb.Finding(**{k: text(v) for k, v in e.items()}) for e in verdict.get("errors", ())]
    out = pb.Verdict(score=float(verdict.get("score", 0)), feedback=text(verdict.get("feedback", "")), errors=errors)
    if "valid" in verdict:  # without it, the host refuses the verdict
        out.valid = bool(verdict["valid"])
    if "output" in verdict:
        out.output = encode(verdict["output"])
    return pb.EvaluateResponse(verdict=out, usage=usage(verdict))


def generated(output):
    return pb.GenerateResponse(output=encode(output))


def corrected(output):
    return pb.CorrectResponse(output=encode(output))


def usage(answer):
    return pb.Usage(**answer.get("usage", {}))


def failure(e):
    """Turns an exception into an error that keeps its class and reason."""
    if isinstance(e, Refused):
        return pb.Error(code=e.code, reason=e.reason, message=text(e), hint=text(e.hint))
    traceback.print_exception(type(e), e, e.__traceback__)
    return pb.Error(code="internal", reason="plugin_panic", message=text(f"{type(e).__name__}: {e}"))


def decode(data, what):
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as e:
        raise Refused(f"{what} can't be read: {e}", "json_invalid") from e


def encode(value):
    return json.dumps(value, allow_nan=False).encode()


def text(value):
    """Makes a value valid for a protobuf string: lone surrogates have no UTF-8."""
    return str(value).encode("utf-8", "replace").decode()


class JSONLines(logging.Formatter):
    """Formats lines as hclog's JSON, so that the host's log keeps levels."""

    def format(self, record):
        level = {"CRITICAL": "error", "WARNING": "warn"}.get(record.levelname, record.levelname.lower())
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        return json.dumps({"@level": level, "@message": message, "@module": record.name})


def log_as_json(level):
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines())
    levels = {"trace": logging.DEBUG, "warn": logging.WARNING}
    logging.basicConfig(handlers=[handler], level=levels.get(level) or level.upper())
