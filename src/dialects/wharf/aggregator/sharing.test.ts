import { seededRandom } from "#kernel/kit/testing/index.ts";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { rounds } from "#test/support/rounds.ts";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { Worker } from "../kinds.ts";
import { serveBuild, type ServedBuild } from "../worker-api/testing/served-build.ts";
import { Duties } from "./duties.ts";
import { withRecordingApi } from "./testing/recording-api.ts";

// Three hundred workers of a build each: every third one serves its results, the others have ended before that and are told of by their message. Their
// aggregators see them as they would see them through the API: each sees all of them, and hears when one is gone.

const count = rounds(100, 300);
const builds = Array.from({ length: count }, (_, at) => at + 1);
const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);

const serves = (build: number): boolean => build % 3 === 0;

let told: ServedBuild;
let provisioner: Server;
/** Who has had which worker ended. */
let ended: { readonly name: string; readonly by: string }[];
const aggregators = new Set<Duties>();
const workers = new Map<string, Stored<Worker>>();
beforeEach(async () => {
  told = await serveBuild(1);
  await told.print(1, lines.map((line) => `${line}\n`).join(""));
  await told.end();
  ended = [];
  provisioner = createServer((request, response) => {
    const name = new URL(request.url ?? "/", "http://p").pathname.split("/").at(-1) ?? "";
    const worker = workers.get(name);
    workers.delete(name);
    ended.push({ name, by: request.headers.authorization ?? "" });
    if (worker !== undefined) for (const aggregator of aggregators) aggregator.forget(worker);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => provisioner.listen(0, "127.0.0.1", () => resolve()));
});
afterEach(async () => {
  for (const aggregator of aggregators) await aggregator.close();
  aggregators.clear();
  await told.close();
  provisioner.closeAllConnections();
  provisioner.close();
});

const worker = (buildRef: number): Stored<Worker> => ({
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind: "Worker",
  metadata: {
    name: `w${buildRef}`,
    namespace: "default",
    uid: newUid(),
    resourceVersion: "1",
    creationTimestamp: "2026-01-31T12:00:00Z",
  },
  spec: { buildRef },
  status: serves(buildRef)
    ? { status: "Success", address: told.door.address }
    : { status: "Failed", message: lines.join("\n"), finishedAt: "2026-01-31T12:00:01Z" },
});

test(`${count} workers of three aggregators that become two in the middle: each is carried by one, nothing is lost or twice`, {
  timeout: 180_000,
}, async () => {
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const late = new Set<number>();
  await withRecordingApi(
    async (api) => {
      for (const build of builds) {
        api.builds.known.add(build);
        workers.set(`w${build}`, worker(build));
      }
      const start = (index: number, of: number) => {
        const { port } = provisioner.address() as AddressInfo;
        const services = {
          api: { url: api.url },
          // Its token is its name.
          provisioner: { url: `http://127.0.0.1:${port}`, token: `${index}/${of}` },
        };
        const parts = { ...services, clock: systemClock, random: seededRandom(index), log: silentLog };
        const duties = new Duties({ ...parts, shard: { index, of }, maxWorkers: 40 });
        aggregators.add(duties);
        for (const one of workers.values()) duties.look(one);
        return duties;
      };
      const before = [1, 2, 3].map((index) => start(index, 3));
      // Some have been carried, some are in the middle of it, others wait for their turn.
      await expect.poll(() => ended.length).toBeGreaterThan(20);
      await expect.poll(() => late.size).toBeGreaterThan(20);
      // As when Pods are replaced: for a while there are all of them.
      for (const index of [1, 2]) start(index, 2);
      for (const duties of before) {
        aggregators.delete(duties);
        await duties.close();
      }
      open();
      await expect.poll(() => workers.size, { timeout: 120_000 }).toBe(0);
      expect(new Set(ended.map(({ name }) => name)).size).toBe(count);
      const inTheEnd = ended.filter(({ by }) => by.endsWith("/2")).map(({ name }) => name);
      expect(inTheEnd.length).toBeGreaterThan(count / 4);
      expect(new Set(inTheEnd).size).toBe(inTheEnd.length);
      for (const build of builds) expect(await api.messages(build, serves(build) ? 1 : 0)).toEqual(lines);
    },
    async (path) => {
      const build = Number(path.split("/")[3]);
      if (!path.endsWith("/logs") || build % 2 === 0) return;
      late.add(build);
      await gate;
    },
  );
});
