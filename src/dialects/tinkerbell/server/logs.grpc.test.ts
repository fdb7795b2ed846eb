import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openFilesBelow } from "#test/support/open-files.ts";
import { readLogs, readReceived } from "#kernel/streams/index.ts";
import { agentV1 } from "#kernel/rpc/index.ts";
import { type Headers, isRefused } from "#kernel/rpc/testing/index.ts";
import { logPath } from "../logs/places.ts";
import { Place } from "./testing/place.ts";

const { pushLogs } = agentV1.AgentService.method;

interface Chunk {
  readonly workflowId: string;
  readonly actionId: string;
  readonly stream: agentV1.LogChunk_Stream;
  readonly time: { readonly seconds: bigint; readonly nanos: number };
  readonly data: Uint8Array;
  readonly seq: bigint;
}

const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

async function start(options: { readonly maxBytes?: number; readonly directory?: string } = {}) {
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "slipway-tinklogs-")));
  const { maxBytes } = options;
  const place = await Place.start({ logs: { directory, ...(maxBytes === undefined ? {} : { maxBytes }) } });
  closings.push(
    () => rm(directory, { recursive: true, force: true }),
    () => place.close(),
  );
  return { place, directory };
}

const chunk = (workflowId: string, seq: number, text: string, more: Partial<Chunk> = {}): Chunk => ({
  workflowId,
  actionId: "id-one",
  stream: agentV1.LogChunk_Stream.STDOUT,
  time: { seconds: 1_767_225_600n, nanos: 5_000_000 },
  data: Buffer.from(text),
  seq: BigInt(seq),
  ...more,
});

/** `id-one 3` for each log, or how it was refused. */
async function push(place: Place, chunks: readonly Chunk[], headers: Headers = {}): Promise<string> {
  const answer = await place.client().clientStream(pushLogs, chunks, { headers }).answer;
  if (isRefused(answer)) return `${answer.code} ${answer.message}`;
  return answer.received.map(({ actionId, seq }) => `${actionId} ${seq}`).join(", ");
}

async function read(directory: string, workflow: string, action = "id-one"): Promise<string> {
  const pieces: Uint8Array[] = [];
  const path = logPath(directory, workflow.split("/")[2] ?? "", action);
  for await (const piece of readLogs(path, { timestamps: true })) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test("a server that keeps logs says so when a stream opens, and one that does not has no such service", async () => {
  const { place } = await start();
  const headers = await place.agent().stream.headers.promise;
  expect(headers.get("x-slipway-features")).toEqual(["logs,logs-overlap,resume"]);
  const other = await Place.start();
  closings.push(() => other.close());
  expect((await other.agent().stream.headers.promise).get("x-slipway-features")).toEqual(["resume"]);
  expect(await push(other, [])).toMatch(/^UNIMPLEMENTED/);
});

test("chunks of several actions come into their logs, each once, and the answer tells up to where nothing is missing", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  const two = { actionId: "id-two", stream: agentV1.LogChunk_Stream.STDERR };
  expect(
    await push(place, [
      chunk(w, 1, "a\n"),
      chunk(w, 2, "b\n"),
      chunk(w, 2, "b\n"),
      chunk(w, 4, "d\n"),
      chunk(w, 1, "uno\n", two),
    ]),
  ).toBe("id-one 2, id-two 1");
  expect(await push(place, [chunk(w, 2, "b\n"), chunk(w, 3, "c\n"), chunk(w, 4, "d\n")])).toBe("id-one 4");
  const at = "2026-01-01T00:00:00.005000000Z";
  expect(await read(directory, w)).toBe(`${at} a\n${at} b\n${at} c\n${at} d\n`);
  expect(await read(directory, w, "id-two")).toBe(`${at} uno\n`);
});

test("a chunk without a number asks how much there is", async () => {
  const { place } = await start();
  const w = await place.create("w");
  expect(await push(place, [chunk(w, 0, "")])).toBe("id-one 0");
  await push(place, [chunk(w, 1, "a\n")]);
  expect(await push(place, [chunk(w, 0, "")])).toBe("id-one 1");
  expect(await push(place, [chunk(w, 0, "")], { "x-slipway-log-source": "anew" })).toBe("id-one 0");
});

