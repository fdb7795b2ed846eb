import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { ArtifactStore, leavesAnnotation, leftAnnotation, readLeft, takesAnnotation } from "#kernel/artifacts/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { Pod, type Stored } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { shellPod } from "../testing/index.ts";
import { PodArtifacts } from "./pod-artifacts.ts";
import { podPaths } from "./pod-paths.ts";

let root: string;
let store: ArtifactStore;
let client: MemoryClient;
const { signal } = new AbortController();
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "slipway-pods-"));
  const clock = new FakeClock();
  store = new ArtifactStore({ directory: join(root, "store"), clock });
  client = memoryClient({ clock });
});
afterEach(() => rm(root, { recursive: true, force: true }));

const artifacts = () => new PodArtifacts(store, client, root);
const directoryOf = (pod: PodObject) => podPaths(root, pod).artifacts;

async function podWith(annotations: Readonly<Record<string, unknown>>): Promise<Stored<PodObject>> {
  const pod = shellPod("p", "true");
  const texts = Object.fromEntries(Object.entries(annotations).map(([name, value]) => [name, JSON.stringify(value)]));
  return client.create<PodObject>(Pod, { ...pod, metadata: { ...pod.metadata, annotations: texts } });
}

async function* bytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

const wish = (more: object = {}) => ({ [leavesAnnotation]: [{ name: "out", path: "out", ...more }] });

test("what a Pod takes is made once: what its containers have done to it since is their own", async () => {
  const stored = await store.put("default", bytes("text"));
  const pod = await podWith({ [takesAnnotation]: [{ ...stored, name: "in", path: "a/in" }] });
  expect(await artifacts().prepare(pod, signal)).toEqual({ ok: true, value: undefined });
  expect(await readFile(join(directoryOf(pod), "a/in"), "utf8")).toBe("text");
  // An init container leads whoever writes here again to a place of the machine.
  await rm(join(directoryOf(pod), "a"), { recursive: true });
  await mkdir(join(root, "machine"));
  await symlink(join(root, "machine"), join(directoryOf(pod), "a"));
  expect(await artifacts().prepare(pod, signal)).toMatchObject({ ok: true });
  expect(await readdir(join(root, "machine"))).toEqual([]);
});

test("what a crash has left half made is made anew", async () => {
  const stored = await store.put("default", bytes("text"));
  const pod = await podWith({ [takesAnnotation]: [{ ...stored, name: "in", path: "in" }] });
  await mkdir(directoryOf(pod), { recursive: true });
  await writeFile(join(directoryOf(pod), "in"), "te");
  await artifacts().prepare(pod, signal);
  expect(await readFile(join(directoryOf(pod), "in"), "utf8")).toBe("text");
});

test.each([
  ["is not stored", { digest: `sha256:${"0".repeat(64)}`, size: 1, name: "in", path: "in" }, "ArtifactMissing"],
  ["leads out", { digest: `sha256:${"0".repeat(64)}`, size: 1, name: "in", path: "../in" }, "ArtifactFailed"],
])("what %s is lacking, for good", async (_what, taken, reason) => {
  const pod = await podWith({ [takesAnnotation]: [taken] });
  expect(await artifacts().prepare(pod, signal)).toMatchObject({ ok: false, error: { reason } });
});

test("what a Pod leaves is stored before it is noted, and noted once", async () => {
  const pod = await podWith(wish());
  await artifacts().prepare(pod, signal);
  await writeFile(join(directoryOf(pod), "out"), "result");
  const noted = await artifacts().collect(pod, signal);
  const left = readLeft(noted.metadata.annotations, pod.metadata.uid);
  const digest = left?.artifacts?.["out"]?.digest ?? "";
  let text = "";
  for await (const chunk of await store.read("default", digest)) text += chunk.toString();
  expect(text).toBe("result");
  await writeFile(join(directoryOf(pod), "out"), "later");
  expect((await artifacts().collect(noted, signal)).metadata.annotations).toEqual(noted.metadata.annotations);
});

test("a record that a template has brought along is no answer", async () => {
  const forged = { uid: "somebody", artifacts: { out: { digest: `sha256:${"0".repeat(64)}`, size: 1 } } };
  const pod = await podWith({ ...wish(), [leftAnnotation]: forged });
  await artifacts().prepare(pod, signal);
  const noted = await artifacts().collect(pod, signal);
  expect(readLeft(noted.metadata.annotations, pod.metadata.uid)).toMatchObject({
    problem: { reason: "ArtifactMissing", message: 'artifact "out": nothing is at out of $SLIPWAY_ARTIFACTS' },
  });
});

test("nothing is noted, and nothing kept, of a pod that is deleted while it is looked through", async () => {
  const pod = await podWith(wish());
  await artifacts().prepare(pod, signal);
  await writeFile(join(directoryOf(pod), "out"), Buffer.alloc(1_000_000));
  let asked = 0;
  expect(await artifacts().collect(pod, signal, () => ++asked < 3)).toBe(pod);
  expect(asked).toBe(3);
  expect(await store.isEmpty()).toBe(true);
});

test("a server that ends notes nothing", async () => {
  const pod = await podWith(wish());
  await artifacts().prepare(pod, signal);
  await writeFile(join(directoryOf(pod), "out"), "result");
  await expect(artifacts().collect(pod, AbortSignal.abort(new Error("the server ends")))).rejects.toThrow("ends");
  const now = await client.get<PodObject>({ type: Pod, namespace: "default", name: "p" });
  expect(now.metadata.annotations).toEqual(pod.metadata.annotations);
});
