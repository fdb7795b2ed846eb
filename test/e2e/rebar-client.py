# The calls of the original agent, in their order, by programs that share no code with the server.
#   RS_KEY=USER:PASSWORD python3 rebar-client.py https://HOST:PORT MACHINE
# Runs one job of the machine and prints one JSON object: what each call has answered.
import json
import os
import ssl
import sys
import warnings

import requests
import websocket

warnings.filterwarnings("ignore")
endpoint, machine = sys.argv[1:]
base = endpoint + "/api/v3"
user, password = os.environ["RS_KEY"].split(":", 1)
session = requests.Session()
# The original does not verify certificates.
session.verify = False


def call(method, path, body=None, kind="application/json", **more):
    data = json.dumps(body) if kind == "application/json" and body is not None else body
    headers = {"Content-Type": kind} if data is not None else {}
    return session.request(method, base + path, data=data, headers=headers, timeout=60, **more)


def state(job, before, after, more=()):
    return call("PATCH", f"/jobs/{job}", [{"op": "test", "path": "/State", "value": before},
                                          {"op": "replace", "path": "/State", "value": after}, *more])


def log(job, text):
    return call("PUT", f"/jobs/{job}/log", text, "application/octet-stream").status_code


def next_event():
    event = json.loads(stream.recv())
    return {name: event[name] for name in ("Type", "Action", "Key")}


said = {}
token = call("GET", f"/users/{user}/token?ttl=600", auth=(user, password)).json()["Token"]
session.headers["Authorization"] = f"Bearer {token}"
session.headers["Authorization"] = f"Bearer {call('GET', f'/machines/{machine}/token?ttl=1h').json()['Token']}"
said["machine"] = call("GET", f"/machines/{machine}").json()["Name"]
said["absent"] = call("GET", f"/machines/{machine}/params/change-stage/map?aggregate=true").json()
stream = websocket.create_connection(base.replace("https:", "wss:") + "/ws", sslopt={"cert_reqs": ssl.CERT_NONE},
                                     header=[f"Authorization: {session.headers['Authorization']}"], timeout=60)
stream.send(f"register machines.update.{machine}")
said["registered"] = next_event()
posted = call("POST", "/jobs", {"Machine": machine})
job = posted.json()
said["posted"] = [posted.status_code, job["State"], job["Previous"]]
said["event"] = next_event()
said["task"] = call("GET", f"/tasks/{job['Task']}").json()["Name"]
said["running"] = state(job["Uuid"], "created", "running").status_code
said["actions"] = call("GET", f"/jobs/{job['Uuid']}/actions?os=linux").json()
said["logs"] = [log(job["Uuid"], "first\n")]
done = state(job["Uuid"], "running", "finished", [{"op": "replace", "path": "/ExitState", "value": "complete"}])
said["finished"] = [done.status_code, done.json()["State"], done.json()["ExitState"]]
said["text"] = call("PUT", f"/jobs/{job['Uuid']}/log", "x", "text/plain").status_code
said["logs"].append(log(job["Uuid"], "after the end\n"))
said["log"] = call("GET", f"/jobs/{job['Uuid']}/log").text.replace(job["Uuid"], "JOB")
last = call("POST", "/jobs", {"Machine": machine})
said["last"] = [last.status_code, last.headers["Content-Type"], last.text]
said["complete"] = call("GET", f"/machines/{machine}").json()["WorkflowComplete"]
# A test that fails is a conflict.
said["conflict"] = state(job["Uuid"], "running", "failed").status_code
stream.close()
print(json.dumps(said))