test("a call that breaks off loses nothing that has come", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  const call = place.client().clientStream(pushLogs, [chunk(w, 1, "a\n"), chunk(w, 2, "b\n")], { isOpen: true });
  await expect.poll(() => read(directory, w)).toContain("b\n");
  call.cancel();
  await call.answer;
  await expect.poll(() => push(place, [chunk(w, 0, "")])).toBe("id-one 2");
});

test("two calls that bring the same chunks at once write them once", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  const chunks = Array.from({ length: 50 }, (_, at) => chunk(w, at + 1, `${at}\n`));
  await Promise.all([push(place, chunks), push(place, chunks), push(place, chunks)]);
  const lines = (await read(directory, w)).trimEnd().split("\n");
  expect(lines.map((line) => Number(line.split(" ")[1]))).toEqual(chunks.map((_, at) => at));
});

const overlapping = { "x-slipway-log-overlap": "true" };

test("calls that overlap are taken in the order of their numbers, whichever comes first", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  const later = push(place, [chunk(w, 3, "c\n"), chunk(w, 4, "d\n")], overlapping);
  // Of clients that say nothing of the kind, what does not follow is passed over at once.
  expect(await push(place, [chunk(w, 3, "c\n")])).toBe("id-one 0");
  expect(await push(place, [chunk(w, 1, "a\n"), chunk(w, 2, "b\n")], overlapping)).toMatch(/^id-one [234]$/);
  expect(await later).toBe("id-one 4");
  expect((await read(directory, w)).replaceAll(/^\S+ /gm, "")).toBe("a\nb\nc\nd\n");
  const path = logPath(directory, w.split("/")[2] ?? "", "id-one");
  expect(await readReceived(path)).toMatchObject({ seq: 4 });
});

test("what a call follows and what never comes is waited for no longer than ten seconds, once", async () => {
  const { place } = await start();
  const w = await place.create("w");
  let answer = "";
  void push(place, [chunk(w, 2, "b\n"), chunk(w, 3, "c\n")], overlapping).then((text) => (answer = text));
  await expect
    .poll(async () => {
      await place.clock.advance(10_000);
      return answer;
    })
    .toBe("id-one 0");
});

test("a log is closed when nobody writes to it for a while, and begins anew when somebody has removed its files", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  await push(place, [chunk(w, 1, "a\n")]);
  const folder = join(directory, w.split("/")[2] ?? "");
  await rm(folder, { recursive: true });
  expect(await push(place, [chunk(w, 1, "b\n"), chunk(w, 2, "c\n")])).toBe("id-one 2");
  expect((await read(directory, w)).replaceAll(/^\S+ /gm, "")).toBe("b\nc\n");
  if (process.platform === "linux") expect(await openFilesBelow(folder)).toHaveLength(1);
  await place.clock.advance(10_000);
  await expect.poll(() => openFilesBelow(folder)).toEqual([]);
});

test("what cannot be kept is refused by name", async () => {
  const { place } = await start();
  const w = await place.create("w");
  expect(await push(place, [chunk("", 1, "a")])).toBe("INVALID_ARGUMENT workflow_id is empty");
  expect(await push(place, [chunk(w, 1, "a", { actionId: "" })])).toBe("INVALID_ARGUMENT action_id is empty");
  expect(await push(place, [chunk(w, 1, "x".repeat(262_145))])).toBe(
    "INVALID_ARGUMENT data is longer than 262144 bytes",
  );
  expect(await push(place, [chunk(w, 1, "x", { seq: 2n ** 60n })])).toBe(
    "INVALID_ARGUMENT seq is larger than 2^53 - 1",
  );
  expect(await push(place, [chunk(w, 1, "x", { stream: agentV1.LogChunk_Stream.UNSPECIFIED })])).toMatch(
    /^INVALID_ARGUMENT expected STREAM_STDOUT or/,
  );
  expect(await push(place, [Object.assign(chunk(w, 0, ""), { stream: 77 })])).toMatch(
    /^INVALID_ARGUMENT expected STREAM_STDOUT or/,
  );
  expect(await push(place, [chunk("nowhere", 1, "a")])).toBe('NOT_FOUND there is no workflow "nowhere"');
  expect(await push(place, [chunk("default/none/uid", 1, "a")])).toMatch(/^NOT_FOUND there is no workflow/);
  expect(await push(place, [chunk(w, 1, "a", { actionId: "../x" })])).toMatch(
    /^NOT_FOUND workflow .* has no action "..\/x"/,
  );
  expect(await push(place, [chunk(w, 1, "a")], { "x-slipway-log-source": "x".repeat(101) })).toMatch(
    /^INVALID_ARGUMENT x-slipway/,
  );
});

