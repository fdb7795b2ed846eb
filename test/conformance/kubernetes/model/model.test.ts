import { seededRandom } from "#kernel/kit/testing/index.ts";
import { expect, test } from "vitest";
import { FakeClock, type JsonObject, silentLog } from "#lib/base/index.ts";
import { createApiServer } from "#kernel/apiserver/index.ts";
import { memoryStore } from "#kernel/apiserver/store/open.ts";
import { waitUntil } from "#kernel/apiserver/testing/index.ts";
import { type ApiClient } from "#kernel/kit/index.ts";
import { ApiError, CustomResourceDefinition, type KubeObject } from "#kernel/model/index.ts";
import { type Expectation, expectationOf } from "./expectation.ts";
import { type Flat, flatten, orderOf, ownersOf } from "./flat-object.ts";
import { drawOperation, Gadget, gadgetDefinition, type Operation, perform, refOf } from "./operations.ts";
import { type Known, sameFields, sameOwners } from "./oracle.ts";
import { rounds } from "#test/support/rounds.ts";

// 43. Random requests against an oracle that shares no code with the server: every answer, revision, generation, owner of a field and
// event is the one that Kubernetes gives. SLIPWAY_MODEL_OPERATIONS=1000000 is the long form, SLIPWAY_MODEL_SEED another run.

const operations = Number(process.env["SLIPWAY_MODEL_OPERATIONS"] ?? rounds(5_000, 200_000));
const seed = Number(process.env["SLIPWAY_MODEL_SEED"] ?? 1);
/** After so many the watches and lists are compared, and a second passes. */
const stretch = 500;
/** Watches end after so long, and are taken up where they were: nothing is to be missed there, nor told twice. */
const watchMs = 20_000;

interface Told {
  readonly type: string;
  readonly name: string;
  readonly revision: number;
  readonly fields?: Flat;
}

type Loose = KubeObject & JsonObject;

test(`${operations} random requests differ in nothing from the oracle`, {
  timeout: 60_000 + operations * 5,
}, async () => {
  const clock = new FakeClock();
  const store = memoryStore({ clock });
  const server = await createApiServer({ store, clock, log: silentLog, version: "0.0.0" });
  const client = server.client();
  await client.create(CustomResourceDefinition, gadgetDefinition);
  const random = seededRandom(seed);
  const world = new Map<string, Known & { readonly order: string; readonly uid: string }>();
  const stop = new AbortController();
  const all = follow(client, "", stop.signal);
  const shown = follow(client, "show=on", stop.signal);
  const expected = { all: [] as Told[], shown: [] as Told[] };
  let revision = store.revision;

  /** Sends one request, and holds the answer against what the oracle says. */
  const step = async (done: Operation): Promise<void> => {
    const before = world.get(done.name);
    const wanted = expectationOf(before, done);
    const { code, answer } = await answerOf(client, done);
    const differs = (what: string, found: unknown, right: unknown) =>
      new Error(`${what}: ${texts({ found, right, seed, revision, done, before, next: wanted.next })}`);
    const judge = (what: string, found: unknown, right: unknown) => {
      if (found !== right) throw differs(what, found, right);
    };
    judge("code", code, wanted.code);
    if (code !== 200 || done.dryRun) return;
    const after = wanted.next === undefined ? undefined : await client.get<Loose>(refOf(done.name));
    const order = after === undefined ? "" : orderOf(after);
    const isChanged = changes(before, wanted, order);
    if (isChanged) revision += 1;
    judge("store's revision", store.revision, revision);
    if (wanted.next === undefined || after === undefined) {
      tell("DELETED", done.name, before, undefined);
      world.delete(done.name);
      return;
    }
    const { metadata } = after;
    const next = { ...wanted.next, order, uid: before?.uid ?? metadata.uid ?? "" };
    const known = {
      ...next,
      revision: isChanged ? revision : (before?.revision ?? 0),
      generation: generation(before, next),
    };
    if (!sameFields(flatten(after), known.fields)) throw differs("fields", flatten(after), known.fields);
    if (!sameOwners(ownersOf(after), known.owners)) throw differs("owners", ownersOf(after), known.owners);
    judge("revision", Number(metadata.resourceVersion), known.revision);
    judge("generation", metadata.generation, known.generation);
    judge("uid", metadata.uid, known.uid);
    judge("terminating", metadata.deletionTimestamp !== undefined, known.terminating);
    if (answer !== undefined && done.verb !== "delete") judge("answer", JSON.stringify(answer), JSON.stringify(after));
    world.set(done.name, known);
    if (isChanged) tell(before === undefined ? "ADDED" : "MODIFIED", done.name, before, known);
  };

  /** Notes the events that both watches must show. */
  const tell = (type: string, name: string, before: Known | undefined, after: Known | undefined) => {
    const told = { name, revision, ...(after === undefined ? {} : { fields: after.fields }) };
    expected.all.push({ type, ...told });
    const [was, is] = [isShown(before), isShown(after)];
    if (was && is) expected.shown.push({ type: "MODIFIED", ...told });
    else if (is) expected.shown.push({ type: "ADDED", ...told });
    else if (was) expected.shown.push({ type: "DELETED", name, revision });
  };

  for (let count = 0; count < operations; count += stretch) {
    const began = new Map([...world].map(([name, known]) => [name, known.revision]));
    const beganAt = revision;
    for (let at = count; at < Math.min(operations, count + stretch); at++) await step(drawOperation(random));
    for (const [watch, told] of [
      [all, expected.all],
      [shown, expected.shown],
    ] as const) {
      await waitUntil(async () => {
        if (watch.length >= told.length) return true;
        // A watch that takes up many changes waits for its turn, which may come after a rest.
        await clock.advance(10);
        return false;
      });
      expect(watch.splice(0)).toEqual(told.splice(0));
    }
    expect(await listed(client)).toEqual({
      revision,
      objects: new Map([...world].map(([name, known]) => [name, known.revision])),
    });
    expect(await listed(client, beganAt)).toEqual({ revision: beganAt, objects: began });
    await clock.advance(1000);
  }
  stop.abort();
  process.stderr.write(`model: ${operations} requests, ${revision} revisions, seed ${seed}\n`);
  await server.close();
  await store.close();
});

