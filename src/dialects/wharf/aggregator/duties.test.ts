import { seededRandom } from "#kernel/kit/testing/index.ts";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { Worker } from "../kinds.ts";
import { Duties } from "./duties.ts";
import { wholeShard } from "./shard.ts";

// wharf-api and the provisioner are one server that knows some builds and writes down which workers were ended.

let server: Server;
let duties: Duties;
const known = new Set<string>();
const ended: string[] = [];
let questions = 0;
beforeEach(async () => {
  known.clear();
  ended.length = 0;
  questions = 0;
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://api");
    const [, , kind = "", name = ""] = pathname.split("/");
    request.resume().on("end", () => {
      if (kind === "worker") ended.push(name);
      else questions++;
      if (kind === "worker" || known.has(name)) response.end("{}");
      else response.writeHead(404).end('{"type":"/prob/api/record-not-found"}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const service = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const parts = { api: service, provisioner: service, shard: wholeShard, maxWorkers: 1 };
  duties = new Duties({ ...parts, clock: systemClock, random: seededRandom(1), log: silentLog });
});
afterEach(async () => {
  await duties.close();
  server.closeAllConnections();
  server.close();
});

/** A worker that has ended and served nothing. */
const lost = (buildRef: number): Stored<Worker> => ({
  apiVersion: "wharf.slipway.dev/v1alpha1",
  kind: "Worker",
  metadata: {
    name: `w${buildRef}`,
    namespace: "default",
    uid: `00000000-0000-4000-8000-00000000000${buildRef}`,
    resourceVersion: "1",
    creationTimestamp: "2026-01-31T12:00:00Z",
  },
  spec: { buildRef },
  status: { status: "Failed", finishedAt: "2026-01-31T12:00:01Z", message: "it has ended" },
});

test("a build that the API does not know holds up no other one, and is tried again when its worker is looked at", async () => {
  known.add("2");
  duties.look(lost(1));
  duties.look(lost(2));
  await expect.poll(() => ended).toEqual(["w2"]);
  const asked = questions;
  duties.look(lost(1));
  await expect.poll(() => questions).toBeGreaterThan(asked);
  known.add("1");
  await expect
    .poll(() => {
      duties.look(lost(1));
      return ended;
    })
    .toEqual(["w2", "w1"]);
});

test("a worker that is on its way out tells nothing any more when it stops answering", async () => {
  for (const build of ["1", "2"]) known.add(build);
  const service = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const parts = { api: service, provisioner: service, shard: wholeShard, maxWorkers: 2 };
  const both = new Duties({ ...parts, clock: systemClock, random: seededRandom(1), log: silentLog });
  const gone = lost(1);
  // Nobody answers there: its results are waited for.
  both.look({ ...gone, status: { ...gone.status, address: "127.0.0.1:1" } });
  both.look({ ...gone, metadata: { ...gone.metadata, annotations: { "wharf.slipway.dev/force": "true" } } });
  both.look(lost(2));
  await expect.poll(() => ended).toContain("w2");
  expect(ended).toEqual(["w2"]);
  await both.close();
});
