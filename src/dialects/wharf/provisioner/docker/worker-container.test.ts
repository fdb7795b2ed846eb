import { expect, test } from "vitest";
import { readTar } from "#kernel/artifacts/index.ts";
import { readParameters } from "../parameters.ts";
import { containerName, requestArchive, workerContainer } from "./worker-container.ts";

const worker = { namespace: "ci", name: "wharf-cmd-worker-local-7", uid: "019ab000-0000-7000-8000-00000000000a" };
const secrets = { GIT_TOKEN: "t0ken", VARS: '{"password": "inpu7"}', ADDITIONAL_VARS: '{"X": "additi0nal"}' };
const given = { GIT_FULLURL: "https://u:pa55@example.org/a.git", BUILD_REF: "7", WHARF_PROJECT_ID: "3", ...secrets };
function request() {
  const read = readParameters(given, { instance: "local", allowLocalRepos: false });
  if (!read.ok) throw new Error(JSON.stringify(read.error));
  return { ...read.value, runtime: "docker" as const, accessToken: "acce55" };
}
const setup = { image: "slipway:1", socket: "/run/own.sock", provisioner: "ours" };

test("a worker's container says whose it is, and nothing that is secret", () => {
  const settings = workerContainer(worker, request(), setup);
  const text = JSON.stringify(settings);
  for (const secret of ["pa55", "t0ken", "inpu7", "additi0nal", "acce55"]) expect(text).not.toContain(secret);
  expect(settings["Labels"]).toEqual({
    app: "wharf-cmd-worker",
    "app.kubernetes.io/name": "wharf-cmd-worker",
    "app.kubernetes.io/part-of": "wharf",
    "app.kubernetes.io/managed-by": "wharf-cmd-provisioner",
    "app.kubernetes.io/created-by": "wharf-cmd-provisioner",
    "wharf.iver.com/instance": "local",
    "wharf.iver.com/build-ref": "7",
    "wharf.iver.com/project-id": "3",
    "slipway.dev/worker": worker.name,
    "slipway.dev/worker-uid": worker.uid,
    "slipway.dev/provisioner": "ours",
  });
  expect(settings["HostConfig"]).toMatchObject({
    PortBindings: { "5010/tcp": [{ HostIp: "127.0.0.1" }] },
    RestartPolicy: { Name: "no" },
    Mounts: [
      { Type: "volume", Source: containerName(worker) },
      { Type: "bind", Source: "/run/own.sock", Target: "/var/run/docker.sock" },
    ],
  });
  expect(settings["HostConfig"]).not.toHaveProperty("NetworkMode");
  expect(workerContainer(worker, request(), { ...setup, network: "ci" })["HostConfig"]).toMatchObject({
    NetworkMode: "ci",
  });
});

test("two workers of one name have containers of their own", () => {
  expect(containerName(worker)).not.toBe(containerName({ ...worker, uid: "019ab000-0000-7000-8000-00000000000b" }));
});

test("what its program is to do is in a file that root alone reads, and whose it is in another", async () => {
  const found = new Map<string, { readonly mode: number; readonly text: string }>();
  async function* archive() {
    yield await Promise.resolve(requestArchive(request()));
  }
  for await (const { path, mode, body } of readTar(archive())) {
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece);
    found.set(path, { mode, text: Buffer.concat(pieces).toString() });
  }
  expect([...found].map(([path, { mode }]) => [path, mode])).toEqual([
    ["request-start.json", 0o600],
    ["worker.json", 0o600],
  ]);
  expect(JSON.parse(found.get("request-start.json")?.text ?? "")).toMatchObject({
    token: "t0ken",
    accessToken: "acce55",
  });
  expect(JSON.parse(found.get("worker.json")?.text ?? "")).toEqual({
    buildRef: 7,
    projectId: 3,
    instance: "local",
    runtime: "docker",
  });
});