const isShown = (known: Known | undefined): boolean => known?.fields.get("f:metadata/f:labels/f:show") === '"on"';

/** A request that changes nothing has no revision. Lists may change in their order alone. */
const changes = (
  before: (Known & { readonly order: string }) | undefined,
  { next }: Expectation,
  order: string,
): boolean =>
  before === undefined ||
  next === undefined ||
  before.order !== order ||
  before.terminating !== next.terminating ||
  !sameFields(before.fields, next.fields) ||
  !sameOwners(before.owners, next.owners);

/** Counts changes of the spec, and the beginning of the end. */
function generation(
  before: (Known & { readonly order: string }) | undefined,
  next: { readonly fields: Flat; readonly terminating: boolean; readonly order: string },
): number {
  if (before === undefined) return 1;
  const spec = (fields: Flat): Flat => new Map([...fields].filter(([path]) => path.startsWith("f:spec")));
  const isOther = before.order !== next.order || !sameFields(spec(before.fields), spec(next.fields));
  return before.generation + (isOther ? 1 : 0) + (before.terminating === next.terminating ? 0 : 1);
}

/** Maps and sets as JSON, for people. */
const texts = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    member instanceof Map ? Object.fromEntries(member) : member instanceof Set ? [...member] : member,
  );

async function answerOf(
  client: ApiClient,
  done: Operation,
): Promise<{ readonly code: number; readonly answer?: unknown }> {
  try {
    return { code: 200, answer: await perform(client, done) };
  } catch (thrown) {
    if (thrown instanceof ApiError) return { code: thrown.code };
    throw thrown;
  }
}

async function listed(client: ApiClient, revision?: number) {
  const exact =
    revision === undefined ? {} : { resourceVersion: String(revision), resourceVersionMatch: "Exact" as const };
  const { items, metadata } = await client.list(Gadget, { namespace: "default", ...exact });
  return {
    revision: Number(metadata.resourceVersion),
    objects: new Map(items.map((item) => [item.metadata.name, Number(item.metadata.resourceVersion)])),
  };
}

/** Everything a watch shows, as it comes. */
function follow(client: ApiClient, labelSelector: string, signal: AbortSignal): Told[] {
  const seen: Told[] = [];
  const run = async (from?: string): Promise<void> => {
    let last = from;
    const options = { namespace: "default", labelSelector, timeout: watchMs, allowBookmarks: true, signal };
    const resumed = last === undefined ? options : { ...options, resourceVersion: last };
    for await (const { type, object } of client.watch<Loose>(Gadget, resumed)) {
      const { name = "", resourceVersion } = object.metadata;
      last = resourceVersion;
      const told = { type, name, revision: Number(resourceVersion) };
      if (type !== "BOOKMARK") seen.push(type === "DELETED" ? told : { ...told, fields: flatten(object) });
    }
    if (!signal.aborted) await run(last);
  };
  void run();
  return seen;
}
