import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { checkStore } from "../../src/kernel/apiserver/store/maintenance.ts";
import { openStore } from "../../src/kernel/apiserver/store/open.ts";
import type { Store } from "../../src/kernel/apiserver/store/store.ts";
import { type Api, connectApi } from "#test/support/api.ts";
import { endRunner, removeDirectory, slipway, startServer } from "#test/support/slipway.ts";
import { rounds } from "#test/support/rounds.ts";

// A whole server is killed while 64 clients write over HTTPS and others watch. What was answered is there, and what a watcher was
// told is what is stored: an event of a revision that was lost would be a lie that no list corrects.

const kills = rounds(2, 50);
const writers = 64;
const maps = "/api/v1/namespaces/default/configmaps";
const collection = { group: "", resource: "configmaps" };

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "slipway-server-kill-"));
});
afterAll(async () => {
  await endRunner(directory);
  await removeDirectory(directory);
});

/** `MODIFIED w3 12-7 @401`: all that an event says. */
interface Seen {
  readonly type: string;
  readonly name: string;
  readonly id: string;
  readonly revision: number;
}

/** What one client knows: the last answer for its object, in whose place a later write may stand that was not answered. */
interface Written {
  id: string;
  revision: number;
  /** Begun and not answered. */
  pending: string | undefined;
}

async function write(api: Api, name: string, written: Written, round: number): Promise<void> {
  for (let count = 0; ; count++) {
    const id = `${round}-${count}`;
    const body = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: { id, fill: "x".repeat(count % 900) },
    };
    written.pending = id;
    const isNew = written.revision === 0;
    const answer = await api.ask(isNew ? "POST" : "PUT", isNew ? maps : `${maps}/${name}`, body);
    if (answer.status === 409) {
      // Its creation of the round before was not answered, but done.
      written.revision = 1;
      continue;
    }
    if (answer.status >= 300) throw new Error(`${answer.status}: ${answer.text}`);
    Object.assign(written, { id, revision: Number(answer.json.metadata?.resourceVersion), pending: undefined });
  }
}

/** Follows from a revision on, and adds what it is told. */
async function follow(api: Api, from: number, seen: Seen[]): Promise<void> {
  for await (const { type, object } of await api.watch(`${maps}?watch=1&resourceVersion=${from}`)) {
    const { name = "", resourceVersion } = object.metadata ?? {};
    seen.push({ type, name, id: object.data?.["id"] ?? "", revision: Number(resourceVersion) });
  }
}

/** The same from the store itself. */
function stored(store: Store, from: number): readonly Seen[] {
  const found: Seen[] = [];
  const names = { add: "ADDED", modify: "MODIFIED", delete: "DELETED" } as const;
  const deliver = store.subscribe(collection, from, (events) => {
    for (const { type, revision, entry } of events) {
      const { data } = entry.object() as { readonly data?: { readonly id?: string } };
      if (entry.key.namespace === "default")
        found.push({ type: names[type], name: entry.key.name, id: data?.id ?? "", revision });
    }
  });
  deliver.close();
  return found;
}

/** A backup made under load is the state of the revision that it names. */
async function assertBackup(store: Store, file: string): Promise<void> {
  const restored = join(directory, "restored");
  const { code, err } = await slipway(["store", "restore", file, "--data-dir", restored]);
  expect(code, err).toBe(0);
  expect((await checkStore(join(restored, "store"))).findings).toEqual([]);
  const copy = await openStore(join(restored, "store"));
  const { revision } = copy;
  expect(revision).toBeGreaterThan(writers);
  expect(revision).toBeLessThanOrEqual(store.revision);
  const texts = (from: Store) => from.page(collection, { revision }).entries.map(({ bytes }) => bytes.toString());
  expect(texts(copy)).toEqual(texts(store));
  await copy.close();
  await rm(restored, { recursive: true });
}

test(`a server that is killed ${kills} times loses nothing that it answered, and told nobody of what is lost`, async () => {
  const written = Array.from({ length: writers }, (): Written => ({ id: "", revision: 0, pending: undefined }));
  const watchers: Seen[][] = [[], [], []];
  let first = 0;
  let answers = 0;
  for (let round = 0; round < kills; round++) {
    const server = await startServer(directory);
    const api = await connectApi(server.url, server.kubeconfig);
    if (round === 0) first = Number((await api.ask("GET", maps)).json.metadata?.resourceVersion);
    const following = watchers.map((seen) => follow(api, seen.at(-1)?.revision ?? first, seen));
    const writing = written.map((state, index) => write(api, `w${index}`, state, round));
    const work = Promise.allSettled([...following, ...writing]);
    let broken: unknown;
    for (const each of writing) each.catch((thrown: unknown) => (broken ??= thrown));
    // Requests that are sent first need not be served first.
    const answered = () => written.filter(({ id }) => id.startsWith(`${round}-`)).length;
    const [everybody, told] = [`${writers} writers`, "and all watchers have heard"];
    const begun = () =>
      broken === undefined ? [`${answered()} writers`, watchers.every(({ length }) => length > 0) ? told : ""] : broken;
    await expect.poll(begun, { timeout: 60_000 }).toEqual([everybody, told]);
    const file = join(directory, `backup-${round}`);
    // The first and the last round, because each takes seconds.
    const isBackedUp = round === 0 || round === kills - 1;
    if (isBackedUp) expect((await slipway(["store", "backup", file, "--data-dir", directory])).code).toBe(0);
    await sleep(systemClock, ((round * 7_919) % 23) * 20);
    await server.kill();
    for (const { status, reason } of (await work) as PromiseRejectedResult[])
      if (status === "rejected" && !/ECONN|EPIPE|socket|hang up|aborted/.test(String(reason))) throw reason;
    api.close();

    expect((await checkStore(join(directory, "store"))).findings).toEqual([]);
    const store = await openStore(join(directory, "store"));
    for (const [index, { id, revision, pending }] of written.entries()) {
      const entry = store.get({ ...collection, namespace: "default", name: `w${index}` });
      const found = (entry?.object() as { readonly data?: { readonly id: string } } | undefined)?.data?.id;
      expect([id, pending]).toContain(found);
      if (found === id) expect(entry?.revision).toBe(revision);
    }
    const truth = stored(store, first);
    for (const seen of watchers) {
      expect(seen.length).toBeGreaterThan(0);
      // Without a gap or a repetition over all lives of the server, and nothing beyond what is stored.
      expect(seen).toEqual(truth.slice(0, seen.length));
    }
    if (isBackedUp) await assertBackup(store, file);
    answers += truth.length;
    await store.close();
  }
  expect(answers).toBeGreaterThan(kills * writers);
});
