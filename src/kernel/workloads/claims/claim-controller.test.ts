import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { PersistentVolumeClaim, Pod } from "#kernel/model/index.ts";
import type { PodObject } from "../pod-types.ts";
import { bench, type Bench, shellPod } from "../testing/index.ts";
import { claimDirectory, type ClaimObject } from "./claim.ts";
import { addClaimController, protectionFinalizer } from "./claim-controller.ts";

let directory: string;
let client: MemoryClient;
let place: Bench;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-claims-"));
  client = memoryClient({ types: [PersistentVolumeClaim] });
  place = bench({ client });
  addClaimController(place.manager, { directory });
  place.start();
});
afterEach(async () => {
  await place.close();
  await rm(directory, { recursive: true, force: true });
});

const claim: ClaimObject = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace: "default", finalizers: [protectionFinalizer] },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};
const ref = { type: PersistentVolumeClaim, namespace: "default", name: "data" };
const path = () => claimDirectory(directory, "default", "data");
const bound = () =>
  place.until<ClaimObject>(PersistentVolumeClaim, "data", (found) => found?.status?.phase === "Bound");
const gone = () => place.until(PersistentVolumeClaim, "data", (found) => found === undefined);

test("a claim is bound to a directory of its own", async () => {
  const { metadata } = await client.create<ClaimObject>(PersistentVolumeClaim, claim);
  const found = await bound();
  expect(found).toMatchObject({
    spec: { volumeName: `pvc-${metadata.uid}` },
    status: { phase: "Bound", accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" } },
  });
  expect(existsSync(path())).toBe(true);
});

test("a claim that grows has the new capacity", async () => {
  await client.create<ClaimObject>(PersistentVolumeClaim, claim);
  await bound();
  const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
  await client.patch(ref, { type: "merge", body });
  await place.until<ClaimObject>(
    PersistentVolumeClaim,
    "data",
    (found) => found?.status?.capacity?.["storage"] === "2Gi",
  );
});

test("a claim that is deleted takes its directory along", async () => {
  await client.create<ClaimObject>(PersistentVolumeClaim, claim);
  await bound();
  await writeFile(join(path(), "file"), "x");
  await client.delete(ref);
  await gone();
  expect(existsSync(path())).toBe(false);
});

test("a claim stays as long as a Pod that is bound and has not ended uses it", async () => {
  await client.create<ClaimObject>(PersistentVolumeClaim, claim);
  await bound();
  const user = shellPod("user", "true");
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];
  const spec = { ...user.spec, volumes, nodeName: "test-node" };
  await client.create<PodObject>(Pod, { ...shellPod("waiting", "true"), spec: { ...user.spec, volumes } });
  const pod = await client.create<PodObject>(Pod, { ...user, spec });
  await client.delete(ref);
  await place.until(PersistentVolumeClaim, "data", (found) => found?.metadata.deletionTimestamp !== undefined);
  expect(existsSync(path())).toBe(true);
  await client.updateStatus<PodObject>(Pod, { ...pod, status: { phase: "Succeeded" } });
  await gone();
  expect(existsSync(path())).toBe(false);
});
