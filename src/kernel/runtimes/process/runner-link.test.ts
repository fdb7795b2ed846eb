import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Clock, FakeClock } from "#lib/base/index.ts";
import { temporaryDirectory } from "../testing/index.ts";
import { answerLimit, closingLimit, Patience } from "./patience.ts";
import { LinkLost, LinkSilent, RunnerLink } from "./runner-link.ts";
import { encodeFrame, longestFrame, type Message, receiveFrames, type Request } from "./wire.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: Server;
let path: string;
let clock: FakeClock;
let closing: AbortController;
let patience: Patience;
/** What the other end does with a request. */
let answer: (socket: Socket, request: Request) => void;
const sockets = new Set<Socket>();

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory.path, "sock");
  clock = new FakeClock();
  closing = new AbortController();
  patience = new Patience(clock, closing.signal);
  answer = (socket, { seq }) => socket.write(encodeFrame({ seq, value: null }));
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    receiveFrames<Request>(socket, (request) => answer(socket, request));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await new Promise((resolve) => server.close(resolve));
  await directory.remove();
});

const nobody = { onEvent: () => undefined, onLost: () => undefined };
const stop = (id: string) => ({ op: "stop", id, graceMs: 0 }) as const;

test("answers find their requests, in whatever order they come", async () => {
  const held: Request[] = [];
  answer = (socket, request) => {
    held.push(request);
    if (held.length < 3) return;
    for (const { seq, ...call } of held.reverse()) {
      if (call.op === "stop") socket.write(encodeFrame({ seq, error: `no ${call.id}` }));
    }
  };
  const link = await RunnerLink.connect(path, patience, nobody);
  const answers = ["a", "b", "c"].map((id) => link.call(stop(id)).catch((thrown: Error) => thrown.message));
  expect(await Promise.all(answers)).toEqual(["no a", "no b", "no c"]);
  await link.close();
});

test("a refusal is a plain error, which is not a reason to connect again", async () => {
  answer = (socket, { seq }) => socket.write(encodeFrame({ seq, error: "not yours" }));
  const link = await RunnerLink.connect(path, patience, nobody);
  const failure: unknown = await link.call(stop("a")).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ message: "not yours" });
  expect(failure).not.toBeInstanceOf(LinkLost);
  await link.close();
});

test("events and answers keep their order", async () => {
  const seen: string[] = [];
  answer = (socket, { seq }) => {
    const event: Message = { event: "task", status: { id: "a", state: { phase: "starting" } } };
    socket.write(Buffer.concat([event, { seq, value: null }, event].map(encodeFrame)));
  };
  const link = await RunnerLink.connect(path, patience, { ...nobody, onEvent: () => seen.push("event") });
  await link.call(stop("a"));
  seen.push("answer");
  await expect.poll(() => seen.length).toBe(3);
  expect(seen[0]).toBe("event");
  await link.close();
});

test("a broken connection is told first, then to everybody who waits for an answer", async () => {
  const story: string[] = [];
  answer = (socket) => socket.destroy();
  const link = await RunnerLink.connect(path, patience, { ...nobody, onLost: () => story.push("lost") });
  const failures = await Promise.all(
    ["a", "b"].map((id) => link.call(stop(id)).catch((thrown: unknown) => story.push(id) && thrown)),
  );
  expect(story).toEqual(["lost", "a", "b"]);
  for (const failure of failures) expect(failure).toBeInstanceOf(LinkLost);
});

test("a link that was lost takes no more requests", async () => {
  const lost = new Promise<void>((resolve) => {
    void RunnerLink.connect(path, patience, { ...nobody, onLost: () => resolve() }).then(async (link) => {
      answer = (socket) => socket.destroy();
      await link.call(stop("a")).catch(() => undefined);
      await expect(link.call(stop("b"))).rejects.toBeInstanceOf(LinkLost);
      await link.close();
    });
  });
  await lost;
});

test("a request that is too long is refused and harms no other", async () => {
  const link = await RunnerLink.connect(path, patience, nobody);
  await expect(link.call(stop("x".repeat(longestFrame)))).rejects.toMatchObject({ code: "frame-too-long" });
  expect(await link.call(stop("a"))).toBeNull();
  await link.close();
});

test("an answer that nobody asked for is dropped", async () => {
  answer = (socket, { seq }) =>
    socket.write(Buffer.concat([encodeFrame({ seq: 99, value: null }), encodeFrame({ seq, value: null })]));
  const link = await RunnerLink.connect(path, patience, nobody);
  expect(await link.call(stop("a"))).toBeNull();
  await link.close();
});

test("closing resolves when the connection is gone, and again at once", async () => {
  const link = await RunnerLink.connect(path, patience, nobody);
  await link.close();
  await link.close();
});

test("without a socket, and with one that nobody serves, connecting says which", async () => {
  await expect(RunnerLink.connect(join(directory.path, "none"), patience, nobody)).rejects.toMatchObject({
    code: "ENOENT",
  });
});

test("a runner that does not answer in time is a lost connection, for everybody who waits, and told as silence", async () => {
  answer = () => undefined;
  const told: unknown[] = [];
  const link = await RunnerLink.connect(path, patience, { ...nobody, onLost: (silence) => told.push(silence) });
  const calls = ["a", "b"].map((id) => link.call(stop(id)).catch((thrown: unknown) => thrown));
  await clock.advance(answerLimit - 1);
  expect(told).toEqual([]);
  await clock.advance(1);
  for (const failure of await Promise.all(calls)) expect(failure).toBeInstanceOf(LinkSilent);
  expect(told).toEqual([new LinkSilent("the runner has not answered for 8 s")]);
});

test("of a time in which we stood still ourselves the runner was not silent: what it has said is read first", async () => {
  const timers: (() => void)[] = [];
  const standing: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(_delay, run) {
      timers.push(run);
      return () => undefined;
    },
  };
  const link = await RunnerLink.connect(path, new Patience(standing, closing.signal), nobody);
  timers.length = 0;
  const answered = link.call(stop("a"));
  // Over before anything could be read, however long it was to be.
  timers[0]?.();
  expect(await answered).toBeNull();
  await link.close();
});

test("an answer in time ends the waiting for it", async () => {
  const link = await RunnerLink.connect(path, patience, nobody);
  expect(await link.call(stop("a"))).toBeNull();
  await clock.advance(2 * answerLimit);
  expect(await link.call(stop("b"))).toBeNull();
  await link.close();
});

test("once everything is being closed, nobody waits as long, not even who has waited already", async () => {
  answer = () => undefined;
  const link = await RunnerLink.connect(path, patience, nobody);
  const before = link.call(stop("a")).catch((thrown: unknown) => thrown);
  closing.abort();
  const after = link.call(stop("b")).catch((thrown: unknown) => thrown);
  await clock.advance(closingLimit);
  expect(await before).toBeInstanceOf(LinkSilent);
  expect(await after).toBeInstanceOf(LinkSilent);
  await link.close();
});