test("times that no record has room for are this server's", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  await push(place, [chunk(w, 1, "a\n", { time: { seconds: 10n ** 15n, nanos: 0 } })]);
  await push(place, [chunk(w, 2, "b\n", { time: { seconds: -5n, nanos: 0 } })]);
  const now = new Date(place.clock.now()).toISOString().slice(0, 19);
  for (const line of (await read(directory, w)).trimEnd().split("\n")) expect(line.startsWith(now)).toBe(true);
});

test("a disk that cannot be written to is UNAVAILABLE, and takes everything when it is back", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  await rm(directory, { recursive: true });
  await writeFile(directory, "in the way");
  expect(await push(place, [chunk(w, 1, "a\n")])).toMatch(/^UNAVAILABLE it could not be recorded/);
  await rm(directory);
  expect(await push(place, [chunk(w, 1, "a\n"), chunk(w, 2, "b\n")])).toBe("id-one 2");
});

test("the logs of a workflow go with it, also while no server runs", async () => {
  const { place, directory } = await start();
  const [v, w] = [await place.create("v"), await place.create("w")];
  await push(place, [chunk(v, 1, "a\n"), chunk(w, 1, "a\n")]);
  await place.remove("v");
  await expect.poll(() => readdir(directory)).toEqual([w.split("/")[2]]);
  await mkdir(join(directory, "left-behind"));
  const other = await Place.start({ logs: { directory }, store: place.store });
  closings.push(() => other.close());
  expect(await readdir(directory)).toEqual([w.split("/")[2]]);
});

test("when there are too many, the logs of the workflow that ended first go first", async () => {
  const { place, directory } = await start({ maxBytes: 100_000 });
  const ids: string[] = [];
  for (const name of ["a", "b", "c"]) {
    const id = await place.create(name);
    ids.push(id.split("/")[2] ?? "");
    await push(place, [chunk(id, 1, "x".repeat(40_000))]);
    if (name !== "c") await place.write(name, (state) => ({ ...state, phase: "Succeeded" }));
    if (name !== "c") await place.clock.advance(60_000);
  }
  await place.clock.advance(2000);
  await expect.poll(() => readdir(directory)).toEqual(ids.slice(1).sort());
});

test("when what is left is too much, more is UNAVAILABLE until something has ended", async () => {
  const { place } = await start({ maxBytes: 50_000 });
  const w = await place.create("w");
  await push(place, [chunk(w, 1, "x".repeat(60_000))]);
  await place.clock.advance(2000);
  await expect.poll(() => push(place, [chunk(w, 2, "y")])).toBe("UNAVAILABLE this server has no room for more logs");
  await place.remove("w");
  const v = await place.create("v");
  await expect.poll(() => push(place, [chunk(v, 1, "y")])).toBe("id-one 1");
});

test("the log of an action that has ended is ended for its followers, though its agent says nothing", async () => {
  const { place, directory } = await start();
  const w = await place.create("w");
  await push(place, [chunk(w, 1, "a\n")]);
  const path = logPath(directory, w.split("/")[2] ?? "", "id-one");
  const finishedAt = place.clock.now();
  await place.write("w", (state) => ({
    ...state,
    phase: "Running",
    actions: state.actions.map((each) => (each.name === "one" ? { ...each, phase: "Succeeded", finishedAt } : each)),
  }));
  await place.clock.advance(1000);
  expect(await readReceived(path)).toMatchObject({ isEnded: false });
  await expect
    .poll(async () => {
      await place.clock.advance(5000);
      return await readReceived(path);
    })
    .toMatchObject({ isEnded: true, seq: 1 });
  expect(await readReceived(logPath(directory, w.split("/")[2] ?? "", "id-two"))).toBeUndefined();
});
