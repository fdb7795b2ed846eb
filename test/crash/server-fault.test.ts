import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { checkStore } from "../../src/kernel/apiserver/store/maintenance.ts";
import { type Api, type ApiEvent, connectApi } from "#test/support/api.ts";
import { endRunner, removeDirectory, slipway, startServer, type TestServer } from "#test/support/slipway.ts";
import { within } from "#test/support/within.ts";
import { buildFaults, canFault } from "./faults.ts";

// What clients of a whole server are told when its disk is full or breaks, and when somebody sets the clock.

const maps = "/api/v1/namespaces/default/configmaps";
const map = (name: string, length = 3000) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { fill: "x".repeat(length) },
});
/** As much as one may hold. Some fit into the room that the store has set aside. */
const large = 1_000_000;

describe.skipIf(!canFault)("a server", () => {
  let tools: string;
  let library: string | undefined;
  let directory: string;
  let server: TestServer;
  let api: Api;
  beforeAll(async () => {
    tools = await mkdtemp(join(tmpdir(), "slipway-faults-"));
    library = await buildFaults(tools);
  });
  afterAll(() => rm(tools, { recursive: true, force: true }));
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "slipway-server-fault-"));
    await setFault("");
    await setClock(0);
    await start();
  });
  afterEach(async () => {
    api.close();
    await server.kill();
    await endRunner(directory);
    await removeDirectory(directory);
  });

  const setFault = (fault: string) => writeFile(join(tools, "fault"), fault);

  /** Written over in place: the server has the file mapped. */
  async function setClock(seconds: number): Promise<void> {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    await writeFile(join(tools, "clock"), bytes, { flag: "r+" }).catch(() => writeFile(join(tools, "clock"), bytes));
  }

  async function start(): Promise<void> {
    const env = { LD_PRELOAD: library ?? "", FAULT: join(tools, "fault"), CLOCK: join(tools, "clock") };
    server = await startServer(directory, [], env);
    api = await connectApi(server.url, server.kubeconfig);
  }

  const create = (name: string, length?: number) => api.ask("POST", maps, map(name, length));
  const statusOf = async (path: string): Promise<number> => (await api.ask("GET", path)).status;

  test("whose disk is full answers reads, asks writers to come back, and takes writes again", async () => {
    expect((await create("before")).status).toBe(201);
    const told: ApiEvent[] = [];
    const events = await api.watch(`${maps}?watch=1&fieldSelector=metadata.name!%3Dkube-root-ca.crt`);
    const watching = (async () => {
      for await (const event of events) told.push(event);
    })();
    await setFault("write");
    const fitting: string[] = [];
    // The write that meets the fault learns of it as of any failed commit.
    for (let count = 0; (await create(`large-${count}`, large)).status === 201; count++) fitting.push(`large-${count}`);
    expect(fitting.length).toBeLessThan(10);
    const lost = `large-${fitting.length}`;
    const refused = await create("refused");
    expect([refused.status, refused.json.reason]).toEqual([503, "ServiceUnavailable"]);
    expect(refused.headers["retry-after"]).toBe("5");
    expect(await statusOf(`${maps}/before`)).toBe(200);
    expect(await statusOf(`${maps}/${lost}`)).toBe(404);
    expect([await statusOf("/readyz"), await statusOf("/livez")]).toEqual([500, 200]);
    await setFault("");
    await expect.poll(async () => (await create("after")).status, { timeout: 60_000, interval: 500 }).toBe(201);
    expect(await statusOf("/readyz")).toBe(200);
    await expect.poll(() => told.map(({ object }) => object.metadata?.name)).toEqual(["before", ...fitting, "after"]);
    expect(await server.stop()).toBe(0);
    await watching;
    expect((await checkStore(join(directory, "store"))).findings).toEqual([]);
  });

  test("whose disk breaks ends with code 5, and starts again with all that it had answered", async () => {
    const before = await create("before");
    expect(before.status).toBe(201);
    const exited = new Promise((resolve) => server.process.once("close", resolve));
    await setFault("flush");
    const lost = await create("lost").catch((thrown: unknown) => thrown);
    expect(lost).not.toMatchObject({ status: 201 });
    expect(await within(60_000, "the server ends", exited, () => server.log())).toBe(5);
    await setFault("");
    expect((await checkStore(join(directory, "store"))).findings).toEqual([]);
    api.close();
    await start();
    const found = await api.ask("GET", `${maps}/before`);
    expect(found.json.metadata?.resourceVersion).toBe(before.json.metadata?.resourceVersion);
    const next = await create("next");
    expect(Number(next.json.metadata?.resourceVersion)).toBeGreaterThan(Number(before.json.metadata?.resourceVersion));
  });

  test("whose clock jumps goes on: revisions rise, watchers miss nothing, and times go back only by more than a day", async () => {
    const times: number[] = [];
    const revisions: number[] = [];
    const told: (string | undefined)[] = [];
    const events = await api.watch(`${maps}?watch=1&fieldSelector=metadata.name!%3Dkube-root-ca.crt`);
    const watching = (async () => {
      for await (const { object } of events) told.push(object.metadata?.name);
    })();
    // By how many hours the clock is off, and the time that the server has then.
    const jumps = [
      [0, 0],
      [1, 1],
      [-1, 1],
      [720, 720],
      [0, 0],
    ] as const;
    for (const [index, [hours]] of jumps.entries()) {
      await setClock(hours * 3600);
      const { status, json, text } = await create(`m${index}`);
      expect(status, text).toBe(201);
      times.push(Math.round((Date.parse(json.metadata?.creationTimestamp ?? "") - Date.now()) / 3_600_000));
      revisions.push(Number(json.metadata?.resourceVersion));
    }
    expect(times).toEqual(jumps.map(([, hours]) => (hours === 0 ? expect.toBeOneOf([0, -0]) : hours)));
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
    await expect.poll(() => told).toEqual(jumps.map((_, index) => `m${index}`));
    expect(await server.stop()).toBe(0);
    await watching;
  });

  test("whose directory is removed says so with code 5 instead of taking writes that nobody will find", async () => {
    expect((await create("before")).status).toBe(201);
    const exited = new Promise((resolve) => server.process.once("close", resolve));
    // The server may be making a file in it.
    await removeDirectory(join(directory, "store"));
    // A look at the place is taken ten times a second, so the first writes may pass.
    let count = 0;
    const isTaken = (): Promise<boolean> =>
      create(`lost-${count++}`).then(
        ({ status }) => status === 201,
        () => false,
      );
    await expect.poll(isTaken, { timeout: 60_000 }).toBe(false);
    expect(await within(60_000, "the server ends", exited, () => server.log())).toBe(5);
    // A checkpoint may find it before a look does.
    expect(server.log()).toMatch(/has been removed or replaced while it was in use|ENOENT: [^"]*store\.redo-1/);
  });

  test("has its directory alone: a second one is refused and told where the first one is", async () => {
    const { code, err } = await slipway(["up", "--data-dir", directory, "--port", "0"]);
    expect(code).toBe(1);
    expect(err).toContain(`process ${server.process.pid}`);
    expect(err).toContain(server.url);
    expect((await create("still")).status).toBe(201);
  });
});
