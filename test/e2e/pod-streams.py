# Streams into a Pod by Kubernetes' client for Python, which shares no code with the server.
#   python3 pod-streams.py KUBECONFIG POD CONTAINER PORT
# Prints one JSON object: what each of them has brought.
import hashlib
import io
import json
import sys
import tarfile

from kubernetes import client, config
from kubernetes.stream import portforward, stream

kubeconfig, pod, container, port = sys.argv[1:]
# Its library for WebSockets sends an Origin, with which a certificate is nobody's.
config.load_kube_config(config_file=kubeconfig, context="slipway-token")
core = client.CoreV1Api()


def run(command, given=b""):
    """Runs a command with something on its standard input; the client cannot say where that ends."""
    running = stream(core.connect_get_namespaced_pod_exec, pod, "default", container=container,
                     command=["/bin/sh", "-c", command], stdin=given != b"", stdout=True, stderr=True, tty=False,
                     _preload_content=False)
    for at in range(0, len(given), 65536):
        running.write_stdin(given[at:at + 65536])
    running.run_forever(timeout=60)
    return {"out": running.read_stdout(), "err": running.read_stderr(), "code": running.returncode}


def archive():
    """A tar archive of one file of 3 MiB, and the file's hash."""
    content = bytes(range(256)) * 12288
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo("big")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue(), hashlib.sha256(content).hexdigest()


def ask(connection, path):
    connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())


def answer(connection):
    connection.settimeout(60)
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received.decode().split("\r\n\r\n", 1)[1]


packed, expected = archive()
unpack = f"cd /shared && head -c {len(packed)} | tar -xf - && sha256sum big | cut -d ' ' -f 1"
# Two connections at the same time; the second one is done before the first has asked.
first, second = [portforward(core.connect_get_namespaced_pod_portforward, pod, "default", ports=port) for _ in range(2)]
sockets = [one.socket(int(port)) for one in (first, second)]
for one in sockets:
    one.setblocking(True)
ask(sockets[1], "/second")
answers = [answer(sockets[1])]
ask(sockets[0], "/first")
answers.append(answer(sockets[0]))
closed = portforward(core.connect_get_namespaced_pod_portforward, pod, "default", ports="1")
nothing = closed.socket(1)
nothing.setblocking(True)
nothing.recv(1)
print(json.dumps({
    "streams": run("echo out; echo err >&2; exit 7"),
    "unpacked": run(unpack, packed)["out"].strip() == expected,
    "answers": answers,
    "errors": [first.error(int(port)), second.error(int(port)), closed.error(1)],
}))
