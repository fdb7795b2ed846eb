"""A gRPC client that does what it is told in lines of JSON, with messages of a stock compiler.

Called with the server's address and the folder of the compiled messages. A line on stdin is a call:
  {"id": 1, "path": "/package.Service/Method", "in": "package.Request", "out": "package.Response", "body": {…}, "isStream": false}
With a list for a body the call brings many messages: a call that streams to the server.
Lines on stdout are its messages {"id": 1, "body": {…}}, and at last {"id": 1, "code": "OK", "message": ""}.
"""

import importlib
import json
import pathlib
import sys
import threading

import grpc
from google.protobuf import json_format, symbol_database

address, folder = sys.argv[1:]
sys.path.insert(0, folder)
for path in sorted(pathlib.Path(folder).rglob("*_pb2.py")):
    importlib.import_module(".".join(path.relative_to(folder).with_suffix("").parts))

symbols = symbol_database.Default()
channel = grpc.insecure_channel(address)
output = threading.Lock()


def say(line):
    with output:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def run(call):
    request = symbols.GetSymbol(call["in"])
    response = symbols.GetSymbol(call["out"])
    body, is_stream = call["body"], call.get("isStream")
    if isinstance(body, list):
        open_call = channel.stream_stream if is_stream else channel.stream_unary
        requests = iter([json_format.ParseDict(each, request()) for each in body])
    else:
        open_call = channel.unary_stream if is_stream else channel.unary_unary
        requests = json_format.ParseDict(body, request())
    method = open_call(call["path"], request.SerializeToString, response.FromString)
    metadata = [(name, value) for name, value in call.get("headers", {}).items()]
    try:
        answer = method(requests, metadata=metadata, timeout=60)
        for message in answer if is_stream else [answer]:
            body = json_format.MessageToDict(message, preserving_proto_field_name=True)
            say({"id": call["id"], "body": body})
        say({"id": call["id"], "code": "OK", "message": ""})
    except grpc.RpcError as error:
        say({"id": call["id"], "code": error.code().name, "message": error.details()})


for line in sys.stdin:
    threading.Thread(target=run, args=(json.loads(line),), daemon=True).start()
